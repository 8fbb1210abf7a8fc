package fgd

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// node is the state of one node. It is kept small because scoring reads little
// else, and a search reads many of them.
type node struct {
	cpu, mem int64          // left
	useful   int64          // U, the useful part of its idle GPUs, times D
	free     [MaxGPUs]int16 // thousandths left of each device
	last     int32          // index of this node's latest entry in the change log, if the log still holds it
	jobs     int32
	maxFree  int16 // the largest of free; -1 if the node accepts no new job
	tags     uint16
	shape    uint16 // index+1 into shapes: idle nodes of one shape score alike; 0: no shape
	model    uint8
	gpus     uint8
	idle     uint8 // number of fully idle devices
	partial  uint8 // devices neither idle nor full, as a set
	distinct uint8 // the first device of each distinct free > 0
	cordoned bool
	present  bool
}

// Cluster holds the state of a cluster's nodes and chooses where requests go.
// Make one with [New].
type Cluster struct {
	cfg     Config
	caps    []Node  // by slot
	slot    []int32 // node number -> slot; slots are in rank order; nil: the same
	id      []int32 // slot -> node number; nil with slot
	removed []int   // numbers of removed nodes, descending

	nodes  []node                // by slot
	heads  []head                // by slot, up to a whole block
	memory []int64               // MiB left of device i at slot*MaxGPUs+i; nil: no node models it
	tagged [][MaxGPUs + 2]uint16 // by slot, number of jobs by size tag; nil: the policy does not use them
	models []string
	shapes []Node // by node.shape, less one; names cleared

	target
	sumU    int64 // of all present nodes
	sumT    int64 // idle thousandths of all present nodes
	log     []change
	shifted []int32 // scratch buffer of compact
	found   []found // scratch buffer of refresh

	classes map[Request]*class
	known   []*class // the same classes, in the order of their first request
	sets    []*setClass
	clock   int64  // counts uses of classes, to find the least recently used
	changed int64  // counts changes of nodes
	scored  int64  // counts scored nodes, for benchmarks
	epoch   uint32 // counts changes of the target; a class of an older epoch is rescored
	rng     uint64

	window window
}

// New makes a cluster of idle nodes that expects the given target. Nodes are
// numbered from 0 in the order given. The target is used whole and in the
// order given: call [PopularClasses] first to cut it. An error names the node or the
// class that is invalid and says why.
func New(cfg Config, nodes []Node, classes []Class) (*Cluster, error) {
	if cfg.Policy >= numPolicies {
		return nil, fmt.Errorf("fgd: %v", cfg.Policy)
	}
	if cfg.Window < 0 || cfg.Refresh < 0 || cfg.MaxJobs < 0 || cfg.Reference < 0 {
		return nil, errors.New("fgd: negative window, refresh, most jobs or reference")
	}
	c := &Cluster{cfg: cfg, rng: cfg.Seed, classes: map[Request]*class{}}
	order, err := orderByRank(cfg.Rank, len(nodes))
	if err != nil {
		return nil, err
	}
	for _, i := range order {
		if err := nodes[i].validateNode(); err != nil {
			return nil, fmt.Errorf("fgd: %w", err)
		}
		if _, err := c.modelIndex(nodes[i].Model); err != nil {
			return nil, err
		}
	}
	if err := c.setTarget(classes); err != nil {
		return nil, err
	}
	if cfg.Rank != nil {
		c.slot, c.id = make([]int32, len(nodes)), make([]int32, len(nodes))
	}
	for s, i := range order {
		if cfg.Rank != nil {
			c.slot[i], c.id[s] = int32(s), int32(i)
		}
		c.appendSlot(nodes[i])
	}
	c.window.fillFromTarget(cfg, classes)
	return c, nil
}

// orderByRank returns node indexes in ascending order of rank; rank must be a
// permutation of 0..n-1 or nil.
func orderByRank(rank []int, n int) ([]int, error) {
	order := make([]int, n)
	if rank == nil {
		for i := range order {
			order[i] = i
		}
		return order, nil
	}
	if len(rank) != n {
		return nil, fmt.Errorf("fgd: %d ranks for %d nodes", len(rank), n)
	}
	for i := range order {
		order[i] = -1
	}
	for i, r := range rank {
		if r < 0 || r >= n || order[r] >= 0 {
			return nil, fmt.Errorf("fgd: ranks are no permutation: node %d has %d", i, r)
		}
		order[r] = i
	}
	return order, nil
}

