package auction

import (
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// An ejectionSearch improves an assignment by twos: a lot takes an option that is better
// for it, and one other lot that is in its way there moves elsewhere, if that
// costs both together less. It is what lots that move one by one cannot do once
// the cheap hours are full (an ejection chain of two; METHOD, section 4).
type ejectionSearch struct {
	p       *problem
	choice  []int
	left    *remainingCapacity
	holders [][]int // lots, by pool
	tries   int     // that are left
}

// maxEjectionTries bounds how often an exchange asks a lot to move.
const maxEjectionTries = 10_000

// improveByEjection returns a better assignment than choice, or the same. Lots look in an
// order for what is better; the prices of room tell what is worth a try.
func (p *problem) improveByEjection(order, choice []int) []int {
	x := &ejectionSearch{p: p, choice: slices.Clone(choice), left: p.newRemainingCapacity(), holders: make([][]int, len(p.pools)), tries: maxEjectionTries}
	for i, c := range choice {
		x.assignLot(i, c)
	}
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

// assignLot gives lot i option c.
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

// unassignLot takes from lot i what it has, and returns that.
func (x *ejectionSearch) unassignLot(i int) (c int) {
	if c = x.choice[i]; c < 0 {
		return c
	}
	r := x.p.lots[i]
	x.left.takeOption(r, c, -1)
	if pool := r.scored[c].pool; pool >= 0 {
		h := x.holders[pool]
		j := slices.Index(h, i)
		x.holders[pool] = slices.Delete(h, j, j+1)
	}
	x.choice[i] = -1
	return c
}

// improveLot gives lot i a better option if there is one, with or without another
// lot that moves out of its way.
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

// fitsLot reports whether there is room for option c of lot i, as [problem.chooseOption]
// sees it for jobs that are in time.
func (x *ejectionSearch) fitsLot(i, c int) bool {
	r := x.p.lots[i]
	if x.p.jobs[i].Deferrable {
		return x.p.fitsCapacity(r, &r.scored[c], x.left.planned, x.left.open)
	}
	return x.p.fitsCapacity(r, &r.scored[c], x.left.bare, x.left.free)
}

// ejectOneLot moves one lot so that option c of lot i fits, if that costs less than a
// gain.
func (x *ejectionSearch) ejectOneLot(i, c int, gain protocol.Microdollars) bool {
	p, k := x.p, &x.p.lots[i].scored[c]
	if k.pool < 0 {
		return false
	}
	for _, o := range slices.Clone(x.holders[k.pool]) {
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
