package fgd

import "math"

// head is a summary of a node in eight bytes. It rules most nodes out for a
// request, so that a search reads little memory.
type head struct {
	cpu     int32 // milli-CPU left, at most MaxInt32
	maxFree int16
	idle    uint8
	model   uint8
}

// hasAtLeast reports whether h has at least what want asks for; it ignores models.
func (h *head) hasAtLeast(want head) bool {
	return h.maxFree >= want.maxFree && h.cpu >= want.cpu && h.idle >= want.idle
}

// requiredHead returns the least that a node must have to take k.
func (k *class) requiredHead() head {
	return head{cpu: int32(min(k.req.CPU, math.MaxInt32)), maxFree: k.milli, idle: k.idle}
}

// change is an entry of the change log: a slot changed, and had this much left.
type change struct {
	slot, mem int32
	head
}

// staleMaxFree, as the maxFree of an entry, marks that the slot has a later entry; no
// request fits it, so readers skip it.
const staleMaxFree = -2

// logChange appends slot s to the change log, marks its earlier entry outdated, and
// updates the slot's head.
func (c *Cluster) logChange(s int, n *node) {
	c.changed++
	if len(c.log) == cap(c.log) {
		c.compactLog()
	}
	// compactLog may have dropped the slot's last entry and moved another slot's
	// entry to its index, so compare the slot too.
	if n.last < int32(len(c.log)) && c.log[n.last].slot == int32(s) {
		c.log[n.last].maxFree = staleMaxFree
	}
	n.last = int32(len(c.log))
	h := head{cpu: int32(min(n.cpu, math.MaxInt32)), maxFree: n.maxFree, idle: n.idle, model: n.model}
	c.heads[s] = h
	c.log = append(c.log, change{slot: int32(s), mem: int32(min(n.mem, math.MaxInt32)), head: h})
}

// compactLog drops the entries that all classes have read, and all but the last
// entry of each slot. A class that would refill anyway is marked for refill and
// counts as having read all. The rest fills at most half of the log; a log that
// is fuller doubles its capacity.
func (c *Cluster) compactLog() {
	from := len(c.log)
	for _, k := range c.known {
		if k.epoch != c.epoch || len(c.log)-k.cursor > 2*len(c.nodes) {
			k.epoch, k.cursor = c.epoch-1, len(c.log)
		}
		from = min(from, k.cursor)
	}
	for _, k := range c.sets {
		if k.epoch != c.epoch || len(c.log)-k.cursor > len(c.nodes) {
			k.epoch, k.cursor = c.epoch-1, len(c.log)
		}
		from = min(from, k.cursor)
	}
	if cap(c.shifted) <= len(c.log) {
		c.shifted = make([]int32, cap(c.log)+1)
	}
	moved := c.shifted[:len(c.log)+1]
	kept := 0
	for pos := from; pos < len(c.log); pos++ {
		moved[pos] = int32(kept)
		if e := c.log[pos]; e.maxFree != staleMaxFree {
			c.nodes[e.slot].last = int32(kept)
			c.log[kept] = e
			kept++
		}
	}
	moved[len(c.log)] = int32(kept)
	for _, k := range c.known {
		k.cursor = int(moved[k.cursor])
	}
	for _, k := range c.sets {
		k.cursor = int(moved[k.cursor])
	}
	c.log = c.log[:kept]
	if 2*kept >= cap(c.log) {
		log := make([]change, kept, max(1024, 2*cap(c.log)))
		copy(log, c.log)
		c.log = log
	}
}
