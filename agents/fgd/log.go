package fgd

import "math"

// head is what decides about most nodes that they cannot take a request, in eight
// bytes, so that a search reads little.
type head struct {
	cpu     int32 // milli-CPU left, cut to 32 bits
	maxFree int16
	idle    uint8
	model   uint8
}

// holds says whether h has at least what want asks, models apart.
func (h *head) holds(want head) bool {
	return h.maxFree >= want.maxFree && h.cpu >= want.cpu && h.idle >= want.idle
}

// head is the least that a node must have to take k.
func (k *class) head() head {
	return head{cpu: int32(min(k.req.CPU, math.MaxInt32)), maxFree: k.milli, idle: k.idle}
}

// change says that a slot changed, and what it had left then.
type change struct {
	slot, mem int32
	head
}

// outdated is the maxFree of a change to a slot that has changed since.
const outdated = -2

// note puts slot s into the log, and makes its head that of n.
func (c *Cluster) note(s int, n *node) {
	if len(c.log) == cap(c.log) {
		c.compact()
	}
	// A slot's last entry may have been dropped, and its place taken by another.
	if n.last < int32(len(c.log)) && c.log[n.last].slot == int32(s) {
		c.log[n.last].maxFree = outdated
	}
	n.last = int32(len(c.log))
	h := head{cpu: int32(min(n.cpu, math.MaxInt32)), maxFree: n.maxFree, idle: n.idle, model: n.model}
	c.heads[s] = h
	c.log = append(c.log, change{slot: int32(s), mem: int32(min(n.mem, math.MaxInt32)), head: h})
}

// compact drops from the log what all classes have read, and all but the last
// entry of each slot. Classes that refresh would refill count as having read
// all. What is left fills half the log at most.
func (c *Cluster) compact() {
	from := len(c.log)
	for _, k := range c.known {
		if k.epoch != c.epoch || len(c.log)-k.cursor > 2*len(c.nodes) {
			k.epoch, k.cursor = c.epoch-1, len(c.log)
		}
		from = min(from, k.cursor)
	}
	if cap(c.moved) <= len(c.log) {
		c.moved = make([]int32, cap(c.log)+1)
	}
	moved := c.moved[:len(c.log)+1]
	kept := 0
	for pos := from; pos < len(c.log); pos++ {
		moved[pos] = int32(kept)
		if e := c.log[pos]; e.maxFree != outdated {
			c.nodes[e.slot].last = int32(kept)
			c.log[kept] = e
			kept++
		}
	}
	moved[len(c.log)] = int32(kept)
	for _, k := range c.known {
		k.cursor = int(moved[k.cursor])
	}
	c.log = c.log[:kept]
	if 2*kept >= cap(c.log) {
		log := make([]change, kept, max(1024, 2*cap(c.log)))
		copy(log, c.log)
		c.log = log
	}
}
