package fgd

import (
	"cmp"
	"slices"
)

// A PodSet is equal pods that are placed together, each like Request, each on one node.
type PodSet struct {
	Request
	Pods   int         // from 1
	Limits []NodeLimit // of this set alone
}

// A NodeLimit bounds how many pods of a set a node takes: 0 is none. It is for capacity that is free,
// but kept for others.
type NodeLimit struct{ Node, Pods int }

// A SetPlacement is pods of one set on one node. Its Request and Devices are those of all its pods.
type SetPlacement struct {
	Placement
	Set  int // index of the PodSet
	Pods int
}

// A SetQuote is a hypothetical placement of sets.
type SetQuote struct {
	Placements []SetPlacement // by set, then node
	Fits       bool           // false: not all pods find a place, and the other fields have no meaning
	DeltaF     int64          // as of a Quote, over all nodes
}

// PlaceSets decides where the pods of all sets go, and takes them there: all of them, or none. Sets of
// whole GPUs go where F grows least over all their nodes; of equal placements to the one with the
// fewest nodes, then with the least idle GPUs left there, then to the nodes of lowest rank. That is
// exact for one set (docs/fgd.md). Several sets are placed one after the other, the scarcest first;
// shares, pods without GPUs, and policies other than FGD go pod by pod.
func (c *Cluster) PlaceSets(sets []PodSet, limits []NodeLimit) (all []SetPlacement, ok bool) {
	q := c.findSets(sets, limits, true)
	return q.Placements, q.Fits
}

// QuoteSets returns where the pods of all sets would go, and how F would change. A PlaceSets that
// follows goes to the same devices, and no other request sees a difference.
func (c *Cluster) QuoteSets(sets []PodSet, limits []NodeLimit) SetQuote {
	rng := c.rng
	q := c.findSets(sets, limits, false)
	c.rng = rng
	return q
}

// findSets is PlaceSets, and QuoteSets if keep is false. Which of several sets is the scarcest is not
// known before: one that finds no place goes first in the next try.
func (c *Cluster) findSets(sets []PodSet, limits []NodeLimit, keep bool) (q SetQuote) {
	sets = slices.Clone(sets)
	order := make([]int, len(sets))
	for i := range sets {
		sets[i].Request = sets[i].normalizedRequest()
		if sets[i].validateRequest() != nil || sets[i].Pods < 1 {
			return SetQuote{}
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		a, b := &sets[x], &sets[y]
		return cmp.Or(cmp.Compare(b.TotalMilli(), a.TotalMilli()), cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Memory, a.Memory))
	})
	if len(sets) == 1 && !keep && c.isExact(&sets[0]) { // the usual case writes nothing
		q.Placements, q.Fits = c.solveSet(&sets[0], 0, limits)
		q.DeltaF = divideRounded(c.growthOf(q.Placements), c.total)
		return q
	}
	before, _ := c.Fragmentation()
	for range len(sets) * len(sets) {
		failed := c.takeSets(sets, order, limits, &q)
		if failed < 0 {
			q.Fits = true
			after, _ := c.Fragmentation()
			q.DeltaF = divideRounded(after-before, c.total)
			if !keep {
				c.releaseSets(q.Placements)
			}
			slices.SortStableFunc(q.Placements, func(x, y SetPlacement) int { return cmp.Compare(x.Set, y.Set) })
			return q
		}
		c.releaseSets(q.Placements)
		q.Placements = q.Placements[:0]
		if failed == 0 {
			break // alone on what is free it finds no place
		}
		first := order[failed]
		order = slices.Insert(slices.Delete(order, failed, failed+1), 0, first)
	}
	return SetQuote{}
}

// takeSets places sets in an order. It returns the position of the one that found no place, or -1.
func (c *Cluster) takeSets(sets []PodSet, order []int, limits []NodeLimit, q *SetQuote) (failed int) {
	for at, i := range order {
		if !c.isExact(&sets[i]) {
			if !c.takePodByPod(&sets[i], i, limits, q) {
				return at
			}
			continue
		}
		placed, ok := c.solveSet(&sets[i], i, limits)
		if !ok {
			return at
		}
		for _, p := range placed {
			c.takeOnSlot(c.slotOf(p.Node), p.Placement)
		}
		q.Placements = append(q.Placements, placed...)
	}
	return -1
}

// isExact reports whether solveSet places a set: whole GPUs, by FGD.
func (c *Cluster) isExact(s *PodSet) bool {
	return s.GPUs > 0 && s.Milli == whole && (c.cfg.Policy == FGD || c.cfg.Policy == FGDTight)
}

