package fgd

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// maxModels is the number of GPU models that a modelSet can hold.
const maxModels = 256

// modelSet is a set of model indexes.
type modelSet [maxModels / 64]uint64

func (m *modelSet) hasModel(i uint8) bool { return m[i>>6]>>(i&63)&1 == 1 }

// allowedModels returns the set of models that spec names; all models if spec is "".
func (c *Cluster) allowedModels(spec string) (set modelSet) {
	if spec == "" {
		for i := range set {
			set[i] = math.MaxUint64
		}
		return set
	}
	for name := range strings.SplitSeq(spec, "|") {
		for i, m := range c.models {
			if m == name {
				set[i>>6] |= 1 << (i & 63)
			}
		}
	}
	return set
}

// A Class is a kind of request in the target workload and its frequency
// (specification §3). Memory plays no role in F.
type Class struct {
	Request
	Count int64 // > 0
}

// PopularClasses returns the most popular classes: the shortest prefix, by count and
// then by larger CPU, Milli, GPUs and Models, whose counts make up percent of
// the total (§3; the published runs use 95). It merges classes that differ only
// in host or device memory, which F does not see.
func PopularClasses(classes []Class, percent int) []Class {
	var out []Class
	seen := map[Request]int{}
	var all int64
	for _, k := range classes {
		k.Request = k.Request.normalizedRequest()
		k.Memory, k.GPUMemory = 0, 0
		i, ok := seen[k.Request]
		if !ok {
			i = len(out)
			seen[k.Request] = i
			out = append(out, Class{Request: k.Request})
		}
		out[i].Count += k.Count
		all += k.Count
	}
	slices.SortFunc(out, func(a, b Class) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Milli, a.Milli),
			cmp.Compare(b.GPUs, a.GPUs), cmp.Compare(b.Models, a.Models))
	})
	var kept int64
	for i, k := range out {
		if float64(kept) >= float64(percent)*float64(all)/100 {
			return out[:i]
		}
		kept += k.Count
	}
	return out
}

// target is the target workload as lookup tables. The useful idle GPU of a node,
// times the total count D, is
//
//	U = sum over devices of free * weight[model][bucket(cpu)][level(free)]
//	    + multi[model][bucket(cpu)][idle devices]
//
// where weight counts the one-GPU classes that fit that much CPU and that much
// of a device, and multi those of several devices (specification §5).
type target struct {
	classes []Class
	total   int64 // D, the sum of counts

	cpus    []int64  // the classes' distinct CPU values, ascending
	buckets int      // len(cpus)+1; bucket b holds the nodes with cpus[:b] <= cpu
	hint    []uint16 // first guess of bucketOf, by cpu>>shift
	shift   uint     // chosen so that hint has at most 1,024 entries

	levels  int // distinct Milli values of one-GPU classes, plus one
	level   [whole + 1]uint16
	weight  []int64 // [model][bucket][level]
	multi   []int64 // [model][bucket][idle], times 1000*idle
	several bool    // multi is not all zero

	steps steps
	exact reference
}

// setTarget checks a target and builds its tables. Counts add up to at most 1<<32, so
// that no product of a count and a node's thousandths overflows.
func (c *Cluster) setTarget(classes []Class) error {
	var total int64
	for _, k := range classes {
		if err := k.validateRequest(); err != nil {
			return fmt.Errorf("fgd: class %+v: %w", k.Request, err)
		}
		if k.Count <= 0 || k.Count > 1<<32 {
			return fmt.Errorf("fgd: class %+v has count %d", k.Request, k.Count)
		}
		if total += k.Count; total > 1<<32 {
			return fmt.Errorf("fgd: the classes' counts make more than %d", int64(1)<<32)
		}
	}
	c.target = target{classes: slices.Clone(classes), total: total}
	for i := range c.target.classes {
		k := &c.target.classes[i]
		k.Request = k.Request.normalizedRequest()
	}
	c.buildCPUBuckets()
	c.buildTables()
	c.steps.buildSteps(total)
	c.exact.buildClasses(c)
	return nil
}

func (c *Cluster) buildCPUBuckets() {
	t := &c.target
	for _, k := range t.classes {
		if k.GPUs > 0 {
			t.cpus = append(t.cpus, k.CPU)
		}
	}
	slices.Sort(t.cpus)
	t.cpus = slices.Compact(t.cpus)
	t.buckets = len(t.cpus) + 1
	var most int64
	if len(t.cpus) > 0 {
		most = t.cpus[len(t.cpus)-1]
	}
	for t.shift = 0; most>>t.shift >= 1024; {
		t.shift++
	}
	t.hint = make([]uint16, most>>t.shift+1)
	for i := range t.hint {
		b, _ := slices.BinarySearch(t.cpus, int64(i)<<t.shift+1)
		t.hint[i] = uint16(b)
	}
}

// bucketOf returns the number of distinct class CPU values that fit into cpu >= 0.
func (t *target) bucketOf(cpu int64) int {
	i := cpu >> t.shift
	if i >= int64(len(t.hint)) {
		return len(t.cpus)
	}
	b := int(t.hint[i])
	for b < len(t.cpus) && t.cpus[b] <= cpu {
		b++
	}
	return b
}

