package auction

import (
	"math"

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
	memory  = 0.7  // of the last direction
	stalled = 8    // steps without a better bound before the target comes nearer
	nearer  = 0.7  // by this
	ahead   = 0.10 // of the first value: how far the first target lies above the best
	enough  = 1e-6 // of the best value: a target as near as this ends the search
)

// searchPrices moves the prices of p's pools to where the lots fit. Each step aims
// at a little more than the best value so far, and less so as steps no longer
// help. What a pool's price moves by goes by its size, so that the prices of small
// pools and of large ones settle at one pace.
func (p *problem) searchPrices(steps int) {
	if len(p.pools) == 0 || len(p.lots) == 0 {
		return
	}
	use := make([]line, len(p.pools))
	dir := make([]line, len(p.pools))
	best := make([]line, len(p.pools))
	value := p.answer(use)
	top := value
	p.copyPrices(best)
	level, stall := max(math.Abs(value)*ahead, 1), 0
	for range steps {
		norm := p.turn(dir, use)
		if norm < 1e-9 {
			break // all fit, and room that is left costs nothing
		}
		step := (top + level - value) / norm
		for i := range p.pools {
			q := &p.pools[i]
			for t := range q.price {
				q.price[t] = min(max(q.price[t]+float64(step*dir[i][t]/q.size), 0), dearest)
			}
			q.sum.accumulate(&q.price)
		}
		if value = p.answer(use); value > top {
			if value > top+level/8 {
				stall = 0
			}
			top = value
			p.copyPrices(best)
		}
		if stall++; stall >= stalled {
			level, stall = level*nearer, 0
			if level < enough*math.Abs(top) {
				break
			}
		}
	}
	for i := range p.pools {
		p.pools[i].price = best[i]
		p.pools[i].sum.accumulate(&best[i])
	}
}

// turn makes dir the next direction of the prices, where the lots take the room in
// use, and returns its square, by the sizes of pools.
func (p *problem) turn(dir, use []line) (norm float64) {
	for i := range p.pools {
		q := &p.pools[i]
		for t := range use[i] {
			v := float64(memory*dir[i][t]) + use[i][t] - q.room[t]
			if v < 0 && q.price[t] == 0 {
				v = 0
			}
			dir[i][t] = v
			norm += float64(v * v / q.size)
		}
	}
	return norm
}

func (p *problem) copyPrices(to []line) {
	for i := range p.pools {
		to[i] = p.pools[i].price
	}
}

// dearest bounds a price, in microdollars per GPU-hour: at 100 dollars nobody
// waits for a better hour.
const dearest = 100e6

// answer lets every lot choose at the prices of p, fills use with the room that
// they take, and returns the dual value.
func (p *problem) answer(use []line) float64 {
	for i := range use {
		use[i] = line{}
	}
	l := 0.0
	for i := range p.lots {
		k, v := p.favourite(i)
		if k < 0 {
			continue
		}
		l += v
		if c := p.lots[i].at(k); c.pool >= 0 {
			use[c.pool].spread(p.from, max(c.Start, p.now), c.Finish, float64(c.gpu)/1000)
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

// favourite returns the option of a lot that is cheapest with room paid for, or
// -1 and infinity.
func (p *problem) favourite(lot int) (best int, value float64) {
	best, value = -1, math.Inf(1)
	r := p.lots[lot]
	gpus := float64(r.lot.Job.GPU()) / 1000
	for i := 0; i < len(r.brief) || r.at(i) != nil; i++ {
		k := &r.brief[i]
		if k.cost >= value {
			break // the rest cost more before their room is paid
		}
		v := k.cost
		if k.pool >= 0 {
			v += float64(gpus * p.pools[k.pool].sum.over(k.a, k.b))
		}
		if v < value {
			best, value = i, v
		}
	}
	return best, value
}

// certify returns the cost of the chosen options and a bound on what any
// assignment of the same lots could cost. The prices may carry expected
// arrivals and the plan; the bound counts all room that the sites have, so it
// holds for this round alone.
func (p *problem) certify(choice []int) protocol.Certificate {
	var proof protocol.Certificate
	priced, free := 0.0, 0.0
	for i, c := range choice {
		if c < 0 {
			continue
		}
		_, v := p.favourite(i)
		priced += v
		free += float64(p.lots[i].at(0).cost)
		proof.Primal += p.lots[i].at(c).cost
		proof.Jobs++
	}
	for i := range p.pools {
		q := &p.pools[i]
		for t := range q.price {
			priced -= float64(q.price[t] * q.bare[t])
		}
	}
	proof.Bound = min(protocol.Microdollars(math.Floor(max(priced, free))), proof.Primal)
	return proof
}
