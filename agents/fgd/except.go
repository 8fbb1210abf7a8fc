package fgd

// A NodeSet is a set of nodes by their numbers, as a set of bits. The nil set is empty.
type NodeSet []uint64

// Add returns the set with node i in it. It reuses the memory of n.
func (n NodeSet) Add(i int) NodeSet {
	for len(n) <= i/64 {
		n = append(n, 0)
	}
	n[i/64] |= 1 << (i % 64)
	return n
}

// Has reports whether node i is in the set.
func (n NodeSet) Has(i int) bool { return i/64 < len(n) && n[i/64]>>(i%64)&1 == 1 }

// bestExcept returns the lowest of the best slots for k that are not in skip, and its
// score plus one; 0 if there is none. The caller has found the best of all slots, and
// it is in skip, so the bounds of blocks hold for all other slots. bestExcept must not
// lower them, since they must hold for the nodes of skip too.
func (c *Cluster) bestExcept(k *class, skip NodeSet) (slot int, value uint16) {
	want := k.requiredHead()
	for b := range len(c.heads) / block {
		if laneValue(k.bounds.leaf, b) <= value {
			continue // no slot there is better, and of equal ones the lowest wins
		}
		heads := c.heads[b*block : (b+1)*block]
		for i := range heads {
			s := b*block + i
			if !heads[i].hasAtLeast(want) || !k.fitsNode(&c.nodes[s]) || skip.Has(c.nodeNumber(s)) {
				continue
			}
			if v := c.slotScore(k, s); v > value {
				slot, value = s, v
			}
		}
	}
	return slot, value
}
