package query

import (
	"slices"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// answerElsewhere lists what the job would have cost at every other site.
func (l *Dataset) answerElsewhere(q ask.Query) Result {
	r, m := l.resultAndCase(q)
	r.addAssumption("by the offers of the deciding round; nobody was asked again")
	r.describeDecision(l, m)
	if p, site, ok := narrate.CheapestOtherSite(m.round, m.site); ok && m.site != "" {
		r.describeComparison(l, m, site, p)
	}
	if m.hasRound {
		r.listOffers(m)
	}
	return r
}

// answerElsewhereAt says what the job would have cost at one site: measured if it ended there,
// and otherwise by the site's offer in the deciding round.
func (l *Dataset) answerElsewhereAt(q ask.Query) Result {
	r, m := l.resultAndCase(q)
	if siteOfRun(m.job) == q.Site && m.job.HasEnded() {
		r.addSentence("Job %s ran at %s.", m.jobName(), namePart(q.Site))
		r.describeBillOf(l, m.job)
		r.partsOf(m.job)
		return r
	}
	r.addAssumption("by the offers of the deciding round; nobody was asked again")
	p, ok := m.cheapestOption(q.Site)
	of := func(what string, at protocol.Time) Figure { return siteValue(m, q.Site, what, at) }
	switch {
	case !m.hasRound && m.decision != 0:
		r.addSentence("That is not known: " + roundNotRecorded + ".")
	case !ok:
		r.addSentence("That is not known: %s made no offer that counts, because %s.", namePart(q.Site), m.noOffer(q.Site))
	case m.site == "" || m.site == q.Site:
		r.addSentence("%s offered job %s a start at %s for %s: %s, %s.", namePart(q.Site), m.jobName(), of("start", p.Start), siteValue(m, q.Site, "total-cost", p.Terms.Total()),
			siteValue(m, q.Site, "energy", p.Energy), siteValue(m, q.Site, "carbon", p.Carbon))
	default:
		r.describeComparison(l, m, q.Site, p)
		r.describeForced(l, m, q.Site)
		late := Part(plainText("would have been kept"))
		if by := p.Finish.Sub(m.job.Job.Deadline); by > 0 {
			late = newSentence("would have been missed by %s", siteValue(m, q.Site, "late-by", by))
		}
		r.addSentence("At %s: %s of carbon against %s at %s, done by %s; its deadline %s.", namePart(q.Site), siteValue(m, q.Site, "carbon", p.Carbon),
			siteValue(m, m.site, "carbon", m.round.Decision.Option.Carbon), namePart(m.site), of("finish", p.Finish), late)
		r.listTerms(m, q.Site, p)
	}
	return r
}

// earliestOffer returns the offer of the earliest start in a job's first round that
// had one, the cheapest of those.
func earliestOffer(r history.JobRecord) (best history.PricedOption, site string, h history.JobRound, ok bool) {
	for _, h := range r.FullRounds {
		if p, site, ok := narrate.EarliestOption(h); ok {
			return p, site, h, true
		}
	}
	return best, "", history.JobRound{}, false
}

// describeEarliest says which was the earliest start that a job was offered.
func (r *Result) describeEarliest(m jobCase) {
	if p, site, h, ok := earliestOffer(m.job); ok {
		r.citeDecision(h.Decision.Message.Seq)
		r.addSentence("The earliest start offered in its first round %swas %s at %s, for %s.", firstRoundScope(m.job), jobValue(m, "earliest-start", p.Start), namePart(site), jobValue(m, "earliest-cost", p.Terms.Total()))
	}
}

// firstRoundScope qualifies "first round" in a sentence if older rounds of the job are missing.
func firstRoundScope(r history.JobRecord) plainText {
	if r.Older {
		return "of this record "
	}
	return ""
}

// answerImmediateStart says what the earliest start would have cost.
func (l *Dataset) answerImmediateStart(q ask.Query) (r Result) {
	rec := l.caseOf(q).job
	m := l.caseOfDecision(rec, l.currentDecision(rec))
	p, site, h, ok := earliestOffer(rec)
	first, job := h.Decision.Message.Seq, jobSubject(rec.Job.ID)
	r.citeDecision(first)
	r.citeDecision(m.decision)
	if !ok {
		r.addSentence("That is not known: no site ever offered job %s a start.", namePart(rec.Job.ID))
		return r
	}
	r.addAssumption("the earliest start offered in the first round %sthat had offers; tenants do not bid here", firstRoundScope(rec))
	r.addSentence("The earliest start for job %s was %s at %s, for %s (energy %s, %s).", namePart(rec.Job.ID), valueOf(job, "earliest-start", p.Start, decisionLabel(first)), namePart(site),
		valueOf(job, "earliest-cost", p.Terms.Total(), decisionLabel(first)), valueOf(job, "earliest-energy-cost", p.Money, decisionLabel(first)), valueOf(job, "earliest-carbon", p.Carbon, decisionLabel(first)))
	if m.site != "" {
		won := m.round.Decision.Option
		r.addSentence("It was awarded %s from %s for %s.", namePart(m.site), siteValue(m, m.site, "start", won.Start), siteValue(m, m.site, "total-cost", won.Terms.Total()))
	}
	return r
}

// savingOf returns how much cheaper the awarded option was than the earliest start; nothing if
// it starts as early. ok is false where the two do not compare: the last award of a paused job
// covers its remaining work alone, and rounds of another coordinator are not on record.
func (l *Dataset) savingOf(r history.JobRecord) (cost protocol.Microdollars, carbon protocol.Milligrams, first, award uint64, ok bool) {
	d := r.CurrentAward()
	p, _, h, found := earliestOffer(r)
	switch {
	case d == nil || !found || len(r.Parts) > 0 || r.Older || !l.caseOfDecision(r, decisionNumber(*d)).hasRound:
		return 0, 0, 0, 0, false
	case startedAtEarliest(r):
		return 0, 0, h.Decision.Message.Seq, d.Message.Seq, true
	}
	return p.Terms.Total() - d.Option.Terms.Total(), p.Carbon - d.Option.Carbon, h.Decision.Message.Seq, d.Message.Seq, true
}

// startedAtEarliest reports whether a job was awarded a start as early as any that was offered
// first.
func startedAtEarliest(r history.JobRecord) bool {
	p, _, _, ok := earliestOffer(r)
	return ok && r.CurrentAward() != nil && r.CurrentAward().Option.Start <= p.Start
}

// carbonDifference words an amount of carbon saved: less, or more if it is negative.
func carbonDifference(carbon Figure) Part {
	if carbon.Value < 0 {
		return newSentence("%s of carbon more", withoutSign(carbon))
	}
	return newSentence("%s of carbon less", carbon)
}

// answerSavings says what waiting saved, of one job or of all.
func (l *Dataset) answerSavings(q ask.Query) (r Result) {
	r.addAssumption("what was awarded against the earliest start that was offered in its first round, both as offered")
	if q.Job != "" || q.Decision != 0 {
		r.describeSavings(l, l.caseOf(q).job)
		return r
	}
	r.addSavings(l, q)
	if i := slices.IndexFunc(l.totals, func(t history.Totals) bool { return t.Policy == "auction" }); i >= 0 && q.Tenant == "" {
		for _, t := range l.totals {
			if t.Policy != "auction" {
				was, now := totalsCells("policy/"+t.Policy, t), totalsCells("policy/auction", l.totals[i])
				r.addSentence("The whole run emitted %s kg of carbon against %s under %s (%s), took %s kWh against %s, and cost $%s for energy against $%s (%s).", now[totalCarbon], was[totalCarbon], namePart(t.Policy),
					changePart("carbon", l.totals[i].CarbonKg, t.CarbonKg), now[totalEnergy], was[totalEnergy], now[totalCost], was[totalCost], changePart("cost", l.totals[i].CostUSD, t.CostUSD))
			}
		}
	}
	return r
}

// addSavings says what waiting saved over the jobs whose award is in a query's window.
func (r *Result) addSavings(l *Dataset, q ask.Query) {
	var cost protocol.Microdollars
	var carbon protocol.Milligrams
	n := 0
	for _, rec := range l.allInstances() {
		if d := rec.CurrentAward(); q.Tenant != "" && rec.Job.Tenant != q.Tenant || d != nil && !inWindow(q, d.Message.At) {
			continue
		}
		if c, g, _, award, ok := l.savingOf(rec); ok {
			cost, carbon, n = cost+c, carbon+g, n+1
			r.citeDecision(award)
		}
	}
	over, money, emitted := countedPart(valueOf("run", "jobs", n), "job", "jobs"), valueOf("run", "saved-cost", cost, r.Cites...), valueOf("run", "saved-carbon", carbon, r.Cites...)
	switch {
	case cost >= 0 && carbon >= 0:
		r.addSentence("Over %s, waiting saved %s and %s of carbon.", over, money, emitted)
	case cost >= 0:
		r.addSentence("Over %s, waiting saved %s, and took %s.", over, money, carbonDifference(emitted))
	case carbon < 0:
		r.addSentence("Over %s, waiting saved nothing: it took %s, and cost %s more, delay and lateness included.", over, carbonDifference(emitted), withoutSign(money))
	default:
		r.addSentence("Over %s, waiting saved %s of carbon, and cost %s more, delay and lateness included.", over, emitted, withoutSign(money))
	}
}

// describeSavings says what waiting saved one job.
func (r *Result) describeSavings(l *Dataset, rec history.JobRecord) {
	c, g, first, award, ok := l.savingOf(rec)
	r.citeDecision(first)
	r.citeDecision(award)
	id, job := namePart(rec.Job.ID), jobSubject(rec.Job.ID)
	cost, carbon := valueOf(job, "saved-cost", c, decisionLabel(first), decisionLabel(award)), valueOf(job, "saved-carbon", g, decisionLabel(first), decisionLabel(award))
	switch {
	case len(rec.Parts) > 0:
		r.addSentence("That is not known: job %s was paused, and its parts were sold one by one.", id)
	case rec.CurrentAward() != nil && !l.caseOfDecision(rec, decisionNumber(*rec.CurrentAward())).hasRound:
		r.addSentence("That is not known: the round of its award is not in this record.")
	case rec.Older:
		r.addSentence("That is not known: the first rounds of job %s are not in this record.", id)
	case !ok:
		r.addSentence("That is not known: job %s has no award, or no offer in its first round.", id)
	case startedAtEarliest(rec):
		r.addSentence("Job %s did not wait for a later start than the earliest that was offered, so waiting saved it nothing.", id)
	case c >= 0 && g >= 0:
		r.addSentence("Waiting saved job %s %s and %s of carbon.", id, cost, carbon)
	case c >= 0:
		r.addSentence("Waiting saved job %s %s, and took %s.", id, cost, carbonDifference(carbon))
	default:
		r.addSentence("Waiting saved job %s nothing: what it got in the end cost %s more, and %s.", id, withoutSign(cost), carbonDifference(carbon))
	}
	if ok {
		r.addFigures(cost, carbon)
	}
	if wait, ok := rec.WaitTime(); ok {
		r.addSentence("It waited %s.", valueOf(job, "wait", wait, decisionLabel(award)))
	}
}
