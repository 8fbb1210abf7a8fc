package scenarios

import (
	"reflect"
	"testing"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// soonest is another strategy: it offers the cheapest way of those that start soonest.
type soonest struct{ asked *int }

func (s soonest) ProposeOptions(r *agents.BidRequest) (out []protocol.BidOption, _ error) {
	*s.asked++
	least := protocol.Microdollars(0)
	for _, w := range r.Ways {
		start, ok := r.FindOpening(w, r.Now)
		if !ok {
			continue
		}
		if o, cost := r.PriceOption(w, start); len(out) == 0 || start < out[0].Start || start == out[0].Start && cost < least {
			out, least = []protocol.BidOption{o}, cost
		}
	}
	return out, nil
}

func (soonest) Delivery() agents.Delivery { return agents.Delivery{KeepRoom: true, AsOffered: true} }

// A day is played by another strategy at all sites: every job ends, the record adds up
// (Replay checks it), and since no site bids a later hour jobs wait less.
func TestADayIsPlayedByAnotherStrategy(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 120})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	play := func(strategy func(string) agents.BidStrategy) ReplayResult {
		res, err := Replay(t.Context(), s, PolicyAuction, new(membus.Bus), Options{Strategy: strategy})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	ours, other := play(nil), play(func(string) agents.BidStrategy { return soonest{&asked} })
	if same := play(func(string) agents.BidStrategy { return agents.DefaultStrategy() }); !reflect.DeepEqual(same.Totals, ours.Totals) {
		t.Errorf("the default strategy by name gives %+v; want what the policy has: %+v", same.Totals, ours.Totals)
	}
	if asked == 0 || other.Totals.Placed != ours.Totals.Placed || other.Totals.Placed != len(s.Jobs) {
		t.Fatalf("asked %d times, %d jobs were placed, with ours %d", asked, other.Totals.Placed, ours.Totals.Placed)
	}
	if other.Totals.WaitS.Mean >= ours.Totals.WaitS.Mean {
		t.Errorf("with starts as soon as may be jobs wait %.0f s, with a choice of hours %.0f s", other.Totals.WaitS.Mean, ours.Totals.WaitS.Mean)
	}
}

// impatient clears as the auction does, and holds nothing that could start now.
type impatient struct {
	auction.ClearingRule
	rounds *int
}

func (i impatient) Clear(r auction.Round) auction.Outcome {
	*i.rounds++
	for k := range r.Lots {
		r.Lots[k].Job.Urgency = protocol.UrgencyNow
	}
	return i.ClearingRule.Clear(r)
}

// A day is cleared by another rule, and its record adds up.
func TestADayIsClearedByAnotherRule(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 60})
	if err != nil {
		t.Fatal(err)
	}
	rounds := 0
	res, err := Replay(t.Context(), s, PolicyAuction, new(membus.Bus), Options{Rule: func() auction.ClearingRule { return impatient{auction.New(auction.Config{}), &rounds} }})
	if err != nil || rounds == 0 || res.Totals.Placed != len(s.Jobs) {
		t.Errorf("%d rounds, %d of %d jobs: %v", rounds, res.Totals.Placed, len(s.Jobs), err)
	}
}