// buildTables counts, for each model, CPU bucket and level, the classes that fit.
func (c *Cluster) buildTables() {
	t := &c.target
	var millis []int64
	for _, k := range t.classes {
		if k.GPUs == 1 {
			millis = append(millis, k.Milli)
		}
	}
	slices.Sort(millis)
	millis = slices.Compact(millis)
	t.levels = len(millis) + 1
	for v, l := 0, 0; v <= whole; v++ {
		for l < len(millis) && millis[l] <= int64(v) {
			l++
		}
		t.level[v] = uint16(l)
	}
	models := max(len(c.models), 1)
	t.weight = make([]int64, models*t.buckets*t.levels)
	t.multi = make([]int64, models*t.buckets*(MaxGPUs+1))
	for _, k := range t.classes {
		if k.GPUs == 0 {
			continue
		}
		allow := c.allowedModels(k.Models)
		first := t.bucketOf(k.CPU)
		for m := range models {
			if !allow.hasModel(uint8(m)) {
				continue
			}
			at := m*t.buckets + first
			if k.GPUs == 1 {
				t.weight[at*t.levels+int(t.level[k.Milli])] += k.Count
				continue
			}
			t.several = true
			t.multi[at*(MaxGPUs+1)+k.GPUs] += k.Count
		}
	}
	for m := range models {
		accumulateTable(t.weight[m*t.buckets*t.levels:(m+1)*t.buckets*t.levels], t.levels)
		accumulateTable(t.multi[m*t.buckets*(MaxGPUs+1):(m+1)*t.buckets*(MaxGPUs+1)], MaxGPUs+1)
	}
	for i := range t.multi {
		t.multi[i] *= whole * int64(i%(MaxGPUs+1))
	}
}

// accumulateTable turns a table of counts into cumulative counts: it adds to each cell the
// cells before it in its row and in earlier rows, because a class that fits into
// less fits into more. One pass for each class instead would take seconds where
// no two jobs are alike.
func accumulateTable(table []int64, columns int) {
	for i := range table {
		if i%columns > 0 {
			table[i] += table[i-1]
		}
	}
	for i := columns; i < len(table); i++ {
		table[i] += table[i-columns]
	}
}

// changeTarget replaces the target, and with it F of every node and every score.
// The caller has checked the classes. The new epoch makes every class rescore.
func (c *Cluster) changeTarget(classes []Class) {
	if err := c.setTarget(classes); err != nil {
		panic(err) // Invariant: only checked requests get here.
	}
	c.sumU = 0
	for s := range c.nodes {
		n := &c.nodes[s]
		n.useful = c.usefulAt(n, c.bucketOf(n.cpu))
		c.sumU += n.useful
	}
	for _, k := range c.known {
		k.allow = c.allowedModels(k.req.Models)
	}
	c.epoch++
}

// usefulAt returns U of n as if its CPU were in bucket b.
func (t *target) usefulAt(n *node, b int) int64 {
	at := int(n.model)*t.buckets + b
	w := t.weight[at*t.levels : (at+1)*t.levels]
	u := t.multi[at*(MaxGPUs+1)+int(n.idle)] + whole*int64(n.idle)*w[len(w)-1]
	for d := n.partial; d != 0; d &= d - 1 {
		f := n.free[bits.TrailingZeros8(d)&(MaxGPUs-1)]
		u += int64(f) * w[t.level[f]]
	}
	return u
}

// steps converts a change of F into the published score, trunc(100*sigmoid), by
// a table of its hundred steps: integers, so that scores are exact and fast.
type steps struct {
	at    [101]int64 // at[k] is the least x = D*delta that scores k
	guess []uint8    // of a stretch of 1<<shift, the score at its start
	shift uint
}

// sigmoidScore computes the score of §6 in floats, in the published order of
// operations.
func sigmoidScore(delta float64) int {
	return int(1 / (1 + math.Exp(-delta/1000)) * 100)
}

func (s *steps) buildSteps(total int64) {
	d := float64(max(total, 1))
	for k := 1; k < 100; k++ {
		x := int64(math.Ceil(d * 1000 * math.Log(float64(k)/float64(100-k))))
		for sigmoidScore(float64(x)/d) >= k {
			x--
		}
		for sigmoidScore(float64(x)/d) < k {
			x++
		}
		s.at[k] = x
	}
	s.at[0], s.at[100] = math.MinInt64, math.MaxInt64 // a score of 100 would take a delta of 36 GPUs
	s.shift = 0
	for int64(2)<<s.shift <= 40*max(total, 1) { // steps are at least 40 apart
		s.shift++
	}
	s.guess = make([]uint8, (s.at[99]-s.at[1])>>s.shift+1)
	k := 1
	for i := range s.guess {
		for k < 99 && s.at[k+1] <= s.at[1]+int64(i)<<s.shift {
			k++
		}
		s.guess[i] = uint8(k)
	}
}

// scoreOf returns the published score of a node whose F falls by x/D.
func (s *steps) scoreOf(x int64) uint16 {
	if x < s.at[1] {
		return 0
	}
	i := (x - s.at[1]) >> s.shift
	if i >= int64(len(s.guess)) {
		return 99
	}
	k := s.guess[i]
	if x >= s.at[k+1] {
		k++
	}
	return uint16(k)
}
