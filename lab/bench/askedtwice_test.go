package bench

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

var mostRegret = flag.Float64("most-regret", 2, "TestEachRoundWithTheBidsOfAllSites fails if the interval of what rounds cost more reaches this many per cent")

// Each round of a day is decided twice from the same state: with the bids of the sites that are asked for each job,
// which the day goes on with, and with those of all. So two days need not be compared, which drift apart as soon as
// one job goes elsewhere.
func TestEachRoundWithTheBidsOfAllSites(t *testing.T) {
	var rounds, acts []float64
	for draw := range *manySitesDays {
		r := replayDecidingTwice(t, scenarioOfSites(t, *manySites, *manySitesJobs, draw))
		t.Logf("draw %d: %s", draw, r.line())
		if r.rounds == 0 || r.unanswered > 0 {
			t.Fatalf("draw %d: %d rounds were decided twice, and in %d not all sites said what they would bid", draw, r.rounds, r.unanswered)
		}
		rounds, acts = append(rounds, r.all.percent()), append(acts, r.acts.percent())
	}
	all, acted := bootstrapInterval(rounds), bootstrapInterval(acts)
	t.Logf("%d sites, %d jobs, %d draws: with the bids of those asked rounds cost %+.3f %% [%+.3f..%+.3f] more than with the bids of all; what is decided for good, each job once, %+.3f %% [%+.3f..%+.3f]",
		*manySites, *manySitesJobs, all.N, all.Mean, all.Low, all.High, acted.Mean, acted.Low, acted.High)
	if max(all.Mean, all.High, acted.Mean, acted.High) > *mostRegret {
		t.Errorf("asking some sites costs more than %g %%", *mostRegret)
	}
}

// A doubleCost is what the same decisions cost with the bids of some sites, and with those of all.
type doubleCost struct{ some, all protocol.Microdollars }

func (c *doubleCost) add(some, all protocol.Microdollars) { c.some, c.all = c.some+some, c.all+all }

// percent returns what the bids of some cost more, in per cent.
func (c doubleCost) percent() float64 { return 100 * (float64(c.some)/float64(c.all) - 1) }

// A roundsRegret sums up the rounds of a day that were decided twice.
type roundsRegret struct {
	rounds, jobs int        // a job counts in each round that calls it
	all          doubleCost // of all jobs of all rounds: that of the option awarded or planned
	acts         doubleCost // of jobs that either decision awards: what is decided for good
	elsewhere    int        // jobs that go to another site or start at another time with the bids of all
	heldBySome   int        // jobs with a place with the bids of all alone
	heldByAll    int        // jobs with a place with the bids of some alone
	withoutBids  int        // jobs for which no site bids; they count in no cost
	unanswered   int        // rounds in which not all sites said what they would bid
}

func (r roundsRegret) line() string {
	return fmt.Sprintf("%d rounds, %d jobs in them: %+.3f %%, for good %+.3f %%; %d decided otherwise, %d held for want of the bids of all, %d placed by them alone, %d without bids",
		r.rounds, r.jobs, r.all.percent(), r.acts.percent(), r.elsewhere, r.heldBySome, r.heldByAll, r.withoutBids)
}

// replayDecidingTwice replays a scenario with some sites asked for each job, and decides its rounds a second time.
func replayDecidingTwice(t *testing.T, s spec.Scenario) roundsRegret {
	t.Helper()
	twice := &decidingTwice{rule: auction.New(auction.Config{}), api: protocol.Sender{Party: protocol.OperatorAPI}, sites: len(s.Sites), trust: make(map[string]protocol.Milli)}
	_, err := scenarios.Replay(t.Context(), s, scenarios.PolicyAuction, new(membus.Bus), scenarios.Options{
		NoBids: true,
		Rule:   func() auction.ClearingRule { return twice },
		Around: func(market bus.Machine) bus.Machine { twice.Machine = market; return twice },
	})
	if err != nil {
		t.Fatal(err)
	}
	return twice.sum
}

// A decidingTwice is a market, and its rule, that asks all sites with each call what they would bid for its jobs
// (protocol.QuoteRequest, which changes nothing at a site). When all have answered, it clears the round once more
// with the bids of those that were not asked beside the bids of those that were.
type decidingTwice struct {
	bus.Machine
	rule  *auction.Auction
	api   protocol.Sender
	sites int
	trust map[string]protocol.Milli // of sites, as of the last round for which they bid

	call   protocol.CallForBids
	quotes map[string]protocol.Bids // by site; nil: no round is open
	before *auction.Auction         // the rule before it cleared the round; nil: it has not
	in     auction.Round
	some   auction.Outcome
	sum    roundsRegret
}

// ShadowPrices implements auction.ClearingRule.
func (x *decidingTwice) ShadowPrices() []protocol.ShadowPrice { return x.rule.ShadowPrices() }

// Clear implements auction.ClearingRule: it decides by the bids of those that were asked.
func (x *decidingTwice) Clear(in auction.Round) auction.Outcome {
	x.before, x.in = x.rule.Clone(), in
	x.some = x.rule.Clear(in)
	for _, s := range in.Sites {
		x.trust[s.Name] = s.Trust
	}
	return x.some
}

// Tick implements bus.Machine.
func (x *decidingTwice) Tick(now protocol.Time) []protocol.Message {
	return x.askAll(now, x.Machine.Tick(now))
}

