package auction

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// assignOptions gives every lot an option that fits, dearest mistakes first: a lot
// whose second choice costs much more than its first chooses early. They choose
// with room paid for, so that a lot which can turn elsewhere leaves scarce room
// to those that cannot. A lot for which nothing fits gets -1.
//
// In a full round that is done again, those first who fared worst the last time
// (Joslin and Clements' squeaky wheel); and once one after the other as they came,
// each to its cheapest. The best assignment of all counts, and is improved by twos; so
// a round is never worse than if its lots had been sold one by one.
func (p *problem) assignOptions() []int {
	order := p.orderByRegret()
	best, top := p.chooseAndImprove(order, p.capacityCost)
	if !p.full {
		return best
	}
	for {
		order = p.orderByLoss(order, best)
		choice, v := p.chooseAndImprove(order, p.capacityCost)
		if v >= top {
			break
		}
		best, top = choice, v
	}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(p.jobs[y].Priority, p.jobs[x].Priority) })
	if choice, v := p.chooseAndImprove(order, priceOfFreeCapacity); v < top {
		best, top = choice, v
	}
	if choice := p.improveByEjection(p.orderByLoss(order, best), best); p.assignmentCost(choice) < top {
		best = choice
	}
	return best
}

// chooseAndImprove lets the lots choose in an order, at prices of room. Then each moves to
// where it costs less, as long as there is room, and room that turned out not to
// be scarce is used; not always for the better, if sites keep room from some. It
// returns the best of these, and what that is worth.
func (p *problem) chooseAndImprove(order []int, price capacityPricing) (best []int, top protocol.Microdollars) {
	left := p.newRemainingCapacity()
	choice := p.chooseInOrder(order, left, price)
	best, top = slices.Clone(choice), p.assignmentCost(choice)
	for range maxLocalPasses {
		if !p.improveEachLot(choice, left) {
			break
		}
		if v := p.assignmentCost(choice); v < top {
			best, top = slices.Clone(choice), v
		}
	}
	return best, top
}

// assignmentCost returns what an assignment counts for, the less the better.
func (p *problem) assignmentCost(choice []int) (v protocol.Microdollars) {
	for i, c := range choice {
		v += p.optionOrWaitCost(i, c)
	}
	return v
}

// optionOrWaitCost returns what option c of a lot costs; or, if the lot had better wait for
// another round, what waiting may cost it.
func (p *problem) optionOrWaitCost(lot, c int) protocol.Microdollars {
	switch {
	case p.lots[lot].candidateCount() == 0:
		return 0
	case c < 0 || p.shouldWait(lot, c):
		return p.waitingCost(lot)
	}
	return p.lots[lot].all[c].cost
}

// waitingCost returns what it may cost that a lot waits: a little more than its best option
// now, room paid for, if it can be left to the next full round, since it takes nothing
// dearer; else a little more than its dearest.
func (p *problem) waitingCost(lot int) protocol.Microdollars {
	v := float64(p.lots[lot].most)
	if p.deferrable[lot] {
		_, v = p.bestAtPrices(lot)
	}
	return protocol.Microdollars(maxPayable(v))
}

// orderByLoss returns the lots by priority, then by what they lost by a choice against
// their best options, room paid for; of equals, as they were in an order.
func (p *problem) orderByLoss(order, choice []int) []int {
	loss := make([]float64, len(p.lots))
	for i, c := range choice {
		best, v := p.bestAtPrices(i)
		switch {
		case best < 0:
		case c < 0:
			loss[i] = float64(p.lots[i].most) - v
		default:
			loss[i] = p.costWithCapacity(i, c) - v
		}
	}
	order = slices.Clone(order)
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(p.jobs[y].Priority, p.jobs[x].Priority), cmp.Compare(loss[y], loss[x]))
	})
	return order
}

// chooseInOrder lets the lots choose, one after the other, at prices of room.
func (p *problem) chooseInOrder(order []int, left *remainingCapacity, price capacityPricing) []int {
	choice := make([]int, len(p.lots))
	for _, i := range order {
		choice[i] = p.chooseOption(i, left, price)
		if choice[i] >= 0 {
			left.takeOption(p.lots[i], choice[i], 1)
		}
	}
	return choice
}

