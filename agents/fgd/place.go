package fgd

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// PlaceRequest decides where r goes, and takes it there. ok is false if r makes no
// sense or no node can take it; nothing then changes.
func (c *Cluster) PlaceRequest(r Request) (p Placement, ok bool) { return c.PlaceExcept(r, nil) }

// PlaceExcept is PlaceRequest as if the nodes of skip were cordoned.
func (c *Cluster) PlaceExcept(r Request, skip NodeSet) (p Placement, ok bool) {
	r = r.normalizedRequest()
	if r.validateRequest() != nil {
		return p, false
	}
	k := c.classOf(r)
	s, _, ok := c.chooseSlot(k, skip)
	if !ok {
		return p, false
	}
	p = Placement{Node: c.nodeNumber(s), Devices: c.chooseDevices(k, s), Request: r}
	c.takeOnSlot(s, p)
	return p, true
}

// QuoteRequest returns where r would go and how F would change. It changes nothing, not
// even the random sequence: a PlaceRequest that follows goes to the same devices.
func (c *Cluster) QuoteRequest(r Request) (q Quote) { return c.QuoteExcept(r, nil) }

// QuoteExcept is QuoteRequest as if the nodes of skip were cordoned. Unlike a real cordon it
// leaves the cached best nodes as they are, so it causes no later search.
func (c *Cluster) QuoteExcept(r Request, skip NodeSet) (q Quote) {
	r = r.normalizedRequest()
	q.Request = r
	if r.validateRequest() != nil {
		return q
	}
	k := c.classOf(r)
	if last := &k.quoted; last.at != c.changed+1 || last.epoch != c.epoch || !slices.Equal(last.skip, skip) {
		*last = quoted{c.changed + 1, c.epoch, append(last.skip[:0], skip...), c.quoteClass(k, skip)}
	}
	return k.quoted.quote
}

// quoteClass is QuoteExcept for the request of a class.
func (c *Cluster) quoteClass(k *class, skip NodeSet) (q Quote) {
	q.Request = k.req
	rng := c.rng
	s, v, ok := c.chooseSlot(k, skip)
	if !ok {
		return q
	}
	q.Node, q.Devices, q.Fits = c.nodeNumber(s), c.chooseDevices(k, s), true
	q.DeltaF = divideRounded(-c.fragmentationDrop(k, s, q.Devices), c.total)
	q.Score = c.scoreThousandths(v)
	c.rng = rng
	return q
}

// QuoteBatch appends to out the quote of each of rs, each as if it were the
// only one to be placed, and returns out.
func (c *Cluster) QuoteBatch(rs []Request, out []Quote) []Quote {
	for _, r := range rs {
		out = append(out, c.QuoteRequest(r))
	}
	return out
}

// chooseSlot returns the slot for k among nodes that are not in skip, and its score; ok is
// false if no node fits.
func (c *Cluster) chooseSlot(k *class, skip NodeSet) (slot int, score uint16, ok bool) {
	c.refreshClass(k)
	s, v := c.bestSlot(k)
	if v > 0 && skip.Has(c.nodeNumber(s)) {
		s, v = c.bestExcept(k, skip)
	}
	if v == 0 {
		return 0, 0, false
	}
	if c.cfg.Policy == Random {
		s = c.drawFittingSlot(k, skip)
	}
	return s, v - 1, true
}

// scoreThousandths converts a policy's score into thousandths of its scale.
func (c *Cluster) scoreThousandths(score uint16) int {
	switch c.cfg.Policy {
	case LeastAllocated, MostAllocated:
		return int(score)
	case FGDTight:
		return int(score>>tieBits) * 10
	}
	return int(score) * 10
}

// divideRounded returns num/den to the nearest, halves away from zero; 0 if den is 0.
func divideRounded(num, den int64) int64 {
	switch {
	case den == 0:
		return 0
	case num < 0:
		return -((-num + den/2) / den)
	}
	return (num + den/2) / den
}

