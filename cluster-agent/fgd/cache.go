package fgd

import (
	"math"
	"math/bits"
)

// kind is what a request asks of a node's devices.
type kind uint8

const (
	cpuOnly kind = iota
	share
	wholes
)

// class is a request that has been asked for, with the score of every node for
// it as of a place in the log.
type class struct {
	req   Request
	kind  kind
	milli int16
	gpus  uint8
	idle  uint8 // fully idle devices that a node must have
	any   bool  // any model will do
	allow modelSet
	fresh [maxShapes + 1]uint16 // scratch of refill: scores of idle nodes, less one

	used   int64  // the cluster's clock when last asked
	epoch  uint32 // of the cluster when last filled
	cursor int    // the log is taken in up to here
	scores tree
}

// maxClasses bounds the memory of the cache: scores of all classes.
const maxClasses = 64 << 20

// classOf finds or makes the class of r, a checked request. A cache that is
// full forgets the class asked for longest ago.
func (c *Cluster) classOf(r Request) *class {
	c.clock++
	if k, ok := c.classes[r]; ok {
		k.used = c.clock
		return k
	}
	var k *class
	if most := max(64, maxClasses/(len(c.nodes)+1)); len(c.known) < min(most, 4096) {
		k = &class{}
		c.known = append(c.known, k)
	} else {
		k = c.known[0]
		for _, o := range c.known {
			if o.used < k.used {
				k = o
			}
		}
		delete(c.classes, k.req)
	}
	*k = class{req: r, milli: int16(r.Milli), gpus: uint8(r.GPUs), any: r.Models == "", allow: c.allowed(r.Models),
		used: c.clock, epoch: c.epoch - 1, scores: k.scores}
	switch {
	case r.GPUs == 0:
		k.kind = cpuOnly
	case r.Milli < whole:
		k.kind = share
	default:
		k.kind, k.idle = wholes, k.gpus
	}
	c.classes[r] = k
	return k
}

// change says that a slot changed, and what it had left then, cut to 32 bits:
// enough to pass over most of those that cannot take a request.
type change struct {
	slot, cpu, mem int32
	maxFree        int16
	idle, model    uint8
}

// outdated is the maxFree of a change to a slot that has changed since.
const outdated = -2

// refresh brings k's scores up to the state of the cluster. Invariant: each
// slot that changed since k.cursor stands in the log after it; and a slot that
// fits k has its score in k.scores, while one that does not may have an old one.
func (c *Cluster) refresh(k *class) {
	if k.epoch != c.epoch || len(c.log)-k.cursor > 2*len(c.nodes) || !k.scores.holds(len(c.nodes)) {
		c.refill(k)
		return
	}
	cpu, mem := int32(min(k.req.CPU, math.MaxInt32)), int32(min(k.req.Memory, math.MaxInt32))
	milli, idle := k.milli, k.idle
	news := c.log[k.cursor:]
	for i := range news {
		e := &news[i]
		if e.maxFree < milli || e.cpu < cpu || e.idle < idle || e.mem < mem {
			continue
		}
		if s := int(e.slot); (k.any || k.allow.has(e.model)) && k.fits(&c.nodes[s]) {
			k.scores.set(s, c.score(k, s))
		}
	}
	k.cursor = len(c.log)
}

// best finds the slot for k, brought up by refresh, and its score plus one; 0 if
// there is none. Old scores of slots that do not fit are cleared as they are met.
func (c *Cluster) best(k *class) (slot int, value uint16) {
	for {
		s, v := k.scores.best()
		if v == 0 || k.fits(&c.nodes[s]) {
			return s, v
		}
		k.scores.clear(s)
	}
}

// refill scores all slots. Idle nodes of one shape score alike.
func (c *Cluster) refill(k *class) {
	k.scores.reset(len(c.nodes))
	clear(k.fresh[:])
	for s := range c.nodes {
		n := &c.nodes[s]
		if !k.fits(n) {
			continue // reset has cleared it
		}
		if n.jobs > 0 || n.shape == 0 {
			k.scores.set(s, c.score(k, s))
			continue
		}
		v := k.fresh[n.shape]
		if v == 0 {
			v = c.score(k, s) + 1
			k.fresh[n.shape] = v
		}
		k.scores.set(s, v-1)
	}
	k.epoch, k.cursor = c.epoch, len(c.log)
}