// takePodByPod places the pods of a set one after the other, as if each were a job. Pods without GPUs
// that share a node make one placement.
func (c *Cluster) takePodByPod(s *PodSet, set int, limits []NodeLimit, q *SetQuote) bool {
	left := make(map[int]int, len(limits))
	var full NodeSet
	for _, l := range append(slices.Clip(s.Limits), limits...) {
		if _, known := left[l.Node]; known {
			continue
		}
		if left[l.Node] = l.Pods; l.Pods <= 0 {
			full = full.Add(l.Node)
		}
	}
	for range s.Pods {
		p, ok := c.PlaceExcept(s.Request, full)
		if !ok {
			return false
		}
		if n, limited := left[p.Node]; limited {
			if left[p.Node] = n - 1; n <= 1 {
				full = full.Add(p.Node)
			}
		}
		same := -1
		if s.GPUs == 0 {
			same = slices.IndexFunc(q.Placements, func(x SetPlacement) bool { return x.Set == set && x.Node == p.Node })
		}
		if same < 0 {
			q.Placements = append(q.Placements, SetPlacement{p, set, 1})
			continue
		}
		x := &q.Placements[same]
		x.Pods, x.Request.CPU, x.Request.Memory = x.Pods+1, x.Request.CPU+p.Request.CPU, x.Request.Memory+p.Request.Memory
		c.nodes[c.slotOf(p.Node)].jobs-- // one placement, released as one
	}
	return true
}

// releaseSets frees what was taken.
func (c *Cluster) releaseSets(all []SetPlacement) {
	for _, p := range all {
		c.applyPlacement(c.slotOf(p.Node), p.Placement, -1)
	}
}

// growthOf returns D times the growth of F for placements of whole GPUs that are not taken.
func (c *Cluster) growthOf(all []SetPlacement) (sum int64) {
	for i := range all {
		s := c.slotOf(all[i].Node)
		sum -= c.wholeDrop(s, all[i].Request.CPU, uint8(all[i].Request.GPUs))
	}
	return sum
}

// solveSet returns the best placement of a set of whole GPUs, and takes nothing.
func (c *Cluster) solveSet(s *PodSet, set int, limits []NodeLimit) (all []SetPlacement, ok bool) {
	k := c.setClassOf(s.Request)
	c.refreshSetClass(k)
	if len(s.Limits) > 0 {
		limits = append(slices.Clip(s.Limits), limits...) // of two limits of a node the first counts
	}
	picked, ok := c.solvePods(k, s.Pods, limits)
	if !ok {
		return nil, false
	}
	all = make([]SetPlacement, len(picked))
	for i, p := range picked {
		r := s.Request
		r.GPUs, r.CPU, r.Memory = r.GPUs*int(p.pods), r.CPU*int64(p.pods), r.Memory*int64(p.pods)
		d, n := Devices(0), &c.nodes[p.slot]
		for x := 0; d.Count() < r.GPUs; x++ {
			if n.free[x] == whole {
				d |= 1 << x
			}
		}
		all[i] = SetPlacement{Placement{c.nodeNumber(int(p.slot)), d, r}, set, int(p.pods)}
	}
	return all, true
}

// PodsOn returns how many pods like r an idle node could hold, its model aside.
func PodsOn(r Request, n *Node) int {
	most := int64(1 << 20)
	if r.CPU > 0 {
		most = min(most, n.CPU/r.CPU)
	}
	if r.Memory > 0 {
		most = min(most, n.Memory/r.Memory)
	}
	if r.GPUs == 0 {
		return int(most)
	}
	by := int64(n.GPUs / r.GPUs)
	if r.Milli < whole {
		perDevice := whole / r.Milli
		if n.GPUMemory > 0 && r.GPUMemory > 0 {
			perDevice = min(perDevice, n.GPUMemory/r.GPUMemory)
		}
		by = int64(n.GPUs) * perDevice
	} else if n.GPUMemory > 0 && r.GPUMemory > n.GPUMemory {
		return 0
	}
	return int(min(most, by))
}

// wholeDrop returns D times the decrease of F if slot s loses so many whole GPUs and so much CPU.
func (c *Cluster) wholeDrop(s int, cpu int64, gpus uint8) int64 {
	n := &c.nodes[s]
	t := &c.target
	b := t.bucketOf(n.cpu - cpu)
	u := t.usefulAt(n, b) - n.useful
	if gpus == 0 {
		return u
	}
	at := int(n.model)*t.buckets + b
	taken := whole * int64(gpus)
	multi := t.multi[at*(MaxGPUs+1):]
	return u - taken*t.weight[(at+1)*t.levels-1] + multi[n.idle-gpus] - multi[n.idle] + t.total*taken
}

// idleAfter returns how many GPUs of slot s are idle after it lost so many.
func (c *Cluster) idleAfter(s int, gpus uint8) int64 { return int64(c.nodes[s].idle - gpus) }
