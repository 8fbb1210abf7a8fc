package division

import (
	"cmp"
	"math/bits"
	"slices"
)

// Steps that fall make whole blocks of replicas worth trying: a node is woken for all that it
// holds, or not at all. The search is branch and bound. The bound of a branch replaces each curve
// by its lower convex envelope, of which the cheapest pieces are taken; all of them whole but the
// last. Where that last piece spans several runs, its cost in part is more than the envelope says,
// and the branch is split at both ends of the run in which it ends.

// mostWork bounds a search: branches times pieces of envelopes. Beyond, the best that was found
// stands, and the bound says how far from the best it may be.
const mostWork = 30_000

// A piece is a part of the lower convex envelope of a curve, between two of its corners.
type piece struct {
	curve, count int
	cost         int64 // of all its replicas, per hour
}

// A blocks is a division of some replicas over curves, with the least that any can cost.
type blocks struct {
	n           []int // of each curve
	cost, bound int64 // µ$ per hour beyond the lows
}

// A branch is a range of replicas for each curve, and what its envelopes say.
type branch struct {
	low, high []int
	found     blocks
	split     int // the curve whose cost is above its envelope; -1 if there is none
}

// takeBlocks returns the cheapest division of a total beyond the lows that the search finds. It
// needs room for all.
func takeBlocks(curves []curve, total int) blocks {
	root := &branch{low: make([]int, len(curves)), high: make([]int, len(curves))}
	work := 0
	for i := range curves {
		root.low[i], root.high[i] = curves[i].low, curves[i].high
		work += len(curves[i].runs)
		total += curves[i].low
	}
	relax(curves, root, total)
	best, open := root.found, []*branch{root}
	for left := max(mostWork/max(work, 1), 8); left > 0 && len(open) > 0; left-- {
		k := lowest(open)
		b := open[k]
		open = slices.Delete(open, k, k+1)
		if b.found.bound >= best.cost {
			open = nil // all others are no lower
			break
		}
		for _, child := range b.halve(curves) {
			if !relax(curves, child, total) {
				continue
			}
			if child.found.cost < best.cost {
				best = child.found
			}
			if child.split >= 0 {
				open = append(open, child)
			}
		}
	}
	best.bound = best.cost
	for _, b := range open {
		best.bound = min(best.bound, b.found.bound)
	}
	return best
}

// lowest returns the branch with the lowest bound, the first of equals.
func lowest(open []*branch) (k int) {
	for i, b := range open {
		if b.found.bound < open[k].found.bound {
			k = i
		}
	}
	return k
}

// halve splits a branch at both ends of the run in which its replicas end.
func (b *branch) halve(curves []curve) (out []*branch) {
	c, n := &curves[b.split], b.found.n[b.split]
	from, to := c.runAt(n)
	for _, part := range [][2]int{{b.low[b.split], from}, {from, to}, {to, b.high[b.split]}} {
		low, high := max(part[0], b.low[b.split]), min(part[1], b.high[b.split])
		if low > high || low == b.low[b.split] && high == b.high[b.split] {
			continue
		}
		child := &branch{low: slices.Clone(b.low), high: slices.Clone(b.high)}
		child.low[b.split], child.high[b.split] = low, high
		out = append(out, child)
	}
	return out
}

// runAt returns between which numbers of replicas the run lies in which n lies.
func (c *curve) runAt(n int) (from, to int) {
	from = c.low
	for _, r := range c.runs {
		if to = from + r.count; n < to {
			return from, to
		}
		from = to
	}
	return from, from
}

// relax takes the cheapest pieces of the envelopes between the bounds of a branch. It returns
// false if there are not so many replicas between them.
func relax(curves []curve, b *branch, total int) bool {
	var pieces []piece
	found := blocks{n: slices.Clone(b.low)}
	left := total
	for i := range curves {
		found.cost += curves[i].costUpTo(b.low[i])
		left -= b.low[i]
	}
	if left < 0 {
		return false
	}
	for i := range curves {
		pieces = curves[i].envelope(pieces, i, b.low[i], min(b.high[i], b.low[i]+left))
	}
	slices.SortStableFunc(pieces, func(a, b piece) int {
		return cmp.Or(compareSlopes(a, b), cmp.Compare(curves[a.curve].order, curves[b.curve].order))
	})
	found.bound, b.split = found.cost, -1
	for _, p := range pieces {
		if left == 0 {
			break
		}
		k := min(p.count, left)
		left -= k
		before := found.n[p.curve]
		found.n[p.curve] += k
		real := curves[p.curve].costUpTo(before+k) - curves[p.curve].costUpTo(before)
		found.cost += real
		bound := p.partly(k)
		found.bound += bound
		if real > bound {
			b.split = p.curve
		}
	}
	b.found = found
	return left == 0
}

// costUpTo returns what a curve's replicas up to number n cost beyond its low ones.
func (c *curve) costUpTo(n int) (cost int64) {
	n -= c.low
	for _, r := range c.runs {
		k := min(n, r.count)
		cost += int64(k) * r.cost
		if n -= k; n == 0 {
			break
		}
	}
	return cost
}

// envelope appends the pieces of a curve's lower convex envelope between two numbers of replicas,
// the cheaper ones first.
func (c *curve) envelope(pieces []piece, index, low, high int) []piece {
	first, from := len(pieces), c.low
	for _, r := range c.runs {
		to := from + r.count
		k := min(to, high) - max(from, low)
		from = to
		if k <= 0 {
			continue
		}
		next := piece{curve: index, count: k, cost: int64(k) * r.cost}
		for len(pieces) > first && compareSlopes(pieces[len(pieces)-1], next) >= 0 {
			last := pieces[len(pieces)-1]
			next.count, next.cost = next.count+last.count, next.cost+last.cost
			pieces = pieces[:len(pieces)-1]
		}
		pieces = append(pieces, next)
	}
	return pieces
}

// raised returns a piece's cost with the most that a credit can be added to each replica, so that
// it is not below zero.
func (p piece) raised() uint64 { return uint64(p.cost + int64(p.count)*mostCost) }

// compareSlopes compares the mean costs of two pieces' replicas.
func compareSlopes(a, b piece) int {
	return compareRatios(a.raised(), uint64(a.count), b.raised(), uint64(b.count))
}

// partly returns what k of a piece's replicas cost by the envelope, rounded up: real costs are
// whole, so a bound may be, too.
func (p piece) partly(k int) int64 {
	high, low := bits.Mul64(p.raised(), uint64(k))
	low, carry := bits.Add64(low, uint64(p.count-1), 0)
	cost, _ := bits.Div64(high+carry, low, uint64(p.count))
	return int64(cost) - int64(k)*mostCost
}