// TakePlacement allocates a placement that the caller decided, for example one found
// running after a restart. A cordoned node accepts it, since the job runs there
// already. The error states what does not fit; nothing changes in that case.
func (c *Cluster) TakePlacement(p Placement) error {
	p.Request = p.Request.normalizedRequest()
	r := p.Request
	s, err := c.checkPlacement(p)
	if err != nil {
		return err
	}
	n := &c.nodes[s]
	switch {
	case r.CPU > n.cpu:
		return fmt.Errorf("fgd: node %d has %d milli-CPU left, want %d", p.Node, n.cpu, r.CPU)
	case r.Memory > n.mem:
		return fmt.Errorf("fgd: node %d has %d MiB left, want %d", p.Node, n.mem, r.Memory)
	case c.cfg.MaxJobs > 0 && int(n.jobs) >= c.cfg.MaxJobs:
		return fmt.Errorf("fgd: node %d runs %d jobs already", p.Node, n.jobs)
	}
	for d := p.Devices; d != 0; d &= d - 1 {
		i := bits.TrailingZeros8(uint8(d))
		if int64(n.free[i]) < r.Milli {
			return fmt.Errorf("fgd: device %d of node %d has %d thousandths left, want %d", i, p.Node, n.free[i], r.Milli)
		}
		if !c.hasMemory(s, i, r.GPUMemory) {
			return fmt.Errorf("fgd: device %d of node %d has too little memory left, want %d MiB", i, p.Node, r.GPUMemory)
		}
	}
	c.takeOnSlot(s, p)
	return nil
}

// ReleasePlacement frees what p allocated. The error says that the node does not hold
// so much; nothing changes in that case.
func (c *Cluster) ReleasePlacement(p Placement) error {
	p.Request = p.Request.normalizedRequest()
	r := p.Request
	s, err := c.checkPlacement(p)
	if err != nil {
		return err
	}
	n, full := &c.nodes[s], c.slotCapacity(s)
	tooMuch := n.jobs == 0 || r.CPU > full.CPU-n.cpu || r.Memory > full.Memory-n.mem ||
		c.tagged != nil && c.tagged[s][sizeTag(r)] == 0
	for d := p.Devices; d != 0; d &= d - 1 {
		i := bits.TrailingZeros8(uint8(d))
		tooMuch = tooMuch || int64(n.free[i])+r.Milli > whole ||
			full.GPUMemory > 0 && r.GPUMemory > full.GPUMemory-c.memory[s*MaxGPUs+i]
	}
	if tooMuch {
		return fmt.Errorf("fgd: node %d does not hold what is released", p.Node)
	}
	c.applyPlacement(s, p, -1)
	return nil
}

// checkPlacement returns the slot of p. The error says that the request is invalid, the
// node does not exist, or the devices do not match the request and the node.
func (c *Cluster) checkPlacement(p Placement) (slot int, err error) {
	if err := p.Request.validateRequest(); err != nil {
		return 0, fmt.Errorf("fgd: %w", err)
	}
	s, ok := c.presentSlot(p.Node)
	if !ok {
		return 0, fmt.Errorf("fgd: there is no node %d", p.Node)
	}
	if p.Devices.Count() != p.Request.GPUs || bits.Len8(uint8(p.Devices)) > int(c.nodes[s].gpus) {
		return 0, errors.New("fgd: the devices are not those of the request and the node")
	}
	return s, nil
}

func (c *Cluster) takeOnSlot(s int, p Placement) { c.applyPlacement(s, p, 1) }

// applyPlacement allocates (sign 1) or frees (sign -1) the resources of p on slot s.
func (c *Cluster) applyPlacement(s int, p Placement, sign int64) {
	n, r := &c.nodes[s], &p.Request
	n.cpu -= sign * r.CPU
	n.mem -= sign * r.Memory
	n.jobs += int32(sign)
	for d := p.Devices; d != 0; d &= d - 1 {
		i := bits.TrailingZeros8(uint8(d))
		n.free[i] -= int16(sign * r.Milli)
		if c.memory != nil && c.slotCapacity(s).GPUMemory > 0 {
			c.memory[s*MaxGPUs+i] -= sign * r.GPUMemory
		}
	}
	c.sumT -= sign * r.TotalMilli()
	if c.tagged != nil {
		t := sizeTag(*r)
		count := &c.tagged[s][t]
		*count += uint16(sign)
		if n.tags |= 1 << t; *count == 0 {
			n.tags &^= 1 << t
		}
	}
	c.updateSlot(s)
}

// sizeTag returns the size class of a job for GPU clustering (§8): 0 no GPU, 1 to 8
// whole devices, 9 a share.
func sizeTag(r Request) int {
	if r.GPUs == 1 && r.Milli < whole {
		return MaxGPUs + 1
	}
	return r.GPUs
}
