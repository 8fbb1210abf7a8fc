package fgd

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Few values, so that ties, exact fits and shared levels happen.
var (
	genMilli  = rapid.SampledFrom([]int64{1, 100, 250, 500, 500, 750, 810, 999})
	genCPU    = rapid.SampledFrom([]int64{0, 500, 1000, 2000, 4000, 4001, 8000, 16000})
	genMemory = rapid.SampledFrom([]int64{0, 1024, 4096, 9000})
	genModel  = rapid.SampledFrom([]string{"A", "B", "C", ""})
	genSpec   = rapid.SampledFrom([]string{"", "", "", "A", "A|B", "B|C|C", "Z"})
	genVRAM   = rapid.SampledFrom([]int64{0, 0, 0, 8, 20})
)

func drawRequest(t *rapid.T) Request {
	r := Request{CPU: genCPU.Draw(t, "cpu"), Memory: genMemory.Draw(t, "memory")}
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
	case 1, 2:
		r.GPUs, r.Milli = 1, genMilli.Draw(t, "milli")
	case 3:
		r.GPUs, r.Milli = 1, 1000
	case 4:
		r.GPUs, r.Milli = rapid.SampledFrom([]int{2, 3, 4, 8}).Draw(t, "gpus"), 1000
	}
	if r.GPUs > 0 {
		r.Models, r.GPUMemory = genSpec.Draw(t, "spec"), genVRAM.Draw(t, "vram")
	}
	return r
}

func drawNode(t *rapid.T) Node {
	n := Node{
		CPU: rapid.SampledFrom([]int64{500, 4000, 8000, 32000, 96000}).Draw(t, "cpu"), Memory: rapid.SampledFrom([]int64{4096, 65536}).Draw(t, "memory"),
		GPUs: rapid.SampledFrom([]int{0, 1, 2, 2, 4, 8}).Draw(t, "gpus"),
	}
	if n.GPUs > 0 {
		n.Model = genModel.Draw(t, "model")
		n.GPUMemory = rapid.SampledFrom([]int64{0, 0, 16, 40}).Draw(t, "vram")
	}
	return n
}

// world is a cluster and the naive one beside it.
type world struct {
	cfg    Config
	c      *Cluster
	v      *naive
	kinds  []Request // those asked for, few, so that caches are hit
	placed []Placement

	arrivals []Request // for the window
}

func drawWorld(t *rapid.T, cfg Config) *world {
	w := &world{cfg: cfg}
	nodes := rapid.SliceOfN(rapid.Custom(drawNode), 1, 12).Draw(t, "nodes")
	nodes = slices.Repeat(nodes, rapid.SampledFrom([]int{1, 1, 1, 4*block/len(nodes) + 1}).Draw(t, "copies")) // or several blocks
	w.kinds = rapid.SliceOfN(rapid.Custom(drawRequest), 1, 8).Draw(t, "kinds")
	var target []Class
	if cfg.Window == 0 {
		for i, r := range w.kinds {
			target = append(target, Class{Request: r, Count: rapid.Int64Range(1, 9).Draw(t, fmt.Sprint("count", i))})
		}
		target = PopularClasses(target, 95)
	}
	ids := make([]int, len(nodes))
	for i := range ids {
		ids[i] = i
	}
	w.cfg.Rank = rapid.Permutation(ids).Draw(t, "rank")
	var err error
	if w.c, err = New(w.cfg, nodes, target); err != nil {
		t.Fatal(err)
	}
	w.v = newNaive(w.cfg, nodes, target)
	return w
}

