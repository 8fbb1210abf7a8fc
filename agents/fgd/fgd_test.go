package fgd

import (
	"slices"
	"strings"
	"testing"
)

func TestPlaceAndRelease(t *testing.T) {
	c, err := New(Config{}, []Node{{Name: "a", CPU: 8000, Memory: 1024, GPUs: 2, Model: "T4"}},
		[]Class{{Request: Request{CPU: 1000, GPUs: 1, Milli: 500}, Count: 3}})
	if err != nil {
		t.Fatal(err)
	}
	q := c.QuoteRequest(Request{CPU: 1000, GPUs: 1, Milli: 600})
	if !q.Fits || q.DeltaF != 400 {
		t.Errorf("Quote(600) = %+v; want ΔF 400: what is left of the device serves no class", q)
	}
	p, ok := c.PlaceRequest(Request{CPU: 1000, GPUs: 1, Milli: 600})
	if !ok || p != q.Placement {
		t.Errorf("PlaceRequest(600) = %+v, %v; want %+v", p, ok, q.Placement)
	}
	if num, den := c.Fragmentation(); num != 3*400 || den != 3 {
		t.Errorf("Fragmentation() = %d/%d; want 1200/3", num, den)
	}
	if q := c.QuoteRequest(Request{CPU: 1000, GPUs: 1, Milli: 400}); q.DeltaF != -400 || q.Devices != 1 {
		t.Errorf("Quote(400) = %+v; want a credit of 400: it fills the gap on device 0", q)
	}
	if err := c.ReleasePlacement(p); err != nil {
		t.Fatal(err)
	}
	if err := c.ReleasePlacement(p); err == nil {
		t.Error("ReleasePlacement(twice) = nil; want an error")
	}
	if num, _ := c.Fragmentation(); num != 0 || c.IdleMilli() != 2000 {
		t.Errorf("after Release: F %d, idle %d; want 0 and 2000", num, c.IdleMilli())
	}
}

