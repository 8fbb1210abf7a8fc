package division

import (
	"cmp"
	"slices"
)

// A service with a load has as many replicas as serve it, and these serve unequally: by their GPU
// model, and by how far their site is. The search for the cheapest is branch and bound. The bound of a
// branch takes the replicas that cost least for what they serve, by lower convex envelopes, and of the
// last one a part; the branch is split there into fewer replicas of that site and at least so many.

// Bounds of a search: branches, arcs of envelopes looked at, and limits of what one site serves that are
// tried. Beyond, the best that was found stands, and the bound says how far from the best it may be.
const (
	mostCovers = 300
	mostArcs   = 10_000
	mostLimits = 64
)

// noCost is above what any replicas cost.
const noCost = 1 << 62

// A cover is numbers of replicas that serve a load, what they cost, and a cost below which none can be.
type cover struct {
	n           []int
	cost, bound int64
}

// A coverBranch is what a search says of supplies between some bounds.
type coverBranch struct {
	limits []coverLimit
	cover
	supply, at int // where it is split: before replica at of a supply; at 0: nowhere
	arcs       int // looked at
}

// A coverLimit bounds one supply in a branch.
type coverLimit struct{ supply, low, high int }

// cheapestCover returns the cheapest replicas that serve a load together, each supply between its bounds, or
// false if all together do not serve it. Branches that cost no less than best are left out.
func cheapestCover(supplies []supply, load, best int64) (cover, bool) {
	work := slices.Clone(supplies)
	root := &coverBranch{}
	if !relaxCover(work, root, load) {
		return cover{}, false
	}
	found, open := root.cover, []*coverBranch{root}
	looked := root.arcs
	for tried := 0; len(open) > 0 && tried < mostCovers && looked < mostArcs; tried++ {
		k := 0
		for i, b := range open {
			if b.bound < open[k].bound {
				k = i
			}
		}
		b := open[k]
		if b.bound >= min(found.cost, best) {
			break // the others are no lower
		}
		open = slices.Delete(open, k, k+1)
		for _, part := range b.split(supplies) {
			child := &coverBranch{limits: append(slices.Clone(b.limits), part)}
			for _, l := range child.limits { // the later is within the earlier
				work[l.supply].low, work[l.supply].high = l.low, l.high
			}
			served := relaxCover(work, child, load)
			looked += child.arcs
			if served {
				if child.cost < found.cost {
					found = child.cover
				}
				if child.cost > child.bound && child.at > 0 {
					open = append(open, child)
				}
			}
			for _, l := range child.limits {
				work[l.supply].low, work[l.supply].high = supplies[l.supply].low, supplies[l.supply].high
			}
		}
	}
	found.bound = found.cost
	for _, b := range open {
		found.bound = min(found.bound, b.bound)
	}
	return found, true
}

// split returns the bounds of the supply at which a branch is split, in two parts.
func (b *coverBranch) split(supplies []supply) [2]coverLimit {
	low, high := supplies[b.supply].low, supplies[b.supply].high
	for _, l := range b.limits {
		if l.supply == b.supply {
			low, high = l.low, l.high
		}
	}
	return [2]coverLimit{{b.supply, low, b.at - 1}, {b.supply, b.at, high}}
}

// relaxCover takes replicas in the order of what they cost for what they serve until a load is served, and
// leaves those out again that are not needed. It returns false if there are too few.
func relaxCover(supplies []supply, b *coverBranch, load int64) bool {
	var arcs []arc
	b.n, b.cost, b.bound = make([]int, len(supplies)), 0, 0
	left := load
	for i := range supplies {
		s := &supplies[i]
		cost, serves := s.upTo(s.low)
		b.n[i], b.bound, left = s.low, b.bound+cost, left-serves
		arcs = s.envelope(arcs, i)
	}
	b.arcs = len(arcs)
	slices.SortFunc(arcs, func(x, y arc) int {
		return cmp.Or(compareArcs(x, y), cmp.Compare(supplies[x.supply].order, supplies[y.supply].order), cmp.Compare(x.from, y.from))
	})
	for i := 0; left > 0; i++ {
		if i == len(arcs) {
			return false
		}
		a, s := arcs[i], &supplies[arcs[i].supply]
		if a.serves <= left {
			b.n[a.supply], b.bound, left = a.to, b.bound+a.cost, left-a.serves
			continue
		}
		_, before := s.upTo(a.from)
		b.bound += a.partly(left)
		b.supply, b.at = a.supply, s.atLeast(before+left)
		b.n[a.supply], left = b.at, 0
	}
	b.trim(supplies, load)
	for i := range supplies {
		cost, _ := supplies[i].upTo(b.n[i])
		b.cost += cost
	}
	return true
}

// trim leaves replicas out that the load does not need, the dearest first.
func (b *coverBranch) trim(supplies []supply, load int64) {
	over := -load
	for i := range supplies {
		_, serves := supplies[i].upTo(b.n[i])
		over += serves
	}
	for {
		drop, dearest, serves := -1, int64(-1), int64(0)
		for i := range supplies {
			if s := &supplies[i]; b.n[i] > s.low {
				cost, all := s.upTo(b.n[i])
				lessCost, less := s.upTo(b.n[i] - 1)
				if all-less <= over && cost-lessCost > dearest {
					drop, dearest, serves = i, cost-lessCost, all-less
				}
			}
		}
		if drop < 0 {
			return
		}
		b.n[drop]--
		over -= serves
	}
}

// cheapestSafeCover is cheapestCover with so much of the load served if any one supply is lost. If one serves
// at most m, all have to serve m more than that; each m that a supply may serve is tried.
func cheapestSafeCover(supplies []supply, load, kept int64) (cover, bool) {
	if kept <= 0 {
		return cheapestCover(supplies, load, noCost)
	}
	limits := limitsOf(supplies, load, kept)
	best := cover{cost: noCost, bound: noCost}
	capped := slices.Clone(supplies)
	for i, m := range limits {
		fits := true
		for k := range supplies {
			s := &capped[k]
			s.high = supplies[k].atMost(m)
			fits = fits && s.high >= s.low
		}
		if !fits {
			continue
		}
		need := max(load, kept+m)
		found, ok := cheapestCover(capped, need, best.cost)
		if ok && found.cost < best.cost {
			best.n, best.cost = found.n, found.cost
		}
		if i > 0 && len(limits) == mostLimits { // what lies between this limit and the last one was not tried
			need = max(load, kept+limits[i-1]+1)
			between := &coverBranch{}
			if ok = relaxCover(capped, between, need); ok {
				found.bound = between.bound
			}
		}
		if ok {
			best.bound = min(best.bound, found.bound)
		}
	}
	best.bound = min(best.bound, best.cost)
	return best, best.n != nil
}

// limitsOf returns what one supply may serve at most, in ascending order: all that a number of its replicas
// serves, from what is safe without more replicas, up to what the largest need be; spread evenly, if those
// are more than mostLimits.
func limitsOf(supplies []supply, load, kept int64) (limits []int64) {
	least := load - kept
	limits = []int64{least}
	for i := range supplies {
		s := &supplies[i]
		for n := max(s.low, s.atMost(least)); n <= s.high; n++ {
			_, serves := s.upTo(n)
			if serves > least {
				limits = append(limits, serves)
			}
			if serves >= load && n > s.low {
				break
			}
		}
	}
	slices.Sort(limits)
	limits = slices.Compact(limits)
	if all := len(limits); all > mostLimits {
		for i := range mostLimits {
			limits[i] = limits[i*(all-1)/(mostLimits-1)]
		}
		limits = limits[:mostLimits]
	}
	return limits
}
