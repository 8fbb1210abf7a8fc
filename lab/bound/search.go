package bound

import "math"

// The search is projected subgradient ascent with Polyak steps towards a target above
// the best value so far; the target moves closer when steps stop improving (METHOD,
// section 4). Each step is divided by the pool's size, so that small and large pools
// are on the same scale.
const (
	momentum         = 0.7  // weight of the previous direction
	maxStalledSteps  = 8    // steps without a better bound before the target moves closer
	targetShrink     = 0.7  // factor by which the target moves closer
	initialTargetGap = 0.10 // of the turnover: distance of the first target
	minTargetGap     = 1e-6 // of the bound: target distance at which the search ends
)

// subgradientSearch raises the bound by changing the prices of capacity, for a number of steps.
// It returns the best bound and leaves the prices at those that give it.
func (p *boundProblem) subgradientSearch(steps int) float64 {
	use, dir, best := p.newSlotSeries(), p.newSlotSeries(), p.newSlotSeries()
	top := p.lowerBound(use)
	p.copyPrices(best)
	level, stall := math.Max(p.costScale()*initialTargetGap, 1), 0
	value := top
	for range steps {
		if p.isStopped() {
			break
		}
		// The direction mixes the last one with the new subgradient: GPUs in demand less GPUs
		// there are. norm is its squared length, on the pools' common scale.
		norm := 0.0
		for i := range p.pools {
			q := &p.pools[i]
			for t := range dir[i] {
				v := float64(momentum*dir[i][t]) + use[i][t] - q.GPUs
				// A price cannot fall below zero, so a component that points there is left out;
				// counted, it would make the step too short.
				if v < 0 && q.price[t] == 0 {
					v = 0
				}
				dir[i][t] = v
				norm += float64(v * v / q.GPUs)
			}
		}
		if norm < 1e-9 {
			break // no capacity is exceeded, and unused capacity is free: optimal
		}
		// Polyak's step: the distance to the target over the squared length of the direction.
		step := (top + level - value) / norm
		for i := range p.pools {
			q := &p.pools[i]
			for t := range q.price {
				q.price[t] = max(q.price[t]+float64(step*dir[i][t]/q.GPUs), 0)
			}
			q.prefixSumPrices()
		}
		value = p.lowerBound(use)
		// Only a gain of an eighth of the distance counts as progress. Smaller ones would
		// keep a target alive that is out of reach.
		if value > top {
			if value > top+level/8 {
				stall = 0
			}
			top = value
			p.copyPrices(best)
		}
		if stall++; stall >= maxStalledSteps {
			level, stall = level*targetShrink, 0
			if level < minTargetGap*math.Abs(top) {
				break
			}
		}
	}
	// Steps may lower the bound: return to the best prices.
	for i := range p.pools {
		copy(p.pools[i].price, best[i])
		p.pools[i].prefixSumPrices()
	}
	return top
}

// costScale is the sum of the absolute costs of all jobs at the current prices. It
// scales the first target, and stays positive if costs and earnings cancel.
func (p *boundProblem) costScale() (sum float64) {
	for i := range p.jobs {
		_, _, v := p.bestAtPrices(&p.jobs[i])
		sum += math.Abs(v)
	}
	return sum
}

// newSlotSeries returns a zero value for each pool and slot.
func (p *boundProblem) newSlotSeries() [][]float64 {
	out := make([][]float64, len(p.pools))
	for i := range out {
		out[i] = make([]float64, p.slots)
	}
	return out
}

// copyPrices copies the current prices.
func (p *boundProblem) copyPrices(best [][]float64) {
	for i := range p.pools {
		copy(best[i], p.pools[i].price)
	}
}

// lowerBound returns the bound at the current prices. It fills use, if not nil, with the
// average GPUs that jobs hold in each slot with their best choices: the subgradient.
func (p *boundProblem) lowerBound(use [][]float64) float64 {
	for i := range use {
		clear(use[i])
	}
	sum := p.constant
	for i := range p.jobs {
		j := &p.jobs[i]
		// Each job chooses for itself: that jobs compete for capacity is in the prices alone.
		k, start, v := p.bestAtPrices(j)
		if v, f, how := p.leastPausedCost(j, v); f != nil {
			sum += v
			if use != nil {
				p.addPausedUsage(use, j, f, how)
			}
			continue
		}
		sum += v
		if k >= 0 && j.configs[k].pool >= 0 && use != nil {
			addToSlots(use[j.configs[k].pool], start, start+j.configs[k].length, j.gpusOf(&j.configs[k]))
		}
	}
	// The dual subtracts what all capacity would earn at its prices (docs/bound.md).
	for i := range p.pools {
		q := &p.pools[i]
		sum -= float64(q.GPUs * q.sums[len(q.sums)-1])
	}
	return sum
}

// addToSlots adds gpus to the slots of [from, to), in proportion to the time in each.
func addToSlots(line []float64, from, to, gpus float64) {
	for i := int(from); i < len(line) && float64(i) < to; i++ {
		line[i] += float64(gpus * (min(to, float64(i+1)) - max(from, float64(i))))
	}
}
