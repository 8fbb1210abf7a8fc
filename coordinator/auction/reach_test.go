package auction

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// ascendPlainly takes steps of the price search over every slot of every pool, and returns the last
// dual value: the reference for searchPrices, which leaves out slots whose price cannot move.
func ascendPlainly(p *problem, steps int, length float64) float64 {
	use, dir := make([]slotSeries, len(p.pools)), make([]slotSeries, len(p.pools))
	dual := func() (l float64) {
		clear(use)
		for i, r := range p.lots {
			best, value := p.scanOptions(i)
			if best < 0 {
				continue
			}
			l += value
			if k := &r.scored[best]; k.pool >= 0 {
				p.addGPUHours(&use[k.pool], k.a, k.b, r.gpus)
			}
		}
		for i := range p.pools {
			for t, price := range p.pools[i].price {
				l -= float64(price * max(p.pools[i].room[t], 0))
			}
		}
		return l
	}
	value := dual()
	for range steps {
		for i := range p.pools {
			q := &p.pools[i]
			for t := range q.price {
				v := float64(momentum*dir[i][t]) + use[i][t] - q.room[t]
				if v < 0 && q.price[t] == 0 {
					v = 0
				}
				dir[i][t] = v
			}
			for t := range q.price {
				q.price[t] = min(max(q.price[t]+float64(length/q.size*dir[i][t]), 0), maxPrice)
			}
			p.accumulateRates(&p.sums[i], &q.price)
		}
		value = dual()
	}
	return value
}

// Steps of the price search, which stop at the reach of each pool, find the prices, sums and values
// of steps over the whole horizon: with a plan that takes more than there is, and with prices from
// the round before.
func TestPriceStepsWithinReachAreThoseOverTheHorizon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRound(t, 8)
		plan, known := map[protocol.JobID]plannedPlace{}, &priceMemory{}
		for _, s := range r.Sites {
			if rapid.Bool().Draw(t, "planned") {
				start := r.Now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "from")) * time.Hour)
				gpus := protocol.Milli(1000 * rapid.IntRange(1, 50).Draw(t, "gpus"))
				plan[protocol.JobID("held at "+s.Name)] = plannedPlace{poolKey{s.Name, s.Capacity[0].Model}, start, start.Add(2 * time.Hour), gpus}
			}
		}
		if rapid.Bool().Draw(t, "known prices") {
			before := newProblem(r, plan, known)
			before.searchPrices(10)
			known.rememberPrices(before)
			r.Now = r.Now.Add(10 * time.Minute)
		}
		got, want := newProblem(r, plan, known), newProblem(r, plan, known)
		steps, length := rapid.IntRange(1, 12).Draw(t, "steps"), rapid.Float64Range(0, 1e5).Draw(t, "length")
		got.resetReach()
		use, dir := make([]slotSeries, len(got.pools)), make([]slotSeries, len(got.pools))
		value := got.bestResponses(use)
		for range steps {
			got.updateDirection(dir, use)
			got.movePrices(dir, length)
			value = got.bestResponses(use)
		}
		if plain := ascendPlainly(want, steps, length); value != plain {
			t.Fatalf("after %d steps the dual value is %v, and %v over the whole horizon", steps, value, plain)
		}
		for i := range want.pools {
			if got.pools[i].price != want.pools[i].price {
				t.Fatalf("pool %v: prices are\n%v\nand over the whole horizon\n%v", want.pools[i].key, got.pools[i].price, want.pools[i].price)
			}
			if got.sums[i] != want.sums[i] {
				t.Fatalf("pool %v: sums are\n%v\nand over the whole horizon\n%v", want.pools[i].key, got.sums[i], want.sums[i])
			}
		}
	})
}
