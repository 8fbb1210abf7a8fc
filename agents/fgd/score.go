package fgd

import "math/bits"

// slotScore returns the score of slot s for k plus one, where the node fits k; or 0
// if its devices lack memory. The one keeps 0 free for "cannot take k".
func (c *Cluster) slotScore(k *class, s int) uint16 {
	c.scored++
	if k.req.GPUMemory > 0 && !c.hasEnoughDevices(k, s) {
		return 0
	}
	switch c.cfg.Policy {
	case FGD:
		return 1 + c.gradientScore(k, s)
	case FGDTight:
		idle := c.nodes[s].idleMilli() * tieMask / (whole * MaxGPUs)
		return 1 + (c.gradientScore(k, s)<<tieBits | uint16(tieMask-idle))
	}
	return 1 + c.baselineScore(k, s)
}

// FGDTight's scores hold the published score in the high bits and the lack of
// idle GPU in the low ones, so that comparing numbers breaks ties.
const (
	tieBits = 8
	tieMask = 1<<tieBits - 1
)

// gradientScore returns the published FGD score of slot s for k.
func (c *Cluster) gradientScore(k *class, s int) uint16 {
	switch {
	case c.cfg.Reference > 0:
		return c.referenceScore(k, s)
	case k.kind == share:
		return c.steps.scoreOf(c.bestShareDelta(k, s))
	}
	return c.steps.scoreOf(c.wholeDelta(k, s))
}

// bestShareDelta returns the highest shareDelta over the devices of slot s that can
// take share k. Devices with equal free parts give equal deltas, so it tries
// only the first of each; with device memory they may differ, so it tries all.
func (c *Cluster) bestShareDelta(k *class, s int) int64 {
	n := &c.nodes[s]
	t := &c.target
	devices := n.distinct
	if k.req.GPUMemory > 0 {
		devices = uint8(c.candidateDevices(k, s))
	}
	b := t.bucketOf(n.cpu - k.req.CPU)
	at := int(n.model)*t.buckets + b
	w := t.weight[at*t.levels : (at+1)*t.levels]
	var best int64 = minDelta
	for ; devices != 0; devices &= devices - 1 {
		free := n.free[bits.TrailingZeros8(devices)&(MaxGPUs-1)]
		left := free - k.milli
		if left < 0 {
			continue
		}
		u := int64(left)*w[t.level[left]] - int64(free)*w[t.level[free]]
		if free == whole && t.several {
			multi := t.multi[at*(MaxGPUs+1):]
			u += multi[n.idle-1] - multi[n.idle]
		}
		best = max(best, u)
	}
	return best + t.usefulAt(n, b) - n.useful + t.total*int64(k.milli)
}

// minDelta is below every D*delta, and far enough from overflow to add to.
const minDelta = -1 << 60

// shareDelta returns D times the decrease of F, the delta of §6, if share k goes
// to device i of slot s.
func (c *Cluster) shareDelta(k *class, s, i int) int64 {
	n := &c.nodes[s]
	t := &c.target
	b := t.bucketOf(n.cpu - k.req.CPU)
	at := int(n.model)*t.buckets + b
	w := t.weight[at*t.levels : (at+1)*t.levels]
	free := n.free[i]
	left := free - k.milli
	u := t.usefulAt(n, b) - int64(free)*w[t.level[free]] + int64(left)*w[t.level[left]]
	if free == whole {
		multi := t.multi[at*(MaxGPUs+1):]
		u += multi[n.idle-1] - multi[n.idle]
	}
	return u - n.useful + t.total*int64(k.milli)
}

// wholeDelta is shareDelta for requests of whole devices or of no device.
func (c *Cluster) wholeDelta(k *class, s int) int64 { return c.wholeDrop(s, k.req.CPU, k.gpus) }

// fragmentationDrop returns D times the decrease of F for k on the given devices of slot s.
func (c *Cluster) fragmentationDrop(k *class, s int, d Devices) int64 {
	if k.kind == share {
		return c.shareDelta(k, s, bits.TrailingZeros8(uint8(d)))
	}
	return c.wholeDelta(k, s)
}

// candidateDevices returns the devices of slot s that can serve one device of k.
func (c *Cluster) candidateDevices(k *class, s int) (d Devices) {
	n := &c.nodes[s]
	for i, f := range n.free[:n.gpus] {
		if f >= k.milli && c.hasMemory(s, i, k.req.GPUMemory) {
			d |= 1 << i
		}
	}
	return d
}

// hasEnoughDevices reports whether slot s has enough devices for k, device memory included.
func (c *Cluster) hasEnoughDevices(k *class, s int) bool {
	return c.candidateDevices(k, s).Count() >= int(k.gpus)
}

// hasMemory reports whether device i of slot s has need MiB left, or its node
// does not model device memory.
func (c *Cluster) hasMemory(s, i int, need int64) bool {
	return need == 0 || c.slotCapacity(s).GPUMemory == 0 || c.memory[s*MaxGPUs+i] >= need
}

// chooseDevices chooses the devices for k on slot s, which can take it (§7).
func (c *Cluster) chooseDevices(k *class, s int) (d Devices) {
	switch k.kind {
	case cpuOnly:
		return 0
	case wholes:
		for i := 0; d.Count() < int(k.gpus); i++ {
			if c.nodes[s].free[i] == whole && c.hasMemory(s, i, k.req.GPUMemory) {
				d |= 1 << i
			}
		}
		return d
	}
	can := c.candidateDevices(k, s)
	switch gradient := c.cfg.Policy == FGD || c.cfg.Policy == FGDTight; {
	case gradient && c.cfg.Reference > 0:
		return c.referenceDevice(k, s, can)
	case gradient:
		return c.gradientDevice(k, s, can)
	case c.cfg.Policy == Random:
		for at := int(c.randomBelow(uint64(can.Count()))); at > 0; at-- {
			can &= can - 1
		}
		return can & -can
	}
	return c.tightestDevice(s, can)
}

// gradientDevice returns the first of can whose truncated score is the highest.
func (c *Cluster) gradientDevice(k *class, s int, can Devices) (d Devices) {
	best := -1
	for ; can != 0; can &= can - 1 {
		i := bits.TrailingZeros8(uint8(can))
		if v := int(c.steps.scoreOf(c.shareDelta(k, s, i))); v > best {
			best, d = v, 1<<i
		}
	}
	return d
}

// tightestDevice returns the device of can with the least left; ties go to the lowest
// index.
func (c *Cluster) tightestDevice(s int, can Devices) (d Devices) {
	var least int16 = whole + 1
	for ; can != 0; can &= can - 1 {
		i := bits.TrailingZeros8(uint8(can))
		if f := c.nodes[s].free[i]; f < least {
			least, d = f, 1<<i
		}
	}
	return d
}

// randomBelow returns a number below n > 0 (splitmix64; the bias of the remainder is
// below n/2^64).
func (c *Cluster) randomBelow(n uint64) uint64 {
	c.rng += 0x9e3779b97f4a7c15
	z := c.rng
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z ^ z>>31) % n
}
