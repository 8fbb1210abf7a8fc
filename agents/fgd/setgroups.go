package fgd

import (
	"cmp"
	"math"
	"slices"
)

// setClass groups the nodes of a cluster for pods of whole GPUs: nodes of one group cost the same for
// every number of pods. Few groups exist, so a search for the best set reads groups and not nodes. Like
// a class it is brought up by the change log.
type setClass struct {
	req   Request
	any   bool
	allow modelSet

	used   int64
	epoch  uint32
	cursor int
	of     []int32 // slot -> group; -1: the node takes no pod
	groups []setGroup
	index  map[podCosts]int32
	order  []segment // of the lower hulls of all groups, cheapest for each pod first
	sorted bool      // order has the segments of all groups
}

// podCosts is the cost of k pods on a node at [k-1]; noPods beyond what it takes.
type podCosts [MaxGPUs]int64

const noPods = math.MaxInt64

// A setGroup is nodes of equal costs.
type setGroup struct {
	costs podCosts
	most  int     // pods that each takes
	nodes NodeSet // slots
	count int
}

// cost returns what k pods cost.
func (g *setGroup) cost(k int) int64 {
	if k == 0 {
		return 0
	}
	return g.costs[k-1]
}

// A segment is a step of a group's lower hull: from so many pods to so many, at the least cost for each
// pod.
type segment struct {
	group    int32
	from, to int8
	cost     int64 // of the pods between
}

// compareSegments orders by cost per pod. Costs are below 2^53 (see costShift), so products fit.
func compareSegments(x, y segment) int {
	return cmp.Or(cmp.Compare(x.cost*int64(y.to-y.from), y.cost*int64(x.to-x.from)), cmp.Compare(x.group, y.group), cmp.Compare(x.from, y.from))
}

// The cost of pods on a node has the growth of F, times D, in its high bits. Below, equal growth is
// ranked by the number of nodes and then by the GPUs left idle on them; the sums over the nodes of a set
// of MaxGPUs*1024 devices stay within the bits of each.
const (
	idleBits  = 14
	nodeBits  = 11
	costShift = idleBits + nodeBits
	// Up to this D a sum over 1,024 nodes fits into 62 bits; beyond it ties go by rank alone.
	maxTiedTotal = 1 << 13
)

// maxSetClasses bounds the memory of groups: each class takes 4 bytes for each node, and a bit for
// each node and group.
const maxSetClasses = 16

// setClassOf returns the groups of a request, made anew if they are not kept.
func (c *Cluster) setClassOf(r Request) *setClass {
	c.clock++
	oldest := -1
	for i, k := range c.sets {
		if k.req == r {
			k.used = c.clock
			return k
		}
		if oldest < 0 || k.used < c.sets[oldest].used {
			oldest = i
		}
	}
	k := &setClass{req: r, any: r.Models == "", used: c.clock, epoch: c.epoch - 1}
	if len(c.sets) < maxSetClasses {
		c.sets = append(c.sets, k)
	} else {
		c.sets[oldest] = k
	}
	return k
}

// refreshSetClass brings the groups of k up to date.
func (c *Cluster) refreshSetClass(k *setClass) {
	if k.epoch != c.epoch || len(c.log)-k.cursor > len(c.nodes) || len(k.groups) > maxGroups(len(c.nodes)) {
		c.regroupAll(k)
		return
	}
	for i := k.cursor; i < len(c.log); i++ {
		if e := &c.log[i]; e.maxFree != staleMaxFree {
			c.regroupSlot(k, int(e.slot))
		}
	}
	k.cursor = len(c.log)
}

// maxGroups bounds the groups of a class, empty ones included.
func maxGroups(nodes int) int { return 64 + 2*nodes }

// regroupAll groups all nodes anew.
func (c *Cluster) regroupAll(k *setClass) {
	*k = setClass{req: k.req, any: k.any, allow: c.allowedModels(k.req.Models), used: k.used, epoch: c.epoch, cursor: len(c.log),
		of: k.of[:0], groups: k.groups[:0], order: k.order[:0], index: make(map[podCosts]int32)}
	for s := range c.nodes {
		c.regroupSlot(k, s)
	}
	k.order = k.order[:0]
	for i := range k.groups {
		k.order = append(k.order, hullOf(&k.groups[i], int32(i))...)
	}
	slices.SortFunc(k.order, compareSegments)
	k.sorted = true
}

// regroupSlot moves slot s to the group of its present costs.
func (c *Cluster) regroupSlot(k *setClass, s int) {
	for len(k.of) <= s {
		k.of = append(k.of, -1)
	}
	costs, most := c.podCostsOf(k, s)
	now := int32(-1)
	if most > 0 {
		var known bool
		if now, known = k.index[costs]; !known {
			now = k.addGroup(costs, most)
		}
	}
	if was := k.of[s]; was != now {
		if was >= 0 {
			g := &k.groups[was]
			g.nodes[s/64] &^= 1 << (s % 64)
			g.count--
		}
		if k.of[s] = now; now >= 0 {
			g := &k.groups[now]
			g.nodes = g.nodes.Add(s)
			g.count++
		}
	}
}

// addGroup adds a group without nodes.
func (k *setClass) addGroup(costs podCosts, most int) int32 {
	i := int32(len(k.groups))
	k.groups = append(k.groups, setGroup{costs: costs, most: most})
	k.index[costs] = i
	if !k.sorted {
		return i // regroupAll sorts them all
	}
	for _, x := range hullOf(&k.groups[i], i) {
		at, _ := slices.BinarySearchFunc(k.order, x, compareSegments)
		k.order = slices.Insert(k.order, at, x)
	}
	return i
}

// hullOf returns the lower convex hull of a group's costs, by growing cost of a pod.
func hullOf(g *setGroup, group int32) (hull []segment) {
	for from := 0; from < g.most; {
		best := segment{group: group}
		for to := from + 1; to <= g.most; to++ {
			x := segment{group, int8(from), int8(to), g.cost(to) - g.cost(from)}
			// Of equal slopes the longest: fewer steps.
			if best.to == 0 || x.cost*int64(best.to-best.from) <= best.cost*int64(x.to-x.from) {
				best = x
			}
		}
		hull = append(hull, best)
		from = int(best.to)
	}
	return hull
}

// podCostsOf returns what pods on slot s cost, and how many it takes.
func (c *Cluster) podCostsOf(k *setClass, s int) (costs podCosts, most int) {
	n, r := &c.nodes[s], &k.req
	if n.maxFree < whole || !k.any && !k.allow.hasModel(n.model) || r.GPUMemory > 0 && c.slotCapacity(s).GPUMemory > 0 && c.slotCapacity(s).GPUMemory < r.GPUMemory {
		return costs, 0
	}
	most = int(n.idle) / r.GPUs
	if r.CPU > 0 {
		most = int(min(int64(most), n.cpu/r.CPU))
	}
	if r.Memory > 0 {
		most = int(min(int64(most), n.mem/r.Memory))
	}
	for i := range costs {
		costs[i] = noPods
	}
	for i := range most {
		gpus := uint8((i + 1) * r.GPUs)
		costs[i] = -c.wholeDrop(s, int64(i+1)*r.CPU, gpus)
		if c.total <= maxTiedTotal {
			costs[i] = costs[i]<<costShift + 1<<idleBits + c.idleAfter(s, gpus)
		}
	}
	return costs, most
}
