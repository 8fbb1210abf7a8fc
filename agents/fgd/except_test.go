package fgd

import (
	"testing"

	"pgregory.net/rapid"
)

// quoteCordoned is the reference for QuoteExcept: cordon, quote, uncordon.
func quoteCordoned(w *world, r Request, skip NodeSet, do func()) {
	for i := range w.v.nodes {
		if skip.Has(i) {
			w.c.SetCordon(i, true)
		}
	}
	do()
	for i, n := range w.v.nodes {
		if skip.Has(i) {
			w.c.SetCordon(i, n.cordoned)
		}
	}
}

func drawSkip(t *rapid.T, w *world, r Request) (skip NodeSet) {
	for i := range w.v.nodes {
		if rapid.IntRange(0, 2).Draw(t, "skip") == 0 {
			skip = skip.Add(i)
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "bests") { // and the best, over and over
		if q := w.c.QuoteExcept(r, skip); q.Fits {
			skip = skip.Add(q.Node)
		}
	}
	return skip
}

// After any history, under any policy, a quote that passes over nodes is to the bit
// what cordoning them would give; and it leaves all later decisions as they were.
func TestAQuoteThatPassesOverNodesIsThatOfACordon(t *testing.T) {
	configs := map[string]Config{
		"fgd in floats": {Reference: 7, MaxJobs: 9}, "fgd with a window": {Window: 12, Refresh: 5},
	}
	for _, p := range AllPolicies() {
		configs[p.String()] = Config{Policy: p, MaxJobs: 9, Seed: 1}
	}
	for name, cfg := range configs {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := drawWorld(t, cfg)
				for range rapid.IntRange(1, 30).Draw(t, "steps") {
					w.step(t)
					r := rapid.SampledFrom(w.kinds).Draw(t, "asked")
					skip := drawSkip(t, w, r)
					got := w.c.QuoteExcept(r, skip)
					var want Quote
					quoteCordoned(w, r, skip, func() { want = w.c.QuoteRequest(r) })
					if got != want {
						t.Fatalf("QuoteExcept(%+v, %b) = %+v; with these nodes cordoned %+v", r, skip, got, want)
					}
					if got.Fits && (skip.Has(got.Node) || w.v.nodes[got.Node].cordoned) {
						t.Fatalf("QuoteExcept(%+v, %b) = node %d, which takes nothing", r, skip, got.Node)
					}
					if p, ok := w.c.PlaceExcept(r, skip); ok != got.Fits || ok && p != got.Placement {
						t.Fatalf("PlaceExcept(%+v, %b) = %+v, %v; want what was quoted: %+v", r, skip, p, ok, got)
					} else if ok {
						w.v.nodes[p.Node].apply(p, 1)
						w.placed = append(w.placed, p)
					}
				}
				if cfg.Policy != Random {
					w.fresh(t)
				}
			})
		})
	}
}

// Asking with nodes to pass over leaves the cache: asking once more scores none.
func TestAQuoteThatPassesOverNodesKeepsTheCache(t *testing.T) {
	nodes := make([]Node, 40*block)
	for i := range nodes {
		nodes[i] = Node{CPU: 96_000, Memory: 1 << 19, GPUs: 8, Model: "A"}
	}
	r := Request{CPU: 1000, Memory: 1, GPUs: 1, Milli: 500}
	c, err := New(Config{}, nodes, []Class{{r, 1}})
	if err != nil {
		t.Fatal(err)
	}
	var skip NodeSet
	for i := 100; i < 200; i++ {
		skip = skip.Add(i)
	}
	before := c.QuoteRequest(r)
	scored, log := c.scored, len(c.log)
	for i := range 10 {
		if q := c.QuoteExcept(r, skip.Add(200+i)); q != before {
			t.Fatalf("QuoteExcept of nodes that are not the best = %+v; want %+v", q, before)
		}
	}
	if c.scored != scored || len(c.log) != log {
		t.Errorf("ten quotes scored %d nodes and wrote %d changes; want none", c.scored-scored, len(c.log)-log)
	}
}

func TestANodeSetHoldsWhatIsAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[int]bool{}
		var set NodeSet
		for _, i := range rapid.SliceOf(rapid.IntRange(0, 300)).Draw(t, "nodes") {
			set, want[i] = set.Add(i), true
		}
		for i := range 400 {
			if set.Has(i) != want[i] {
				t.Fatalf("Has(%d) = %v; want %v", i, set.Has(i), want[i])
			}
		}
	})
}

// A quote that was given before holds until a node or the target changes, and no longer.
func TestAQuoteIsThatOfItsInstant(t *testing.T) {
	for name, cfg := range map[string]Config{"fgd with a window": {Window: 12, Refresh: 5}, "random": {Policy: Random, Seed: 1}} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := drawWorld(t, cfg)
				skip := drawSkip(t, w, w.kinds[0])
				for range rapid.IntRange(1, 30).Draw(t, "steps") {
					for _, r := range w.kinds {
						if r.validateRequest() != nil {
							continue
						}
						for _, s := range []NodeSet{skip, nil} {
							if got, want := w.c.QuoteExcept(r, s), w.c.quoteClass(w.c.classOf(r.normalizedRequest()), s); got != want {
								t.Fatalf("QuoteExcept(%+v, %b) = %+v; computed anew %+v", r, s, got, want)
							}
						}
					}
					w.c.QuoteExcept(w.kinds[0], skip)
					w.step(t)
				}
			})
		})
	}
}
