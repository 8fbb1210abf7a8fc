package query

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/counterfactual"
	"github.com/gridbid/gridbid/protocol"
)

// aboutRounds are the questions that take another clearing of a round.
var aboutRounds = map[string]evaluator{
	"reprice": (*Log).reprice, "breakeven": (*Log).breakeven, "without": (*Log).without, "slack": (*Log).slack,
}

// mostDollars is the highest price of a tonne of carbon that is tried.
const mostDollars = 100_000

// tooDear refuses a price of carbon that is not tried.
func (r *Result) tooDear(q ask.Query) bool {
	if q.Number > mostDollars {
		r.refuse("A price of carbon goes up to %s dollars per tonne here.", highestTried)
	}
	return q.Number > mostDollars
}

// highestTried is the highest price that is tried, as a figure.
var highestTried = Figure{"search", "most", mostDollars, "dollars-per-tonne", nil}

// priceAsked is the price of carbon that a question names.
func priceAsked(q ask.Query) Figure {
	return Figure{"question", "carbon-price", q.Number, "dollars-per-tonne", nil}
}

// perKg returns a price in dollars per tonne as weights have it.
func perKg(usd int64) *protocol.Microdollars {
	v := protocol.Microdollars(usd * 1000)
	return &v
}

// outcome says what a decision became; prefix begins the name of its start.
func (m matter) outcome(prefix string, d auction.Decision) Part {
	start := siteValue(m, d.Site, prefix+"start", d.Option.Start)
	switch {
	case d.Verdict == auction.Award:
		return sentence("an award to %s, to start %s", called(d.Site), start)
	case d.Verdict == auction.Reject:
		return phrase("a refusal")
	case d.Site != "":
		return sentence("a hold, planned at %s from %s", called(d.Site), start)
	}
	return phrase("a hold without a plan")
}

// sayMove says what a change made of a decision, after the decision was made
// again as recorded. It says no yes or no: "would it stay" and "would it change"
// are one query.
func (r *Result) sayMove(l *Log, m matter, c counterfactual.RoundChange, what Part) bool {
	out, x, err := l.clear(m, c)
	if err != nil {
		r.cannot(m, err)
		return false
	}
	r.say("Made again as recorded, round %s gives what the ledger says for %s: %s.", m.round(), citation(m.id), m.outcome("recorded-", x.Was))
	if m.h.Decision.Why.Code == protocol.ChosenByJudge {
		r.say("A judge then chose %s among near equals; what follows is by the rule alone.", called(m.site))
	}
	others := out.CountMoves()
	if counterfactual.SameDecision(x.Was, x.Now) {
		r.say("Nothing changes: %s it is the same.", what)
	} else {
		others--
		r.say("It changes: %s it is %s.", what, m.outcome("", x.Now))
		r.sayDifference(m, x, c)
	}
	all, moved := jobValue(m, "other-jobs", len(out.Jobs)-1), jobValue(m, "other-jobs-moved", others)
	if len(out.Jobs) > 1 {
		r.say("Of the round's %s other jobs, %s would be decided otherwise.", all, moved)
	}
	r.also(all, moved)
	r.Chart = m.bids()
	return true
}

// sayDifference tells the difference between what was chosen and what would be, both as
// offered and at the weights of the round.
func (r *Result) sayDifference(m matter, x counterfactual.ChangedJob, c counterfactual.RoundChange) {
	if x.Was.Site == "" || x.Now.Site == "" {
		return
	}
	was, now := m.priced(x.Was), m.priced(x.Now)
	if c.Slack != 0 {
		j := x.Job
		j.Deadline, j.Deferrable = j.Deadline.Add(c.Slack), true
		now.Terms.Delay, now.Terms.Late = m.h.Weights.DelayAndLateCost(j, now.Start, now.Finish)
	}
	late := sentence("keeps its deadline")
	if by := now.Finish.Sub(x.Job.Deadline.Add(c.Slack)); by > 0 {
		late = sentence("misses its deadline by %s", jobValue(m, "late-by", by))
	}
	r.say("As offered, %s from %s costs %s against %s at %s, by the weights of the round, and takes %s of carbon against %s; the job %s.",
		called(x.Now.Site), siteValue(m, x.Now.Site, "start", now.Start), siteValue(m, x.Now.Site, "total-cost", now.Terms.Total()), siteValue(m, x.Was.Site, "total-cost", was.Terms.Total()),
		called(x.Was.Site), siteValue(m, x.Now.Site, "carbon", now.Carbon), siteValue(m, x.Was.Site, "carbon", was.Carbon), late)
	r.also(siteValue(m, x.Now.Site, "cost-difference", now.Terms.Total()-was.Terms.Total()), siteValue(m, x.Now.Site, "carbon-difference", now.Carbon-was.Carbon),
		siteValue(m, x.Now.Site, "start-difference", now.Start.Sub(was.Start)))
}

// priceOfRound returns the round's price of carbon as it was, and in whole dollars.
func (m matter) priceOfRound() (exact, dollars Figure) {
	return Figure{"decision", "carbon-price-per-kg", int64(m.h.Weights.Carbon), "microdollars-per-kg", m.cited()},
		Figure{"decision", "carbon-price", int64(m.h.Weights.Carbon) / 1000, "dollars-per-tonne", m.cited()}
}

