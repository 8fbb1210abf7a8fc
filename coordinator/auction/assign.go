package auction

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// assignOptions gives every lot an option that fits, or -1. Lots choose one after the other, in
// the order of their regret: a lot whose second choice costs much more than its first chooses
// early. They choose by cost plus the price of capacity, so a lot with good alternatives leaves
// scarce capacity to those without.
//
// A full round tries more: it repeats with the lots that lost most in front (Joslin and Clements,
// "Squeaky Wheel" Optimization, 1999) as long as that helps; it lets the lots choose once in order
// of arrival, each its cheapest; and it improves the best assignment by ejection chains. The best
// of all counts, so a full round is never worse than awarding its lots one by one. Every round ends
// with a local search, so that no better place for a lot is left beside what it awards.
func (p *problem) assignOptions() []int {
	order := p.orderByRegret()
	best, top := p.chooseAndImprove(order, p.capacityCost)
	if !p.full {
		return p.improveLocally(order, best)
	}
	for {
		order = p.orderByLoss(order, best)
		choice, v := p.chooseAndImprove(order, p.capacityCost)
		if v >= top {
			break
		}
		best, top = choice, v
	}
	for i := range order { // by arrival, as Round.Lots is
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(p.jobs[y].Priority, p.jobs[x].Priority) })
	if choice, v := p.chooseAndImprove(order, priceOfFreeCapacity); v < top {
		best, top = choice, v
	}
	if choice := p.improveByEjection(p.orderByLoss(order, best), best); p.assignmentCost(choice) < top {
		best = choice
	}
	return p.improveLocally(order, best)
}

