package division

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
)

// Steps that fall make whole blocks of replicas worth trying: a node is woken for all that it
// holds, or not at all. The search is branch and bound. The bound of a branch replaces each curve
// by its lower convex envelope, of which the cheapest pieces are taken; all of them whole but the
// last. Where that last piece spans several runs, its cost in part is more than the envelope says,
// and the branch is split at both ends of the run in which it ends.

// Bounds of a search: so many branches, and pieces of envelopes looked at. Beyond, the best that
// was found stands, and the bound says how far from the best it may be.
const (
	mostBranches = 300
	mostPieces   = 100_000
)

// A piece is a part of the lower convex envelope of a curve, between two of its corners.
type piece struct {
	curve, from, count int
	cost               int64 // of all its replicas, per hour
}

// A span says that a branch looks at a curve between two numbers of replicas only.
type span struct{ curve, low, high int }

// A branch is what the envelopes say within some spans.
type branch struct {
	spans       []span
	cost, bound int64 // µ$ per hour beyond the lows of the curves
	last        piece // taken in part, if its cost is above the envelope's
	taken       int   // so many replicas of it
}

// A blocks is a search for the cheapest division of a total over curves.
type blocks struct {
	curves []curve
	total  int     // beyond the lows of the curves
	pieces []piece // of all curves, the cheapest first
	in     []bool  // whether a curve has a span in the branch at hand
	looked int     // pieces
}

// takeBlocks returns the cheapest division of a total beyond the lows that a search finds, what
// it costs beyond them, and a cost below which none can be. It needs room for all.
func takeBlocks(curves []curve, total int) (n []int, cost, bound int64) {
	s := &blocks{curves: curves, total: total, in: make([]bool, len(curves))}
	runs := 0
	for i := range curves {
		runs += len(curves[i].runs)
	}
	s.pieces = make([]piece, 0, runs)
	for i := range curves {
		s.pieces = curves[i].envelope(s.pieces, i, curves[i].low, curves[i].high)
	}
	s.sort(s.pieces)
	root := &branch{}
	s.relax(root, nil)
	best, open := root, []*branch{root}
	for tried := 0; len(open) > 0 && tried < mostBranches && s.looked < mostPieces; tried++ {
		k := lowest(open)
		b := open[k]
		if b.bound >= best.cost {
			break // the others are no lower
		}
		open = slices.Delete(open, k, k+1)
		for _, child := range s.split(b) {
			if !s.relax(child, nil) {
				continue
			}
			if child.cost < best.cost {
				best = child
			}
			if child.cost > child.bound {
				open = append(open, child)
			}
		}
	}
	bound = best.cost
	for _, b := range open {
		bound = min(bound, b.bound)
	}
	n = make([]int, len(curves))
	for i := range curves {
		n[i] = curves[i].low
	}
	s.relax(best, n)
	return n, best.cost, bound
}

// lowest returns the branch with the lowest bound, the first of equals.
func lowest(open []*branch) (k int) {
	for i, b := range open {
		if b.bound < open[k].bound {
			k = i
		}
	}
	return k
}

// split splits a branch at both ends of the run in which its last piece is left.
func (s *blocks) split(b *branch) (out []*branch) {
	all := span{b.last.curve, s.curves[b.last.curve].low, s.curves[b.last.curve].high}
	for _, sp := range b.spans {
		if sp.curve == all.curve {
			all = sp
		}
	}
	from, to := s.curves[all.curve].runAt(b.last.from + b.taken)
	for _, part := range []span{{all.curve, all.low, from}, {all.curve, from, to}, {all.curve, to, all.high}} {
		part.low, part.high = max(part.low, all.low), min(part.high, all.high)
		if part.low > part.high || part == all {
			continue
		}
		child := &branch{spans: []span{part}}
		for _, sp := range b.spans {
			if sp.curve != all.curve {
				child.spans = append(child.spans, sp)
			}
		}
		out = append(out, child)
	}
	return out
}

// relax takes the cheapest pieces of the envelopes within a branch, and adds them to n if it is
// given. It returns false if there are not as many replicas within it as are wanted.
func (s *blocks) relax(b *branch, n []int) bool {
	var own []piece
	left := s.total
	b.cost = 0
	for _, sp := range b.spans {
		c := &s.curves[sp.curve]
		s.in[sp.curve] = true
		b.cost += c.costUpTo(sp.low)
		left -= sp.low - c.low
		if n != nil {
			n[sp.curve] = sp.low
		}
		own = c.envelope(own, sp.curve, sp.low, sp.high)
	}
	b.bound = b.cost
	s.sort(own)
	for i, k := 0, 0; left > 0 && (i < len(s.pieces) || k < len(own)); s.looked++ {
		if i < len(s.pieces) && s.in[s.pieces[i].curve] {
			i++
			continue
		}
		var next piece
		if k == len(own) || i < len(s.pieces) && s.compare(s.pieces[i], own[k]) < 0 {
			next, i = s.pieces[i], i+1
		} else {
			next, k = own[k], k+1
		}
		take := min(next.count, left)
		left -= take
		if n != nil {
			n[next.curve] += take
		}
		if take == next.count {
			b.cost, b.bound = b.cost+next.cost, b.bound+next.cost
			continue
		}
		c := &s.curves[next.curve]
		b.cost += c.costUpTo(next.from+take) - c.costUpTo(next.from)
		b.bound += next.partly(take)
		b.last, b.taken = next, take
	}
	for _, sp := range b.spans {
		s.in[sp.curve] = false
	}
	return left == 0
}

// sort puts the cheapest pieces first.
func (s *blocks) sort(pieces []piece) { slices.SortFunc(pieces, s.compare) }

// compare compares pieces by the mean costs of their replicas, then by the order of ties; those of
// one curve by their place. No two are equal.
func (s *blocks) compare(a, b piece) int {
	return cmp.Or(compareSlopes(a, b), cmp.Compare(s.curves[a.curve].order, s.curves[b.curve].order), cmp.Compare(a.from, b.from))
}

// runAt returns between which numbers of replicas the run lies in which n lies.
func (c *curve) runAt(n int) (from, to int) {
	i := sort.Search(len(c.runs), func(i int) bool { return n < c.runs[i].to })
	if i == len(c.runs) {
		return c.high, c.high
	}
	return c.runs[i].to - c.runs[i].count, c.runs[i].to
}

// costUpTo returns what a curve's replicas up to number n cost beyond its low ones.
func (c *curve) costUpTo(n int) int64 {
	i := sort.Search(len(c.runs), func(i int) bool { return n <= c.runs[i].to })
	if i == len(c.runs) {
		return 0 // no replica beyond the low ones
	}
	return c.runs[i].total - int64(c.runs[i].to-n)*c.runs[i].cost
}

// envelope appends the pieces of a curve's lower convex envelope between two numbers of replicas,
// the cheaper ones first.
func (c *curve) envelope(pieces []piece, index, low, high int) []piece {
	first := len(pieces)
	for _, r := range c.runs {
		from, to := max(r.to-r.count, low), min(r.to, high)
		if from >= to {
			continue
		}
		next := piece{curve: index, from: from, count: to - from, cost: int64(to-from) * r.cost}
		for len(pieces) > first && compareSlopes(pieces[len(pieces)-1], next) > 0 {
			last := pieces[len(pieces)-1]
			next.from, next.count, next.cost = last.from, next.count+last.count, next.cost+last.cost
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
