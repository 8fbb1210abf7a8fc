package query

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/counterfactual"
	"github.com/gridbid/gridbid/protocol"
)

// maxCarbonPrice is the highest price of a tonne of carbon that is tried.
const maxCarbonPrice = 100_000

// refuseHighPrice refuses a price of carbon that is not tried.
func (r *Result) refuseHighPrice(q ask.Query) bool {
	if q.Number > maxCarbonPrice {
		r.refuseBecause("A price of carbon goes up to %s dollars per tonne here.", highestTried)
	}
	return q.Number > maxCarbonPrice
}

// highestTried is the highest price that is tried, as a figure.
var highestTried = valueOf("search", "most", dollarsPerTonne(maxCarbonPrice))

// priceAsked is the price of carbon that a question names.
func priceAsked(q ask.Query) Figure {
	return valueOf("question", "carbon-price", dollarsPerTonne(q.Number))
}

// pricePerKg returns a price in dollars per tonne as weights have it.
func pricePerKg(usd int64) *protocol.Microdollars {
	v := protocol.Microdollars(usd * 1000)
	return &v
}

// outcomePart says what a decision became; prefix begins the name of its start.
func (m jobCase) outcomePart(prefix string, d auction.Decision) Part {
	start := siteValue(m, d.Site, prefix+"start", d.Option.Start)
	switch {
	case d.Verdict == auction.Award:
		return newSentence("an award to %s, to start %s", namePart(d.Site), start)
	case d.Verdict == auction.Reject:
		return plainText("a refusal")
	case d.Site != "":
		return newSentence("a hold, planned at %s from %s", namePart(d.Site), start)
	}
	return plainText("a hold without a plan")
}

// describeChange says how a change alters a decision, after the round was cleared without the
// change and gave the recorded decision. It says neither yes nor no, because "would it stay"
// and "would it change" are the same query.
func (r *Result) describeChange(l *Dataset, m jobCase, c counterfactual.RoundChange, what Part) bool {
	out, x, err := l.clearRound(m, c)
	if err != nil {
		r.refuseReclear(m, err)
		return false
	}
	r.addSentence("Made again as recorded, round %s gives what the ledger says for %s: %s.", m.roundFigure(), decisionCitation(m.decision), m.outcomePart("recorded-", x.Was))
	if m.round.Decision.Why.Code == protocol.ChosenByJudge {
		r.addSentence("A judge then chose %s among near equals; what follows is by the rule alone.", namePart(m.site))
	}
	others := out.CountMoves()
	if counterfactual.SameDecision(x.Was, x.Now) {
		r.addSentence("Nothing changes: %s it is the same.", what)
	} else {
		others--
		r.addSentence("It changes: %s it is %s.", what, m.outcomePart("", x.Now))
		r.describeDifference(m, x, c)
	}
	all, moved := jobValue(m, "other-jobs", len(out.Jobs)-1), jobValue(m, "other-jobs-moved", others)
	if len(out.Jobs) > 1 {
		r.addSentence("Of the round's %s other jobs, %s would be decided otherwise.", all, moved)
	}
	r.addFigures(all, moved)
	r.Chart = m.bidsChart()
	return true
}

// describeDifference compares the option that was chosen with the one that would be, both as
// offered and at the weights of the round.
func (r *Result) describeDifference(m jobCase, x counterfactual.ChangedJob, c counterfactual.RoundChange) {
	if x.Was.Site == "" || x.Now.Site == "" {
		return
	}
	was, now := m.pricedOption(x.Was), m.pricedOption(x.Now)
	if c.Slack != 0 {
		j := x.Job
		j.Deadline, j.Urgency = j.Deadline.Add(c.Slack), protocol.UrgencyFlexible
		now.Terms.Delay, now.Terms.Late = m.round.Weights.ForRanking().DelayAndLateCost(j, now.Start.Add(now.Wake), now.Finish)
	}
	late := newSentence("keeps its deadline")
	if by := now.Finish.Sub(x.Job.Deadline.Add(c.Slack)); by > 0 {
		late = newSentence("misses its deadline by %s", jobValue(m, "late-by", by))
	}
	r.addSentence("As offered, %s from %s costs %s against %s at %s, by the weights of the round, and takes %s of carbon against %s; the job %s.",
		namePart(x.Now.Site), siteValue(m, x.Now.Site, "start", now.Start), siteValue(m, x.Now.Site, "total-cost", now.Terms.Total()), siteValue(m, x.Was.Site, "total-cost", was.Terms.Total()),
		namePart(x.Was.Site), siteValue(m, x.Now.Site, "carbon", now.Carbon), siteValue(m, x.Was.Site, "carbon", was.Carbon), late)
	r.addFigures(siteValue(m, x.Now.Site, "cost-difference", now.Terms.Total()-was.Terms.Total()), siteValue(m, x.Now.Site, "carbon-difference", now.Carbon-was.Carbon),
		siteValue(m, x.Now.Site, "start-difference", now.Start.Sub(was.Start)))
}

