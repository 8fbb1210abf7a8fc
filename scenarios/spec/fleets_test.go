package spec

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/scenarios/trace"
)

func TestAPartOfAListKeepsItsMixAndBigNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []trace.TraceNode
		kinds := rapid.IntRange(1, 5).Draw(t, "kinds")
		for k := range kinds {
			gpus := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "gpus")
			for i := range rapid.IntRange(1, 60).Draw(t, "count") {
				nodes = append(nodes, trace.TraceNode{Name: fmt.Sprintf("n-%d-%d", k, i), GPUs: gpus, Model: fmt.Sprint("M", k)})
			}
		}
		sites := rapid.IntRange(1, min(6, len(nodes))).Draw(t, "sites")
		scale := rapid.Float64Range(0.001, 1).Draw(t, "scale")
		seed := rapid.Uint64Range(0, 3).Draw(t, "seed")
		kept := sampleNodes(nodes, scale, sites, seed)
		if again := sampleNodes(nodes, scale, sites, seed); !reflect.DeepEqual(kept, again) {
			t.Fatal("the same seed kept other nodes")
		}
		want := max(sites, int(math.Round(scale*float64(len(nodes)))))
		if len(kept) != want {
			t.Fatalf("kept %d of %d at %v for %d sites; want %d", len(kept), len(nodes), scale, sites, want)
		}
		biggest := func(list []trace.TraceNode) (most int) {
			for _, n := range list {
				most = max(most, n.GPUs)
			}
			return most
		}
		if biggest(kept) != biggest(nodes) {
			t.Errorf("the biggest kept has %d GPUs; want %d", biggest(kept), biggest(nodes))
		}
		count := func(list []trace.TraceNode) map[string]float64 {
			out := make(map[string]float64)
			for _, n := range list {
				out[n.Model]++
			}
			return out
		}
		all, now := count(nodes), count(kept)
		for model, n := range all {
			exact := n * float64(want) / float64(len(nodes))
			if math.Abs(now[model]-exact) >= 1 {
				t.Errorf("kept %v of model %s; want %.2f to the next whole number", now[model], model, exact)
			}
		}

		out := Scenario{Seed: seed, Sites: make([]Site, sites)}
		to := make([]int, sites)
		for i := range to {
			to[i] = i
		}
		out.distributeNodes(kept, to)
		low, high, handed := 1<<30, 0, 0
		for _, s := range out.Sites {
			gpus := 0
			for _, n := range s.Nodes {
				gpus += n.GPUs
			}
			low, high, handed = min(low, gpus), max(high, gpus), handed+len(s.Nodes)
		}
		if handed != len(kept) || low == 0 || high-low > biggest(kept) {
			t.Errorf("handed %d of %d nodes, %d..%d GPUs a site", handed, len(kept), low, high)
		}
	})
}

func TestNamesOfOthersBecomeOurs(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"US-CAL-CISO", "us-cal-ciso"}, {"ordinary_2022-04-13", "ordinary-2022-04-13"}, {"_é_", ""}, {"Zürich", "z-rich"},
	} {
		if got := identifierSlug(tc.in); got != tc.want {
			t.Errorf("identifierSlug(%q) = %q; want %q", tc.in, got, tc.want)
		}
	}
}
