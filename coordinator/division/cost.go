package division

import (
	"cmp"
	"container/heap"
	"math/bits"
	"time"
)

// dearestStart is what a start counts per hour at most: more than any replica can save.
const dearestStart = 4 * mostCost

// startRate returns what a start that costs so many µ$ once counts per hour, spread over the
// horizon, rounded down: a move pays if it saves more.
func (p *problem) startRate(m mode, start int64) int64 {
	if p.Move.Horizon == 0 || m == removed {
		return 0
	}
	thousandths := int64(1000)
	if m == anew {
		thousandths += int64(p.Move.Hysteresis)
	}
	// start*thousandths <= 1.1e14, and times an hour in milliseconds below 2^89.
	high, low := bits.Mul64(uint64(start*thousandths), uint64(time.Hour.Milliseconds()))
	over := uint64(max(p.Move.Horizon.Milliseconds(), 1)) * 1000
	if high >= over {
		return dearestStart
	}
	rate, _ := bits.Div64(high, low, over)
	return int64(min(rate, dearestStart))
}

// takeCheapest gives a tier so many replicas beyond the lows that what it has costs least, none
// above its high.
func (p *problem) takeCheapest(m mode, tier []*place, low, high func(*place) int, extra int) {
	curves := make([]curve, len(tier))
	rises := true
	for i, pl := range tier {
		curves[i] = newCurve(pl, low(pl), min(high(pl), low(pl)+extra), p.startRate(m, int64(pl.Start))+pl.price)
		rises = rises && curves[i].rises()
	}
	var n []int
	if rises {
		n = takeUnits(curves, extra)
	} else {
		n, _, _ = takeBlocks(curves, extra)
		if m == anew {
			undoIdleMoves(curves, n)
		}
	}
	for i, pl := range tier {
		pl.n = n[i]
	}
}

// undoIdleMoves moves replicas back to where they run if that costs no more: the search of blocks
// does not look at who runs when costs are equal. Each move back leaves fewer starts, so it ends.
func undoIdleMoves(curves []curve, n []int) {
	for again := true; again; {
		again = false
		for from := range curves {
			for to := 0; to < len(curves) && n[from] > max(curves[from].held, curves[from].low); to++ {
				k := min(curves[to].held, curves[to].high) - n[to]
				k = min(k, n[from]-max(curves[from].held, curves[from].low))
				if k <= 0 {
					continue
				}
				saved := curves[from].costUpTo(n[from]) - curves[from].costUpTo(n[from]-k)
				if curves[to].costUpTo(n[to]+k)-curves[to].costUpTo(n[to]) <= saved {
					n[to], n[from], again = n[to]+k, n[from]-k, true
				}
			}
		}
	}
}

// A run is a number of replicas in a row that cost the same per hour, in µ$.
type run struct {
	count int
	cost  int64 // of each
	to    int   // the number of its last replica
	total int64 // cost of all beyond the low ones, up to that one
}

// A curve is what a site's replicas cost per hour beyond the first low ones.
type curve struct {
	low, high int
	held      int // of its replicas that run; the others start
	order     int
	runs      []run // of the replicas low+1..high
}

// newCurve returns the part of a site's steps between low and high; replicas beyond those held
// cost rate more.
func newCurve(pl *place, low, high int, rate int64) curve {
	c := curve{low: low, high: high, held: pl.Held, order: pl.order, runs: make([]run, 0, len(pl.Steps)+1)}
	from := 0
	for _, s := range pl.Steps {
		if from >= high {
			break
		}
		to := from + s.Replicas
		c.append(max(from, low), min(to, high, pl.Held), int64(s.Cost))
		c.append(max(from, low, pl.Held), min(to, high), int64(s.Cost)+rate)
		from = to
	}
	return c
}

// append adds the replicas from+1..to, if there are any.
func (c *curve) append(from, to int, cost int64) {
	if to <= from {
		return
	}
	next := run{count: to - from, cost: cost, to: to, total: int64(to-from) * cost}
	if last := len(c.runs) - 1; last >= 0 {
		next.total += c.runs[last].total
		if c.runs[last].cost == cost {
			next.count += c.runs[last].count
			c.runs = c.runs[:last]
		}
	}
	c.runs = append(c.runs, next)
}

// rises reports whether no replica costs less than the one before it.
func (c *curve) rises() bool {
	for i := 1; i < len(c.runs); i++ {
		if c.runs[i].cost < c.runs[i-1].cost {
			return false
		}
	}
	return true
}

// A taker is a site on its way up a rising curve.
type taker struct {
	*curve
	run int // the next replica is of this run
	n   int
}

// takeUnits takes replicas one by one, the cheapest first; at a tie one that runs, then at the
// site with fewer, then by the order of ties. Where all curves rise, nothing costs less
// (Federgruen and Groenevelt 1986). It needs room for all.
func takeUnits(curves []curve, total int) []int {
	all := make([]taker, len(curves))
	h := make(byCostOfNext, 0, len(curves))
	for i := range curves {
		all[i] = taker{curve: &curves[i], n: curves[i].low}
		if len(curves[i].runs) > 0 {
			h = append(h, &all[i])
		}
	}
	heap.Init(&h)
	for total > 0 {
		t := h[0]
		k := 1
		if !h.isTie() { // the rest of its run, as far as that runs or starts alike
			k = min(t.runs[t.run].to-t.n, total)
			if t.n < t.held {
				k = min(k, t.held-t.n)
			}
		}
		t.n += k
		total -= k
		if t.n == t.runs[t.run].to {
			t.run++
		}
		if t.run < len(t.runs) {
			heap.Fix(&h, 0)
		} else {
			heap.Pop(&h)
		}
	}
	n := make([]int, len(curves))
	for i := range all {
		n[i] = all[i].n
	}
	return n
}

// byCostOfNext is a heap with the site on top whose next replica is taken.
type byCostOfNext []*taker

func (h byCostOfNext) Len() int      { return len(h) }
func (h byCostOfNext) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *byCostOfNext) Push(x any)   { *h = append(*h, x.(*taker)) }

func (h *byCostOfNext) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	*h = (*h)[:last]
	return t
}

func (h byCostOfNext) Less(i, j int) bool {
	a, b := h[i], h[j]
	switch c := a.compare(b); {
	case c != 0:
		return c < 0
	case a.n != b.n:
		return a.n < b.n
	}
	return a.order < b.order
}

// isTie reports whether the next replica of another site is as good as that of the top.
func (h byCostOfNext) isTie() bool {
	return len(h) > 1 && h[0].compare(h[1]) == 0 || len(h) > 2 && h[0].compare(h[2]) == 0
}

// compare compares the next replicas of two sites: by cost, and one that runs with one that starts.
func (t *taker) compare(o *taker) int {
	if c := cmp.Compare(t.runs[t.run].cost, o.runs[o.run].cost); c != 0 {
		return c
	}
	switch runs, otherRuns := t.n < t.held, o.n < o.held; {
	case runs && !otherRuns:
		return -1
	case otherRuns && !runs:
		return 1
	}
	return 0
}