// On a cluster of idle nodes F is not 0, because CPU-only classes count (§5).
func TestEmptyClusterHasFragments(t *testing.T) {
	c, err := New(Config{}, []Node{{GPUs: 8, CPU: 1000}}, []Class{{Request: Request{CPU: 500}, Count: 1}, {Request: Request{GPUs: 1, Milli: 1000}, Count: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if num, den := c.Fragmentation(); num != 8000 || den != 4 {
		t.Errorf("Fragmentation() = %d/%d; want a quarter of 8000", num, den)
	}
}

func TestDeviceMemory(t *testing.T) {
	c, err := New(Config{}, []Node{{Name: "80 GiB", GPUs: 1, GPUMemory: 80}, {Name: "not modelled", GPUs: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	half := Request{GPUs: 1, Milli: 300, GPUMemory: 50}
	for i, want := range []int{0, 1, 1, 1} {
		if p, ok := c.PlaceRequest(half); !ok || p.Node != want {
			t.Errorf("Place %d of 50 MiB = %+v, %v; want node %d", i, p, ok, want)
		}
	}
	if p, ok := c.PlaceRequest(half); ok {
		t.Errorf("PlaceRequest(no memory left) = %+v; want none", p)
	}
	if p, ok := c.PlaceRequest(Request{GPUs: 1, Milli: 300, GPUMemory: 30}); !ok || p.Node != 0 {
		t.Errorf("PlaceRequest(what is left) = %+v, %v; want node 0", p, ok)
	}
}

func TestNewRefuses(t *testing.T) {
	ok := []Node{{Name: "n", CPU: 1, GPUs: 1}}
	for _, tc := range []struct {
		name   string
		cfg    Config
		nodes  []Node
		target []Class
		want   string
	}{
		{"nine GPUs", Config{}, []Node{{Name: "n", GPUs: 9}}, nil, `node "n" has 9 GPUs`},
		{"negative CPU", Config{}, []Node{{Name: "n", CPU: -1}}, nil, "negative"},
		{"too much memory", Config{}, []Node{{Name: "n", Memory: maxAmount + 1}}, nil, "too large"},
		{"an unknown policy", Config{Policy: 99}, ok, nil, "policy(99)"},
		{"too few ranks", Config{Rank: []int{}}, ok, nil, "0 ranks for 1 nodes"},
		{"a rank twice", Config{Rank: []int{0, 0}}, slices.Repeat(ok, 2), nil, "no permutation"},
		{"a negative window", Config{Window: -1}, ok, nil, "negative window"},
		{"a class that never comes", Config{}, ok, []Class{{Count: 0}}, "count 0"},
		{"too large counts", Config{}, ok, slices.Repeat([]Class{{Count: 1 << 32}}, 2), "more than"},
		{"a share of two", Config{}, ok, []Class{{Request: Request{GPUs: 2, Milli: 500}, Count: 1}}, "a share of 2 devices"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := New(tc.cfg, tc.nodes, tc.target); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("New() = %v; want %q", err, tc.want)
			}
		})
	}
	models := make([]Node, maxModels+1)
	for i := range models {
		models[i] = Node{GPUs: 1, Model: strings.Repeat("x", i)}
	}
	if _, err := New(Config{}, models, nil); err == nil {
		t.Error("New(257 models) = nil; want an error")
	}
}

func TestPlaceRefusesNonsense(t *testing.T) {
	c, err := New(Config{}, []Node{{Name: "n", CPU: 1000, GPUs: 8}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Request{{CPU: -1}, {GPUs: 9, Milli: 1000}, {GPUs: 1, Milli: 0}, {GPUs: 1, Milli: 1001}, {GPUs: 2, Milli: 500}, {GPUs: -1}} {
		if p, ok := c.PlaceRequest(r); ok || c.QuoteRequest(r).Fits {
			t.Errorf("PlaceRequest(%+v) = %+v; want none", r, p)
		}
		if err := c.TakePlacement(Placement{Request: r}); err == nil {
			t.Errorf("TakePlacement(%+v) = nil; want an error", r)
		}
	}
}

func TestParsePolicy(t *testing.T) {
	for _, p := range AllPolicies() {
		if got, err := ParsePolicy(p.String()); got != p || err != nil {
			t.Errorf("ParsePolicy(%q) = %v, %v", p, got, err)
		}
	}
	if _, err := ParsePolicy("clever"); err == nil {
		t.Error(`ParsePolicy("clever") = nil; want an error`)
	}
}

func TestPopular(t *testing.T) {
	whole := func(cpu int64) Request { return Request{CPU: cpu, GPUs: 1, Milli: 1000} }
	got := PopularClasses([]Class{
		{whole(1), 40}, {whole(2), 3}, {whole(3), 3}, {Request{CPU: 9, Memory: 5, Models: "x"}, 50}, {Request{CPU: 9}, 4},
	}, 95)
	// 54 CPU-only, 40, and of the two with 3 the larger CPU crosses 95%.
	want := []Class{{Request{CPU: 9}, 54}, {whole(1), 40}, {whole(3), 3}}
	if !slices.Equal(got, want) {
		t.Errorf("PopularClasses() = %+v\nwant %+v", got, want)
	}
}

func TestWindowStartsAsTheTarget(t *testing.T) {
	a, b := Request{CPU: 1, GPUs: 1, Milli: 500}, Request{CPU: 2, GPUs: 1, Milli: 1000}
	c, err := New(Config{Window: 10, Refresh: 1}, []Node{{GPUs: 1, CPU: 10}}, []Class{{a, 70}, {b, 30}})
	if err != nil {
		t.Fatal(err)
	}
	c.ObserveArrival(b)
	if got := c.TargetClasses(); !slices.Equal(got, []Class{{a, 6}, {b, 4}}) && !slices.Equal(got, []Class{{a, 7}, {b, 3}}) {
		t.Errorf("after one arrival of ten the target is %+v; want about 7 to 3", got)
	}
	for range 10 {
		c.ObserveArrival(b)
	}
	if got := c.TargetClasses(); !slices.Equal(got, []Class{{b, 10}}) {
		t.Errorf("after ten more the target is %+v; want b alone", got)
	}
}

// TestCacheForgets asks for more kinds of requests than the cache holds.
func TestCacheForgets(t *testing.T) {
	nodes := []Node{{CPU: 1 << 40, Memory: 1 << 40, GPUs: 8}}
	c, err := New(Config{}, nodes, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(5000) {
		if _, ok := c.PlaceRequest(Request{CPU: i}); !ok {
			t.Fatalf("PlaceRequest(%d milli-CPU) found no room", i)
		}
	}
	if len(c.known) != 4096 || len(c.classes) != 4096 {
		t.Errorf("the cache holds %d and %d classes; want 4096", len(c.known), len(c.classes))
	}
	if q := c.QuoteRequest(Request{CPU: 1}); !q.Fits {
		t.Error("Quote(of a class forgotten) does not fit")
	}
}
