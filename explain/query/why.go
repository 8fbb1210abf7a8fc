package query

import (
	"slices"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// answerWhy explains the decision in force for a job, and compares the award with the next best
// offer. If the question names a site where the job is not, the answer first corrects that.
func (l *Dataset) answerWhy(q ask.Query) (r Result) {
	m := l.caseOf(q)
	if was, ok := l.caseBefore(q, m); ok {
		m = was
	}
	r.citeDecision(m.decision)
	r.Command = "gridbid why " + ask.ShellName(string(m.job.Job.ID))
	if q.Site != "" && m.site != q.Site && siteOfRun(m.job) != q.Site {
		r.describeActualSite(m, q.Site)
		r.describeDecision(l, m)
		return r
	}
	r.describeDecision(l, m)
	if m.site == "" {
		r.describeShadow(l, m)
		return r
	}
	r.addFigures(siteValue(m, m.site, "total-cost", m.round.Decision.Option.Terms.Total()))
	r.describeAward(l, m)
	r.describeShadow(l, m)
	r.listOffers(m)
	return r
}

// caseBefore returns the earlier award of a job to the site in the question, if the job is, or
// ended, at another site now because it was paused or the site gave it up.
func (l *Dataset) caseBefore(q ask.Query, m jobCase) (jobCase, bool) {
	if q.Site == "" || q.Decision != 0 || m.site == q.Site || siteOfRun(m.job) == q.Site {
		return m, false
	}
	for _, d := range slices.Backward(m.job.Awards) {
		if d.Site == q.Site && (d.Answer == "accept" || d.Answer == "decline" && slices.Contains(lostCodes, d.Declined.Code)) {
			return l.caseOfDecision(m.job, decisionNumber(d)), true
		}
	}
	return m, false
}

// describeActualSite says where the job is, if the question assumes another site.
func (r *Result) describeActualSite(m jobCase, asked string) {
	where := siteOfRun(m.job)
	switch {
	case where != "" && m.job.Run.Planned:
		r.addSentence("It did not: job %s is at %s, which accepted it to start at %s, and not at %s.", m.jobName(), namePart(where), jobValue(m, "planned", m.job.Run.Started), namePart(asked))
	case where != "":
		r.addSentence("It did not: job %s ran at %s, not at %s.", m.jobName(), namePart(where), namePart(asked))
	case m.site != "":
		r.addSentence("It did not: job %s was awarded to %s, not to %s.", m.jobName(), namePart(m.site), namePart(asked))
	default:
		r.addSentence("It did not: job %s has not run at %s.", m.jobName(), namePart(asked))
	}
}

// describeDecision says what the decision was, and why.
func (r *Result) describeDecision(l *Dataset, m jobCase) {
	d, x := m.round.Decision, l.decisionOf(m.decision)
	switch {
	case x.Kind == "refuse" && x.Why.Code == protocol.Duplicate:
		r.addSentence("Another submission under the id of job %s was refused at %s: %s. The job itself goes on.", m.jobName(), jobValue(m, "decided", x.At), reasonText(x.Why))
	case m.job.Refusal != nil && (m.decision == 0 || x.Kind == "refuse"):
		r.describeRefused(m)
	case m.decision == 0:
		r.addSentence("Nothing was decided on job %s; it arrived at %s.", m.jobName(), m.arrivalFigure())
	case !m.hasRound: // by a coordinator from which this one took over
		what := map[string]Part{"award": newSentence("awarded to %s", namePart(x.Site)), "hold": plainText("held"), "refuse": plainText(narrate.RefusalWord(x.Why.Code))}[x.Kind]
		r.addSentence("Job %s was %s at %s, because %s. The round is not in this record.", m.jobName(), what, jobValue(m, "decided", x.At), reasonText(x.Why))
	case d.Kind == "award":
		r.addSentence("Job %s (%s, due %s) was awarded to %s in round %s at %s, to start %s, because %s.",
			m.jobName(), m.sizePart(), m.deadlineFigure(), namePart(d.Site), m.roundFigure(), jobValue(m, "decided", d.Message.At), siteValue(m, d.Site, "start", d.Option.Start), reasonText(d.Why))
		if h := l.history.JudgeQuestionOf(m.round.Round, m.job.Job.ID); h != nil {
			if fault := record.FallbackReason(h.Ask, h.Answer, d); fault != "" {
				r.addSentence(ruleDecided, plainText(record.FaultText(fault)))
			}
		}
		if d.Answer == "decline" {
			r.addSentence("%s declined: %s.", namePart(d.Site), reasonText(d.Declined))
		} else if d.Expired {
			r.addSentence("%s did not answer in time, so the job was on sale again.", namePart(d.Site))
		}
	case d.Kind == "hold":
		r.addSentence("Job %s was held in round %s at %s, because %s.", m.jobName(), m.roundFigure(), jobValue(m, "decided", d.Message.At), reasonText(d.Why))
		if d.Why.Code == protocol.NoBids {
			r.describeBarred(l, m)
		}
		if d.Start != 0 {
			r.addSentence("The plan then was %s from %s.", namePart(d.Site), siteValue(m, d.Site, "planned", d.Start))
		}
	}
}

// ruleDecided is the sentence for a judge that was asked and did not decide.
const ruleDecided = "A judge was asked, and the rule decided: %s."

// describeComparison says how one other site's offer differs from the award.
func (r *Result) describeComparison(l *Dataset, m jobCase, site string, p history.PricedOption) {
	won := m.round.Decision.Option
	total, paid := siteValue(m, site, "total-cost", p.Terms.Total()), siteValue(m, m.site, "total-cost", won.Terms.Total())
	more := siteValue(m, site, "cost-difference", p.Terms.Total()-won.Terms.Total())
	r.addFigures(total, more, siteValue(m, site, "carbon-difference", p.Carbon-won.Carbon))
	byRule := m.round.Decision.Why.Code == protocol.ByRule
	if byRule {
		r.addSentence("The rule of this policy chose the site; costs were not compared.")
	}
	if more.Value == 0 {
		r.addSentence("%s offered the same cost as %s, %s; between equals a fixed order decides.", namePart(site), namePart(m.site), paid)
	} else {
		than, x, y := plainText("more"), won.Terms, p.Terms
		if more.Value < 0 {
			than, x, y = "less", y, x
		}
		term, by := narrate.LargestDifference(x, y)
		r.addSentence("%s offered %s, which is %s %s than %s at %s; %s is the largest part (%s).",
			namePart(site), total, withoutSign(more), than, paid, namePart(m.site), plainText(term.InWords), siteValue(m, site, "largest-difference", by))
	}
	forbidden := r.describeRules(l, m, site, p)
	r.describeRules(l, m, m.site, won)
	if more.Value < 0 && !forbidden && !byRule {
		r.addSentence("A round places all of its %s jobs together: by its prices the room at %s was worth %s to others, and that at %s %s.",
			valueOf("decision", "round-jobs", max(m.round.Decision.Proof.Jobs, 1), m.citedDecisions()...), namePart(site), siteValue(m, site, "room-worth", p.Room), namePart(m.site), siteValue(m, m.site, "room-worth", won.Room))
	}
}

// answerWhyNot explains why a job did not get the site in the question: no offer, an earlier
// award, or the difference between its offer and the award.
func (l *Dataset) answerWhyNot(q ask.Query) Result {
	r, m := l.resultAndCase(q)
	p, ok := m.cheapestOption(q.Site)
	given := m.site == q.Site || q.Decision == 0 && siteOfRun(m.job) == q.Site
	if given {
		r.addSentence("It was: job %s was given to %s.", m.jobName(), namePart(q.Site))
	}
	r.describeDecision(l, m)
	switch {
	case given:
		return r
	case !m.hasRound:
	case !ok:
		r.describeNoOffer(m, q.Site)
	case m.site == "" && m.round.Decision.Kind == "award" && m.round.Decision.Site == q.Site:
		r.addSentence("It was awarded to %s in round %s, before that.", namePart(q.Site), m.roundFigure())
	case m.site == "":
		r.addSentence("%s offered a start at %s for %s; it was not taken in this round.", namePart(q.Site), siteValue(m, q.Site, "start", p.Start), siteValue(m, q.Site, "total-cost", p.Terms.Total()))
		r.describeRules(l, m, q.Site, p)
	default:
		r.describeComparison(l, m, q.Site, p)
		r.describeForced(l, m, q.Site)
		r.listTerms(m, q.Site, p)
	}
	if s, ok := m.answerOf(q.Site); ok && !s.Late && len(s.Options) > 1 {
		r.addSentence("It offered %s options; the cheapest is compared.", siteValue(m, q.Site, "options", len(s.Options)))
	}
	return r
}

// listTerms lists the award and another offer term by term, and draws all.
func (r *Result) listTerms(m jobCase, site string, p history.PricedOption) {
	won := m.round.Decision.Option
	r.listCosts(m, m.site, site, won.Terms, p.Terms)
	listDifference(r, m, m.site, site, "total", "total-cost", "cost-difference", won.Terms.Total(), p.Terms.Total(), p.Terms.Total()-won.Terms.Total())
	listDifference(r, m, m.site, site, "start", "start", "start-difference", won.Start, p.Start, p.Start.Sub(won.Start))
	listDifference(r, m, m.site, site, "finish", "finish", "finish-difference", won.Finish, p.Finish, p.Finish.Sub(won.Finish))
	listDifference(r, m, m.site, site, "CO2e", "carbon", "carbon-difference", won.Carbon, p.Carbon, p.Carbon-won.Carbon)
	listDifference(r, m, m.site, site, "energy used", "energy", "energy-difference", won.Energy, p.Energy, p.Energy-won.Energy)
}

// listCosts lists the terms of one site's offer beside those of another's.
func (r *Result) listCosts(m jobCase, one, other string, x, y protocol.CostBreakdown) {
	r.Chart, r.Head = m.bidsChart(), []string{"term", cleanName(one), cleanName(other), "difference"}
	for _, c := range narrate.CostCauses() {
		if x, y := c.Of(x), c.Of(y); x != 0 || y != 0 {
			listDifference(r, m, one, other, c.Label, c.Key+"-cost", c.Label+"-difference", x, y, y-x)
		}
	}
}

// listDifference lists a quantity of one site's offer beside that of another's.
func listDifference[Q, D quantity](r *Result, m jobCase, one, other, label, what, more string, x, y Q, difference D) {
	r.addRow(plainText(label), siteValue(m, one, what, x), siteValue(m, other, what, y), siteValue(m, other, more, difference))
}

// answerDifference says which term makes the difference between two sites' offers.
func (l *Dataset) answerDifference(q ask.Query) (r Result) {
	m, ok := l.roundAskedAbout(&r, q)
	if !ok {
		return r
	}
	x, okX := m.cheapestOption(q.Site)
	y, okY := m.cheapestOption(q.Other)
	for _, s := range []string{q.Site, q.Other} {
		if _, ok := m.cheapestOption(s); !ok {
			r.describeNoOffer(m, s)
		}
	}
	if !okX || !okY {
		return r
	}
	cheap, dear := q.Site, q.Other
	if x.Terms.Total() > y.Terms.Total() {
		cheap, dear, x, y = dear, cheap, y, x
	}
	term, by := narrate.LargestDifference(x.Terms, y.Terms)
	if by == 0 {
		r.addSentence("%s and %s offered the same.", namePart(cheap), namePart(dear))
		return r
	}
	r.addFigures(siteValue(m, dear, "total-difference", y.Terms.Total()-x.Terms.Total()))
	r.addSentence("The largest difference is %s: %s more at %s than at %s. In all, %s offered %s and %s %s.", plainText(term.Label), siteValue(m, dear, term.Label+"-difference", by), namePart(dear), namePart(cheap),
		namePart(dear), siteValue(m, dear, "total-cost", y.Terms.Total()), namePart(cheap), siteValue(m, cheap, "total-cost", x.Terms.Total()))
	r.listCosts(m, cheap, dear, x.Terms, y.Terms)
	return r
}

// describeNoOffer says why a site made no offer that counts.
func (r *Result) describeNoOffer(m jobCase, site string) {
	r.addSentence("%s made no offer that counts: %s.", namePart(site), m.noOffer(site))
}

// answerWhyNotHome answers as answerWhyNot does, for the home site that the job names.
func (l *Dataset) answerWhyNotHome(q ask.Query) Result {
	r, m := l.resultAndCase(q)
	asked := q.Site
	if q.Site = m.job.Job.Home; q.Site == "" || l.history.ReportingSite(q.Site) == nil {
		r.Kind = "absent"
		r.addSentence("Job %s names no home site that is in this run.", m.jobName())
		return r
	}
	r = l.answerWhyNot(q)
	if asked != "" && m.site != asked && siteOfRun(m.job) != asked {
		r.describeActualSite(m, asked)
	}
	r.addAssumption("its home is %s", namePart(q.Site))
	return r
}

// whyNotBest asks of the site with the option that has the least of something, not only of
// those that are the cheapest of their sites.
func whyNotBest(what plainText, of func(history.PricedOption) int64) evaluator {
	return func(l *Dataset, q ask.Query) Result {
		r, m := l.resultAndCase(q)
		least, ok := int64(0), false
		for _, s := range m.round.Answers {
			for _, p := range s.Options {
				if v := of(p); !s.Late && (!ok || v < least) {
					q.Site, least, ok = s.Site, v, true
				}
			}
		}
		switch {
		case !ok:
			r.addSentence("No site made an offer for job %s that counts.", m.jobName())
			return r
		case q.Site != m.site:
			r = l.answerWhyNot(q)
		default:
			r.addSentence("The offer of %s was that of %s, and it was awarded.", what, namePart(q.Site))
			r.describeDecision(l, m)
		}
		r.addAssumption("the offer of %s was that of %s", what, namePart(q.Site))
		return r
	}
}
