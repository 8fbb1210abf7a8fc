package fgd

import "math/bits"

// The published scores divide by the largest node of the published cluster,
// not by the node's own size (§8).
const (
	maxCPU = 128000
	maxGPU = 8000
)

// baselineScore returns the score of slot s, which can take k, under a policy other
// than FGD (§8). Each product is converted to float64 by itself, so that no
// processor fuses it with the sum and scores are the same on every machine.
func (c *Cluster) baselineScore(k *class, s int) uint16 {
	n := &c.nodes[s]
	switch c.cfg.Policy {
	case BestFit:
		// The published min-max normalisation does not change which node is best
		// or which tie, so it is left out.
		cpu := float64(n.cpu-k.req.CPU) / maxCPU * 0.5
		gpu := float64(n.idleMilli()-k.req.TotalMilli()) / maxGPU * 0.5
		return clampPercent((1 - (cpu + gpu)) * 100)
	case DotProd:
		cpu := float64(n.cpu) / maxCPU * (float64(k.req.CPU) / maxCPU)
		gpu := float64(n.idleMilli()) / maxGPU * (float64(k.req.TotalMilli()) / maxGPU)
		return clampPercent(100 * (1 - (cpu+gpu)/2))
	case GPUPacking:
		return c.packingScore(k, s)
	case GPUClustering:
		return n.clusteringScore(k)
	case LeastAllocated:
		return c.allocationScore(k, s, false)
	case MostAllocated:
		return c.allocationScore(k, s, true)
	}
	return 0 // Random: all nodes score alike, and drawFittingSlot draws one
}

func (n *node) idleMilli() int64 {
	var sum int64
	for _, f := range n.free {
		sum += int64(f)
	}
	return sum
}

// clampPercent truncates x to 0..100, since nodes larger than the published ones could
// score outside that range.
func clampPercent(x float64) uint16 { return uint16(min(max(x, 0), 100)) }

func (c *Cluster) packingScore(k *class, s int) uint16 {
	n := &c.nodes[s]
	idle := uint16(n.idle)
	switch {
	case k.kind == cpuOnly:
		return 0
	case n.idle == n.gpus:
		return max(33-idle, idle)
	case k.kind == wholes:
		return max(50-uint16(k.gpus), 33)
	}
	d := c.tightestDevice(s, c.candidateDevices(k, s))
	free := n.free[bits.TrailingZeros8(uint8(d))]
	if free == whole {
		return 49
	}
	return max(100-uint16(free)/10/10, 50)
}

func (n *node) clusteringScore(k *class) uint16 {
	if k.kind == cpuOnly {
		return 0
	}
	score := uint16(25 * max(maxGPU-n.idleMilli(), 0) / maxGPU)
	own := uint16(1) << sizeTag(k.req)
	gpu := n.tags &^ 1
	switch {
	case gpu == own:
		return score + 75
	case gpu&own != 0:
		return score + 50
	case gpu == 0:
		return score + 25
	}
	return score
}

// allocationScore returns the mean over CPU, memory and, if k asks for GPUs, GPU of
// the part left (or, with most, used) after the placement, in thousandths of
// the node's capacity. As in Kubernetes, a resource that the node does not
// have does not count.
func (c *Cluster) allocationScore(k *class, s int, most bool) uint16 {
	n, full := &c.nodes[s], c.slotCapacity(s)
	var sum, dims int64
	add := func(left, all int64) {
		if all == 0 {
			return
		}
		if most {
			left = all - left
		}
		sum += left * 1000 / all
		dims++
	}
	add(n.cpu-k.req.CPU, full.CPU)
	add(n.mem-k.req.Memory, full.Memory)
	if k.kind != cpuOnly {
		add(n.idleMilli()-k.req.TotalMilli(), whole*int64(full.GPUs))
	}
	return uint16(sum / max(dims, 1))
}

// drawFittingSlot draws one of the slots that can take k and are not in skip.
func (c *Cluster) drawFittingSlot(k *class, skip NodeSet) int {
	count := 0
	for s := range c.nodes {
		if c.canTake(k, s) && !skip.Has(c.nodeNumber(s)) {
			count++
		}
	}
	n := int(c.randomBelow(uint64(count)))
	for s := range c.nodes {
		if !c.canTake(k, s) || skip.Has(c.nodeNumber(s)) {
			continue
		}
		if n == 0 {
			return s
		}
		n--
	}
	panic("fgd: a draw among no nodes") // Invariant: best has found a slot that can take k
}

// canTake reports whether slot s can take k.
func (c *Cluster) canTake(k *class, s int) bool {
	return c.heads[s].hasAtLeast(k.requiredHead()) && k.fitsNode(&c.nodes[s]) && (k.req.GPUMemory == 0 || c.hasEnoughDevices(k, s))
}
