package fgd

import (
	"math"
	"math/bits"
	"slices"
)

// pickedPods is how many pods go to a slot.
type pickedPods struct{ slot, pods int32 }

// A podProblem is one search for the placement of equal pods: groups of equal nodes, and how many nodes
// of each have how many pods so far. See docs/fgd.md for the algorithm.
type podProblem struct {
	groups []setGroup
	taken  [][MaxGPUs + 1]int32 // by group: nodes by their number of pods
}

// solvePods returns the cheapest placement of so many pods, by slot; false if they do not fit.
func (c *Cluster) solvePods(k *setClass, pods int, limits []NodeLimit) (picked []pickedPods, ok bool) {
	p := podProblem{groups: slices.Clone(k.groups)}
	order, limited := k.order, NodeSet(nil)
	for _, l := range limits {
		s, present := c.presentSlot(l.Node)
		if !present || s >= len(k.of) || k.of[s] < 0 || limited.Has(s) {
			continue
		}
		g := &p.groups[k.of[s]]
		if l.Pods >= g.most {
			continue
		}
		limited = limited.Add(s)
		g.count--
		if l.Pods <= 0 {
			continue
		}
		// A node that takes fewer is a group of its own.
		own := setGroup{costs: g.costs, most: l.Pods, nodes: NodeSet(nil).Add(s), count: 1}
		p.groups = append(p.groups, own)
		if len(p.groups) == len(k.groups)+1 {
			order = slices.Clone(order)
		}
		order = append(order, hullOf(&own, int32(len(p.groups)-1))...)
	}
	if len(p.groups) > len(k.groups) {
		slices.SortFunc(order, compareSegments)
	}
	room := 0
	p.taken = make([][MaxGPUs + 1]int32, len(p.groups))
	for i := range p.groups {
		g := &p.groups[i]
		p.taken[i][0] = int32(g.count)
		room += g.count * g.most
	}
	if room < pods {
		return nil, false
	}
	p.fill(order, pods)
	return p.pickSlots(len(k.groups), limited), true
}

// fill gives nodes pods, the cheapest for each pod first. That is the cheapest placement if it ends on a
// whole segment of a hull; else finish decides the last pods.
func (p *podProblem) fill(order []segment, pods int) {
	for _, x := range order {
		if pods == 0 {
			return
		}
		width := int(x.to - x.from)
		t := &p.taken[x.group]
		n := min(int(t[x.from]), pods/width)
		t[x.from] -= int32(n)
		t[x.to] += int32(n)
		if pods -= n * width; pods > 0 && t[x.from] > 0 {
			p.finish(x, pods)
			return
		}
	}
}

// A swap is a change of one node's pods, and its cost above the price of the pods.
type swap struct {
	group    int32
	from, to int8
	cost     int64
}

// finish places the last pods, fewer than the broken segment is wide. At the price of a pod on that
// segment all nodes have the number of pods that is cheapest for them, so every change has a cost of at
// least 0, and the cheapest set of changes that adds up to the missing pods is wanted.
func (p *podProblem) finish(broken segment, pods int) {
	swaps := p.swapsAt(broken)
	// First as if each swap could be repeated: a shortest path over the number of pods still missing.
	if path, ok := cheapestPath(swaps, pods); ok && p.canApply(path) {
		p.apply(path)
		return
	}
	p.apply(p.cheapestSwaps(swaps, pods))
}

// swapsAt returns the changes of single nodes, at the price of a pod on a segment.
func (p *podProblem) swapsAt(broken segment) (swaps []swap) {
	width := int64(broken.to - broken.from)
	for i := range p.groups {
		g, t := &p.groups[i], &p.taken[i]
		for from := range g.most + 1 {
			if t[from] == 0 {
				continue
			}
			for to := range g.most + 1 {
				if to != from {
					swaps = append(swaps, swap{int32(i), int8(from), int8(to), width*(g.cost(to)-g.cost(from)) - int64(to-from)*broken.cost})
				}
			}
		}
	}
	return swaps
}

// reach is how far the number of placed pods may be off, on the way of a path: changes that add up to
// fewer than MaxGPUs pods can be put into an order in which no sum leaves it.
const reach = MaxGPUs