// Step implements bus.Machine.
func (x *decidingTwice) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	q, ok := m.Body.(protocol.Quote)
	if !ok {
		return x.askAll(now, x.Machine.Step(now, m))
	}
	x.quotes[m.From.SiteName()] = q.Bids
	if len(x.quotes) == x.sites && x.before != nil {
		x.decideAgain()
	}
	return nil
}

// askAll asks all sites what they would bid for the jobs of a call, if there is one that asks some.
func (x *decidingTwice) askAll(now protocol.Time, sent []protocol.Message) []protocol.Message {
	for _, m := range sent {
		c, ok := m.Body.(protocol.CallForBids)
		if !ok || len(c.Sites) == 0 {
			continue
		}
		if x.quotes != nil {
			x.sum.unanswered++
		}
		x.call, x.quotes, x.before = c, make(map[string]protocol.Bids), nil
		ask := protocol.QuoteRequest{Call: protocol.CallForBids{Jobs: c.Jobs, Preemptable: c.Preemptable}}
		return append(sent, x.Machine.Step(now, x.api.NewMessage(now, protocol.Coordinator, ask))...)
	}
	return sent
}

// decideAgain clears the round with the bids of all, and adds up what the two decisions cost.
func (x *decidingTwice) decideAgain() {
	in := x.withBidsOfAll()
	all := x.before.Clear(in)
	x.quotes, x.before = nil, nil
	x.sum.rounds++
	for i := range in.Lots {
		lot, some, all := &in.Lots[i], &x.some.Decisions[i], &all.Decisions[i]
		x.sum.jobs++
		held, ok := x.costOfHolding(lot)
		if !ok {
			x.sum.withoutBids++
			continue
		}
		costOf := func(d *auction.Decision) protocol.Microdollars {
			if d.Site == "" {
				return held
			}
			return x.costOf(lot, d.Site, d.Option)
		}
		paid, best := costOf(some), costOf(all)
		x.sum.all.add(paid, best)
		if some.Verdict == auction.Award || all.Verdict == auction.Award {
			x.sum.acts.add(paid, best)
		}
		switch {
		case some.Site == "" && all.Site != "":
			x.sum.heldBySome++
		case some.Site != "" && all.Site == "":
			x.sum.heldByAll++
		case some.Site != all.Site || some.Option.Start != all.Option.Start:
			x.sum.elsewhere++
		}
	}
}

// withBidsOfAll returns the round with the bids of the sites that were not asked beside those of the others.
func (x *decidingTwice) withBidsOfAll() auction.Round {
	in := x.in
	in.Sites, in.Lots = slices.Clone(in.Sites), slices.Clone(in.Lots)
	index := make(map[protocol.JobID]int, len(in.Lots))
	asked := make([][]string, len(in.Lots))
	for i := range in.Lots {
		l := &in.Lots[i]
		index[l.Job.ID], asked[i], l.Bids = i, x.call.SitesAskedFor(l.Job.ID), slices.Clone(l.Bids)
	}
	answered := len(in.Sites)
	for site, bids := range x.quotes { // sorted below
		if !slices.ContainsFunc(in.Sites[:answered], func(s auction.Site) bool { return s.Name == site }) {
			in.Sites = append(in.Sites, auction.Site{Name: site, Capacity: bids.Capacity, Forecast: bids.Grid, Trust: max(x.trust[site], 1000)})
		}
		for _, b := range bids.Jobs {
			if i, ok := index[b.Job]; ok && len(b.Options) > 0 && !slices.Contains(asked[i], site) {
				in.Lots[i].Bids = append(in.Lots[i].Bids, auction.SiteBids{Site: site, Options: b.Options})
			}
		}
	}
	for i := range in.Lots {
		slices.SortFunc(in.Lots[i].Bids, func(x, y auction.SiteBids) int { return strings.Compare(x.Site, y.Site) })
	}
	slices.SortFunc(in.Sites, func(x, y auction.Site) int { return cmp.Compare(x.Name, y.Name) })
	return in
}

// costOf returns what an option costs a job as the clearing counts it, but for fragmentation, which has no place in
// the objective of a run either: its price differs between the two clearings.
func (x *decidingTwice) costOf(l *auction.Lot, site string, o protocol.BidOption) protocol.Microdollars {
	by := protocol.PricingBasis{Trust: max(x.trust[site], 1000)}
	if o.Start > x.in.Now {
		by.FinishDelay = x.in.Planning.OrDefault().MaxStartDelay
	}
	t := x.in.Weights.PriceOption(&l.Job, &o, by)
	return t.Total() - t.Fragmentation
}

// costOfHolding returns what it costs to hold a job until the next full round: its cheapest option by the bids of
// all, as much later. ok is false if no site bids for it.
func (x *decidingTwice) costOfHolding(l *auction.Lot) (least protocol.Microdollars, ok bool) {
	wait := x.in.Next.Sub(x.in.Now)
	for _, b := range l.Bids {
		for _, o := range b.Options {
			o.Start, o.Finish = o.Start.Add(wait), o.Finish.Add(wait)
			if cost := x.costOf(l, b.Site, o); !ok || cost < least {
				least, ok = cost, true
			}
		}
	}
	return least, ok
}
