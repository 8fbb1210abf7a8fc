package fgd

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"
)

// openb is a cluster shaped like the published one, copies times 1,213 nodes
// (specification §1), and requests like those of its default trace, with how
// often they come.
func openb(copies int) (nodes []Node, requests []Request, target []Class) {
	shapes := []struct {
		cpu, mem int64
		gpus     int
		model    string
		count    int
	}{
		{96000, 393216, 8, "G2", 549}, {104000, 524288, 2, "T4", 387}, {16000, 122880, 2, "P100", 107},
		{128000, 786432, 8, "G3", 39}, {32000, 131072, 4, "V100M16", 28}, {64000, 262144, 2, "P100", 22},
		{96000, 786432, 8, "V100M32", 21}, {8000, 32768, 1, "V100M16", 19}, {96000, 393216, 4, "T4", 17},
		{48000, 376832, 4, "V100M32", 9}, {64000, 262144, 8, "V100M16", 7}, {8000, 61440, 2, "P100", 5},
		{128000, 1048576, 1, "A10", 2}, {82000, 344064, 8, "V100M16", 1},
	}
	for range copies {
		for _, s := range shapes {
			for range s.count {
				nodes = append(nodes, Node{CPU: s.cpu, Memory: s.mem, GPUs: s.gpus, Model: s.model})
			}
		}
	}
	r := rand.New(rand.NewSource(1))
	r.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	r = rand.New(rand.NewSource(2)) // so that all sizes have the same requests
	millis := []int64{50, 110, 160, 220, 230, 320, 330, 370, 460, 470, 550, 590, 650, 810}
	var classes []Class
	for i := range 150 {
		q := Request{CPU: int64(1+r.Intn(12)) * 1000, Memory: int64(1+r.Intn(12)) << 11}
		switch k := r.Intn(100); {
		case k < 13:
		case k < 50:
			q.GPUs, q.Milli = 1, millis[r.Intn(len(millis))]
		case k < 97:
			q.GPUs, q.Milli = 1, 1000
		default:
			q.GPUs, q.Milli = []int{2, 4, 8}[r.Intn(3)], 1000
		}
		count := 1200 / (i + 1) // few kinds make most of the work
		classes = append(classes, Class{q, int64(count)})
		for range count {
			requests = append(requests, q)
		}
	}
	r.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
	return nodes, requests, PopularClasses(classes, 95)
}

// churn is a full cluster in which jobs come and go: as many run as fitted when
// it was filled, so that it is as full at any size.
type churn struct {
	c        *Cluster
	requests []Request
	running  []Placement
	most     int // that run at a time
	rand     *rand.Rand
	at       int
}

func newChurn(tb testing.TB, cfg Config, copies int) *churn {
	nodes, requests, target := openb(copies)
	c, err := New(cfg, nodes, target)
	if err != nil {
		tb.Fatal(err)
	}
	h := &churn{c: c, requests: requests, rand: rand.New(rand.NewSource(2))}
	for failed := 0; failed < 20*copies; {
		if !h.place() {
			failed++
		}
	}
	h.most = len(h.running)
	for range 2 * h.most { // until the mix is that of a cluster long in use
		h.step()
	}
	return h
}

func (h *churn) place() bool {
	p, ok := h.c.PlaceRequest(h.requests[h.at])
	h.at = (h.at + 1) % len(h.requests)
	if ok {
		h.running = append(h.running, p)
	}
	return ok
}

// draw takes a job at random out of those that run.
func (h *churn) draw() Placement {
	i, last := h.rand.Intn(len(h.running)), len(h.running)-1
	p := h.running[i]
	h.running[i] = h.running[last]
	h.running = h.running[:last]
	return p
}

func (h *churn) release(p Placement) {
	if err := h.c.ReleasePlacement(p); err != nil {
		panic(err)
	}
}

// step ends a job, unless the last one found no place, and places the next.
func (h *churn) step() {
	if len(h.running) >= h.most {
		h.release(h.draw())
	}
	h.place()
}

// steps is step n times; it returns the time taken, that of drawing the jobs
// that end left out: finding its jobs is their owner's work.
func (h *churn) steps(n int, ends []Placement) time.Duration {
	ends = ends[:0]
	for range n {
		ends = append(ends, h.draw())
	}
	start := time.Now()
	for range n {
		if len(h.running)+len(ends) >= h.most {
			h.release(ends[len(ends)-1])
			ends = ends[:len(ends)-1]
		}
		h.place()
	}
	spent := time.Since(start)
	h.running = append(h.running, ends...)
	return spent
}