// fits says whether n has what k asks, device memory apart.
func (k *class) fits(n *node) bool {
	return k.milli <= n.maxFree && k.req.CPU <= n.cpu && k.req.Memory <= n.mem && k.idle <= n.idle &&
		(k.any || k.allow.has(n.model))
}

// compact drops from the log all but the last entry of each slot.
func (c *Cluster) compact() {
	if cap(c.moved) <= len(c.log) {
		c.moved = make([]int32, cap(c.log)+1)
	}
	moved := c.moved[:len(c.log)+1]
	kept := 0
	for pos, e := range c.log {
		moved[pos] = int32(kept)
		if e.maxFree != outdated {
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
}

// lanes of a word, each a score plus one; 0 is a node that cannot take the
// request.
const (
	lanes = 4
	ones  = 0x0001_0001_0001_0001
	highs = 0x8000_8000_8000_8000
	block = 64 // slots under one entry of the level above
)

// tree holds the score of each slot, and finds the lowest slot of the highest
// score. leaf is exact; upper bounds of blocks of 64 leaves, and of 64 such
// blocks, are lowered only when a search is misled by them.
type tree struct {
	leaf []uint64 // four scores to a word
	mid  []uint64 // four bounds to a word
	top  []uint16
}

// reset makes room for n slots and forgets all scores.
func (t *tree) reset(n int) {
	groups := n/(block*block) + 1
	t.leaf = zeroed(t.leaf, (n+block-1)/block*block/lanes)
	t.mid = zeroed(t.mid, groups*block/lanes)
	t.top = zeroed(t.top, groups)
}

// holds says whether there is room for n slots.
func (t *tree) holds(n int) bool { return n <= len(t.leaf)*lanes }

func zeroed[T uint16 | uint64](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	s = s[:n]
	clear(s)
	return s
}

// set gives slot s the value v.
func (t *tree) set(s int, v uint16) {
	put(t.leaf, s, v)
	if b := s / block; v > lane(t.mid, b) {
		put(t.mid, b, v)
		if g := b / block; v > t.top[g] {
			t.top[g] = v
		}
	}
}

// clear gives slot s the value 0.
func (t *tree) clear(s int) {
	if w, m := &t.leaf[s/lanes], uint64(0xffff)<<(s%lanes*16); *w&m != 0 {
		*w &^= m
	}
}

// best is the lowest slot of those with the highest value, or 0 for value if no
// slot has one above 0.
func (t *tree) best() (slot int, value uint16) {
	for {
		g, v := 0, t.top[0]
		for i, u := range t.top[1:] {
			if u > v {
				g, v = i+1, u
			}
		}
		if v == 0 {
			return 0, 0
		}
		at := g * block / lanes
		mids := t.mid[at : at+block/lanes]
		b := find(mids, v)
		if b < 0 {
			t.top[g] = highest(mids)
			continue
		}
		b += g * block
		leaves := t.leaf[b*block/lanes : (b+1)*block/lanes]
		if s := find(leaves, v); s >= 0 {
			return b*block + s, v
		}
		put(t.mid, b, highest(leaves))
	}
}

func lane(w []uint64, i int) uint16 { return uint16(w[i/lanes] >> (i % lanes * 16)) }

func put(w []uint64, i int, v uint16) {
	sh := i % lanes * 16
	w[i/lanes] = w[i/lanes]&^(0xffff<<sh) | uint64(v)<<sh
}

// find is the first lane that holds v, or -1. The lowest zero lane of a word is
// found exactly; only lanes above it may be taken for zero wrongly.
func find(w []uint64, v uint16) int {
	want := uint64(v) * ones
	for i, x := range w {
		x ^= want
		if z := (x - ones) & ^x & highs; z != 0 {
			return i*lanes + bits.TrailingZeros64(z)/16
		}
	}
	return -1
}

func highest(w []uint64) uint16 {
	var m uint64
	for _, x := range w { // lanes below 1<<15, so each compares by itself
		larger := ((x | highs) - m) & highs >> 15 * 0xffff
		m = x&larger | m&^larger
	}
	return max(uint16(m), uint16(m>>16), uint16(m>>32), uint16(m>>48))
}
