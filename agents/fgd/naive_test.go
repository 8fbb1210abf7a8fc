package fgd

import (
	"math"
	"slices"
	"strings"
)

// naive is the specification read aloud: no table, no cache, no log. Tests hold
// Cluster to it.
type naive struct {
	cfg    Config
	nodes  []naiveNode // by number
	rank   []int       // by number
	target []Class
}

type naiveNode struct {
	Node
	cpu, mem   int64
	gpu        []int64 // thousandths left of each device
	vram       []int64
	jobs       []Placement
	cordoned   bool
	gone       bool
	modelsVRAM bool
}

func newNaive(cfg Config, nodes []Node, target []Class) *naive {
	v := &naive{cfg: cfg, target: target, rank: slices.Clone(cfg.Rank)}
	for i, n := range nodes {
		v.nodes = append(v.nodes, idleNaive(n))
		if cfg.Rank == nil {
			v.rank = append(v.rank, i)
		}
	}
	return v
}

func idleNaive(n Node) naiveNode {
	s := naiveNode{Node: n, cpu: n.CPU, mem: n.Memory, modelsVRAM: n.GPUMemory > 0}
	for range n.GPUs {
		s.gpu = append(s.gpu, 1000)
		s.vram = append(s.vram, n.GPUMemory)
	}
	return s
}

func (n naiveNode) clone() naiveNode {
	n.gpu, n.vram, n.jobs = slices.Clone(n.gpu), slices.Clone(n.vram), slices.Clone(n.jobs)
	return n
}

func (n *naiveNode) idle() (sum int64) {
	for _, g := range n.gpu {
		sum += g
	}
	return sum
}

func allows(spec, model string) bool {
	return spec == "" || slices.Contains(strings.Split(spec, "|"), model)
}

// fragmentOf is f_n(m) of §5, in which case it falls, and whether it counts.
func (n *naiveNode) fragmentOf(m Request) (amount int64, kind string) {
	fits := n.cpu >= m.CPU
	if m.GPUs == 0 {
		if fits {
			return n.idle(), "XL"
		}
		return n.idle(), "XR"
	}
	if !allows(m.Models, n.Model) {
		return n.idle(), "NA"
	}
	var enough int
	var small int64
	for _, g := range n.gpu {
		if g >= m.Milli {
			enough++
		} else {
			small += g
		}
	}
	switch hosts := enough >= m.GPUs; {
	case hosts && fits:
		return small, "Q3"
	case hosts:
		return n.idle(), "Q4"
	case fits:
		return n.idle(), "Q2"
	}
	return n.idle(), "Q1"
}

// fragment is D*F_n.
func (v *naive) fragment(n *naiveNode) (sum int64) {
	if n.gone {
		return 0
	}
	for _, m := range v.target {
		amount, _ := n.fragmentOf(m.Request)
		sum += m.Count * amount
	}
	return sum
}

// floatFragment is F_n as the published program sums it.
func (v *naive) floatFragment(n *naiveNode) (sum float64) {
	kept := 0.0
	for _, m := range v.target {
		kept += float64(m.Count)
	}
	cases := map[string]float64{}
	for _, m := range v.target {
		p := float64(m.Count) / float64(v.cfg.Reference) / (kept / float64(v.cfg.Reference))
		amount, kind := n.fragmentOf(m.Request)
		if kind == "Q3" {
			kind = "Q2" // where the small devices of a served class are booked
		}
		cases[kind] += float64(p * float64(amount))
	}
	for _, kind := range []string{"Q1", "Q2", "Q4", "XL", "XR", "NA"} {
		sum += cases[kind]
	}
	return sum
}

func (v *naive) total() (d int64) {
	for _, m := range v.target {
		d += m.Count
	}
	return d
}

// options are the sets of devices that r could take on n, in the order tried.
func (n *naiveNode) options(r Request, maxJobs int) (out []Devices) {
	if n.gone || n.cordoned || maxJobs > 0 && len(n.jobs) >= maxJobs || r.CPU > n.cpu || r.Memory > n.mem {
		return nil
	}
	if r.GPUs == 0 {
		return []Devices{0}
	}
	if !allows(r.Models, n.Model) {
		return nil
	}
	var all Devices
	for i, g := range n.gpu {
		if g >= r.Milli && (!n.modelsVRAM || n.vram[i] >= r.GPUMemory) {
			if r.GPUs == 1 && r.Milli < 1000 {
				out = append(out, 1<<i)
			} else if all.Count() < r.GPUs {
				all |= 1 << i
			}
		}
	}
	if all != 0 && all.Count() == r.GPUs {
		out = append(out, all)
	}
	return out
}

func (n *naiveNode) apply(p Placement, sign int64) {
	n.cpu -= sign * p.Request.CPU
	n.mem -= sign * p.Request.Memory
	for i := range n.gpu {
		if p.Devices.Has(i) {
			n.gpu[i] -= sign * p.Request.Milli
			n.vram[i] -= sign * p.Request.GPUMemory
		}
	}
	if sign > 0 {
		n.jobs = append(n.jobs, p)
	} else {
		i := slices.Index(n.jobs, p)
		n.jobs = slices.Delete(n.jobs, i, i+1)
	}
}