// modelIndex returns the index of a GPU model and adds the model if it is new.
func (c *Cluster) modelIndex(name string) (uint8, error) {
	for i, m := range c.models {
		if m == name {
			return uint8(i), nil
		}
	}
	if len(c.models) == maxModels {
		return 0, fmt.Errorf("fgd: more than %d GPU models", maxModels)
	}
	c.models = append(c.models, name)
	return uint8(len(c.models) - 1), nil
}

// slotCapacity returns what slot s has when nothing runs there. It prefers the
// shape, because few shapes exist and so they stay in the processor's cache.
func (c *Cluster) slotCapacity(s int) *Node {
	if i := c.nodes[s].shape; i > 0 {
		return &c.shapes[i-1]
	}
	return &c.caps[s]
}

// appendSlot appends a slot and puts an idle n into it.
func (c *Cluster) appendSlot(n Node) {
	c.caps = append(c.caps, n)
	c.nodes = append(c.nodes, node{})
	for len(c.heads) < len(c.nodes) {
		c.heads = append(c.heads, slices.Repeat([]head{{maxFree: -1}}, block)...)
	}
	if c.cfg.Policy == GPUClustering {
		c.tagged = append(c.tagged, [MaxGPUs + 2]uint16{})
	}
	if c.memory != nil {
		c.memory = append(c.memory, make([]int64, MaxGPUs)...)
	}
	c.fillSlot(len(c.nodes)-1, n)
}

// fillSlot makes slot s an idle n. It keeps the slot's place in the change log and
// its U, which updateSlot needs to correct the sum.
func (c *Cluster) fillSlot(s int, n Node) {
	c.caps[s] = n
	m, _ := c.modelIndex(n.Model)
	st := node{cpu: n.CPU, mem: n.Memory, gpus: uint8(n.GPUs), model: m, shape: c.shapeIndex(n), present: true}
	for i := range n.GPUs {
		st.free[i] = whole
	}
	if n.GPUMemory > 0 && c.memory == nil {
		c.memory = make([]int64, MaxGPUs*len(c.nodes))
	}
	if c.memory != nil {
		for i := range MaxGPUs {
			c.memory[s*MaxGPUs+i] = n.GPUMemory
		}
	}
	st.last, st.useful = c.nodes[s].last, c.nodes[s].useful
	c.nodes[s] = st
	if c.tagged != nil {
		c.tagged[s] = [MaxGPUs + 2]uint16{}
	}
	c.sumT += whole * int64(n.GPUs)
	c.updateSlot(s)
}

// maxShapes bounds the linear search for a node's shape and the scores that a
// class remembers by shape.
const maxShapes = 64

// shapeIndex returns the index+1 of the shape of n, and 0 once maxShapes exist.
func (c *Cluster) shapeIndex(n Node) uint16 {
	n.Name = ""
	for i, o := range c.shapes {
		if o == n {
			return uint16(i + 1)
		}
	}
	if len(c.shapes) == maxShapes {
		return 0
	}
	c.shapes = append(c.shapes, n)
	return uint16(len(c.shapes))
}

// AddNode adds an idle node and returns its number: the lowest number of a
// removed node, or else the next new one. A node with a new number ranks after
// all others; one with a reused number takes the rank of the removed node. The
// error states what is wrong with n.
func (c *Cluster) AddNode(n Node) (int, error) {
	if err := n.validateNode(); err != nil {
		return 0, fmt.Errorf("fgd: %w", err)
	}
	known := len(c.models)
	if _, err := c.modelIndex(n.Model); err != nil {
		return 0, err
	}
	if len(c.models) > known {
		c.changeTarget(c.target.classes)
	}
	if k := len(c.removed); k > 0 {
		i := c.removed[k-1]
		c.removed = c.removed[:k-1]
		c.fillSlot(c.slotOf(i), n)
		return i, nil
	}
	i := len(c.nodes)
	if c.slot != nil {
		c.slot, c.id = append(c.slot, int32(i)), append(c.id, int32(i))
	}
	c.appendSlot(n)
	return i, nil
}

