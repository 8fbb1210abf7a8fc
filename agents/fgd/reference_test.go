package fgd

import (
	"math/rand"
	"slices"
	"testing"
)

// TestFloatNoise looks for the cases of specification §10.1: a placement that
// moves classes between cases but leaves F as it is, where a sum of floats
// falls a few 1e-13 short and the score is 49, not 50. With Reference the fast
// scheduler repeats the noise, and without it it does not; each agrees with the
// naive reading of its own arithmetic.
func TestFloatNoise(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	nodes := slices.Repeat([]Node{{CPU: 96000, GPUs: 4}, {CPU: 64000, GPUs: 2}}, 12)
	// Most GPU is taken in shares of 810, which leave 190 that no class can use;
	// then every job moves classes between the cases of what lacks GPU and what
	// lacks CPU too.
	var requests []Request
	var classes []Class
	for range 700 {
		q := Request{CPU: int64(1+r.Intn(32)) * 250}
		if r.Intn(2) == 0 {
			q.GPUs, q.Milli = 1, []int64{810, 810, 810, 460, 320}[r.Intn(5)]
		}
		requests = append(requests, q)
		classes = append(classes, Class{q, 1})
	}
	target := PopularClasses(classes, 95)
	reference := Config{Reference: int64(len(requests))}
	noisy, plain := newNaive(reference, nodes, target), newNaive(Config{}, nodes, target)
	fast, err := New(reference, nodes, target)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := New(Config{}, nodes, target)
	if err != nil {
		t.Fatal(err)
	}
	cases, decided := 0, 0
	for range 900 {
		q := requests[r.Intn(len(requests))]
		want, score, ok := noisy.place(q)
		if got := fast.QuoteRequest(q); got.Fits != ok || ok && (got.Placement != want || got.Score != score*10) {
			t.Fatalf("in floats: Quote(%+v) = %+v; want %+v, score %d, %v", q, got, want, score*10, ok)
		}
		other, score2, ok2 := plain.place(q)
		if got := exact.QuoteRequest(q); got.Fits != ok2 || ok2 && (got.Placement != other || got.Score != score2*10) {
			t.Fatalf("in integers: Quote(%+v) = %+v; want %+v, score %d, %v", q, got, other, score2*10, ok2)
		}
		if !ok {
			continue
		}
		for i := range noisy.nodes {
			for _, d := range noisy.nodes[i].options(q, 0) {
				if whole, float := noisy.delta(i, q, d); whole == 0 && float < 0 {
					cases++
				}
			}
		}
		if want != other {
			decided++
		}
		for _, c := range []*Cluster{fast, exact} { // both go on from the same state
			if err := c.TakePlacement(want); err != nil {
				t.Fatal(err)
			}
		}
		noisy.nodes[want.Node].apply(want, 1)
		plain.nodes[want.Node].apply(want, 1)
	}
	if cases == 0 || decided == 0 {
		t.Errorf("noise in %d hypothetical placements, %d decisions; the test proves nothing", cases, decided)
	}
	t.Logf("noise in %d hypothetical placements; it decided %d of 900", cases, decided)
}