// A capacityPricing says what the room of a candidate costs.
type capacityPricing func(*ranking, *scoredOption) float64

// priceOfFreeCapacity prices room at nothing.
func priceOfFreeCapacity(*ranking, *scoredOption) float64 { return 0 }

// orderByRegret returns the lots in the order in which they choose: priority, then
// regret at the prices of p, then job id. Regret is what the best option on other
// GPUs costs more than the best of all, since another hour of the same may be
// gone as well; of equals, what the second best costs more.
func (p *problem) orderByRegret() []int {
	other, second := make([]float64, len(p.lots)), make([]float64, len(p.lots))
	order := make([]int, len(p.lots))
	for i := range p.lots {
		order[i] = i
		other[i], second[i] = p.regretOf(i)
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(p.jobs[y].Priority, p.jobs[x].Priority), cmp.Compare(other[y], other[x]),
			cmp.Compare(second[y], second[x]), cmp.Compare(p.jobs[x].ID, p.jobs[y].ID))
	})
	return order
}

// regretOf returns what the best option of a lot on other GPUs, and the second best
// of all, cost more than the best.
func (p *problem) regretOf(lot int) (other, second float64) {
	best, value := p.bestAtPrices(lot)
	if best < 0 {
		return 0, 0
	}
	r := p.lots[lot]
	pool := r.scored[best].pool
	other, second = math.Inf(1), math.Inf(1)
	for j := 0; ; j++ {
		if !r.ensureSorted(j) || r.scored[j].cost-value >= other {
			return other, second // the rest cost more before their room is paid
		}
		k := &r.scored[j]
		more := k.cost + p.capacityCost(r, k) - value
		if j != best {
			second = min(second, more)
		}
		if k.pool != pool {
			other = min(other, more)
		}
	}
}

// chooseOption returns the option of a lot that is cheapest at a pricing of room, among
// those that fit; or -1. A job that cannot be deferred looks at the room that
// sites have and not at the plan for held jobs, which can still move. So does a
// job for which the plan has nothing left in time. Between full rounds a lot that has time
// takes nothing but what is best for it now: the plan, in which it has no place
// yet, would look like room that is gone.
func (p *problem) chooseOption(lot int, left *remainingCapacity, price capacityPricing) int {
	if p.deferrable[lot] && !p.full {
		best, _ := p.bestAtPrices(lot)
		if r := p.lots[lot]; r.scored[best].now && p.fitsCapacity(r, &r.scored[best], left.planned, left.open) {
			return best
		}
		return -1
	}
	if p.jobs[lot].Deferrable {
		if k := p.cheapestFitting(lot, left.planned, left.open, price); k >= 0 && p.lots[lot].candidateAt(k).Finish <= p.jobs[lot].Deadline {
			return k
		}
	}
	return p.cheapestFitting(lot, left.bare, left.free, price)
}

// canWaitForFullRound reports whether a lot can be left to the next full round: some option of
// it begins after that, and ends with time to spare; with ample time, if it takes
// several GPUs or may run at one site alone. What the plan has for it is not kept
// anywhere: a node that is broken up meanwhile comes free when the longest job on it
// has ended, and a site that is full by then is all that it has.
func canWaitForFullRound(l Lot, next protocol.Time, firmLead time.Duration) bool {
	need := firmLead
	if l.Job.GPUs > 1 || l.Job.IsTiedToOneSite() {
		need = max(ampleSlack, firmLead)
	}
	return l.Job.Deferrable && slices.ContainsFunc(l.Bids, func(m SiteBids) bool {
		return slices.ContainsFunc(m.Options, func(o protocol.BidOption) bool {
			return o.Start >= next && l.Job.Deadline.Sub(o.Finish) >= need
		})
	})
}

// shouldWait reports whether a lot had better wait than have option c.
func (p *problem) shouldWait(lot, c int) bool { return p.deferrable[lot] && p.tooExpensive(lot, c) }

// tooExpensive reports whether option c of a lot costs so much more than its best that it
// had better wait.
func (p *problem) tooExpensive(lot, c int) bool {
	_, v := p.bestAtPrices(lot)
	return farAbove(p.costWithCapacity(lot, c), v)
}