// priceOfRound returns the round's price of carbon as it was, and in whole dollars.
func (m jobCase) priceOfRound() (exact, dollars Figure) {
	return valueOf("decision", "carbon-price-per-kg", microdollarsPerKg(m.round.Weights.Carbon), m.citedDecisions()...),
		valueOf("decision", "carbon-price", dollarsPerTonne(m.round.Weights.Carbon/1000), m.citedDecisions()...)
}

// answerReprice clears the round at another price of carbon.
func (l *Dataset) answerReprice(q ask.Query) (r Result) {
	r, m := l.resultAndCase(q)
	r.addAssumption("%s dollars per tonne; the whole round, by its recorded offers", priceAsked(q))
	if r.refuseHighPrice(q) {
		return r
	}
	was, dollars := m.priceOfRound()
	r.addFigures(dollars)
	if r.describeChange(l, m, counterfactual.RoundChange{Carbon: pricePerKg(q.Number)}, newSentence("at $%s per tonne, in place of %s,", priceAsked(q), was)) {
		r.addSentence("Sites offered at %s per tonne; at another price they might have offered other hours.", was)
		r.Chart = m.priceSweepChart(max(2*dollars.Value, q.Number))
	}
	return r
}

// answerDoubled answers what twice the price of carbon would change.
func (l *Dataset) answerDoubled(q ask.Query) Result {
	_, dollars := l.caseOf(q).priceOfRound()
	q.Number = 2 * dollars.Value
	return l.answerReprice(q)
}

// priceSweepChart draws what each site's cheapest offer costs by the price of carbon.
func (m jobCase) priceSweepChart(most int64) *Chart {
	c := &Chart{Kind: "sweep", Title: "cost of each site's best offer, by dollars per tonne of CO2e", Unit: "microdollars"}
	for _, s := range m.round.Answers {
		for i := int64(0); i <= 8 && !s.Late && len(s.Options) > 0; i++ {
			usd, least := most*i/8, protocol.Microdollars(0)
			for n, p := range s.Options {
				t := p.Terms
				t.Carbon = protocol.Weights{Carbon: *pricePerKg(usd)}.CarbonCost(p.Carbon)
				if v := t.Total(); n == 0 || v < least {
					least = v
				}
			}
			c.addPoint(s.Site, Point{Label: fmt.Sprint(usd), Value: int64(least)})
		}
	}
	return c.orNil()
}

// answerBreakeven finds the price of carbon nearest to the round's at which a site
// would win: by steps that grow, and then by halving the last.
func (l *Dataset) answerBreakeven(q ask.Query) (r Result) {
	r, m := l.resultAndCase(q)
	least, most := valueOf("search", "least", dollarsPerTonne(0)), highestTried
	r.addAssumption("the whole round, by its recorded offers; whole dollars per tonne up to %s", most)
	exact, was := m.priceOfRound()
	r.addFigures(was, least)
	var failed error
	wins := func(usd int64) bool {
		if failed != nil {
			return false
		}
		_, x, err := l.clearRound(m, counterfactual.RoundChange{Carbon: pricePerKg(usd)})
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
		r.refuseReclear(m, failed)
		return r
	case won:
		r.addSentence("%s won at the price of the day, %s per tonne.", namePart(q.Site), exact)
		return r
	}
	r.addSentence("Made again as recorded, round %s gives what the ledger says for %s.", m.roundFigure(), decisionCitation(m.decision))
	r.Chart = m.priceSweepChart(2 * max(found, was.Value))
	if !ok {
		r.addSentence("%s would win at no price of carbon that was tried, from $%s to $%s per tonne.", namePart(q.Site), least, most)
		return r
	}
	r.addSentence("%s would win at $%s per tonne; the price of the day was %s.", namePart(q.Site), valueOf("site/"+q.Site, "break-even", dollarsPerTonne(found), m.citedDecisions()...), exact)
	return r
}