// step does one thing to both, and compares what they say.
func (w *world) step(t *rapid.T) {
	node := rapid.IntRange(0, len(w.v.nodes)).Draw(t, "node")
	switch do := rapid.IntRange(0, 11).Draw(t, "do"); do {
	case 0, 1:
		if len(w.placed) > 0 {
			w.release(t, rapid.IntRange(0, len(w.placed)-1).Draw(t, "which"))
		}
	case 2:
		on := rapid.Bool().Draw(t, "on")
		w.c.SetCordon(node, on)
		if node < len(w.v.nodes) && !w.v.nodes[node].gone {
			w.v.nodes[node].cordoned = on
		}
	case 3:
		w.add(t)
	case 4:
		w.c.RemoveNode(node)
		if node < len(w.v.nodes) {
			w.v.nodes[node] = naiveNode{gone: true}
		}
		w.placed = slices.DeleteFunc(w.placed, func(p Placement) bool { return p.Node == node })
	case 5:
		w.take(t, node)
	default:
		w.place(t, rapid.SampledFrom(w.kinds).Draw(t, "kind"))
	}
	var num, idle int64
	for i := range w.v.nodes {
		num += w.v.fragment(&w.v.nodes[i])
		idle += w.v.nodes[i].idle()
	}
	if got, den := w.c.Fragmentation(); got != num || den != max(w.v.total(), 1) || w.c.IdleMilli() != idle {
		t.Fatalf("Fragmentation() = %d/%d, IdleMilli() = %d; want %d/%d, %d", got, den, w.c.IdleMilli(), num, w.v.total(), idle)
	}
}

func (w *world) release(t *rapid.T, at int) {
	p := w.placed[at]
	if err := w.c.ReleasePlacement(p); err != nil {
		t.Fatalf("ReleasePlacement(%+v) = %v", p, err)
	}
	w.v.nodes[p.Node].apply(p, -1)
	w.placed = slices.Delete(w.placed, at, at+1)
}

func (w *world) add(t *rapid.T) {
	n := drawNode(t)
	i, err := w.c.AddNode(n)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.IndexFunc(w.v.nodes, func(n naiveNode) bool { return n.gone })
	if want < 0 {
		want = len(w.v.nodes)
		w.v.nodes = append(w.v.nodes, naiveNode{})
		w.v.rank = append(w.v.rank, want)
	}
	if i != want {
		t.Fatalf("AddNode() = %d; want %d", i, want)
	}
	w.v.nodes[i] = idleNaive(n)
}

// take tries a placement of its own choice.
func (w *world) take(t *rapid.T, node int) {
	p := Placement{Node: node, Devices: Devices(rapid.Uint8().Draw(t, "devices")), Request: rapid.SampledFrom(w.kinds).Draw(t, "kind")}
	r := p.Request
	fits := node < len(w.v.nodes) && !w.v.nodes[node].gone && p.Devices.Count() == r.GPUs
	if fits {
		n := &w.v.nodes[node]
		fits = r.CPU <= n.cpu && r.Memory <= n.mem && (w.cfg.MaxJobs == 0 || len(n.jobs) < w.cfg.MaxJobs)
		for i := range MaxGPUs {
			if p.Devices.Has(i) {
				fits = fits && i < n.GPUs && n.gpu[i] >= r.Milli && (!n.modelsVRAM || n.vram[i] >= r.GPUMemory)
			}
		}
	}
	if err := w.c.TakePlacement(p); (err == nil) != fits {
		t.Fatalf("TakePlacement(%+v) = %v; want fits = %v", p, err, fits)
	}
	if fits {
		w.v.nodes[node].apply(p, 1)
		w.placed = append(w.placed, p)
	}
}