// delta is D times the fall of F, and F's fall in floats.
func (v *naive) delta(i int, r Request, d Devices) (exact int64, float float64) {
	before := &v.nodes[i]
	after := before.clone()
	after.apply(Placement{Node: i, Devices: d, Request: r}, 1)
	exact = v.fragment(before) - v.fragment(&after)
	if v.cfg.Reference > 0 {
		float = v.floatFragment(before) - v.floatFragment(&after)
	}
	return exact, float
}

// gradient is §6.
func (v *naive) gradient(i int, r Request, options []Devices) (score int, device Devices) {
	score = -1
	for _, d := range options {
		exact, delta := v.delta(i, r, d)
		if v.cfg.Reference == 0 {
			delta = float64(exact) / float64(max(v.total(), 1))
		}
		if s := int(1 / (1 + math.Exp(-delta/1000)) * 100); s > score {
			score, device = s, d
		}
	}
	return score, device
}

// place decides: the node with the highest score and then the lowest rank.
func (v *naive) place(r Request) (p Placement, score int, ok bool) {
	if r.GPUs == 0 {
		r = Request{CPU: r.CPU, Memory: r.Memory}
	}
	best := -1
	for i := range v.nodes {
		n := &v.nodes[i]
		options := n.options(r, v.cfg.MaxJobs)
		if len(options) == 0 {
			continue
		}
		var s int
		d := options[0]
		switch v.cfg.Policy {
		case FGD:
			s, d = v.gradient(i, r, options)
		case FGDTight:
			s, d = v.gradient(i, r, options)
			s = s*1000 + 255 - int(n.idle()*255/8000)
		default:
			s = n.baseline(v.cfg.Policy, r)
			for _, o := range options { // the tightest device
				if r.GPUs == 1 && r.Milli < 1000 && n.left(o) < n.left(d) {
					d = o
				}
			}
		}
		if s > best || s == best && v.rank[i] < v.rank[p.Node] {
			best, p = s, Placement{Node: i, Devices: d, Request: r}
		}
	}
	return p, best, best >= 0
}

func (n *naiveNode) left(d Devices) int64 {
	for i, g := range n.gpu {
		if d.Has(i) {
			return g
		}
	}
	return 0
}

// baseline is §8, and Kubernetes' scores.
func (n *naiveNode) baseline(p Policy, r Request) int {
	total, free := float64(r.TotalMilli()), 0
	for _, g := range n.gpu {
		if g == 1000 {
			free++
		}
	}
	idle := float64(n.idle())
	switch p {
	case BestFit:
		return int((1 - (float64(float64(n.cpu-r.CPU)/128000*0.5) + float64((idle-total)/8000*0.5))) * 100)
	case DotProd:
		return int(100 * (1 - (float64(float64(n.cpu)/128000*(float64(r.CPU)/128000))+float64(idle/8000*(total/8000)))/2))
	case GPUPacking:
		if r.GPUs == 0 {
			return 0
		}
		if free == len(n.gpu) {
			return max(33-free, free)
		}
		var fit []int64
		for i, g := range n.gpu {
			if g >= r.Milli && (!n.modelsVRAM || n.vram[i] >= r.GPUMemory) {
				fit = append(fit, g)
			}
		}
		slices.Sort(fit)
		use, percents := 0, int64(0)
		for _, g := range fit[:r.GPUs] {
			percents += g * 100 / 1000
			if g == 1000 {
				use++
			}
		}
		if use > 0 {
			return max(50-use, 33)
		}
		return max(100-int(percents)/10, 50)
	case GPUClustering:
		return n.clustering(r)
	case LeastAllocated, MostAllocated:
		sum, dims := int64(0), int64(0)
		add := func(left, capacity int64) {
			if capacity > 0 {
				if p == MostAllocated {
					left = capacity - left
				}
				sum += left * 1000 / capacity
				dims++
			}
		}
		add(n.cpu-r.CPU, n.CPU)
		add(n.mem-r.Memory, n.Memory)
		if r.GPUs > 0 {
			add(n.idle()-r.TotalMilli(), 1000*int64(n.GPUs))
		}
		return int(sum / max(dims, 1))
	}
	return 0
}

// size is how §8's clustering tells jobs apart.
func size(r Request) int {
	if r.GPUs == 1 && r.Milli < 1000 {
		return -1
	}
	return r.GPUs
}

func (n *naiveNode) clustering(r Request) int {
	if r.GPUs == 0 {
		return 0
	}
	same, other := false, false
	for _, j := range n.jobs {
		switch {
		case size(j.Request) == size(r):
			same = true
		case j.Request.GPUs > 0:
			other = true
		}
	}
	score := int(25 * (8000 - n.idle()) / 8000)
	switch {
	case same && !other:
		return score + 75
	case same:
		return score + 50
	case !other:
		return score + 25
	}
	return score
}