// nearestPrice finds the price nearest to one that does not win at which wins holds: by
// steps that grow, and then by halving the last.
func nearestPrice(was int64, wins func(usd int64) bool) (found int64, ok bool) {
	for step, last := int64(1), int64(0); step <= maxCarbonPrice; last, step = step, step+max(1, step/2) {
		for _, way := range []int64{1, -1} {
			usd := was + way*step
			if usd < 0 || usd > maxCarbonPrice || !wins(usd) {
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

// answerWithoutSite clears the round as if a site had sent no bids.
func (l *Dataset) answerWithoutSite(q ask.Query) (r Result) {
	r, m := l.resultAndCase(q)
	r.addAssumption("the round alone, by the other sites' recorded offers")
	r.describeChange(l, m, counterfactual.RoundChange{Without: q.Site}, newSentence("without %s", namePart(q.Site)))
	return r
}

// answerSlack clears the round with a later deadline.
func (l *Dataset) answerSlack(q ask.Query) (r Result) {
	r, m := l.resultAndCase(q)
	r.addAssumption("a deadline later by %s, and it is flexible; by the offers that were made", durationFigure("long", q.Long))
	if r.describeChange(l, m, counterfactual.RoundChange{Job: m.job.Job.ID, Slack: q.Long}, newSentence("with %s more", durationFigure("long", q.Long))) {
		r.addSentence("Sites offered for the deadline that there was; asked for a later one they might have offered later hours too.")
		r.Chart = l.forecastChart("", false, false, m.round.Called.At, m.round.Called.At.Add(24*time.Hour))
	}
	return r
}

// describeForced says what kept the job from the cheapest offer of a site, if that cost less than
// the award, and what giving the job to that site would have cost the round.
func (r *Result) describeForced(l *Dataset, m jobCase, site string) {
	out, x, err := l.clearRound(m, counterfactual.RoundChange{Job: m.job.Job.ID, Only: site})
	if err != nil || x.Was.Site == "" || x.Was.Site == site {
		return
	}
	r.describeObstacle(l, m, site)
	does := newSentence("Made again as recorded, round %s gives %s; with job %s kept to %s it gives %s", m.roundFigure(), m.outcomePart("", x.Was), namePart(m.job.Job.ID), namePart(site), m.outcomePart("forced-", x.Now))
	if out.Was.Jobs != out.Now.Jobs { // what waits is in no sum
		r.addSentence("%s. The round then finds a place for %s of its jobs, and not for %s, so what it costs is not compared.", does,
			siteValue(m, site, "forced-round-places", out.Now.Jobs), valueOf("decision", "round-places", out.Was.Jobs, m.citedDecisions()...))
		return
	}
	if !out.PlacesSameJobs() {
		r.addSentence("%s. The round then finds a place for as many jobs, but not for the same, so what it costs is not compared.", does)
		return
	}
	more := siteValue(m, site, "round-cost-difference", out.Now.Primal-out.Was.Primal)
	r.addFigures(more)
	if more.Value >= 0 {
		r.addSentence("%s, and the round as a whole costs %s more, by its prices of room.", does, withoutSign(more))
		return
	}
	why := missedByTheSearch
	switch o, err := l.rounds.ObstacleTo(m.round.Round, m.job.Job.ID, site, x.Now.Option); {
	case out.TakesMoreKept():
		why = withKeptRoom
	case err == nil && o == auction.RoomPrice:
		why = withDearRoom
	}
	r.addSentence("%s, and the round as a whole costs %s less: "+why, does, withoutSign(more))
}

// What is said of an alternative that costs the round less than what it awarded.
const (
	missedByTheSearch = "the search of the round missed that."
	withKeptRoom      = "it takes room that is kept for other jobs, which a job is given only if no other site has a place for it."
	withDearRoom      = "it takes room that is worth more than that to jobs of other rounds, by the prices of the round."
)

// obstacleSentences say what kept a job from a cheaper offer; %s is the site.
var obstacleSentences = map[auction.Obstacle]string{
	auction.NoObstacle:  "Nothing stood in the way of that cheaper offer of %s: " + missedByTheSearch,
	auction.NotAllowed:  "That cheaper offer of %s was not in the round: a rule, a power cap or awards that were not kept took it out.",
	auction.NotCheaper:  "That offer of %s was no cheaper as the round counts, with the trust in its site, the preferences of the policy, and a quarter of an hour by which a later start may slip.",
	auction.RoomPrice:   "That cheaper offer of %s costs more with the room that it takes, by the prices of the round.",
	auction.OtherLots:   "The room of that cheaper offer of %s went to other jobs of the round, and its search found no cheaper way to place them all.",
	auction.HeldPlaces:  "The room of that cheaper offer of %s is kept for jobs that are held.",
	auction.SiteReserve: "The room of that cheaper offer is kept by %s from jobs that may be deferred.",
	auction.NoRoomShown: "For that cheaper offer there is no room in what %s reported as free.",
}

// describeObstacle says what kept the job from the cheapest offer of a site, if that offer cost
// less than the award. A judge's choice and a fixed rule have reasons of their own.
func (r *Result) describeObstacle(l *Dataset, m jobCase, site string) {
	p, ok := m.cheapestOption(site)
	d := m.round.Decision
	if !ok || p.Terms.Total() >= d.Option.Terms.Total() || d.Why.Code == protocol.ByRule || d.Why.Code == protocol.ChosenByJudge {
		return
	}
	if o, err := l.rounds.ObstacleTo(m.round.Round, m.job.Job.ID, site, p.BidOption); err == nil {
		r.addSentence(obstacleSentences[o], namePart(site))
	}
}
