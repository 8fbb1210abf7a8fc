package auction

import (
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// solve makes a problem of a round and chooses, as Clear does.
func solve(r Round, steps int) (*problem, []int) {
	p := newProblem(r, nil, &priceMemory{})
	p.searchPrices(steps)
	return p, p.assignOptions()
}

// fit counts by the slot, from the offers alone, whether options of a round's
// lots fit together: in GPU-hours of each quarter, and in GPUs free now.
func fit(r Round, p *problem, choice []int) bool {
	from := r.Now.Floor(usual.slot)
	for _, s := range r.Sites {
		for _, room := range s.Capacity {
			now, used := 0.0, slotSeries{}
			for i, c := range choice {
				if c < 0 || r.Lots[i].Job.GPUs == 0 || p.lots[i].candidateAt(c).site != s.Name || p.lots[i].candidateAt(c).Model != room.Model {
					continue
				}
				k, gpus := p.lots[i].candidateAt(c), float64(r.Lots[i].Job.TotalGPUMilli())/1000
				if k.Start <= r.Now {
					now += gpus
				}
				for h := range used {
					start := from.Add(time.Duration(h) * usual.slot)
					used[h] += gpus * max(0, hoursBetween(min(k.Finish, start.Add(usual.slot)), max(k.Start, start, r.Now)))
				}
			}
			if now > float64(room.Free[0])/1000+1e-6 {
				return false
			}
			for h := range used {
				start := from.Add(time.Duration(h) * usual.slot)
				free := float64(room.Free[min(int(max(start, noon).Sub(noon)/time.Hour), len(room.Free)-1)]) / 1000
				if used[h] > free*hoursBetween(start.Add(usual.slot), max(start, r.Now))+1e-6 {
					return false
				}
			}
		}
	}
	return true
}

func TestAssignmentFitsTheProfiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRound(t, 12)
		p, choice := solve(r, 20)
		if !fit(r, p, choice) {
			t.Fatalf("choices %v do not fit", choice)
		}
	})
}

// cheapest tries every choice for the lots that were given an option.
func cheapest(r Round, p *problem, given []int) protocol.Microdollars {
	best, try := protocol.Microdollars(math.MaxInt64), make([]int, len(given))
	var next func(i int, cost protocol.Microdollars)
	next = func(i int, cost protocol.Microdollars) {
		if i == len(given) {
			if cost < best && fit(r, p, try) {
				best = cost
			}
			return
		}
		if try[i] = -1; given[i] < 0 {
			next(i+1, cost)
			return
		}
		for c := range p.lots[i].candidateCount() {
			try[i] = c
			next(i+1, cost+p.lots[i].candidateAt(c).cost)
		}
	}
	next(0, 0)
	return best
}

// The certificate against the truth, which small rounds can be searched for: no
// assignment is cheaper than the bound, and none is dearer than the primal
// without need.
func TestTheBoundIsBelowTheBestAndTheBestBelowThePrimal(t *testing.T) {
	tight := 0
	rapid.Check(t, func(t *rapid.T) {
		r := drawRound(t, 4)
		p, choice := solve(r, 60)
		proof, best := p.certifyBound(choice), cheapest(r, p, choice)
		if proof.Bound > best || best > proof.Primal {
			t.Fatalf("bound %d, best %d, primal %d", proof.Bound, best, proof.Primal)
		}
		// The bound does not lean on the choice it came with: beside the worst one
		// it is below the best too.
		worst := make([]int, len(choice))
		for i, c := range choice {
			if worst[i] = -1; c >= 0 {
				worst[i] = p.lots[i].candidateCount() - 1
			}
		}
		if bound := p.certifyBound(worst).Bound; bound > best {
			t.Fatalf("beside the worst choice the bound is %d, and the best %d", bound, best)
		}
		jobs, cost := 0, protocol.Microdollars(0)
		for i, c := range choice {
			if c >= 0 {
				jobs++
				cost += p.lots[i].candidateAt(c).cost
			}
		}
		if proof.Jobs != jobs || proof.Primal != cost {
			t.Errorf("the proof is of %d jobs at %d; %d were given options at %d", proof.Jobs, proof.Primal, jobs, cost)
		}
		if jobs > 1 && proof.Bound == best {
			tight++
		}
	})
	if tight == 0 {
		t.Error("the bound never met the best: such a bound proves little")
	}
}

func TestPricesAreNeverNegativeNorBeyondReason(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRound(t, 12)
		a := New(Config{Steps: 40})
		a.Clear(r)
		for _, p := range a.ShadowPrices() {
			for i, v := range p.Values {
				if v < 0 || v > maxPrice {
					t.Errorf("%s %s: slot %d is worth %d", p.Site, p.Model, i, v)
				}
			}
		}
	})
}

// The same round in another order of sites' menus and of options is the same
// round, and so is the same again.
func TestARoundIsDecidedTheSameInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRound(t, 8)
		other := r
		other.Sites = rapid.Permutation(r.Sites).Draw(t, "sites")
		other.Lots = append([]Lot(nil), r.Lots...)
		for i, l := range r.Lots {
			menus := rapid.Permutation(l.Bids).Draw(t, "menus")
			for j, m := range menus {
				menus[j].Options = rapid.Permutation(m.Options).Draw(t, "options")
			}
			other.Lots[i].Bids = menus
		}
		one, two := New(Config{Steps: 30}), New(Config{Steps: 30})
		if x, y := one.Clear(r), two.Clear(other); !reflect.DeepEqual(x, y) {
			t.Fatalf("decided\n%+v, and in another order\n%+v", x, y)
		}
		if x, y := one.ShadowPrices(), two.ShadowPrices(); !reflect.DeepEqual(x, y) {
			t.Fatalf("room is worth\n%v, and in another order\n%v", x, y)
		}
	})
}

// A counterfactual clears the rounds of a ledger at whatever instants it names.
func TestARoundBeforeAndAfterAllTimeIsCleared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRound(t, 4)
		r.Now = rapid.SampledFrom([]protocol.Time{math.MinInt64, math.MinInt64 + 1, -1 << 62, -1, 0, 1 << 53, 1 << 62, math.MaxInt64}).Draw(t, "now")
		for _, s := range r.Sites {
			for i := range s.Capacity {
				s.Capacity[i].Slot = rapid.SampledFrom([]time.Duration{time.Millisecond, time.Hour}).Draw(t, "slot")
			}
		}
		if out := New(Config{}).Clear(r); len(out.Decisions) != len(r.Lots) {
			t.Fatalf("%d decisions on %d lots", len(out.Decisions), len(r.Lots))
		}
	})
}
