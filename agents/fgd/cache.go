package fgd

import "math"

// kind is the kind of GPU demand of a request.
type kind uint8

const (
	cpuOnly kind = iota
	share
	wholes
)

// class caches the search for one request: the best slot and, for every block of
// slots, an upper bound on the score, both as of a position in the change log.
type class struct {
	req   Request
	kind  kind
	milli int16
	gpus  uint8
	idle  uint8 // fully idle devices that a node must have
	any   bool  // any model will do
	allow modelSet
	fresh [maxShapes + 1]uint16 // scratch buffer of refill: scores plus one of idle nodes by shape; 0: not computed

	used   int64     // the cluster's clock at the latest request
	epoch  uint32    // the cluster's epoch at the latest refill
	cursor int       // log entries before it have been applied
	bounds boundTree // upper bounds of score plus one, by block of slots

	known bool   // slot and value are the best as of cursor
	slot  int32  // the lowest of those with the highest score
	value uint16 // its score plus one; 0 if no node can take the request

	quoted quoted
}

// quoted is the latest quote of a class. It holds while no node and no target changes: the jobs of
// a call that ask for the same, and one job under several power caps, share it.
type quoted struct {
	at    int64 // changed of the cluster plus one; 0: none
	epoch uint32
	skip  NodeSet
	quote Quote
}

// maxBounds bounds the memory of the cache: the number of blocks over all classes.
const maxBounds = 64 << 20

// classOf returns the class of r, a checked request, and makes it if it is new.
// When the cache is full it evicts the least recently used class. At most 4,096
// classes are kept, because compact visits each of them.
func (c *Cluster) classOf(r Request) *class {
	c.clock++
	if k, ok := c.classes[r]; ok {
		k.used = c.clock
		return k
	}
	var k *class
	if most := max(64, maxBounds/(len(c.nodes)/block+1)); len(c.known) < min(most, 4096) {
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
	*k = class{req: r, milli: int16(r.Milli), gpus: uint8(r.GPUs), any: r.Models == "", allow: c.allowedModels(r.Models),
		used: c.clock, epoch: c.epoch - 1, bounds: k.bounds}
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

// refreshClass applies the log entries that k has not read, or rescores all slots
// when that is cheaper. Invariant: every slot that changed since k.cursor has an
// entry after it in the log; no slot that fits k scores above the bound of its
// block.
func (c *Cluster) refreshClass(k *class) {
	if k.epoch != c.epoch || len(c.log)-k.cursor > 2*len(c.nodes) || !k.bounds.hasBlocks(len(c.heads)/block) {
		c.rescoreAllSlots(k)
		return
	}
	want := k.requiredHead()
	mem := int32(min(k.req.Memory, math.MaxInt32))
	news := c.log[k.cursor:]
	for i := range news {
		e := &news[i]
		s := int(e.slot)
		if e.hasAtLeast(want) && e.mem >= mem && (k.any || k.allow.hasModel(e.model)) && k.fitsNode(&c.nodes[s]) {
			c.found = append(c.found, found{e.slot, c.slotScore(k, s)})
		} else if e.slot == k.slot && e.maxFree != staleMaxFree {
			k.forgetBestSlot()
		}
	}
	for _, f := range c.found {
		k.updateBestSlot(f.slot, f.value)
	}
	c.found = c.found[:0]
	k.cursor = len(c.log)
}

// found is a slot that can take a class, with its score plus one.
type found struct {
	slot  int32
	value uint16
}

// updateBestSlot records that slot s now scores v-1 for k (v is the score plus one).
func (k *class) updateBestSlot(s int32, v uint16) {
	switch {
	case s == k.slot && v >= k.value:
		k.value = v
		return
	case s == k.slot:
		k.forgetBestSlot()
	case k.known && (v > k.value || v == k.value && s < k.slot):
		s, k.slot = k.slot, s
		v, k.value = k.value, v
		if s < 0 {
			return
		}
	}
	k.bounds.raiseBound(int(s)/block, v)
}

// forgetBestSlot drops the cached best slot: its score fell, so another slot may be best.
func (k *class) forgetBestSlot() { k.slot, k.known = -1, false }

// bestSlot returns the best slot for k and its score plus one; the score is 0 if no
// slot can take k. Call refresh first. It scans only blocks whose bound may
// still hold the best slot, and lowers bounds that turn out too high.
func (c *Cluster) bestSlot(k *class) (slot int, value uint16) {
	for !k.known {
		b, bound := k.bounds.bestBlock()
		s, v, rest := c.scanBlock(k, b, bound)
		if k.known = v == bound; k.known {
			k.slot, k.value = int32(s), v
			v = rest
		}
		k.bounds.lowerBound(b, v)
	}
	return int(k.slot), k.value
}

// scanBlock scans block b. It returns the lowest slot of the highest value and, in
// rest, the highest value of the other slots or a bound on it; slot is -1 and
// value 0 if no node of the block can take k.
func (c *Cluster) scanBlock(k *class, b int, bound uint16) (slot int, value, rest uint16) {
	slot = -1
	if bound == 0 {
		return slot, 0, 0
	}
	want := k.requiredHead()
	heads := c.heads[b*block : (b+1)*block]
	for i := range heads {
		if !heads[i].hasAtLeast(want) {
			continue
		}
		s := b*block + i
		if !k.fitsNode(&c.nodes[s]) {
			continue
		}
		v := c.slotScore(k, s)
		if v > value {
			slot, value, v = s, v, value
		}
		if rest = max(rest, v); rest == bound {
			break
		}
	}
	return slot, value, rest
}

// rescoreAllSlots scores all slots: after a change of target, or when the log has grown
// so far that applying it would cost more.
func (c *Cluster) rescoreAllSlots(k *class) {
	k.bounds.resetBounds(len(c.heads) / block)
	clear(k.fresh[:])
	k.slot, k.value, k.known = -1, 0, true
	want := k.requiredHead()
	for first := 0; first < len(c.nodes); first += block {
		var bound uint16
		for s := first; s < min(first+block, len(c.nodes)); s++ {
			if !c.heads[s].hasAtLeast(want) || !k.fitsNode(&c.nodes[s]) {
				continue
			}
			v := c.scoreIdleOnce(k, s)
			bound = max(bound, v)
			if v > k.value {
				k.slot, k.value = int32(s), v
			}
		}
		k.bounds.raiseBound(first/block, bound)
	}
	k.epoch, k.cursor = c.epoch, len(c.log)
}

// scoreIdleOnce is score with a cache for idle nodes: those of one shape score alike.
func (c *Cluster) scoreIdleOnce(k *class, s int) uint16 {
	n := &c.nodes[s]
	if n.jobs > 0 || n.shape == 0 {
		return c.slotScore(k, s)
	}
	if k.fresh[n.shape] == 0 {
		k.fresh[n.shape] = c.slotScore(k, s)
	}
	return k.fresh[n.shape]
}

// fitsNode reports whether n has what k asks for; device memory is checked by score.
func (k *class) fitsNode(n *node) bool {
	return k.milli <= n.maxFree && k.req.CPU <= n.cpu && k.req.Memory <= n.mem && k.idle <= n.idle &&
		(k.any || k.allow.hasModel(n.model))
}
