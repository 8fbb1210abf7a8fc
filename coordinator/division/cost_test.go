package division

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// The sites of the serving figures: a replica draws 0.80 kW before the PUE, a tonne of carbon
// counts 190 $. Costs are in µ$ per replica-hour.
const costSE, costFR, costDE = 40_216, 76_320, 168_688

// priced returns a site whose replicas cost as in steps.
func priced(name string, held, free int, steps ...Step) Site {
	return Site{Name: name, Held: held, Free: free, Steps: steps}
}

// flat is a step of many replicas that cost the same.
func flat(n int, cost protocol.Microdollars) Step { return Step{Replicas: n, Cost: cost} }

func TestReplicasGoWhereTheyCostLeast(t *testing.T) {
	d := divide(t, Request{Wanted: 12, Sites: []Site{
		priced("SE", 0, 4, flat(4, costSE)), priced("FR", 0, 6, flat(6, costFR)), priced("DE", 0, 20, flat(20, costDE))}})
	want := []Share{{"DE", 2, 0}, {"FR", 6, costDE - costFR}, {"SE", 4, costDE - costSE}}
	if !slices.Equal(d.Shares, want) || d.Cost != 956_160 || d.LowerBound != d.Cost || d.Relaxed != nil {
		t.Errorf("S-D1: Divide = %+v; want %v at $0.956, bound the same, room at SE worth $0.1285, at FR $0.0924", d, want)
	}
	even := divide(t, Request{Kind: ByWeight, Wanted: 12, Sites: []Site{
		priced("SE", 0, 4, flat(4, costSE)), priced("FR", 0, 6, flat(6, costFR)), priced("DE", 0, 20, flat(20, costDE))}})
	if says(even) != "DE4 FR4 SE4" || even.Cost != 1_140_896 {
		t.Errorf("S-D1: the even split = %s at %d; want 4 each at $1.141", says(even), even.Cost)
	}
	dynamic := divide(t, Request{Kind: ByFreeReplicas, Wanted: 12, Sites: []Site{
		priced("SE", 0, 4, flat(4, costSE)), priced("FR", 0, 6, flat(6, costFR)), priced("DE", 0, 20, flat(20, costDE))}})
	if says(dynamic) != "DE8 FR2 SE2" || dynamic.Cost != 1_582_576 {
		t.Errorf("S-D1: by free replicas = %s at %d; want DE8 FR2 SE2 at $1.583", says(dynamic), dynamic.Cost)
	}
}

func TestANodeIsWokenForAllThatItHoldsOrNotAtAll(t *testing.T) {
	for _, tc := range []struct {
		wanted int
		want   string
		cost   protocol.Microdollars
		least  protocol.Microdollars // the bound by the envelope over all of A's room
	}{
		{3, "A3", 220_000, 153_333}, // A1 B2 costs as much
		{4, "A4", 260_000, 204_444},
		{8, "A8", 420_000, 408_888},
	} {
		d := divide(t, Request{Wanted: tc.wanted, Sites: []Site{
			priced("A", 0, 9, flat(1, 60_000), flat(1, 120_000), flat(7, 40_000)), priced("B", 0, 20, flat(20, 80_000))}})
		if says(d) != tc.want || d.Cost != tc.cost || d.LowerBound < tc.least || d.LowerBound > d.Cost {
			t.Errorf("S-D2: Divide(%d) = %s at %d, bound %d; want %s at %d, bound %d or more", tc.wanted, says(d), d.Cost, d.LowerBound, tc.want, tc.cost, tc.least)
		}
		if d.LowerBound != d.Cost {
			t.Errorf("S-D2: Divide(%d): bound %d; want that of the search, which is the cost %d", tc.wanted, d.LowerBound, d.Cost)
		}
	}
	a := priced("A", 0, 9, flat(1, 60_000), flat(1, 120_000), flat(7, 40_000))
	c := newCurve(&place{Site: &a, most: 9}, 0, 9, 0)
	whole := c.envelope(nil, 0, 0, 9)
	if len(whole) != 1 || whole[0].partly(4) != 204_445 || whole[0].partly(8) != 408_889 {
		t.Errorf("S-D2: the envelope of all of A = %+v; want one piece at $0.204 for 4 and $0.409 for 8", whole)
	}
}