// TestLongChurn goes through what short histories do not reach: a log that is
// compacted, and more nodes than one block of scores.
func TestLongChurn(t *testing.T) {
	h := newChurn(t, Config{}, 1)
	v := newNaive(Config{}, h.c.caps, h.c.TargetClasses())
	compacted, end := 0, len(h.c.log)
	for i := range 12000 {
		h.step()
		if len(h.c.log) < end {
			compacted++
		}
		end = len(h.c.log)
		if i%100 == 0 {
			n := Node{CPU: 96000, Memory: 393216, GPUs: 8, Model: "G2"}
			if _, err := h.c.AddNode(n); err != nil {
				t.Fatal(err)
			}
			v.nodes, v.rank = append(v.nodes, idleNaive(n)), append(v.rank, len(v.rank))
		}
		if i%500 != 499 {
			continue
		}
		for j := range v.nodes {
			v.nodes[j] = idleNaive(h.c.caps[j])
		}
		for _, p := range h.running {
			v.nodes[p.Node].apply(p, 1)
		}
		for _, r := range h.requests[i%1000 : i%1000+10] {
			want, score, ok := v.place(r)
			if q := h.c.QuoteRequest(r); q.Fits != ok || ok && (q.Placement != want || q.Score != score*10) {
				t.Fatalf("step %d: Quote(%+v) = %+v; want %+v, score %d, %v", i, r, q, want, score*10, ok)
			}
		}
	}
	if compacted == 0 || len(v.nodes) < 1280 {
		t.Errorf("the log was compacted %d times and there are %d nodes; the test proves nothing", compacted, len(v.nodes))
	}
}

// TestSteadyStateAllocatesNothing is the promise of the package doc.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	h := newChurn(t, Config{}, 1)
	if n := testing.AllocsPerRun(5000, h.step); n != 0 {
		t.Errorf("a release and a decision allocate %v times; want 0", n)
	}
	quotes := make([]Quote, 0, 10)
	if n := testing.AllocsPerRun(1000, func() { h.c.QuoteBatch(h.requests[:10], quotes[:0]) }); n != 0 {
		t.Errorf("ten quotes allocate %v times; want 0", n)
	}
}

// BenchmarkSteadyState is a decision in a full cluster where jobs come and go:
// release one, decide and take one. It should not grow with the cluster. best is
// that of the quickest thousand or so, as a busy machine only adds.
func BenchmarkSteadyState(b *testing.B) {
	for _, copies := range []int{1, 10, 100} {
		var h *churn
		b.Run(fmt.Sprintf("%d nodes", 1213*copies), func(b *testing.B) {
			if h == nil {
				h = newChurn(b, Config{}, copies)
			}
			b.ResetTimer()
			const batch = 1024
			ends := make([]Placement, 0, batch)
			scored, done, spent := h.c.scored, 0, time.Duration(0)
			best := time.Duration(math.MaxInt64)
			b.ReportAllocs()
			for ; done < b.N; done += batch {
				took := h.steps(batch, ends)
				spent += took
				best = min(best, took)
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(done), "ns/decision")
			b.ReportMetric(float64(best.Nanoseconds())/batch, "best-ns/decision")
			b.ReportMetric(float64(h.c.scored-scored)/float64(done), "scored/decision")
		})
	}
}

// BenchmarkQuote is a quote for a bid, of kinds of requests asked for before:
// with nothing changed since, and in a batch after a job has ended and another
// has been placed; the reference reads all nodes for each. best is the quickest batch.
func BenchmarkQuote(b *testing.B) {
	for _, copies := range []int{1, 10} {
		var h *churn
		for _, changes := range []int{0, 1, -1} {
			how := fmt.Sprintf("%d changes", 2*changes)
			if changes < 0 {
				how = "scan of all nodes"
			}
			b.Run(fmt.Sprintf("%d nodes, %s", 1213*copies, how), func(b *testing.B) {
				if h == nil {
					h = newChurn(b, Config{}, copies)
					h.c.QuoteBatch(h.requests[:64], nil)
				}
				b.ResetTimer()
				const batch = 64
				quotes := make([]Quote, 0, batch)
				best, spent := time.Duration(math.MaxInt64), time.Duration(0)
				done := 0
				for ; done < b.N; done += batch {
					for range changes {
						h.step()
					}
					start := time.Now()
					if changes < 0 { // the reference
						for _, r := range h.requests[:batch] {
							h.c.rescoreAllSlots(h.c.classOf(r))
						}
					}
					quotes = h.c.QuoteBatch(h.requests[:batch], quotes[:0])
					took := time.Since(start)
					spent, best = spent+took, min(best, took)
				}
				b.ReportMetric(float64(spent.Nanoseconds())/float64(done), "ns/quote")
				b.ReportMetric(float64(best.Nanoseconds())/batch, "best-ns/quote")
			})
		}
	}
}

// Whoever submits jobs of which no two are alike keeps no site busy with what it
// expects: bringing it up to them takes some passes over its tables, and not one for
// each kind of job.
func TestATargetOfManyKindsIsMadeInAFewPasses(t *testing.T) {
	c, err := New(Config{}, []Node{{CPU: 128_000, Memory: 1 << 20, GPUs: 8}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var classes []Class
	for i := range int64(700) {
		classes = append(classes, Class{Request: Request{CPU: 1000 + i*7919%60_000, GPUs: 1, Milli: 1 + i*619%999}, Count: 1})
	}
	quickest := func(f func()) time.Duration {
		least := time.Duration(math.MaxInt64)
		for range 5 {
			began := time.Now()
			f()
			least = min(least, time.Since(began))
		}
		return least
	}
	made := quickest(func() { c.changeTarget(classes) })
	table, sum := slices.Clone(c.target.weight), int64(0)
	pass := quickest(func() {
		for i := range table {
			table[i]++
			sum += table[i]
		}
	})
	if made > 300*pass {
		t.Errorf("a target of %d kinds is made in %v, %d passes of %v over its table; want a few", len(classes), made, made/pass, pass)
	}
}
