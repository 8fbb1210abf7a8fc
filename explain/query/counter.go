package query

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/counterfactual"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/protocol"
)

// mostDollars is the highest price of a tonne of carbon that is tried.
const mostDollars = 100_000

// perKg returns a price in dollars per tonne as weights have it.
func perKg(usd int64) *protocol.Microdollars {
	v := protocol.Microdollars(usd * 1000)
	return &v
}

// became says what a decision was.
func became(d auction.Decision) string {
	switch {
	case d.Verdict == auction.Award:
		return fmt.Sprintf("an award to %s, to start %s", name(d.Site), format.FormatInstant(d.Option.Start))
	case d.Verdict == auction.Reject:
		return "a refusal"
	case d.Site != "":
		return fmt.Sprintf("a hold, planned at %s from %s", name(d.Site), format.FormatInstant(d.Option.Start))
	}
	return "a hold without a plan"
}

// moved tells what a change made of a decision, after the decision was made
// again as recorded. It says no yes or no: "would it stay" and "would it change"
// are one query.
func (l *Log) moved(m matter, c counterfactual.RoundChange, what string, a *Answer) (counterfactual.ChangedJob, bool) {
	out, x, ok := l.clear(m, c, a)
	if !ok {
		return x, false
	}
	a.say("Made again as recorded, round %d gives what the ledger says for %s: %s.", m.h.Round, cite(m.id), became(x.Was))
	if m.h.Decision.Why.Code == protocol.ChosenByJudge {
		a.say("A judge then chose %s among near equals; what follows is by the rule alone.", name(m.site))
	}
	others := out.CountMoves()
	if counterfactual.SameDecision(x.Was, x.Now) {
		a.say("Nothing changes: %s it is the same.", what)
	} else {
		others--
		a.say("It changes: %s it is %s.", what, became(x.Now))
		l.delta(m, x, c, a)
	}
	if len(out.Jobs) > 1 {
		a.say("Of the round's %d other jobs, %d would be decided otherwise.", len(out.Jobs)-1, others)
	}
	a.figure(ofJob(m.rec.Job.ID), "other-jobs", int64(len(out.Jobs)-1), "count", m.cited()...)
	a.figure(ofJob(m.rec.Job.ID), "other-jobs-moved", int64(others), "count", m.cited()...)
	a.Chart = m.bids()
	return x, true
}

// delta tells the difference between what was chosen and what would be, both as
// offered and at the weights of the round.
func (l *Log) delta(m matter, x counterfactual.ChangedJob, c counterfactual.RoundChange, a *Answer) {
	if x.Was.Site == "" || x.Now.Site == "" {
		return
	}
	was, now := m.priced(x.Was), m.priced(x.Now)
	if c.Slack != 0 {
		j := x.Job
		j.Deadline, j.Deferrable = j.Deadline.Add(c.Slack), true
		now.Terms.Delay, now.Terms.Late = m.h.Weights.DelayAndLateCost(j, now.Start, now.Finish)
	}
	cost, carbon := now.Terms.Total()-was.Terms.Total(), now.Carbon-was.Carbon
	late := "keeps its deadline"
	if by := now.Finish.Sub(x.Job.Deadline.Add(c.Slack)); by > 0 {
		late = "misses its deadline by " + format.FormatDuration(by)
	}
	a.say("As offered, %s from %s costs %s against %s at %s, by the weights of the round, and takes %s of carbon against %s; the job %s.",
		name(x.Now.Site), format.FormatInstant(now.Start), format.FormatDollars(now.Terms.Total()), format.FormatDollars(was.Terms.Total()), name(x.Was.Site), kg(now.Carbon), kg(was.Carbon), late)
	a.figure("site/"+x.Now.Site, "total-cost", int64(now.Terms.Total()), "microdollars", m.cited()...)
	a.figure("site/"+x.Now.Site, "carbon", int64(now.Carbon), "milligrams", m.cited()...)
	a.figure("site/"+x.Now.Site, "start", int64(now.Start), "instant", m.cited()...)
	a.figure("site/"+x.Was.Site, "total-cost", int64(was.Terms.Total()), "microdollars", m.cited()...)
	a.figure("site/"+x.Was.Site, "carbon", int64(was.Carbon), "milligrams", m.cited()...)
	if by := now.Finish.Sub(x.Job.Deadline.Add(c.Slack)); by > 0 {
		a.figure(ofJob(x.Job.ID), "late-by", by.Milliseconds(), "ms", m.cited()...)
	}
	a.figure("site/"+x.Now.Site, "cost-difference", int64(cost), "microdollars", m.cited()...)
	a.figure("site/"+x.Now.Site, "carbon-difference", int64(carbon), "milligrams", m.cited()...)
	a.figure("site/"+x.Now.Site, "start-difference", now.Start.Sub(was.Start).Milliseconds(), "ms", m.cited()...)
}

// reprice clears the round again at another price of carbon.
func (l *Log) reprice(q ask.Query, a *Answer) {
	m := l.matter(q)
	a.cite(m.id)
	a.assume(fmt.Sprintf("%d dollars per tonne; the whole round, by its recorded offers", q.Number))
	if q.Number > mostDollars {
		a.Kind = "refused"
		a.say("A price of carbon goes up to %d dollars per tonne here.", mostDollars)
		return
	}
	was := int64(m.h.Weights.Carbon) / 1000
	a.figure("decision", "carbon-price", was, "dollars-per-tonne", m.cited()...)
	a.figure("question", "carbon-price", q.Number, "dollars-per-tonne")
	if _, ok := l.moved(m, counterfactual.RoundChange{Carbon: perKg(q.Number)}, fmt.Sprintf("at $%d per tonne, in place of %s,", q.Number, perTonne(m.h.Weights.Carbon)), a); ok {
		a.say("Sites offered at %s per tonne; at another price they might have offered other hours.", perTonne(m.h.Weights.Carbon))
		a.Chart = m.sweep(max(2*was, q.Number))
	}
}

