package auction

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// A betterRound is a step that makes a cleared round cheaper: lot i takes option c and, unless o
// is -1, lot o takes option to.
type betterRound struct {
	i, c, o, to int
	saves       protocol.Microdollars
}

// stepsLeft returns every move and exchange that makes a round cheaper than choice does. It tries
// all options of all lots and all pairs of lots, and counts capacity anew for each.
func stepsLeft(p *problem, choice []int) (out []betterRound) {
	fits := func(at []int, lots ...int) bool {
		left := p.newRemainingCapacity()
		for i, c := range at {
			if c >= 0 && !slices.Contains(lots, i) {
				left.takeOption(p.lots[i], c, 1)
			}
		}
		for _, i := range lots {
			room, free := left.bare, left.free
			if p.jobs[i].MayWait() {
				room, free = left.planned, left.open
			}
			if !p.fitsCapacity(p.lots[i], &p.lots[i].scored[at[i]], room, free) {
				return false
			}
			left.takeOption(p.lots[i], at[i], 1)
		}
		return true
	}
	total := p.assignmentCost(choice)
	for i := range choice {
		for c := range p.lots[i].candidateCount() {
			p.lots[i].candidateAt(c)
			if !p.mayChoose(i, c) || p.lots[i].all[c].cost >= p.optionOrWaitCost(i, choice[i]) {
				continue
			}
			at := slices.Clone(choice)
			at[i] = c
			if fits(at, i) {
				out = append(out, betterRound{i, c, -1, -1, total - p.assignmentCost(at)})
				continue
			}
			for o := range choice {
				if o == i || choice[o] < 0 || p.jobs[o].Priority > p.jobs[i].Priority || p.lots[o].scored[choice[o]].pool != p.lots[i].scored[c].pool {
					continue
				}
				for to := range p.lots[o].candidateCount() {
					if at[o] = to; to != choice[o] && p.mayChoose(o, to) && p.assignmentCost(at) < total && fits(at, i, o) {
						out = append(out, betterRound{i, c, o, to, total - p.assignmentCost(at)})
					}
				}
				if at[o] = -1; p.deferrable[o] && p.assignmentCost(at) < total && fits(at, i) {
					out = append(out, betterRound{i, c, o, -1, total - p.assignmentCost(at)})
				}
				at[o] = choice[o]
			}
		}
	}
	return out
}

// drawTightRound draws a round that is full or not, with a plan of other jobs, and its problem at
// searched prices.
func drawTightRound(t *rapid.T) *problem {
	r := drawRound(t, 8)
	if rapid.Bool().Draw(t, "crowd") {
		r = crowd(rapid.IntRange(5, 20).Draw(t, "jobs"), rapid.IntRange(1, 3).Draw(t, "sites"), 3, 1)
	}
	plan := map[protocol.JobID]plannedPlace{}
	for _, s := range r.Sites {
		if rapid.Bool().Draw(t, "planned") {
			start := r.Now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "from")) * time.Hour)
			plan[protocol.JobID("held at "+s.Name)] = plannedPlace{poolKey{s.Name, s.Capacity[0].Model}, start, start.Add(time.Hour), 1000}
		}
	}
	p := newProblem(r, plan, &priceMemory{})
	p.searchPrices(rapid.SampledFrom([]int{0, 20}).Draw(t, "steps"))
	if p.full = rapid.Bool().Draw(t, "full"); !p.full && len(p.pools) > 0 {
		p.bestResponses(make([]slotSeries, len(p.pools)))
	}
	return p
}

// What is awarded because the round costs least with it stands beside nothing cheaper: no other
// option of a job that fits, and none that fits when one other job moves.
func TestNoMoveOrExchangeMakesARoundCheaper(t *testing.T) {
	decisions := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawTightRound(t)
		choice := p.assignOptions()
		decisions += len(choice)
		for _, s := range stepsLeft(p, choice) {
			t.Fatalf("full %v, choices %v: option %d for lot %d, and option %d for lot %d, save %d", p.full, choice, s.c, s.i, s.to, s.o, s.saves)
		}
	})
	t.Logf("%d decisions", decisions)
}

// A local search only ever makes a round cheaper, by steps that fit, and finds some that the
// searches before it do not.
func TestALocalSearchFitsAndIsNeverDearer(t *testing.T) {
	better := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawTightRound(t)
		left := p.newRemainingCapacity()
		order := p.orderByRegret()
		one := p.chooseInOrder(order, left, p.capacityCost)
		two := p.improveLocally(order, one)
		if again := p.improveLocally(order, one); !slices.Equal(two, again) {
			t.Fatalf("the same search gave %v and %v", two, again)
		}
		was, is := p.assignmentCost(one), p.assignmentCost(two)
		if was < is {
			t.Fatalf("%d became %d", was, is)
		}
		if is < was {
			better++
		}
		after := p.newRemainingCapacity()
		for i, c := range two {
			if c >= 0 {
				after.takeOption(p.lots[i], c, 1)
			}
		}
		for k := range p.pools {
			for s := range p.slots {
				if after.bare[k][s] < min(0, left.bare[k][s])-1e-6 {
					t.Fatalf("pool %d has %g GPU-hours left in slot %d", k, after.bare[k][s], s)
				}
			}
		}
	})
	if better == 0 {
		t.Error("no local search ever made a round cheaper")
	}
}