// RemoveNode removes node i and all that runs on it; ReleasePlacement refuses placements
// on it from then on. RemoveNode ignores a number that is not in use.
func (c *Cluster) RemoveNode(i int) {
	s, ok := c.presentSlot(i)
	if !ok {
		return
	}
	n := &c.nodes[s]
	for _, f := range n.free {
		c.sumT -= int64(f)
	}
	*n = node{last: n.last, useful: n.useful}
	c.caps[s] = Node{}
	c.updateSlot(s)
	at := len(c.removed)
	for at > 0 && c.removed[at-1] < i {
		at--
	}
	c.removed = append(c.removed, 0)
	copy(c.removed[at+1:], c.removed[at:])
	c.removed[at] = i
}

// SetCordon excludes node i from new placements (on true) or admits it to them
// (on false). Running jobs stay, and the node's idle GPUs still count in F.
func (c *Cluster) SetCordon(i int, on bool) {
	if s, ok := c.presentSlot(i); ok && c.nodes[s].cordoned != on {
		c.nodes[s].cordoned = on
		c.updateSlot(s)
	}
}

// FreeResources returns what is left on node i: milli-CPU, MiB, and thousandths of each
// device. ok is false if node i does not exist.
func (c *Cluster) FreeResources(i int) (cpu, mem int64, gpus [MaxGPUs]int16, ok bool) {
	s, ok := c.presentSlot(i)
	if !ok {
		return 0, 0, gpus, false
	}
	n := &c.nodes[s]
	return n.cpu, n.mem, n.free, true
}

// FreeMilli returns the idle thousandths of a GPU on node i.
func (c *Cluster) FreeMilli(i int) (sum int64) {
	if s, ok := c.presentSlot(i); ok {
		for _, milli := range c.nodes[s].free {
			sum += int64(milli)
		}
	}
	return sum
}

// IdleMilli returns the idle thousandths of a GPU over all nodes.
func (c *Cluster) IdleMilli() int64 { return c.sumT }

// Fragmentation returns F over all nodes, exactly, as a fraction num/den in
// thousandths of a GPU (specification §5); den is at least 1.
func (c *Cluster) Fragmentation() (num, den int64) {
	return c.total*c.sumT - c.sumU, max(c.total, 1)
}

// presentSlot returns the slot of node i; ok is false if node i does not exist.
func (c *Cluster) presentSlot(i int) (slot int, ok bool) {
	if i < 0 || i >= len(c.nodes) {
		return 0, false
	}
	s := c.slotOf(i)
	return s, c.nodes[s].present
}

func (c *Cluster) slotOf(i int) int {
	if c.slot == nil {
		return i
	}
	return int(c.slot[i])
}

// nodeNumber returns the node number of slot s.
func (c *Cluster) nodeNumber(s int) int {
	if c.id == nil {
		return s
	}
	return int(c.id[s])
}

// updateSlot updates all values derived from slot s and appends the slot to the
// change log. Every change of a node's state must end with it.
func (c *Cluster) updateSlot(s int) {
	c.deriveDeviceState(s)
	c.updateUseful(s)
}

// deriveDeviceState recomputes what scoring reads of the devices of slot s.
func (c *Cluster) deriveDeviceState(s int) {
	n := &c.nodes[s]
	n.maxFree, n.idle, n.partial, n.distinct = 0, 0, 0, 0
	for i, f := range n.free[:n.gpus] {
		if f == 0 {
			continue
		}
		if f == whole {
			n.idle++
		} else {
			n.partial |= 1 << i
		}
		seen := false
		for d := n.distinct; d != 0 && !seen; d &= d - 1 {
			seen = n.free[bits.TrailingZeros8(d)] == f
		}
		if !seen {
			n.distinct |= 1 << i
			n.maxFree = max(n.maxFree, f)
		}
	}
	if !n.present || n.cordoned || c.cfg.MaxJobs > 0 && int(n.jobs) >= c.cfg.MaxJobs {
		n.maxFree = -1
	}
}

// updateUseful recomputes U of slot s and corrects the cluster's sum, then appends
// the slot to the change log.
func (c *Cluster) updateUseful(s int) {
	n := &c.nodes[s]
	c.sumU -= n.useful
	n.useful = c.usefulAt(n, c.bucketOf(n.cpu))
	c.sumU += n.useful
	c.logChange(s, n)
}
