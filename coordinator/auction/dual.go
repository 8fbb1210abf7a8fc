package auction

import (
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// The search for prices is projected subgradient ascent on the Lagrangian dual
// of the round's assignment problem, with room as the relaxed constraint
// (METHOD, section 4; the step is Polyak's). For prices p >= 0
//
//	L(p) = sum over lots of min over options (cost + room taken * p) - sum over pools and slots of p * room
//
// is at most the cost of any assignment that fits, so every price tried gives
// a bound. Products are converted before they are added, so that no processor
// fuses them and all find the same prices.
const (
	momentum           = 0.7        // of the last direction
	initialTargetGap   = 0.05       // of the first value: how far the first target lies above the best
	targetReachedShare = 0.25       // of the way to the target: a step that gets there
	targetGrowth       = 2          // moves the target away by this
	targetShrink       = 0.7        // and steps that do not, for long, move it nearer by this
	stallShare         = 16         // what part of all steps is long
	minStallSteps      = 6          // steps, that is
	targetPrecision    = 1e-6       // of the best value: a target as near as this ends the search
	maxEvaluations     = 40_000_000 // at options, after which the search ends: some 0.4 seconds of work
)

// searchPrices moves the prices of p's pools to where the lots fit. Each step aims
// at a little more than the best value so far: at more as long as steps get
// there, at less when they no longer do. So the first target may be far off, as
// in a round with a job that fits nowhere in time. What a pool's price moves by
// goes by its size, so that the prices of small pools and of large ones settle at
// one pace. It returns the best value.
func (p *problem) searchPrices(steps int) (top float64) {
	if len(p.lots) == 0 {
		return 0
	}
	use := make([]slotSeries, len(p.pools))
	dir := make([]slotSeries, len(p.pools))
	best := make([]slotSeries, len(p.pools))
	value := p.bestResponses(use)
	top = value
	p.copyPrices(best)
	level, stall := max(math.Abs(value)*initialTargetGap, 1), 0
	for n := 1; n <= steps && p.evaluations < maxEvaluations && level >= targetPrecision*math.Abs(top); n++ {
		norm := p.updateDirection(dir, use)
		if norm < 1e-9 {
			break // all fit, and room that is left costs nothing
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
		last := min(steps, n+(maxEvaluations-p.evaluations)/(p.evaluations-before+1))
		if stall >= max(minStallSteps, last/stallShare) {
			level, stall = level*targetShrink, 0
		}
	}
	p.setPrices(best)
	return top
}

// updateDirection makes dir the next direction of the prices, where the lots take the room in
// use, and returns its square, by the sizes of pools.
func (p *problem) updateDirection(dir, use []slotSeries) (norm float64) {
	for i := range p.pools {
		q, d, u := &p.pools[i], &dir[i], &use[i]
		sum := 0.0
		for t := range d {
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

// movePrices takes a step of the prices in a direction.
func (p *problem) movePrices(dir []slotSeries, step float64) {
	for i := range p.pools {
		q, d := &p.pools[i], &dir[i]
		pace := step / q.size
		for t := range q.price {
			q.price[t] = min(max(q.price[t]+float64(pace*d[t]), 0), maxPrice)
		}
		p.accumulateRates(&p.sums[i], &q.price)
	}
	p.priceVersion++
}

func (p *problem) setPrices(to []slotSeries) {
	for i := range p.pools {
		p.pools[i].price = to[i]
		p.accumulateRates(&p.sums[i], &to[i])
	}
	p.priceVersion++
}

func (p *problem) copyPrices(to []slotSeries) {
	for i := range p.pools {
		to[i] = p.pools[i].price
	}
}

// maxPrice bounds a price, in microdollars per GPU-hour: at 100 dollars nobody
// waits for a better hour.
const maxPrice = 100e6

// bestResponses lets every lot choose at the prices of p, fills use with the room that
// they take, and returns the dual value.
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
		if k := &r.scored[r.best]; k.pool >= 0 {
			p.addGPUHours(&use[k.pool], k.a, k.b, r.gpus)
		}
	}
	for i := range p.pools {
		q := &p.pools[i]
		for t := range q.price {
			l -= float64(q.price[t] * max(q.room[t], 0))
		}
	}
	return l
}

// bestAtPrices returns the option of a lot that is cheapest with room paid for, or
// -1 and infinity. It is worked out once for the same prices.
func (p *problem) bestAtPrices(lot int) (best int, value float64) {
	r := p.lots[lot]
	if r.evaluatedAt != p.priceVersion {
		r.best, r.value = p.scanOptions(lot)
		r.evaluatedAt = p.priceVersion
	}
	return r.best, r.value
}

// scanOptions finds the favourite of a lot among all its options.
func (p *problem) scanOptions(lot int) (best int, value float64) {
	best, value = -1, math.Inf(1)
	r := p.lots[lot]
	i := 0
	for more := true; more && r.ensureSorted(i); {
		for ; i < len(r.scored); i++ {
			k := &r.scored[i]
			if more = k.cost < value; !more {
				break // the rest cost more before their room is paid
			}
			v := k.cost
			if k.pool >= 0 {
				v += float64(r.gpus * p.sums[k.pool].sumBetween(k.a, k.b))
			}
			if v < value {
				best, value = i, v
			}
		}
	}
	p.evaluations += i
	return best, value
}

// costWithCapacity returns what option c of a lot costs with its room paid for.
func (p *problem) costWithCapacity(lot, c int) float64 {
	r := p.lots[lot]
	return r.scored[c].cost + p.capacityCost(r, &r.scored[c])
}

// capacityCost returns what the room of a candidate of r costs.
func (p *problem) capacityCost(r *ranking, k *scoredOption) float64 {
	if k.pool < 0 {
		return 0
	}
	return float64(r.gpus * p.sums[k.pool].sumBetween(k.a, k.b))
}

// certifyBound returns the cost of the chosen options and a bound on what any
// assignment of the same lots could cost. The prices may carry expected arrivals
// and the plan; the bound counts all room that the sites have, so it holds for
// this round alone. Where sites keep room from jobs that can wait, a full round
// looks for the prices that such a bound is highest at.
func (p *problem) certifyBound(choice []int) protocol.Certificate {
	var proof protocol.Certificate
	var free protocol.Microdollars
	q := &problem{grid: p.grid, now: p.now, from: p.from, pools: slices.Clone(p.pools), sums: slices.Clone(p.sums), priceVersion: p.priceVersion + 1}
	for i, c := range choice {
		if c < 0 {
			continue
		}
		q.lots = append(q.lots, p.lots[i])
		free += p.lots[i].all[0].cost
		proof.Primal += p.lots[i].all[c].cost
		proof.Jobs++
	}
	kept := false
	for i := range q.pools {
		kept = kept || q.pools[i].room != q.pools[i].bare
		q.pools[i].room = q.pools[i].bare
	}
	steps := 0
	if p.full && (kept || proof.Jobs < len(p.lots)) && free < proof.Primal {
		steps = certificateSteps
	}
	bound := protocol.Microdollars(math.Floor(q.searchPrices(steps)))
	proof.Bound = min(max(bound, free), proof.Primal)
	return proof
}

// certificateSteps is how many steps the search for a bound takes.
const certificateSteps = 200