func (w *world) place(t *rapid.T, r Request) {
	if w.cfg.Window > 0 {
		w.c.ObserveArrival(r)
		w.arrivals = append(w.arrivals, r)
		if len(w.arrivals)%w.cfg.Refresh == 0 {
			var seen []Class
			for _, r := range w.arrivals[max(0, len(w.arrivals)-w.cfg.Window):] {
				seen = append(seen, Class{r, 1})
			}
			w.v.target = PopularClasses(seen, popularPercent)
		}
	}
	want, score, ok := w.v.place(r)
	q := w.c.QuoteRequest(r)
	if q.Fits != ok {
		t.Fatalf("Quote(%+v).Fits = %v; want %v", r, q.Fits, ok)
	}
	if ok && w.cfg.Policy != Random {
		exact, _ := w.v.delta(want.Node, r, want.Devices)
		switch w.cfg.Policy {
		case FGDTight:
			score = score / 1000 * 10
		case LeastAllocated, MostAllocated:
		default:
			score *= 10
		}
		if q.Placement != want || q.Score != score || q.DeltaF != divideRounded(-exact, w.v.total()) {
			t.Fatalf("Quote(%+v) = %+v; want %+v, score %d, ΔF %d/%d", r, q, want, score, -exact, w.v.total())
		}
	}
	p, placed := w.c.PlaceRequest(r)
	if placed != ok || ok && p != q.Placement {
		t.Fatalf("PlaceRequest(%+v) = %+v, %v; want the placement of Quote: %+v", r, p, placed, q)
	}
	if ok {
		if w.cfg.Policy == Random && !slices.ContainsFunc(w.v.nodes[p.Node].options(p.Request, w.cfg.MaxJobs), func(d Devices) bool { return d == p.Devices }) {
			t.Fatalf("PlaceRequest(%+v) = %+v, which does not fit", r, p)
		}
		w.v.nodes[p.Node].apply(p, 1)
		w.placed = append(w.placed, p)
	}
}

// TestAgreesWithDefinitions holds every decision, score, ΔF and F to the naive
// reading, through arrivals, departures and changes of nodes.
func TestAgreesWithDefinitions(t *testing.T) {
	for _, p := range AllPolicies() {
		t.Run(p.String(), func(t *testing.T) { rapid.Check(t, runWorld(Config{Policy: p, MaxJobs: 9, Seed: 1})) })
	}
	t.Run("fgd in floats", func(t *testing.T) { rapid.Check(t, runWorld(Config{Reference: 7, MaxJobs: 9})) })
	t.Run("fgd with a window", func(t *testing.T) { rapid.Check(t, runWorld(Config{Window: 12, Refresh: 5})) })
	t.Run("fgd with a window of one", func(t *testing.T) { rapid.Check(t, runWorld(Config{Window: 1, Refresh: 1})) })
}

func runWorld(cfg Config) func(*rapid.T) {
	return func(t *rapid.T) {
		w := drawWorld(t, cfg)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.step(t)
		}
		if cfg.Policy != Random {
			w.fresh(t)
		}
	}
}

// fresh makes a new cluster in the state of the old one: they must answer alike.
func (w *world) fresh(t *rapid.T) {
	nodes := make([]Node, len(w.v.nodes))
	for i, n := range w.v.nodes {
		nodes[i] = n.Node
	}
	cfg := w.cfg
	cfg.Rank, cfg.Window = w.v.rank, 0
	c, err := New(cfg, nodes, w.c.TargetClasses())
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range w.v.nodes {
		if n.gone {
			c.RemoveNode(i)
		}
	}
	for _, p := range w.placed {
		if err := c.TakePlacement(p); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range w.v.nodes {
		c.SetCordon(i, n.cordoned)
		cpu, mem, gpu, ok := c.FreeResources(i)
		cpu2, mem2, gpu2, ok2 := w.c.FreeResources(i)
		if cpu != cpu2 || mem != mem2 || gpu != gpu2 || ok != ok2 {
			t.Fatalf("FreeResources(%d) = %d %d %v %v; fresh %d %d %v %v", i, cpu2, mem2, gpu2, ok2, cpu, mem, gpu, ok)
		}
	}
	old, new := w.c.QuoteBatch(w.kinds, nil), c.QuoteBatch(w.kinds, nil)
	if !slices.Equal(old, new) {
		t.Fatalf("QuoteBatch = %+v; fresh %+v", old, new)
	}
	n1, d1 := w.c.Fragmentation()
	if n2, d2 := c.Fragmentation(); n1 != n2 || d1 != d2 {
		t.Fatalf("Fragment = %d/%d; fresh %d/%d", n1, d1, n2, d2)
	}
}
