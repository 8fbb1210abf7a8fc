package fgd

import "math/bits"

// reference is the target in the form of the published program: popularities in
// float64, in the order of the classes. The program sums F for each case of
// §5's table and then adds the cases, so a placement that only moves classes
// between cases may change F by a few 1e-13, which is enough to change a
// truncated score (§10.1).
type reference struct {
	classes []referenceClass
}

type referenceClass struct {
	cpu     int64
	milli   int16
	gpus    uint8
	allow   modelSet
	popular float64
}

func (f *reference) buildClasses(c *Cluster) {
	f.classes = f.classes[:0]
	if c.cfg.Reference == 0 {
		return
	}
	all := float64(c.cfg.Reference)
	kept := float64(c.total) / all
	for _, k := range c.target.classes {
		f.classes = append(f.classes, referenceClass{cpu: k.CPU, milli: int16(k.Milli), gpus: uint8(k.GPUs),
			allow: c.allowedModels(k.Models), popular: float64(k.Count) / all / kept})
	}
}

// nodeFragment returns F of a node with that much CPU and device capacity left.
func (f *reference) nodeFragment(model uint8, cpu int64, free []int16) float64 {
	var idle int64
	for _, v := range free {
		idle += int64(v)
	}
	var q1, q2, q4, xl, xr, na float64
	for i := range f.classes {
		k := &f.classes[i]
		fits := cpu >= k.cpu
		all := float64(k.popular * float64(idle))
		switch {
		case k.gpus == 0 && fits:
			xl += all
			continue
		case k.gpus == 0:
			xr += all
			continue
		case !k.allow.hasModel(model):
			na += all
			continue
		}
		devices, small := uint8(0), int64(0)
		for _, v := range free {
			if v >= k.milli {
				devices++
			} else {
				small += int64(v)
			}
		}
		switch hosts := devices >= k.gpus; {
		case hosts && fits:
			q2 += float64(k.popular * float64(small))
		case hosts:
			q4 += all
		case fits:
			q2 += all
		default:
			q1 += all
		}
	}
	return q1 + q2 + q4 + xl + xr + na
}

// referenceScore returns §6's score of slot s, which can take k, in floats.
func (c *Cluster) referenceScore(k *class, s int) uint16 {
	n := &c.nodes[s]
	free := n.free
	left := free[:n.gpus]
	before := c.exact.nodeFragment(n.model, n.cpu, left)
	cpu := n.cpu - k.req.CPU
	if k.kind == share {
		best := 0
		for d := c.candidateDevices(k, s); d != 0; d &= d - 1 {
			i := bits.TrailingZeros8(uint8(d))
			left[i] -= k.milli
			best = max(best, sigmoidScore(before-c.exact.nodeFragment(n.model, cpu, left)))
			left[i] += k.milli
		}
		return uint16(best)
	}
	if k.kind == wholes {
		for d := c.chooseDevices(k, s); d != 0; d &= d - 1 {
			left[bits.TrailingZeros8(uint8(d))] = 0
		}
	}
	return uint16(sigmoidScore(before - c.exact.nodeFragment(n.model, cpu, left)))
}

// referenceDevice is gradientDevice in floats.
func (c *Cluster) referenceDevice(k *class, s int, can Devices) (d Devices) {
	n := &c.nodes[s]
	free := n.free
	left := free[:n.gpus]
	before := c.exact.nodeFragment(n.model, n.cpu, left)
	best := -1
	for ; can != 0; can &= can - 1 {
		i := bits.TrailingZeros8(uint8(can))
		left[i] -= k.milli
		if v := sigmoidScore(before - c.exact.nodeFragment(n.model, n.cpu-k.req.CPU, left)); v > best {
			best, d = v, 1<<i
		}
		left[i] += k.milli
	}
	return d
}
