package auction

import (
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// The price search is projected subgradient ascent with Polyak's step on the Lagrangian dual of
// the round's assignment problem, where capacity is the relaxed constraint (docs/method.md,
// section 4; decision 0207 on the target). For prices p >= 0
//
//	L(p) = sum over lots of min over options (cost + capacity used * p)
//	     - sum over pools and slots of p * capacity
//
// is at most the cost of any assignment that fits, so every price tried gives a lower bound.
// Products are converted to float64 before they are added: without that, processors with fused
// multiply-add would find other prices, and replays would differ between machines.
const (
	momentum           = 0.7        // share of the last direction that the next one keeps
	initialTargetGap   = 0.05       // first target above the first value, as a share of it
	targetReachedShare = 0.25       // a step that covers this share of the way to the target counts as reaching it
	targetGrowth       = 2          // factor of the gap to the target after a step that reaches it
	targetShrink       = 0.7        // factor of the gap after a stall
	stallShare         = 16         // a stall is this part of all steps (one in 16) ...
	minStallSteps      = 6          // ... and at least so many
	targetPrecision    = 1e-6       // a gap below this share of the best value ends the search
	maxEvaluations     = 40_000_000 // of options, after which the search ends: about 0.4 s of work
)

// searchPrices moves the prices of p's pools to where the lots' choices fit the capacity, and
// returns the best dual value. Each step aims a little above the best value so far: the gap grows
// as long as steps reach the target and shrinks when they stall, so a first target that is far off
// (a round with a job that fits nowhere in time) does no harm. A pool's step is divided by its
// size, so that the prices of small and large pools converge at one pace.
func (p *problem) searchPrices(steps int) (top float64) {
	if len(p.lots) == 0 {
		return 0
	}
	if steps == 0 {
		return p.bestResponses(nil)
	}
	p.resetReach()
	use, dir, best := p.reuseSeries(0, len(p.pools)), p.reuseSeries(1, len(p.pools)), p.reuseSeries(2, len(p.pools))
	value := p.bestResponses(use)
	top = value
	p.copyPrices(best)
	level, stall := max(math.Abs(value)*initialTargetGap, 1), 0
	for n := 1; n <= steps && p.evaluations < maxEvaluations && level >= targetPrecision*math.Abs(top); n++ {
		norm := p.updateDirection(dir, use)
		if norm < 1e-9 {
			break // everything fits, and capacity left over costs nothing: the dual is solved
		}
		p.movePrices(dir, (top+level-value)/norm)
		before := p.evaluations
		value = p.bestResponses(use)
		stall++
		if value > top+float64(level*targetReachedShare) {
			level, stall = level*targetGrowth, 0
		}
		if value > top {
			top = value
			p.copyPrices(best)
		}
		// The last step that the evaluation budget allows at the cost of this one, so that stalls
		// are as long a part of a search that the budget cuts short.
		last := min(steps, n+(maxEvaluations-p.evaluations)/(p.evaluations-before+1))
		if stall >= max(minStallSteps, last/stallShare) {
			level, stall = level*targetShrink, 0
		}
	}
	p.setPrices(best)
	return top
}

// resetReach sets the reach of each pool to the slots in which the price can move before any lot
// chooses: those that have a price, and those of which the plan takes more than there is. Most
// rounds use a small part of the horizon, and the search goes through all pools at each step.
func (p *problem) resetReach() {
	for i := range p.pools {
		q := &p.pools[i]
		q.reach = p.slots
		for q.reach > 0 && q.price[q.reach-1] == 0 && q.room[q.reach-1] >= 0 {
			q.reach--
		}
	}
}

// updateDirection sets dir to the next direction of the prices: the subgradient (use minus
// capacity) with momentum, projected at price 0. It returns its squared length, weighted by pool
// sizes.
func (p *problem) updateDirection(dir, use []slotSeries) (norm float64) {
	for i := range p.pools {
		q, d, u := &p.pools[i], &dir[i], &use[i]
		sum := 0.0
		for t := range d[:q.reach] {
			v := float64(momentum*d[t]) + u[t] - q.room[t]
			if v < 0 && q.price[t] == 0 {
				v = 0
			}
			d[t] = v
			sum += float64(v * v)
		}
		norm += float64(sum / q.size)
	}
	return norm
}

// movePrices moves the prices by step along dir, within [0, maxPrice].
func (p *problem) movePrices(dir []slotSeries, step float64) {
	for i := range p.pools {
		q, d := &p.pools[i], &dir[i]
		pace := step / q.size
		for t := range q.price[:q.reach] {
			v := q.price[t] + float64(pace*d[t])
			switch { // as min and max would, which take several times as long
			case !(v > 0):
				v = 0
			case v > maxPrice:
				v = maxPrice
			}
			q.price[t] = v
		}
	}
	p.sumPrices()
	p.priceVersion++
}

// setPrices sets the prices of all pools, and invalidates what was computed at the former ones.
func (p *problem) setPrices(to []slotSeries) {
	for i := range p.pools {
		p.pools[i].price = to[i]
	}
	p.sumPrices()
	p.priceVersion++
}

// sumPrices makes the sums of all pools those of their prices, four pools at a time: each sum waits
// for the one before it, and in that time those of three more pools are done.
func (p *problem) sumPrices() {
	i := 0
	for ; i+4 <= len(p.pools); i += 4 {
		q, s := p.pools[i:i+4], p.sums[i:i+4]
		reach := max(q[0].reach, q[1].reach, q[2].reach, q[3].reach)
		var a, b, c, d float64
		for t := range reach {
			a += float64(q[0].price[t] * p.slotHours)
			b += float64(q[1].price[t] * p.slotHours)
			c += float64(q[2].price[t] * p.slotHours)
			d += float64(q[3].price[t] * p.slotHours)
			s[0][t+1], s[1][t+1], s[2][t+1], s[3][t+1] = a, b, c, d
		}
		for t := reach + 1; t <= protocol.MaxSlots; t++ { // without a price the sums stay
			s[0][t], s[1][t], s[2][t], s[3][t] = a, b, c, d
		}
	}
	for ; i < len(p.pools); i++ {
		p.accumulateRates(&p.sums[i], &p.pools[i].price)
	}
}

// copyPrices copies the prices of all pools into to.
func (p *problem) copyPrices(to []slotSeries) {
	for i := range p.pools {
		to[i] = p.pools[i].price
	}
}

// maxPrice bounds a price, in microdollars per GPU-hour: at 100 dollars no job waits for a better
// hour.
const maxPrice = 100e6

// bestResponses lets every lot choose at the current prices, sets use, unless it is nil, to the
// capacity that the choices use, and returns the dual value L(p).
func (p *problem) bestResponses(use []slotSeries) float64 {
	clear(use)
	l := 0.0
	for i, r := range p.lots {
		r.best, r.value = p.scanOptions(i)
		r.evaluatedAt = p.priceVersion
		if r.best < 0 {
			continue
		}
		l += r.value
		if k := &r.scored[r.best]; use != nil && k.pool >= 0 {
			p.addGPUHours(&use[k.pool], k.a, k.b, r.gpusOf(k))
			q := &p.pools[k.pool]
			q.reach = max(q.reach, min(int(k.b)+1, p.slots))
		}
	}
	for i := range p.pools {
		q := &p.pools[i]
		for t, price := range q.price[:q.reach] {
			if price > 0 {
				l -= float64(price * max(q.room[t], 0))
			}
		}
	}
	return l
}

// bestAtPrices returns the option of a lot that is cheapest with capacity included, or -1 and
// infinity. The result is cached per priceVersion.
func (p *problem) bestAtPrices(lot int) (best int, value float64) {
	r := p.lots[lot]
	if r.evaluatedAt != p.priceVersion {
		r.best, r.value = p.scanOptions(lot)
		r.evaluatedAt = p.priceVersion
	}
	return r.best, r.value
}

// scanOptions finds a lot's cheapest option with capacity included. Options are sorted by cost
// without capacity and prices are not negative, so the scan ends at the first that costs more than
// the best.
func (p *problem) scanOptions(lot int) (best int, value float64) {
	best, value = -1, math.Inf(1)
	r := p.lots[lot]
	i := 0
	for more := true; more && r.ensureSorted(i); {
		for ; i < len(r.scored); i++ {
			k := &r.scored[i]
			if more = k.cost < value; !more {
				break // the rest cannot be cheaper
			}
			v := k.cost
			if k.pool >= 0 {
				v += float64(r.gpusOf(k) * p.sums[k.pool].sumBetween(k.a, k.b))
			}
			if v < value {
				best, value = i, v
			}
		}
	}
	p.evaluations += i
	return best, value
}

// costWithCapacity returns the cost of option c of a lot, the price of its capacity included.
func (p *problem) costWithCapacity(lot, c int) float64 {
	r := p.lots[lot]
	return r.scored[c].cost + p.capacityCost(r, &r.scored[c])
}

// capacityCost returns the price of the capacity that a candidate uses.
func (p *problem) capacityCost(r *ranking, k *scoredOption) float64 {
	if k.pool < 0 {
		return 0
	}
	return float64(r.gpusOf(k) * p.sums[k.pool].sumBetween(k.a, k.b))
}

// certifyBound returns the cost of the chosen options and a lower bound on the cost of any
// assignment of the same lots. The round's prices also cover the plan and what sites keep from
// deferrable jobs; the bound counts all capacity that the sites have, so it holds for this round
// alone. Where the two differ, a full round searches for the prices of the highest bound.
func (p *problem) certifyBound(choice []int) protocol.Certificate {
	var proof protocol.Certificate
	var free protocol.Microdollars
	for i, c := range choice {
		if c < 0 {
			continue
		}
		free += p.lots[i].all[0].cost // the lots' cheapest options, as if capacity were unlimited: a lower bound too
		proof.Primal += p.lots[i].all[c].cost
		proof.Jobs++
	}
	placed := func(lot int) int {
		if choice[lot] < 0 {
			return -1
		}
		return lot
	}
	free += protocol.Microdollars(math.Floor(p.boundOfParts(p.groups, placed, priceOfFreeCapacity)))
	var value float64
	if p.full && free < proof.Primal && (proof.Jobs < len(p.lots) || p.keepsCapacity()) {
		q := &problem{grid: p.grid, arena: p.arena, planning: p.planning, now: p.now, from: p.from, pools: slices.Clone(p.pools), sums: slices.Clone(p.sums), priceVersion: p.priceVersion + 1}
		for i, c := range choice {
			if c >= 0 {
				q.lots = append(q.lots, p.lots[i]) // the bound is for the same jobs only
			}
		}
		for i := range q.pools {
			q.pools[i].room = q.pools[i].bare
		}
		value = q.searchPrices(certificateSteps)
		value += q.boundOfParts(p.groups, func(lot int) int { return placedBefore(choice, lot) }, q.capacityCost)
	} else {
		value = p.boundAtPrices(choice) + p.boundOfParts(p.groups, placed, p.capacityCost)
	}
	proof.Bound = min(max(protocol.Microdollars(math.Floor(value)), free), proof.Primal)
	return proof
}

// placedBefore returns the position of a lot among those that have an option; -1 if it has none.
func placedBefore(choice []int, lot int) (n int) {
	if choice[lot] < 0 {
		return -1
	}
	for _, c := range choice[:lot] {
		if c >= 0 {
			n++
		}
	}
	return n
}

// keepsCapacity reports whether the plan, or a site, keeps capacity from deferrable jobs.
func (p *problem) keepsCapacity() bool {
	for i := range p.pools {
		if p.pools[i].room != p.pools[i].bare {
			return true
		}
	}
	return false
}

// boundAtPrices returns the bound of certifyBound at the prices of p.
func (p *problem) boundAtPrices(choice []int) (value float64) {
	for i, c := range choice {
		if c >= 0 {
			_, v := p.bestAtPrices(i)
			value += v
		}
	}
	for i := range p.pools {
		if p.sums[i][p.slots] == 0 {
			continue // its capacity costs nothing
		}
		q := &p.pools[i]
		for t := range q.price {
			value -= float64(q.price[t] * max(q.bare[t], 0))
		}
	}
	return value
}

// certificateSteps bounds the search for the certificate's prices.
const certificateSteps = 200