// chooseAndImprove lets the lots choose in an order, at prices of capacity. Then each lot moves to
// a cheaper option while capacity that turned out not to be scarce allows it. Where sites keep
// capacity from deferrable jobs a move may raise the total, so the best state seen is returned,
// with its cost.
func (p *problem) chooseAndImprove(order []int, price capacityPricing) (best []int, top protocol.Microdollars) {
	left := p.newRemainingCapacity()
	defer p.releaseCapacity(left)
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

// assignmentCost returns the total that assignments are compared by: lower is better.
func (p *problem) assignmentCost(choice []int) (v protocol.Microdollars) {
	for i, c := range choice {
		v += p.optionOrWaitCost(i, c)
	}
	return v
}

// optionOrWaitCost returns the cost of option c of a lot, or of waiting if the lot has none or
// should rather wait for another round. A lot without bids costs nothing either way.
func (p *problem) optionOrWaitCost(lot, c int) protocol.Microdollars {
	switch {
	case p.lots[lot].candidateCount() == 0:
		return 0
	case c < 0 || p.shouldWait(lot, c):
		return p.waitingCost(lot)
	}
	return p.lots[lot].all[c].cost
}

// waitingCost returns an upper estimate of what waiting costs a lot. A deferrable lot takes
// nothing dearer than maxPayable of its best option later either (decision 0015); for another lot it
// is a little more than its dearest option, so that any option is better than none.
func (p *problem) waitingCost(lot int) protocol.Microdollars {
	v := float64(p.lots[lot].most)
	if p.deferrable[lot] {
		_, v = p.bestAtPrices(lot)
	}
	return protocol.Microdollars(maxPayable(v))
}

// orderByLoss returns the lots by priority, then by what their choice costs above their best
// option, capacity included; ties keep the given order.
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

// chooseInOrder lets the lots choose one after the other, and takes their capacity from left.
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

// A capacityPricing returns the price of the capacity that a candidate uses.
type capacityPricing func(*ranking, *scoredOption) float64

// priceOfFreeCapacity is the capacityPricing under which all capacity costs nothing.
func priceOfFreeCapacity(*ranking, *scoredOption) float64 { return 0 }

// orderByRegret returns the order in which lots choose: by priority, then regret at the prices of
// p, then job id. Regret is how much more the best option on other GPUs costs than the best of
// all, because other hours of the same GPUs may be taken too; ties go by the second-best option.
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

// regretOf returns how much more than the best option of a lot its best option in another pool
// costs, and its second-best of all.
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
			return other, second // sorted by cost without capacity: the rest cannot be cheaper
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

// chooseOption returns the cheapest option of a lot that fits, at a price of capacity, or -1.
// Which capacity it sees depends on the job: a job that cannot be deferred sees all that sites
// have, because planned places of waiting jobs can still move; so does a job for which the plan
// leaves nothing in time. Between full rounds a lot with time to spare takes only its best option,
// and only now: the plan has no place for it yet, so its capacity would look taken (decision 0012).
func (p *problem) chooseOption(lot int, left *remainingCapacity, price capacityPricing) int {
	if p.deferrable[lot] && !p.full {
		best, _ := p.bestAtPrices(lot)
		if r := p.lots[lot]; r.scored[best].now && p.fitsCapacity(r, &r.scored[best], left.planned, left.open) {
			return best
		}
		return -1
	}
	if p.jobs[lot].MayWait() {
		if k := p.cheapestFitting(lot, left.planned, left.open, price); k >= 0 && p.lots[lot].candidateAt(k).Finish <= p.jobs[lot].Deadline {
			return k
		}
	}
	return p.cheapestFitting(lot, left.bare, left.free, price)
}

// canWaitForFullRound reports whether a lot may be left to the next full round: some option begins
// after that and ends firmLead before the deadline; ampleSlack before it for jobs of several GPUs,
// or bound to one site. The plan's place is kept nowhere but here: small jobs may break up the
// node that such a job needs, or fill its only site.
func canWaitForFullRound(l Lot, next protocol.Time, firmLead time.Duration) bool {
	need := firmLead
	if needsNodes(&l.Job) || l.Job.IsTiedToOneSite() {
		need = max(ampleSlack, firmLead)
	}
	return l.Job.MayWait() && slices.ContainsFunc(l.Bids, func(m SiteBids) bool {
		return slices.ContainsFunc(m.Options, func(o protocol.BidOption) bool {
			return o.Start >= next && l.Job.Deadline.Sub(o.Finish) >= need
		})
	})
}

// shouldWait reports whether waiting is better for a lot than option c.
func (p *problem) shouldWait(lot, c int) bool { return p.deferrable[lot] && p.tooExpensive(lot, c) }

// tooExpensive reports whether option c, capacity included, costs far more than the lot's best.
func (p *problem) tooExpensive(lot, c int) bool {
	_, v := p.bestAtPrices(lot)
	return farAbove(p.costWithCapacity(lot, c), v)
}

// farAbove reports whether a cost exceeds what a lot pays when its best option costs best.
func farAbove(cost, best float64) bool { return cost > maxPayable(best) }

// maxPayable returns the most that a lot pays when its best option costs best: a tenth more, and
// at least minSaving (see tuned.go).
func maxPayable(best float64) float64 {
	return best + float64(math.Abs(best)*maxPremiumThousandths/1000) + minSaving
}

// cheapestFrom returns the option of a lot that is cheapest, capacity included, among those that
// begin at from or later; nil if there is none. It does not ask whether the option fits.
func (p *problem) cheapestFrom(lot int, from protocol.Time) (best *candidate) {
	r, value := p.lots[lot], math.Inf(1)
	for j := 0; r.ensureSorted(j) && r.scored[j].cost < value; j++ { // sorted by cost without capacity: the rest cannot be cheaper
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

// cheapestFitting returns the index of the cheapest option of a lot that fits into left and free,
// at a price of capacity; -1 if none fits.
func (p *problem) cheapestFitting(lot int, left []slotSeries, free []float64, price capacityPricing) int {
	r, best, value := p.lots[lot], -1, math.Inf(1)
	for j := 0; r.ensureSorted(j) && r.scored[j].cost < value; j++ { // sorted by cost without capacity: the rest cannot be cheaper
		v := r.scored[j].cost + price(r, &r.scored[j])
		if v < value && p.fitsCapacity(r, &r.scored[j], left, free) {
			best, value = j, v
		}
	}
	return best
}

// capacityTolerance is the missing capacity, in GPU-hours of a slot, that counts as rounding.
const capacityTolerance = 1e-9

// fitsCapacity reports whether a candidate's capacity is left in every slot of its run, and its
// GPUs at this instant if it starts now. Beyond the planning horizon everything fits.
func (p *problem) fitsCapacity(r *ranking, k *scoredOption, left []slotSeries, free []float64) bool {
	if k.pool < 0 {
		return true
	}
	if k.now && free[k.pool] < r.gpusOf(k)-capacityTolerance {
		return false
	}
	l, gpus := &left[k.pool], r.gpusOf(k)
	for i := int(k.a); i < p.slots && float64(i) < k.b; i++ {
		part := min(k.b, float64(i+1)) - max(k.a, float64(i))
		if l[i] < float64(gpus*part*p.slotHours)-capacityTolerance {
			return false
		}
	}
	return true
}

// remainingCapacity is the capacity that is left while lots choose, by pool.
type remainingCapacity struct {
	grid
	bare    []slotSeries // GPU-hours by slot, the plan for waiting jobs not subtracted
	planned []slotSeries // GPU-hours by slot open to deferrable jobs, the plan subtracted
	free    []float64    // GPUs free at this instant
	open    []float64    // of free, those open to deferrable jobs
}

// newRemainingCapacity returns the capacity of all pools with nothing taken. Its owner ends by
// releaseCapacity, so that the next one takes no fresh memory.
func (p *problem) newRemainingCapacity() *remainingCapacity {
	r := p.reuseCapacity(len(p.pools))
	r.grid = p.grid
	for i := range p.pools {
		q := &p.pools[i]
		r.bare[i], r.planned[i], r.free[i], r.open[i] = q.bare, q.room, q.free, q.open
	}
	return r
}

// takeOption takes the capacity of option c of a lot, or with sign -1 returns it.
func (r *remainingCapacity) takeOption(lot *ranking, c int, sign float64) {
	k := &lot.scored[c]
	if k.pool < 0 {
		return
	}
	gpus := sign * lot.gpusOf(k)
	r.addGPUHours(&r.bare[k.pool], k.a, k.b, -gpus)
	r.addGPUHours(&r.planned[k.pool], k.a, k.b, -gpus)
	if k.now {
		r.free[k.pool] -= gpus
		r.open[k.pool] -= gpus
	}
}

// maxLocalPasses bounds the passes of the local search over all lots.
const maxLocalPasses = 3

// improveEachLot lets each lot move to the cheapest option that fits, and reports whether any
// moved.
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