// reprice clears the round again at another price of carbon.
func (l *Log) reprice(q ask.Query) (r Result) {
	m := l.matter(q)
	r.cite(m.id)
	r.assume("%s dollars per tonne; the whole round, by its recorded offers", priceAsked(q))
	if r.tooDear(q) {
		return r
	}
	was, dollars := m.priceOfRound()
	r.also(dollars)
	if r.sayMove(l, m, counterfactual.RoundChange{Carbon: perKg(q.Number)}, sentence("at $%s per tonne, in place of %s,", priceAsked(q), was)) {
		r.say("Sites offered at %s per tonne; at another price they might have offered other hours.", was)
		r.Chart = m.sweep(max(2*dollars.Value, q.Number))
	}
	return r
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
func (l *Log) breakeven(q ask.Query) (r Result) {
	m := l.matter(q)
	r.cite(m.id)
	least, most := Figure{"search", "least", 0, "dollars-per-tonne", nil}, highestTried
	r.assume("the whole round, by its recorded offers; whole dollars per tonne up to %s", most)
	exact, was := m.priceOfRound()
	r.also(was, least)
	var failed error
	wins := func(usd int64) bool {
		if failed != nil {
			return false
		}
		_, x, err := l.clear(m, counterfactual.RoundChange{Carbon: perKg(usd)})
		failed = err
		return err == nil && x.Now.Verdict == auction.Award && x.Now.Site == q.Site
	}
	won := wins(was.Value)
	found, ok := int64(0), false
	if !won {
		found, ok = nearestPrice(was.Value, wins)
	}
	switch {
	case failed != nil:
		r.cannot(m, failed)
		return r
	case won:
		r.say("%s won at the price of the day, %s per tonne.", called(q.Site), exact)
		return r
	}
	r.say("Made again as recorded, round %s gives what the ledger says for %s.", m.round(), citation(m.id))
	r.Chart = m.sweep(2 * max(found, was.Value))
	if !ok {
		r.say("%s would win at no price of carbon that was tried, from $%s to $%s per tonne.", called(q.Site), least, most)
		return r
	}
	r.say("%s would win at $%s per tonne; the price of the day was %s.", called(q.Site), Figure{"site/" + q.Site, "break-even", found, "dollars-per-tonne", m.cited()}, exact)
	return r
}

// nearestPrice finds the price nearest to one that does not win at which wins holds: by
// steps that grow, and then by halving the last.
func nearestPrice(was int64, wins func(usd int64) bool) (found int64, ok bool) {
	for step, last := int64(1), int64(0); step <= mostDollars; last, step = step, step+max(1, step/2) {
		for _, way := range []int64{1, -1} {
			usd := was + way*step
			if usd < 0 || usd > mostDollars || !wins(usd) {
				continue
			}
			lose, win := was+way*last, usd
			for win-lose > 1 || lose-win > 1 {
				if mid := (win + lose) / 2; wins(mid) {
					win = mid
				} else {
					lose = mid
				}
			}
			return win, true
		}
	}
	return 0, false
}

// without clears the round again as if a site had said nothing.
func (l *Log) without(q ask.Query) (r Result) {
	m := l.matter(q)
	r.cite(m.id)
	r.assume("the round alone, by the other sites' recorded offers")
	r.sayMove(l, m, counterfactual.RoundChange{Without: q.Site}, sentence("without %s", called(q.Site)))
	return r
}

// slack clears the round again with a later deadline.
func (l *Log) slack(q ask.Query) (r Result) {
	m := l.matter(q)
	r.cite(m.id)
	r.assume("a deadline later by %s, and it may be deferred; by the offers that were made", lasting("long", q.Long))
	if r.sayMove(l, m, counterfactual.RoundChange{Job: m.rec.Job.ID, Slack: q.Long}, sentence("with %s more", lasting("long", q.Long))) {
		r.say("Sites offered for the deadline that there was; asked for a later one they might have offered later hours too.")
		r.Chart = l.outlooks("", false, m.h.Called.At, m.h.Called.At.Add(24*time.Hour))
	}
	return r
}

// sayForced says what giving the job to a site would have cost the round.
func (r *Result) sayForced(l *Log, m matter, site string) {
	out, x, err := l.clear(m, counterfactual.RoundChange{Job: m.rec.Job.ID, Only: site})
	if err != nil || x.Was.Site == "" || x.Was.Site == site {
		return
	}
	does := sentence("Made again as recorded, round %s gives %s; with job %s kept to %s it gives %s", m.round(), m.outcome("", x.Was), called(m.rec.Job.ID), called(site), m.outcome("forced-", x.Now))
	if out.Was.Jobs != out.Now.Jobs { // what waits is in no sum
		r.say("%s. The round then finds a place for %s of its jobs, and not for %s, so what it costs is not compared.", does,
			siteValue(m, site, "forced-round-places", out.Now.Jobs), valueOf("decision", "round-places", out.Was.Jobs, m.cited()...))
		return
	}
	more := siteValue(m, site, "round-cost-difference", out.Now.Primal-out.Was.Primal)
	than := phrase("more")
	if more.Value < 0 {
		than = "less"
	}
	r.say("%s, and the round as a whole costs %s %s, by its prices of room.", does, withoutSign(more), than)
}
