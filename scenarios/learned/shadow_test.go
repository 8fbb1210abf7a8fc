package learned

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// What the rule in force planned for a job is what the observation of its next round says, whatever the
// policy in shadow would have chosen.
func TestAShadowSeesThePlanOfTheRuleInForce(t *testing.T) {
	const now = protocol.Time(1_773_187_200_000)
	option := func(start protocol.Time, model string, money protocol.Microdollars) protocol.BidOption {
		return protocol.BidOption{Start: start, Finish: start.Add(time.Hour), Model: model, Energy: 3_600_000, Money: money}
	}
	later := option(now.Add(5*time.Hour), "L4", 900)
	round := func(number uint64, at protocol.Time) auction.Round {
		pool := func(model string) protocol.CapacityProfile {
			return protocol.CapacityProfile{Model: model, From: now, Slot: time.Hour, Total: 4000, Free: []protocol.Milli{4000, 4000, 4000, 4000, 4000, 4000, 4000}}
		}
		return auction.Round{
			Number: number, Now: at, Next: at.Add(10 * time.Minute), Full: true,
			Sites: []auction.Site{{Name: "oslo", Capacity: []protocol.CapacityProfile{pool("H100"), pool("L4")}}},
			Lots: []auction.Lot{{
				Job:  protocol.Job{ID: "a", GPUs: 1, Share: 1000, Arrival: now, Run: time.Hour, Deadline: now.Add(24 * time.Hour), Urgency: protocol.UrgencyFlexible},
				Bids: []auction.SiteBids{{Site: "oslo", Options: []protocol.BidOption{option(at, "H100", 100), later}}},
			}},
		}
	}
	chosen := slices.Index(OptionFeatures, "chosen")
	var seen []float32 // of the options, whether they are the plan
	b := NewRule(func(q *Question) (int, string) {
		seen = []float32{q.optionRow(0)[chosen], q.optionRow(1)[chosen]}
		return 0, "first"
	}, true)
	inForce := []auction.Decision{{Verdict: auction.Defer, Site: "oslo", Option: later, Until: later.Start}}
	for i, want := range [][]float32{{0, 0}, {0, 1}, {0, 1}} {
		if i == 2 {
			inForce[0] = auction.Decision{Until: now} // the plan is given up, which the next round shows
		}
		d := b.DecideInShadow(round(uint64(i+1), now.Add(time.Duration(i)*10*time.Minute)), inForce)
		if d[0].Verdict != auction.Award || !slices.Equal(seen, want) {
			t.Errorf("round %d: %v, options planned %v; want %v", i+1, d[0].Verdict, seen, want)
		}
	}
	if b.DecideInShadow(round(4, now.Add(30*time.Minute)), inForce); !slices.Equal(seen, []float32{0, 0}) {
		t.Errorf("a plan that was given up is seen: %v", seen)
	}
}