// sweep draws what each site's cheapest offer costs by the price of carbon.
func (m matter) sweep(most int64) *Chart {
	c := &Chart{Kind: "sweep", Title: "cost of each site's best offer, by dollars per tonne of CO2e", Unit: "microdollars"}
	for _, s := range m.h.Answers {
		for i := int64(0); i <= 8 && !s.Late && len(s.Options) > 0; i++ {
			usd, least := most*i/8, protocol.Microdollars(0)
			for n, p := range s.Options {
				t := p.Terms
				t.Carbon = protocol.Weights{Carbon: *perKg(usd)}.CarbonCost(p.Carbon)
				if v := t.Total(); n == 0 || v < least {
					least = v
				}
			}
			c.add(s.Site, Point{Label: fmt.Sprint(usd), Value: int64(least)})
		}
	}
	return c.drawn()
}

// breakeven finds the price of carbon nearest to the round's at which a site
// would win: by steps that grow, and then by halving the last.
func (l *Log) breakeven(q ask.Query, a *Answer) {
	m := l.matter(q)
	a.cite(m.id)
	a.assume(fmt.Sprintf("the whole round, by its recorded offers; whole dollars per tonne up to %d", mostDollars))
	was := int64(m.h.Weights.Carbon) / 1000
	a.figure("decision", "carbon-price", was, "dollars-per-tonne", m.cited()...)
	a.figure("search", "least", 0, "dollars-per-tonne")
	a.figure("search", "most", mostDollars, "dollars-per-tonne")
	failed := false
	wins := func(usd int64) bool {
		if failed {
			return false
		}
		_, x, ok := l.clear(m, counterfactual.RoundChange{Carbon: perKg(usd)}, a)
		failed = !ok
		return ok && x.Now.Verdict == auction.Award && x.Now.Site == q.Site
	}
	won := wins(was)
	switch {
	case failed:
		return
	case won:
		a.say("%s won at the price of the day, %s per tonne.", name(q.Site), perTonne(m.h.Weights.Carbon))
		return
	}
	found, ok := int64(0), false
	for step, last := int64(1), int64(0); step <= mostDollars && !ok; last, step = step, step+max(1, step/2) {
		for _, way := range []int64{1, -1} {
			if usd := was + way*step; usd >= 0 && usd <= mostDollars && wins(usd) {
				lose, win := was+way*last, usd
				for win-lose > 1 || lose-win > 1 {
					if mid := (win + lose) / 2; wins(mid) {
						win = mid
					} else {
						lose = mid
					}
				}
				found, ok = win, true
				break
			}
		}
	}
	if failed {
		return
	}
	a.say("Made again as recorded, round %d gives what the ledger says for %s.", m.h.Round, cite(m.id))
	a.Chart = m.sweep(2 * max(found, was))
	if !ok {
		a.say("%s would win at no price of carbon that was tried, from $0 to $%d per tonne.", name(q.Site), mostDollars)
		return
	}
	a.say("%s would win at $%d per tonne; the price of the day was %s.", name(q.Site), found, perTonne(m.h.Weights.Carbon))
	a.figure("site/"+q.Site, "break-even", found, "dollars-per-tonne", m.cited()...)
}

// without clears the round again as if a site had said nothing.
func (l *Log) without(q ask.Query, a *Answer) {
	m := l.matter(q)
	a.cite(m.id)
	a.assume("the round alone, by the other sites' recorded offers")
	l.moved(m, counterfactual.RoundChange{Without: q.Site}, "without "+name(q.Site), a)
}

// slack clears the round again with a later deadline.
func (l *Log) slack(q ask.Query, a *Answer) {
	m := l.matter(q)
	a.cite(m.id)
	a.assume("a deadline later by " + format.FormatDuration(q.Long) + ", and it may be deferred; by the offers that were made")
	if _, ok := l.moved(m, counterfactual.RoundChange{Job: m.rec.Job.ID, Slack: q.Long}, "with "+format.FormatDuration(q.Long)+" more", a); ok {
		a.say("Sites offered for the deadline that there was; asked for a later one they might have offered later hours too.")
		a.Chart = l.outlooks("", false, m.h.Called.At, m.h.Called.At.Add(24*time.Hour))
	}
}

// forced says what giving the job to a site would have cost the round.
func (l *Log) forced(m matter, site string, a *Answer) {
	probe := &Answer{}
	out, x, ok := l.clear(m, counterfactual.RoundChange{Job: m.rec.Job.ID, Only: site}, probe)
	if !ok || x.Was.Site == "" || x.Was.Site == site {
		return
	}
	does := fmt.Sprintf("Made again as recorded, round %d gives %s; with job %s kept to %s it gives %s", m.h.Round, became(x.Was), name(m.rec.Job.ID), name(site), became(x.Now))
	if out.Was.Jobs != out.Now.Jobs { // what waits is in no sum
		a.say("%s. The round then finds a place for %d of its jobs, and not for %d, so what it costs is not compared.", does, out.Now.Jobs, out.Was.Jobs)
		return
	}
	more := out.Now.Primal - out.Was.Primal
	cost := format.FormatDollars(more) + " more"
	if more < 0 {
		cost = format.FormatDollars(-more) + " less"
	}
	a.say("%s, and the round as a whole costs %s, by its prices of room.", does, cost)
	a.figure("site/"+site, "round-cost-difference", int64(more), "microdollars", m.cited()...)
}
