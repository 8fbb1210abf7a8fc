package division

import (
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// Bounds of the search for prices of rooms: rounds of prices, fewer if the services have many
// steps, and after how many rounds the services are divided at the prices so far.
const (
	leastRounds, mostRounds = 10, 100
	mostStepsPriced         = 640_000 // in all rounds
	roundsBetween           = 10
)

// dearestPrice is the most that a GPU-hour of a room may cost, in µ$, so that no sum leaves 64 bits.
const dearestPrice = 1_000_000_000

// priced raises the prices of rooms that are wanted too much and lowers those of others, so that
// the bound rises: a subgradient method, with Polyak's step from the best prices so far, halved
// when it goes too far. Now and then it divides the services at these prices. It returns the best
// divisions, with the prices of the highest bound.
func (j *joint) priced(first []*problem) (best []*problem, prices []int64) {
	best, prices = first, make([]int64, len(j.free))
	highest, over := j.bound(best, prices)
	part := 1.0
	rounds := min(max(mostStepsPriced/max(j.steps, 1), leastRounds), mostRounds)
	for round := 1; round <= rounds; round++ {
		next := step(prices, over, part*float64(costOfAll(best)-highest))
		if bound, by := j.bound(best, next); bound > highest {
			prices, highest, over = next, bound, by
		} else {
			part /= 2
		}
		if round%roundsBetween > 0 && round&(round-1) > 0 { // each tenth, and at first the first, second, fourth and eighth
			continue
		}
		if out := j.settle(j.inTurn(next)); isBetter(out, best) {
			best = out
			highest, over = j.bound(best, prices) // it may have other numbers of replicas
		}
		if costOfAll(best) == highest {
			break
		}
	}
	return best, prices
}

// step returns prices changed along the subgradient, which is by how much of each room is wanted
// over what there is, so far that the bound would rise by so much if it were straight.
func step(prices []int64, over []protocol.Milli, by float64) []int64 {
	norm := 0.0
	for k, price := range prices {
		if gpus := float64(over[k]) / 1000; gpus > 0 || price > 0 {
			norm += float64(gpus * gpus)
		}
	}
	next := slices.Clone(prices)
	for k := range next {
		if norm > 0 {
			change := math.Round(by * (float64(over[k]) / 1000) / norm)
			next[k] = min(max(next[k]+int64(change), 0), dearestPrice)
		}
	}
	return next
}

// bound returns a cost per hour below which no joint division is that has as many replicas in each
// tier as a given one, by prices of rooms; and by how much each room is wanted over what there is
// when each service takes what costs it least at these prices. Services of other kinds stay as they
// are.
func (j *joint) bound(given []*problem, prices []int64) (bound int64, over []protocol.Milli) {
	over = make([]protocol.Milli, len(prices))
	for k := range over {
		over[k] = -j.free[k]
	}
	for i, p := range given {
		if p.Kind != ByCost {
			j.use(i, p.places, gotOf, over, 1)
		}
	}
	for k, price := range prices {
		bound -= (price*int64(-over[k]) + 999) / 1000
	}
	for i, p := range j.alone {
		if p.Kind != ByCost {
			continue
		}
		j.setPrices(i, p, prices)
		for at, pl := range p.places {
			pl.n = given[i].places[at].n
		}
		low, _ := p.leastOf()
		for _, tier := range p.tiers {
			least := leastCost(tier, low)
			bound += least.bound
			for at, pl := range tier {
				pl.n = least.n[at]
			}
		}
		j.use(i, p.places, gotOf, over, 1)
	}
	return bound, over
}

// costOfAll returns what the services under ByCost cost per hour.
func costOfAll(all []*problem) (cost int64) {
	for _, p := range all {
		for _, pl := range p.places {
			if p.Kind == ByCost {
				cost += int64(pl.costOf(pl.n))
			}
		}
	}
	return cost
}

// isBetter reports whether a service has fewer replicas pending than before, and none has more;
// or all have as many, and they count less with their starts.
func isBetter(out, before []*problem) bool {
	fewer, saved := false, int64(0)
	for i, p := range out {
		if p.pending() > before[i].pending() {
			return false
		}
		fewer = fewer || p.pending() < before[i].pending()
		for at, pl := range p.places {
			if p.Kind == ByCost {
				was := before[i].places[at]
				saved += p.unpriced(was, was.n) - p.unpriced(pl, pl.n)
			}
		}
	}
	return fewer || saved > 0
}