// farAbove reports whether a cost is so far above another that a lot does not pay it.
func farAbove(cost, other float64) bool { return cost > maxPayable(other) }

// maxPayable returns the most that a lot pays which would pay so much for its best option.
func maxPayable(best float64) float64 {
	return best + float64(math.Abs(best)*maxPremiumThousandths/1000) + minSaving
}

// cheapestFrom returns the option of a lot that is cheapest with room paid for, of those
// that begin at a time or after it; or nil.
func (p *problem) cheapestFrom(lot int, from protocol.Time) (best *candidate) {
	r, value := p.lots[lot], math.Inf(1)
	for j := 0; r.ensureSorted(j) && r.scored[j].cost < value; j++ { // the rest cost more before their room is paid
		v := r.scored[j].cost + p.capacityCost(r, &r.scored[j])
		if v >= value {
			continue
		}
		if k := r.candidateAt(j); k.Start >= from {
			best, value = k, v
		}
	}
	return best
}

func (p *problem) cheapestFitting(lot int, left []slotSeries, free []float64, price capacityPricing) int {
	r, best, value := p.lots[lot], -1, math.Inf(1)
	for j := 0; r.ensureSorted(j) && r.scored[j].cost < value; j++ { // the rest cost more before their room is paid
		v := r.scored[j].cost + price(r, &r.scored[j])
		if v < value && p.fitsCapacity(r, &r.scored[j], left, free) {
			best, value = j, v
		}
	}
	return best
}

// capacityTolerance is the room, in GPU-hours of a slot, below which it counts as none.
const capacityTolerance = 1e-9

// fitsCapacity reports whether the room of a candidate of r is left in every slot of its
// run, and at this instant if it starts now.
func (p *problem) fitsCapacity(r *ranking, k *scoredOption, left []slotSeries, free []float64) bool {
	if k.pool < 0 {
		return true
	}
	if k.now && free[k.pool] < r.gpus-capacityTolerance {
		return false
	}
	l := &left[k.pool]
	for i := int(k.a); i < p.slots && float64(i) < k.b; i++ {
		part := min(k.b, float64(i+1)) - max(k.a, float64(i))
		if l[i] < float64(r.gpus*part*p.slotHours)-capacityTolerance {
			return false
		}
	}
	return true
}

// remainingCapacity is what is left while lots choose, by pool.
type remainingCapacity struct {
	grid
	bare    []slotSeries // GPU-hours by slot, held jobs not counted
	planned []slotSeries // open to jobs that can wait, held jobs counted
	free    []float64    // GPUs at this instant
	open    []float64    // of them, to jobs that can wait
}

func (p *problem) newRemainingCapacity() *remainingCapacity {
	n := len(p.pools)
	r := &remainingCapacity{p.grid, make([]slotSeries, n), make([]slotSeries, n), make([]float64, n), make([]float64, n)}
	for i, q := range p.pools {
		r.bare[i], r.planned[i], r.free[i], r.open[i] = q.bare, q.room, q.free, q.open
	}
	return r
}

// takeOption takes the room of option c of a lot, or with sign -1 gives it back.
func (r *remainingCapacity) takeOption(lot *ranking, c int, sign float64) {
	k := &lot.scored[c]
	if k.pool < 0 {
		return
	}
	gpus := sign * lot.gpus
	r.addGPUHours(&r.bare[k.pool], k.a, k.b, -gpus)
	r.addGPUHours(&r.planned[k.pool], k.a, k.b, -gpus)
	if k.now {
		r.free[k.pool] -= gpus
		r.open[k.pool] -= gpus
	}
}

// maxLocalPasses bounds the local search.
const maxLocalPasses = 3

// improveEachLot lets each lot move to a cheaper option that has room, and reports
// whether any did.
func (p *problem) improveEachLot(choice []int, r *remainingCapacity) (moved bool) {
	for i, was := range choice {
		if was >= 0 {
			r.takeOption(p.lots[i], was, -1)
		}
		choice[i] = p.chooseOption(i, r, priceOfFreeCapacity)
		if choice[i] >= 0 {
			r.takeOption(p.lots[i], choice[i], 1)
		}
		moved = moved || choice[i] != was
	}
	return moved
}