func TestARunningReplicaMovesWhenThatPaysWithinTheHorizon(t *testing.T) {
	for _, tc := range []struct {
		what       string
		start      protocol.Microdollars
		saving     protocol.Microdollars
		hysteresis protocol.Milli
		stays      time.Duration
		want       string
	}{
		{"warm: a double run of a minute pays in 0.3 minutes", 700, 128_472, 0, 20 * time.Second, "SE1"},
		{"warm: not in 0.3 minutes", 700, 128_472, 0, 19 * time.Second, "DE1"},
		{"cold: 16 GB at $0.02 pay in 2.5 hours", 322_000, 128_472, 0, 151 * time.Minute, "SE1"},
		{"cold: not in 2.5 hours", 322_000, 128_472, 0, 150 * time.Minute, "DE1"},
		{"cold: with hysteresis in 3.0 hours", 322_000, 128_472, 200, 181 * time.Minute, "SE1"},
		{"cold: with hysteresis not in 3.0 hours", 322_000, 128_472, 200, 180 * time.Minute, "DE1"},
		{"an equal saving is not enough", 100, 100, 0, time.Hour, "DE1"},
		{"a greater one is", 100, 101, 0, time.Hour, "SE1"},
	} {
		r := Request{Wanted: 1, Rebalance: true, Move: Move{Horizon: tc.stays, Hysteresis: tc.hysteresis}, Sites: []Site{
			priced("DE", 1, 0, flat(1, costSE+tc.saving)), priced("SE", 0, 2, flat(2, costSE))}}
		r.Sites[1].Start = tc.start
		if d := divide(t, r); says(d) != tc.want {
			t.Errorf("S-D5, %s: Divide = %s; want %s", tc.what, says(d), tc.want)
		}
		r.Rebalance = false
		if d := divide(t, r); says(d) != "DE1" || d.Moves != 0 {
			t.Errorf("S-D5, %s: without a rebalance Divide = %s; want DE1", tc.what, says(d))
		}
	}
}

// Ten replicas run at A, and hour by hour A or B is cheaper.
func TestMovesFollowCostsOnlyWhereTheyPay(t *testing.T) {
	hours := []protocol.Microdollars{50_000, 120_000, 50_000, 120_000, 50_000, 50_000}
	for _, tc := range []struct {
		what      string
		start     protocol.Microdollars
		rebalance bool
		weigh     bool // moves against their cost
		cost      protocol.Microdollars
		moves     int
	}{
		{"steady", 50_000, false, true, 4_400_000, 0},
		{"fresh, moves not weighed", 50_000, true, false, 5_600_000, 40},
		{"fresh, weighed: no move pays", 50_000, true, true, 4_400_000, 0},
		{"fresh at $0.02 a move", 20_000, true, true, 4_400_000, 40},
		{"fresh at $0.01 a move", 10_000, true, true, 4_000_000, 40},
	} {
		held, cost, moves := 10, protocol.Microdollars(0), 0
		for _, a := range hours {
			r := Request{Wanted: 10, Rebalance: tc.rebalance, Sites: []Site{
				priced("A", held, 10-held, flat(10, a)), priced("B", 10-held, held, flat(10, 80_000))}}
			if tc.weigh {
				r.Move = Move{Horizon: time.Hour, Hysteresis: 200}
			}
			for i := range r.Sites {
				r.Sites[i].Start = tc.start
			}
			d := divide(t, r)
			held, cost, moves = d.Shares[0].Replicas, cost+d.Cost+d.StartCost, moves+d.Moves
		}
		if cost != tc.cost || moves != tc.moves {
			t.Errorf("S-D6, %s: six hours cost %d with %d moves; want %d with %d", tc.what, cost, moves, tc.cost, tc.moves)
		}
	}
	// What ten replicas would cost that knew the hours ahead: steady is as good at $0.05 a move and
	// fresh at $0.01; at $0.02 both are 2 % above.
	for start, want := range map[protocol.Microdollars]protocol.Microdollars{50_000: 4_400_000, 20_000: 4_300_000, 10_000: 4_000_000} {
		atA, atB := protocol.Microdollars(0), start
		for _, a := range hours {
			atA, atB = min(atA, atB+start)+a, min(atB, atA+start)+80_000
		}
		if best := 10 * min(atA, atB); best != want {
			t.Errorf("S-D6: at %d a move the best costs %d; want %d", start, best, want)
		}
	}
}

