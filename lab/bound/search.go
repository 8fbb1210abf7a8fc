package bound

import "math"

// The search is projected subgradient ascent with steps toward a target a
// little above the best value so far; the target comes nearer when steps no
// longer help (Polyak's step; METHOD, section 4). Prices of small pools and of
// large ones are on one scale, since each step is divided by the pool's size.
const (
	momentum         = 0.7  // of the last direction
	maxStalledSteps  = 8    // steps without a better bound before the target comes nearer
	targetShrink     = 0.7  // by this
	initialTargetGap = 0.10 // of the turnover: how far the first target lies above the best
	minTargetGap     = 1e-6 // of the bound: a target as near as this ends the search
)

// subgradientSearch moves the prices of room to where the bound is high, in a number of
// steps. It returns the best bound, with the prices that give it set.
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
		norm := 0.0
		for i := range p.pools {
			q := &p.pools[i]
			for t := range dir[i] {
				v := float64(momentum*dir[i][t]) + use[i][t] - q.GPUs
				if v < 0 && q.price[t] == 0 {
					v = 0
				}
				dir[i][t] = v
				norm += float64(v * v / q.GPUs)
			}
		}
		if norm < 1e-9 {
			break // everybody fits, and room that is left costs nothing
		}
		step := (top + level - value) / norm
		for i := range p.pools {
			q := &p.pools[i]
			for t := range q.price {
				q.price[t] = max(q.price[t]+float64(step*dir[i][t]/q.GPUs), 0)
			}
			q.prefixSumPrices()
		}
		value = p.lowerBound(use)
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
	for i := range p.pools {
		copy(p.pools[i].price, best[i])
		p.pools[i].prefixSumPrices()
	}
	return top
}

// costScale is what all jobs cost at the prices of room, gains counted as costs:
// a scale for the first target also where the two cancel and the value is near
// zero.
func (p *boundProblem) costScale() (sum float64) {
	for i := range p.jobs {
		_, _, v := p.bestAtPrices(&p.jobs[i])
		sum += math.Abs(v)
	}
	return sum
}

func (p *boundProblem) newSlotSeries() [][]float64 {
	out := make([][]float64, len(p.pools))
	for i := range out {
		out[i] = make([]float64, p.slots)
	}
	return out
}

func (p *boundProblem) copyPrices(best [][]float64) {
	for i := range p.pools {
		copy(best[i], p.pools[i].price)
	}
}

// lowerBound returns the bound at the prices of room. It fills use, if given, with
// the GPUs that jobs hold on average in each slot when each takes its favourite.
func (p *boundProblem) lowerBound(use [][]float64) float64 {
	for i := range use {
		clear(use[i])
	}
	sum := p.constant
	for i := range p.jobs {
		j := &p.jobs[i]
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
			addToSlots(use[j.configs[k].pool], start, start+j.configs[k].length, j.gpus)
		}
	}
	for i := range p.pools {
		q := &p.pools[i]
		sum -= float64(q.GPUs * q.sums[len(q.sums)-1])
	}
	return sum
}

// addToSlots adds gpus over [from, to) to a line of slots.
func addToSlots(line []float64, from, to, gpus float64) {
	for i := int(from); i < len(line) && float64(i) < to; i++ {
		line[i] += float64(gpus * (min(to, float64(i+1)) - max(from, float64(i))))
	}
}
