package auction

import (
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// An ejectionSearch improves an assignment by ejection chains of length two: a lot takes a better
// option, and one lot that is in its way moves elsewhere, if both together then cost less. Once
// the cheap hours are full, moves of single lots cannot find these (docs/method.md, section 4).
type ejectionSearch struct {
	p       *problem
	choice  []int
	left    *remainingCapacity
	holders [][]int // the lots with an option in each pool
	others  []int   // scratch: the holders of one pool
	tries   int     // moves of other lots that are left
}

// maxEjectionTries bounds the moves that a search tries, and so its time.
const maxEjectionTries = 10_000

// newEjectionSearch returns a search that begins with choice.
func (p *problem) newEjectionSearch(choice []int) *ejectionSearch {
	x := &ejectionSearch{p: p, choice: slices.Clone(choice), left: p.newRemainingCapacity(), holders: make([][]int, len(p.pools)), tries: maxEjectionTries}
	for i, c := range choice {
		x.assignLot(i, c)
	}
	return x
}

// improveByEjection returns an assignment that costs no more than choice. Lots look for a better
// option in the given order; an option is worth a try if it is cheaper with capacity included.
func (p *problem) improveByEjection(order, choice []int) []int {
	x := p.newEjectionSearch(choice)
	defer p.releaseCapacity(x.left)
	for range maxLocalPasses {
		moved := false
		for _, i := range order {
			moved = x.improveLot(i) || moved
		}
		if !moved || x.tries <= 0 {
			break
		}
	}
	return x.choice
}

// assignLot gives lot i option c, and takes its capacity.
func (x *ejectionSearch) assignLot(i, c int) {
	x.choice[i] = c
	if c < 0 {
		return
	}
	r := x.p.lots[i]
	x.left.takeOption(r, c, 1)
	if pool := r.scored[c].pool; pool >= 0 {
		x.holders[pool] = append(x.holders[pool], i)
	}
}

// unassignLot takes the option of lot i from it, returns its capacity, and returns the option.
func (x *ejectionSearch) unassignLot(i int) (c int) {
	if c = x.choice[i]; c < 0 {
		return c
	}
	r := x.p.lots[i]
	x.left.takeOption(r, c, -1)
	if pool := r.scored[c].pool; pool >= 0 {
		h := x.holders[pool]
		j := len(h) - 1
		if h[j] != i { // a step that is undone takes back what it gave last
			j = slices.Index(h, i)
		}
		x.holders[pool] = slices.Delete(h, j, j+1)
	}
	x.choice[i] = -1
	return c
}

// improveLot moves lot i to a better option if one fits, or fits once another lot moved.
func (x *ejectionSearch) improveLot(i int) bool {
	p, r, was := x.p, x.p.lots[i], x.unassignLot(i)
	paid, cost := math.Inf(1), p.optionOrWaitCost(i, was)
	if was >= 0 {
		paid = p.costWithCapacity(i, was)
	}
	for c := 0; c != was && r.ensureSorted(c); c++ {
		if p.costWithCapacity(i, c) >= paid {
			continue
		}
		if gain := cost - p.optionOrWaitCost(i, c); gain >= 0 && (x.fitsLot(i, c) || x.ejectOneLot(i, c, gain)) {
			x.assignLot(i, c)
			return true
		}
	}
	x.assignLot(i, was)
	return false
}

// capacityFor returns the capacity that lot i sees if it can finish in time, by slot and at this
// instant, as [problem.chooseOption] has it.
func (x *ejectionSearch) capacityFor(i int) (left []slotSeries, free []float64) {
	if x.p.jobs[i].MayWait() {
		return x.left.planned, x.left.open
	}
	return x.left.bare, x.left.free
}

// fitsLot reports whether option c of lot i fits.
func (x *ejectionSearch) fitsLot(i, c int) bool {
	left, free := x.capacityFor(i)
	return x.p.fitsCapacity(x.p.lots[i], &x.p.lots[i].scored[c], left, free)
}

// ejectOneLot moves one other lot so that option c of lot i fits, if that costs less than gain. It
// never moves a lot of higher priority.
func (x *ejectionSearch) ejectOneLot(i, c int, gain protocol.Microdollars) bool {
	p, k := x.p, &x.p.lots[i].scored[c]
	if k.pool < 0 {
		return false
	}
	x.others = append(x.others[:0], x.holders[k.pool]...) // holders change while others move
	for _, o := range x.others {
		was, r := x.choice[o], p.lots[o]
		if r.scored[was].b <= k.a || r.scored[was].a >= k.b || p.jobs[o].Priority > p.jobs[i].Priority {
			continue
		}
		if x.tries--; x.tries < 0 {
			return false
		}
		x.unassignLot(o)
		to := -1
		if x.fitsLot(i, c) {
			x.left.takeOption(p.lots[i], c, 1)
			to = p.chooseOption(o, x.left, priceOfFreeCapacity)
			x.left.takeOption(p.lots[i], c, -1)
		}
		if to >= 0 && p.optionOrWaitCost(o, to)-p.optionOrWaitCost(o, was) < gain {
			x.assignLot(o, to)
			return true
		}
		x.assignLot(o, was)
	}
	return false
}