func TestTheCertificateNamesWhatTiersCost(t *testing.T) {
	r := Request{Wanted: 8, Sites: []Site{
		priced("DE", 0, 6, flat(6, costDE)), priced("SE", 0, 4, flat(4, costSE)), priced("FR", 0, 6, flat(6, costFR))}}
	r.Sites[1].Tier, r.Sites[2].Tier = 1, 1
	d := divide(t, r)
	if says(d) != "DE6 SE2" || d.Cost != 1_092_560 || d.LowerBound != d.Cost || d.Unrestricted != 466_144 {
		t.Errorf("S-D8: Divide = %s at %d, bound %d, without tiers %d; want DE6 SE2 at $1.093, without tiers $0.466", says(d), d.Cost, d.LowerBound, d.Unrestricted)
	}
}

func TestADearerTonneOfTheSameOrderMovesNothing(t *testing.T) {
	d := divide(t, Request{Wanted: 12, Rebalance: true, Move: Move{Horizon: 6 * time.Hour, Hysteresis: 200}, Sites: []Site{
		priced("SE", 4, 0, flat(4, 45_000)), priced("FR", 6, 0, flat(6, 85_000)), priced("DE", 2, 18, flat(20, 244_000))}})
	if says(d) != "DE2 FR6 SE4" || d.Moves != 0 {
		t.Errorf("S-D10: Divide = %s with %d moves; want no move", says(d), d.Moves)
	}
}

func TestNoMoreReplicasMoveThanAllowed(t *testing.T) {
	r := Request{Wanted: 10, Rebalance: true, Move: Move{Most: 3}, Sites: []Site{
		priced("A", 6, 0, flat(6, 90_000)), priced("B", 4, 0, flat(2, 50_000), flat(2, 200_000)), priced("C", 0, 8, flat(1, 10_000), flat(7, 20_000))}}
	if d := divide(t, r); says(d) != "A5 B2 C3" || d.Moves != 3 {
		t.Errorf("Divide = %s with %d moves; want the three dearest to move: A5 B2 C3", says(d), d.Moves)
	}
	r.Move.Most = 0
	if d := divide(t, r); says(d) != "B2 C8" || d.Moves != 8 {
		t.Errorf("Divide = %s with %d moves; want B2 C8", says(d), d.Moves)
	}
}

func TestEqualCostsLeaveReplicasWhereTheyRun(t *testing.T) {
	for _, tc := range []struct {
		what   string
		wanted int
		sites  []Site
		want   string
	}{
		{"those that run first, then the emptier site", 4, []Site{priced("A", 2, 4, flat(6, 1)), priced("B", 0, 6, flat(6, 1)), priced("C", 2, 0, flat(2, 9))}, "A2 B2"},
		{"a block elsewhere that costs the same", 3, []Site{priced("B", 1, 3, flat(2, 10), flat(1, -20), flat(1, 0)), priced("C", 3, 0, flat(3, 0))}, "C3"},
		{"a cheaper block", 3, []Site{priced("B", 1, 3, flat(2, 10), flat(1, -21), flat(1, 0)), priced("C", 3, 0, flat(3, 0))}, "B3"},
	} {
		if got := says(divide(t, Request{Wanted: tc.wanted, Rebalance: true, Sites: tc.sites})); got != tc.want {
			t.Errorf("%s: Divide(%d) = %s; want %s", tc.what, tc.wanted, got, tc.want)
		}
	}
}
