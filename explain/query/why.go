package query

import (
	"cmp"
	"math"
	"slices"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// aboutReasons are the questions about why a job got, or did not get, a site.
var aboutReasons = map[string]evaluator{
	"why": (*Log).why, "why-not": (*Log).whyNot, "why-not-home": (*Log).whyNotHome,
	"why-not-greenest": whyNotBest("least carbon", func(p history.PricedOption) int64 { return int64(p.Carbon) }),
	"why-not-cheapest": whyNotBest("least cost", func(p history.PricedOption) int64 { return int64(p.Terms.Total()) }),
}

func (l *Log) why(q ask.Query) (r Result) {
	m := l.matter(q)
	if was, ok := l.before(q, m); ok {
		m = was
	}
	r.cite(m.id)
	r.Command = "gridbid why " + shell(string(m.rec.Job.ID))
	if q.Site != "" && m.site != q.Site && ran(m.rec) != q.Site {
		r.sayWhereInstead(m, q.Site)
		r.sayDecision(l, m)
		return r
	}
	r.sayDecision(l, m)
	if m.site == "" {
		return r
	}
	r.also(siteValue(m, m.site, "total-cost", m.h.Decision.Option.Terms.Total()))
	if next, p, ok := m.nextBest(); !ok {
		r.say("No other site made an offer that counts.")
	} else {
		r.sayComparison(l, m, next, p)
	}
	r.listOffers(m)
	return r
}

// before returns a job as it was awarded to the site that is asked of, where it is, or
// ended, at another now: there it was paused, or the site gave it up.
func (l *Log) before(q ask.Query, m matter) (matter, bool) {
	if q.Site == "" || q.Decision != 0 || m.site == q.Site || ran(m.rec) == q.Site {
		return m, false
	}
	for _, d := range slices.Backward(m.rec.Awards) {
		if d.Site == q.Site && (d.Answer == "accept" || d.Answer == "decline" && slices.Contains(lost, d.Declined.Code)) {
			return l.about(m.rec, number(d)), true
		}
	}
	return m, false
}

// sayWhereInstead answers a question whose premise is false.
func (r *Result) sayWhereInstead(m matter, asked string) {
	where := ran(m.rec)
	switch {
	case where != "" && m.rec.Run.Planned:
		r.say("It did not: job %s is at %s, which accepted it to start at %s, and not at %s.", m.job(), called(where), jobValue(m, "planned", m.rec.Run.Started), called(asked))
	case where != "":
		r.say("It did not: job %s ran at %s, not at %s.", m.job(), called(where), called(asked))
	case m.site != "":
		r.say("It did not: job %s was awarded to %s, not to %s.", m.job(), called(m.site), called(asked))
	default:
		r.say("It did not: job %s has not run at %s.", m.job(), called(asked))
	}
}

// sayDecision says what the decision was, and why.
func (r *Result) sayDecision(l *Log, m matter) {
	d, x := m.h.Decision, l.decisionOf(m.id)
	switch {
	case x.Kind == "refuse" && x.Why.Code == protocol.Duplicate:
		r.say("Another submission under the id of job %s was refused at %s: %s. The job itself goes on.", m.job(), jobValue(m, "decided", x.At), because(x.Why))
	case m.rec.Refusal != nil && (m.id == 0 || x.Kind == "refuse"):
		r.sayRefused(m)
	case m.id == 0:
		r.say("Nothing was decided on job %s; it arrived at %s.", m.job(), m.arrival())
	case !m.met: // by a coordinator from which this one took over
		what := map[string]Part{"award": sentence("awarded to %s", called(x.Site)), "hold": phrase("held"), "refuse": phrase("refused")}[x.Kind]
		r.say("Job %s was %s at %s, because %s. The round is not in this record.", m.job(), what, jobValue(m, "decided", x.At), because(x.Why))
	case d.Kind == "award":
		r.say("Job %s (%s, due %s) was awarded to %s in round %s at %s, to start %s, because %s.",
			m.job(), m.size(), m.deadline(), called(d.Site), m.round(), jobValue(m, "decided", d.Message.At), siteValue(m, d.Site, "start", d.Option.Start), because(d.Why))
		if h := l.book.JudgeQuestionOf(m.h.Round, m.rec.Job.ID); h != nil {
			if fault := record.FallbackReason(h.Ask, h.Answer, d); fault != "" {
				r.say(ruleDecided, phrase(record.FaultText(fault)))
			}
		}
		if d.Answer == "decline" {
			r.say("%s declined: %s.", called(d.Site), because(d.Declined))
		} else if d.Expired {
			r.say("%s did not answer in time, so the job was on sale again.", called(d.Site))
		}
	case d.Kind == "hold":
		r.say("Job %s was held in round %s at %s, because %s.", m.job(), m.round(), jobValue(m, "decided", d.Message.At), because(d.Why))
		if d.Why.Code == protocol.NoBids {
			r.sayBarred(l, m)
		}
		if d.Start != 0 {
			r.say("The plan then was %s from %s.", called(d.Site), siteValue(m, d.Site, "planned", d.Start))
		}
	}
}

// ruleDecided is what is said where a judge was asked in vain.
const ruleDecided = "A judge was asked, and the rule decided: %s."

// nextBest returns the cheapest offer of a site that was not awarded.
func (m matter) nextBest() (site string, best history.PricedOption, ok bool) {
	for _, s := range m.h.Answers {
		p, offered := m.option(s.Site)
		if s.Site != m.site && offered && (!ok || p.Terms.Total() < best.Terms.Total()) {
			site, best, ok = s.Site, p, true
		}
	}
	return site, best, ok
}

// sayComparison says how one other site's offer differs from the award.
func (r *Result) sayComparison(l *Log, m matter, site string, p history.PricedOption) {
	won := m.h.Decision.Option
	total, paid := siteValue(m, site, "total-cost", p.Terms.Total()), siteValue(m, m.site, "total-cost", won.Terms.Total())
	more := siteValue(m, site, "cost-difference", p.Terms.Total()-won.Terms.Total())
	r.also(total, more, siteValue(m, site, "carbon-difference", p.Carbon-won.Carbon))
	byRule := m.h.Decision.Why.Code == protocol.ByRule
	if byRule {
		r.say("The rule of this policy chose the site; costs were not compared.")
	}
	if more.Value == 0 {
		r.say("%s offered the same cost as %s, %s; between equals a fixed order decides.", called(site), called(m.site), paid)
	} else {
		than, x, y := phrase("more"), won.Terms, p.Terms
		if more.Value < 0 {
			than, x, y = "less", y, x
		}
		term, by := largest(x, y)
		r.say("%s offered %s, which is %s %s than %s at %s; %s is the largest part (%s).",
			called(site), total, withoutSign(more), than, paid, called(m.site), phrase(term), siteValue(m, site, "largest-difference", by))
	}
	forbidden := r.sayRules(l, m, site, p)
	r.sayRules(l, m, m.site, won)
	if more.Value < 0 && !forbidden && !byRule {
		r.say("A round places all of its %s jobs together: by its prices the room at %s was worth %s to others, and that at %s %s.",
			valueOf("decision", "round-jobs", max(m.h.Decision.Proof.Jobs, 1), m.cited()...), called(site), siteValue(m, site, "room-worth", p.Room), called(m.site), siteValue(m, m.site, "room-worth", won.Room))
	}
}

// listOffers lists what every site answered, the cheapest first and those without an
// offer last, and draws it.
func (r *Result) listOffers(m matter) {
	r.Chart = m.bids()
	r.Head = []string{"site", "total $", "more $", "start", "kWh", "kg CO2e", "why"}
	cost := func(site string) protocol.Microdollars {
		if p, ok := m.option(site); ok {
			return p.Terms.Total()
		}
		return math.MaxInt64
	}
	answers := slices.Clone(m.h.Answers)
	slices.SortStableFunc(answers, func(x, y history.Answer) int { return cmp.Compare(cost(x.Site), cost(y.Site)) })
	base, known := m.option(m.site)
	for _, s := range answers {
		p, ok := m.option(s.Site)
		if !ok {
			r.row(called(s.Site), phrase("–"), phrase(""), phrase(""), phrase(""), phrase(""), m.noOffer(s.Site))
			continue
		}
		more, mark := Part(phrase("")), phrase("")
		if s.Site == m.site {
			mark = "awarded"
		} else if known {
			more = siteValue(m, s.Site, "more", p.Terms.Total()-base.Terms.Total())
		}
		r.row(called(s.Site), siteValue(m, s.Site, "total-cost", p.Terms.Total()), more, siteValue(m, s.Site, "start", p.Start),
			siteValue(m, s.Site, "energy", p.Energy), siteValue(m, s.Site, "carbon", p.Carbon), mark)
	}
}

func (l *Log) whyNot(q ask.Query) Result {
	r, m := l.matterOf(q)
	p, ok := m.option(q.Site)
	given := m.site == q.Site || q.Decision == 0 && ran(m.rec) == q.Site
	if given {
		r.say("It was: job %s was given to %s.", m.job(), called(q.Site))
	}
	r.sayDecision(l, m)
	switch {
	case given:
		return r
	case !m.met:
	case !ok:
		r.sayNoOffer(m, q.Site)
	case m.site == "" && m.h.Decision.Kind == "award" && m.h.Decision.Site == q.Site:
		r.say("It was awarded to %s in round %s, before that.", called(q.Site), m.round())
	case m.site == "":
		r.say("%s offered a start at %s for %s; it was not taken in this round.", called(q.Site), siteValue(m, q.Site, "start", p.Start), siteValue(m, q.Site, "total-cost", p.Terms.Total()))
		r.sayRules(l, m, q.Site, p)
	default:
		r.sayComparison(l, m, q.Site, p)
		r.sayForced(l, m, q.Site)
		r.listTerms(m, q.Site, p)
	}
	if s, ok := m.answer(q.Site); ok && !s.Late && len(s.Options) > 1 {
		r.say("It offered %s options; the cheapest is compared.", siteValue(m, q.Site, "options", len(s.Options)))
	}
	return r
}

// listTerms lists the award and another offer term by term, and draws all.
func (r *Result) listTerms(m matter, site string, p history.PricedOption) {
	won := m.h.Decision.Option
	r.listCosts(m, m.site, site, won.Terms, p.Terms)
	listDifference(r, m, m.site, site, "total", "total-cost", "cost-difference", won.Terms.Total(), p.Terms.Total(), p.Terms.Total()-won.Terms.Total())
	listDifference(r, m, m.site, site, "start", "start", "start-difference", won.Start, p.Start, p.Start.Sub(won.Start))
	listDifference(r, m, m.site, site, "finish", "finish", "finish-difference", won.Finish, p.Finish, p.Finish.Sub(won.Finish))
	listDifference(r, m, m.site, site, "CO2e", "carbon", "carbon-difference", won.Carbon, p.Carbon, p.Carbon-won.Carbon)
	listDifference(r, m, m.site, site, "energy used", "energy", "energy-difference", won.Energy, p.Energy, p.Energy-won.Energy)
}

// listCosts lists the terms of one site's offer beside those of another's.
func (r *Result) listCosts(m matter, one, other string, x, y protocol.CostBreakdown) {
	r.Chart, r.Head = m.bids(), []string{"term", name(one), name(other), "difference"}
	for _, c := range narrate.CostCauses() {
		if x, y := c.Of(x), c.Of(y); x != 0 || y != 0 {
			listDifference(r, m, one, other, c.Label, c.Key+"-cost", c.Label+"-difference", x, y, y-x)
		}
	}
}

// listDifference lists a quantity of one site's offer beside that of another's.
func listDifference[Q, D quantity](r *Result, m matter, one, other, label, what, more string, x, y Q, difference D) {
	r.row(phrase(label), siteValue(m, one, what, x), siteValue(m, other, what, y), siteValue(m, other, more, difference))
}

// differ says which term makes the difference between two sites' offers.
func (l *Log) differ(q ask.Query) (r Result) {
	m, ok := l.asked(&r, q)
	if !ok {
		return r
	}
	x, okX := m.option(q.Site)
	y, okY := m.option(q.Other)
	for _, s := range []string{q.Site, q.Other} {
		if _, ok := m.option(s); !ok {
			r.sayNoOffer(m, s)
		}
	}
	if !okX || !okY {
		return r
	}
	cheap, dear := q.Site, q.Other
	if x.Terms.Total() > y.Terms.Total() {
		cheap, dear, x, y = dear, cheap, y, x
	}
	term, by := largest(x.Terms, y.Terms)
	if term == "" {
		r.say("%s and %s offered the same.", called(cheap), called(dear))
		return r
	}
	r.also(siteValue(m, dear, "total-difference", y.Terms.Total()-x.Terms.Total()))
	r.say("The largest difference is %s: %s more at %s than at %s. In all, %s offered %s and %s %s.", phrase(term), siteValue(m, dear, term+"-difference", by), called(dear), called(cheap),
		called(dear), siteValue(m, dear, "total-cost", y.Terms.Total()), called(cheap), siteValue(m, cheap, "total-cost", x.Terms.Total()))
	r.listCosts(m, cheap, dear, x.Terms, y.Terms)
	return r
}

// sayNoOffer says why a site made no offer that counts.
func (r *Result) sayNoOffer(m matter, site string) {
	r.say("%s made no offer that counts: %s.", called(site), m.noOffer(site))
}

func (l *Log) whyNotHome(q ask.Query) Result {
	r, m := l.matterOf(q)
	if q.Site = m.rec.Job.Home; q.Site == "" || l.book.ReportingSite(q.Site) == nil {
		r.Kind = "absent"
		r.say("Job %s names no home site that is in this run.", m.job())
		return r
	}
	r = l.whyNot(q)
	r.assume("its home is %s", called(q.Site))
	return r
}

// whyNotBest asks of the site with the option that has the least of something, not only of
// those that are the cheapest of their sites.
func whyNotBest(what phrase, of func(history.PricedOption) int64) evaluator {
	return func(l *Log, q ask.Query) Result {
		r, m := l.matterOf(q)
		least, ok := int64(0), false
		for _, s := range m.h.Answers {
			for _, p := range s.Options {
				if v := of(p); !s.Late && (!ok || v < least) {
					q.Site, least, ok = s.Site, v, true
				}
			}
		}
		switch {
		case !ok:
			r.say("No site made an offer for job %s that counts.", m.job())
			return r
		case q.Site != m.site:
			r = l.whyNot(q)
		default:
			r.say("The offer of %s was that of %s, and it was awarded.", what, called(q.Site))
			r.sayDecision(l, m)
		}
		r.assume("the offer of %s was that of %s", what, called(q.Site))
		return r
	}
}
