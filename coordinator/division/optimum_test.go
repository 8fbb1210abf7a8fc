package division

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"pgregory.net/rapid"
)

// cheapestOfAll tries every division of a total with at least low and at most high at each site,
// and returns what the cheapest costs: by the steps, and rate for each start.
func cheapestOfAll(all []Site, total int, low, high func(Site) int, rate func(Site) protocol.Microdollars) (cost protocol.Microdollars, ok bool) {
	if len(all) == 0 {
		return 0, total == 0
	}
	s := all[0]
	for n := low(s); n <= min(high(s), total); n++ {
		rest, fits := cheapestOfAll(all[1:], total-n, low, high, rate)
		mine := rest + rate(s)*protocol.Microdollars(max(n-s.Held, 0))
		for k, unit := 0, units(s); k < n; k++ {
			mine += unit[k]
		}
		if fits && (!ok || mine < cost) {
			cost, ok = mine, true
		}
	}
	return cost, ok
}

// units returns the cost of each replica of a site.
func units(s Site) (out []protocol.Microdollars) {
	for _, step := range s.Steps {
		for range step.Replicas {
			out = append(out, step.Cost)
		}
	}
	return out
}

func TestNoDivisionCostsLessThanTheBestOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t, []Kind{ByCost}, 3)
		r.AllOrNothing, r.SpreadConstraints, r.ExclusiveTiers, r.Move, r.Rebalance = false, nil, false, Move{}, true
		floors := 0
		for i := range r.Sites {
			r.Sites[i].Tier, r.Sites[i].Silent = 0, false
			floors += min(r.MinPerSite, r.Sites[i].Held+r.Sites[i].Free)
		}
		if floors > target(r) {
			r.MinPerSite = 0
		}
		d := divide(t, r)
		free := func(Site) protocol.Microdollars { return 0 }
		low := func(s Site) int { return min(r.MinPerSite, s.Held+s.Free) }
		high := func(s Site) int { return s.Held + s.Free }
		best, _ := cheapestOfAll(r.Sites, d.Placed, low, high, free)
		if d.Cost != best || d.LowerBound != best || d.Relaxed != nil {
			t.Errorf("Divide(%+v) = %s at %d, bound %d, without %v; want both %d", r, says(d), d.Cost, d.LowerBound, d.Relaxed, best)
		}
		if all, _ := cheapestOfAll(r.Sites, d.Placed, func(Site) int { return 0 }, high, free); d.Unrestricted != all {
			t.Errorf("Divide(%+v) says that it costs %d without a policy; want %d", r, d.Unrestricted, all)
		}
	})
}

func TestAChangeIsDividedAtTheLeastCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t, []Kind{ByCost}, 3)
		r.AllOrNothing, r.SpreadConstraints, r.ExclusiveTiers, r.Rebalance, r.MinPerSite = false, nil, false, false, 0
		r.Move = Move{Horizon: time.Hour}
		now := 0
		for i := range r.Sites {
			r.Sites[i].Tier, r.Sites[i].Silent = 0, false
			now += r.Sites[i].Held
		}
		d := divide(t, r)
		rate := func(s Site) protocol.Microdollars { return s.Start }
		low, high := func(s Site) int { return s.Held }, func(s Site) int { return s.Held + s.Free }
		if d.Placed < now {
			low, high = func(Site) int { return 0 }, func(s Site) int { return s.Held }
		}
		best, _ := cheapestOfAll(r.Sites, d.Placed, low, high, rate)
		if got := d.Cost + d.StartCost; got != best {
			t.Errorf("Divide(%+v) = %s at %d with its starts; want %d", r, says(d), got, best)
		}
	})
}

func TestARebalanceSavesMoreThanItsMovesCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t, []Kind{ByCost}, 3)
		r.AllOrNothing, r.SpreadConstraints, r.ExclusiveTiers, r.MinPerSite, r.Rebalance = false, nil, false, 0, true
		for i := range r.Sites {
			r.Sites[i].Tier, r.Sites[i].Silent = 0, false
		}
		r.Move.Horizon, r.Move.Hysteresis = time.Hour, 500
		fresh := divide(t, r)
		r.Rebalance = false
		steady := divide(t, r)
		weigh := func(d Division) protocol.Microdollars { return d.Cost + d.StartCost*3/2 }
		if fresh.Moves > 0 && weigh(fresh) >= weigh(steady) || weigh(fresh) > weigh(steady) {
			t.Errorf("Divide(%+v) = %s with %d moves at %d; steady it is %s at %d", r, says(fresh), fresh.Moves, weigh(fresh), says(steady), weigh(steady))
		}
		if r.Move.Most == 0 {
			rate := func(s Site) protocol.Microdollars { return s.Start * 3 / 2 }
			best, _ := cheapestOfAll(r.Sites, fresh.Placed, func(Site) int { return 0 }, func(s Site) int { return s.Held + s.Free }, rate)
			if weigh(fresh) != best {
				t.Errorf("Divide(%+v) = %s at %d with its starts; want %d", r, says(fresh), weigh(fresh), best)
			}
		}
	})
}

func TestNothingIsBelowTheLowerBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := divide(t, drawRequest(t, []Kind{ByCost}, 60))
		if d.LowerBound > d.Cost || d.Unrestricted > d.LowerBound {
			t.Errorf("%s costs %d, bound %d, without a policy %d", says(d), d.Cost, d.LowerBound, d.Unrestricted)
		}
	})
}

func TestNoReplicaMovesForNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t, []Kind{ByCost}, 4)
		r.AllOrNothing, r.SpreadConstraints, r.ExclusiveTiers, r.MinPerSite, r.Rebalance, r.Move.Most = false, nil, false, 0, true, 0
		for i := range r.Sites {
			r.Sites[i].Tier, r.Sites[i].Silent = 0, false
		}
		d := divide(t, r)
		hours := protocol.Microdollars(max(r.Move.Horizon.Hours(), 1))
		all := byName(r)
		worth := func(s Site, n int) protocol.Microdollars { // over the horizon, hysteresis and all
			start := s.Start * protocol.Microdollars(max(n-s.Held, 0)) * (1000 + protocol.Microdollars(r.Move.Hysteresis)) / 1000
			if r.Move.Horizon == 0 {
				start = 0
			}
			return hours*s.costOf(n) + start
		}
		for i, from := range all {
			for k, to := range all {
				n, m := d.Shares[i].Replicas, d.Shares[k].Replicas
				if back := min(n-from.Held, to.Held-m); back > 0 && worth(from, n-back)+worth(to, m+back) <= worth(from, n)+worth(to, m) {
					t.Errorf("Divide(%+v) = %s moves %d from %s to %s for nothing", r, says(d), back, to.Name, from.Name)
				}
			}
		}
	})
}

func TestTheEnvelopeOfPartOfABlockIsRoundedUp(t *testing.T) {
	for _, tc := range []struct {
		p    piece
		k    int
		want int64
	}{
		{piece{count: 3, cost: 9}, 1, 3}, {piece{count: 3, cost: 9}, 3, 9}, {piece{count: 3, cost: 10}, 1, 4},
		{piece{count: 3, cost: 10}, 2, 7}, {piece{count: 3, cost: -10}, 1, -3}, {piece{count: 3, cost: -10}, 3, -10},
	} {
		if got := tc.p.partly(tc.k); got != tc.want {
			t.Errorf("partly(%d) of %+v = %d; want %d", tc.k, tc.p, got, tc.want)
		}
	}
}
