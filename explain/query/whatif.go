package query

import (
	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// shell returns a name as one word of a command line.
func shell(s string) string {
	if ask.Quote(s) == s {
		return s
	}
	if format.CleanText(s) != s {
		return "(a name that cannot be typed; use --json)"
	}
	return format.ShellQuoted(s)
}

// aboutOffers are the questions about what other offers would have cost.
var aboutOffers = map[string]evaluator{
	"elsewhere": (*Log).elsewhere, "elsewhere-at": (*Log).elsewhereAt, "differ": (*Log).differ, "immediate": (*Log).immediate, "saved": (*Log).saved,
}

// elsewhere lists what the job would have cost at every other site.
func (l *Log) elsewhere(q ask.Query) Result {
	r, m := l.matterOf(q)
	r.assume("by the offers of the deciding round; nobody was asked again")
	r.sayDecision(l, m)
	if site, p, ok := m.nextBest(); ok && m.site != "" {
		r.sayComparison(l, m, site, p)
	}
	if m.met {
		r.listOffers(m)
	}
	return r
}

// elsewhereAt says what the job would have cost at one site.
func (l *Log) elsewhereAt(q ask.Query) Result {
	r, m := l.matterOf(q)
	if ran(m.rec) == q.Site && m.rec.State == history.Ended {
		r.say("Job %s ran at %s.", m.job(), called(q.Site))
		r.sayBillOf(l, m.rec)
		return r
	}
	r.assume("by the offers of the deciding round; nobody was asked again")
	p, ok := m.option(q.Site)
	of := func(what string, at protocol.Time) Figure { return siteValue(m, q.Site, what, at) }
	switch {
	case !m.met && m.id != 0:
		r.say("That is not known: " + unmet + ".")
	case !ok:
		r.say("That is not known: %s made no offer that counts, because %s.", called(q.Site), m.noOffer(q.Site))
	case m.site == "" || m.site == q.Site:
		r.say("%s offered job %s a start at %s for %s: %s, %s.", called(q.Site), m.job(), of("start", p.Start), siteValue(m, q.Site, "total-cost", p.Terms.Total()),
			siteValue(m, q.Site, "energy", p.Energy), siteValue(m, q.Site, "carbon", p.Carbon))
	default:
		r.sayComparison(l, m, q.Site, p)
		r.sayForced(l, m, q.Site)
		late := Part(phrase("would have been kept"))
		if by := p.Finish.Sub(m.rec.Job.Deadline); by > 0 {
			late = sentence("would have been missed by %s", siteValue(m, q.Site, "late-by", by))
		}
		r.say("At %s: %s of carbon against %s at %s, done by %s; its deadline %s.", called(q.Site), siteValue(m, q.Site, "carbon", p.Carbon),
			siteValue(m, m.site, "carbon", m.h.Decision.Option.Carbon), called(m.site), of("finish", p.Finish), late)
		r.listTerms(m, q.Site, p)
	}
	return r
}

// soonest returns the offer of the earliest start in a job's first round that
// had one, the cheapest of those.
func soonest(r history.JobRecord) (best history.PricedOption, site string, h history.JobRound, ok bool) {
	for _, h := range r.FullRounds {
		for _, s := range h.Answers {
			for _, p := range s.Options {
				if !s.Late && (!ok || p.Start < best.Start || p.Start == best.Start && p.Terms.Total() < best.Terms.Total()) {
					best, site, ok = p, s.Site, true
				}
			}
		}
		if ok {
			return best, site, h, true
		}
	}
	return best, "", history.JobRound{}, false
}

// onRecord says of a first round that there were others before, which are not on record.
func onRecord(r history.JobRecord) phrase {
	if r.Older {
		return "of this record "
	}
	return ""
}

// immediate says what the earliest start would have cost.
func (l *Log) immediate(q ask.Query) (r Result) {
	rec := l.matter(q).rec
	m := l.about(rec, l.deciding(rec))
	p, site, h, ok := soonest(rec)
	first, job := h.Decision.Message.Seq, ofJob(rec.Job.ID)
	r.cite(first)
	r.cite(m.id)
	if !ok {
		r.say("That is not known: no site ever offered job %s a start.", called(rec.Job.ID))
		return r
	}
	r.assume("the earliest start offered in the first round %sthat had offers; tenants do not bid here", onRecord(rec))
	r.say("The earliest start for job %s was %s at %s, for %s (energy %s, %s).", called(rec.Job.ID), valueOf(job, "earliest-start", p.Start, cite(first)), called(site),
		valueOf(job, "earliest-cost", p.Terms.Total(), cite(first)), valueOf(job, "earliest-energy-cost", p.Money, cite(first)), valueOf(job, "earliest-carbon", p.Carbon, cite(first)))
	if m.site != "" {
		won := m.h.Decision.Option
		r.say("It was awarded %s from %s for %s.", called(m.site), siteValue(m, m.site, "start", won.Start), siteValue(m, m.site, "total-cost", won.Terms.Total()))
	}
	return r
}

// saving returns what the awarded option was cheaper than the earliest start; nothing
// if it starts as early. The last award of a job that was paused is of its rest alone;
// what an award of another coordinator cost, or was offered first to it, is not known.
func (l *Log) saving(r history.JobRecord) (cost protocol.Microdollars, carbon protocol.Milligrams, first, award uint64, ok bool) {
	d := r.CurrentAward()
	p, _, h, found := soonest(r)
	switch {
	case d == nil || !found || len(r.Parts) > 0 || r.Older || !l.about(r, number(*d)).met:
		return 0, 0, 0, 0, false
	case waitless(r):
		return 0, 0, h.Decision.Message.Seq, d.Message.Seq, true
	}
	return p.Terms.Total() - d.Option.Terms.Total(), p.Carbon - d.Option.Carbon, h.Decision.Message.Seq, d.Message.Seq, true
}

// waitless reports whether a job was awarded a start as early as any that was offered
// first.
func waitless(r history.JobRecord) bool {
	p, _, _, ok := soonest(r)
	return ok && r.CurrentAward() != nil && r.CurrentAward().Option.Start <= p.Start
}

// more says of carbon that was saved how much of it was taken more, or less.
func more(carbon Figure) Part {
	if carbon.Value < 0 {
		return sentence("%s of carbon more", withoutSign(carbon))
	}
	return sentence("%s of carbon less", carbon)
}

// saved says what waiting saved, of one job or of all.
func (l *Log) saved(q ask.Query) (r Result) {
	r.assume("what was awarded against the earliest start that was offered in its first round, both as offered")
	if q.Job != "" || q.Decision != 0 {
		r.saySavedBy(l, l.matter(q).rec)
		return r
	}
	var cost protocol.Microdollars
	var carbon protocol.Milligrams
	n := 0
	for _, rec := range l.records() {
		if q.Tenant != "" && rec.Job.Tenant != q.Tenant {
			continue
		}
		if c, g, _, award, ok := l.saving(rec); ok {
			cost, carbon, n = cost+c, carbon+g, n+1
			r.cite(award)
		}
	}
	over, money, emitted := counted(valueOf("run", "jobs", n), "job", "jobs"), valueOf("run", "saved-cost", cost, r.Cites...), valueOf("run", "saved-carbon", carbon, r.Cites...)
	switch {
	case cost >= 0 && carbon >= 0:
		r.say("Over %s, waiting saved %s and %s of carbon.", over, money, emitted)
	case cost >= 0:
		r.say("Over %s, waiting saved %s, and took %s.", over, money, more(emitted))
	case carbon < 0:
		r.say("Over %s, waiting saved nothing: it took %s, and cost %s more, delay and lateness included.", over, more(emitted), withoutSign(money))
	default:
		r.say("Over %s, waiting saved %s of carbon, and cost %s more, delay and lateness included.", over, emitted, withoutSign(money))
	}
	return r
}

// saySavedBy says what waiting saved one job.
func (r *Result) saySavedBy(l *Log, rec history.JobRecord) {
	c, g, first, award, ok := l.saving(rec)
	r.cite(first)
	r.cite(award)
	id, job := called(rec.Job.ID), ofJob(rec.Job.ID)
	cost, carbon := valueOf(job, "saved-cost", c, cite(first), cite(award)), valueOf(job, "saved-carbon", g, cite(first), cite(award))
	switch {
	case len(rec.Parts) > 0:
		r.say("That is not known: job %s was paused, and its parts were sold one by one.", id)
	case rec.CurrentAward() != nil && !l.about(rec, number(*rec.CurrentAward())).met:
		r.say("That is not known: the round of its award is not in this record.")
	case rec.Older:
		r.say("That is not known: the first rounds of job %s are not in this record.", id)
	case !ok:
		r.say("That is not known: job %s has no award, or no offer in its first round.", id)
	case waitless(rec):
		r.say("Job %s did not wait for a later start than the earliest that was offered, so waiting saved it nothing.", id)
	case c >= 0 && g >= 0:
		r.say("Waiting saved job %s %s and %s of carbon.", id, cost, carbon)
	case c >= 0:
		r.say("Waiting saved job %s %s, and took %s.", id, cost, more(carbon))
	default:
		r.say("Waiting saved job %s nothing: what it got in the end cost %s more, and %s.", id, withoutSign(cost), more(carbon))
	}
	if ok {
		r.also(cost, carbon)
	}
	if wait, ok := rec.WaitTime(); ok {
		r.say("It waited %s.", valueOf(job, "wait", wait, cite(award)))
	}
}