// cheapestPath returns the cheapest changes that add up to some pods, if each can be repeated.
func cheapestPath(swaps []swap, pods int) (path []swap, ok bool) {
	var best [2*MaxGPUs + 1]int // by change of the number of pods: index of the cheapest swap, plus one
	for i, x := range swaps {
		b := &best[int(x.to-x.from)+MaxGPUs]
		if *b == 0 || x.cost < swaps[*b-1].cost {
			*b = i + 1
		}
	}
	const states = 3*reach + 1 // -reach .. 2*reach pods
	var cost [states]int64
	var via [states]int // index of the last swap, plus one
	var done [states]bool
	for i := range cost {
		cost[i] = math.MaxInt64
	}
	cost[reach] = 0
	for {
		at := -1
		for i := range cost {
			if !done[i] && cost[i] != math.MaxInt64 && (at < 0 || cost[i] < cost[at]) {
				at = i
			}
		}
		if at < 0 {
			return nil, false
		}
		if done[at] = true; at == reach+pods {
			break
		}
		for d, i := range best {
			to := at + d - MaxGPUs
			if i == 0 || to < 0 || to >= states || done[to] {
				continue
			}
			if v := cost[at] + swaps[i-1].cost; v < cost[to] {
				cost[to], via[to] = v, i
			}
		}
	}
	for at := reach + pods; at != reach; {
		x := swaps[via[at]-1]
		path = append(path, x)
		at -= int(x.to - x.from)
	}
	return path, true
}

// canApply reports whether each change of a path has a node of its own.
func (p *podProblem) canApply(path []swap) bool {
	for i, x := range path {
		n := int32(0)
		for _, y := range path[:i+1] {
			if y.group == x.group && y.from == x.from {
				n++
			}
		}
		if n > p.taken[x.group][x.from] {
			return false
		}
	}
	return true
}

// apply makes changes.
func (p *podProblem) apply(path []swap) {
	for _, x := range path {
		p.taken[x.group][x.from]--
		p.taken[x.group][x.to]++
	}
}

// maxSwapped is how many nodes a cheapest set of changes has at most: of more, some would add up to no
// change at all, and could be left out (Steinitz; arXiv 1707.00481).
const maxSwapped = 2*MaxGPUs + 2

// cheapestSwaps returns the cheapest changes that add up to some pods, each node changed once: a dynamic
// programme over nodes and the number of pods. Swaps are by group and number of pods before.
func (p *podProblem) cheapestSwaps(swaps []swap, pods int) []swap {
	const span = maxSwapped * MaxGPUs // on either side of no change
	const states = 2*span + 1
	limit := int64(math.MaxInt64) // of a single change, if one will do
	for _, x := range swaps {
		if int(x.to-x.from) == pods {
			limit = min(limit, x.cost)
		}
	}
	cost := make([]int64, states)
	for i := range cost {
		cost[i] = math.MaxInt64
	}
	cost[span] = 0
	var steps [][]int32 // by node: the swap that leads to each state, plus one
	for first := 0; first < len(swaps); {
		end := first
		for end < len(swaps) && swaps[end].group == swaps[first].group && swaps[end].from == swaps[first].from {
			end++
		}
		for range min(int(p.taken[swaps[first].group][swaps[first].from]), maxSwapped) {
			next, via := slices.Clone(cost), make([]int32, states)
			changed := false
			for i := first; i < end; i++ {
				x := &swaps[i]
				if x.cost > limit {
					continue
				}
				d := int(x.to - x.from)
				for at := max(0, -d); at < min(states, states-d); at++ {
					if cost[at] <= limit-x.cost && cost[at]+x.cost < next[at+d] {
						next[at+d], via[at+d], changed = cost[at]+x.cost, int32(i+1), true
					}
				}
			}
			if !changed {
				break
			}
			cost, steps = next, append(steps, via)
		}
		first = end
	}
	var path []swap
	at := span + pods
	for _, via := range slices.Backward(steps) {
		if i := via[at]; i != 0 {
			path = append(path, swaps[i-1])
			at -= int(swaps[i-1].to - swaps[i-1].from)
		}
	}
	return path
}

// pickSlots returns the nodes that the groups' numbers of pods come to: of equal nodes those of lowest
// rank, with most pods first. Groups from own on are single limited nodes.
func (p *podProblem) pickSlots(own int, limited NodeSet) (picked []pickedPods) {
	for i := range p.groups {
		t := &p.taken[i]
		pods, word, at := MaxGPUs, uint64(0), -1
		for {
			for pods > 0 && t[pods] == 0 {
				pods--
			}
			if pods == 0 {
				break
			}
			for word == 0 {
				at++
				if word = p.groups[i].nodes[at]; i < own && at < len(limited) {
					word &^= limited[at]
				}
			}
			picked = append(picked, pickedPods{int32(at*64 + bits.TrailingZeros64(word)), int32(pods)})
			word &= word - 1
			t[pods]--
		}
	}
	slices.SortFunc(picked, func(x, y pickedPods) int { return int(x.slot - y.slot) })
	return picked
}
