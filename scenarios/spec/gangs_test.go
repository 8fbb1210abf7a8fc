package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// The sizes of gangs are powers of two from 16 to 1024, and their sum comes within one doubling of what is
// asked for, unless all must be smallest or largest.
func TestSizesOfGangsComeNearTheirSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 300).Draw(t, "count")
		total := rapid.IntRange(0, 1100*count).Draw(t, "total")
		sizes := gangSizes(count, total)
		sum := sumOf(sizes)
		if len(sizes) != count || !slices.IsSortedFunc(sizes, func(x, y int) int { return y - x }) {
			t.Fatalf("gangSizes(%d, %d) = %v", count, total, sizes)
		}
		for _, n := range sizes {
			if n < 16 || n > 1024 || n&(n-1) != 0 {
				t.Fatalf("a gang of %d GPUs", n)
			}
		}
		if sum > max(total, 16*count) {
			t.Fatalf("gangSizes(%d, %d) have %d GPUs", count, total, sum)
		}
		// No single gang could double without passing the total.
		for _, n := range sizes {
			if n < 1024 && sum+n <= total {
				t.Fatalf("gangSizes(%d, %d) = %v have %d GPUs, and one of %d could double", count, total, sizes, sum, n)
			}
		}
	})
}

// grown returns a scenario whose jobs have grown: n jobs of 8 GPUs, and as many of one.
func grown(n int, g gangsSpec) Scenario {
	s := Scenario{Seed: 1}
	for i := range n {
		s.Jobs = append(s.Jobs,
			protocol.Job{ID: protocol.JobID(fmt.Sprint("eight-", i)), GPUs: 8, Share: 1000, CPU: 32_000, Memory: 256 << 10},
			protocol.Job{ID: protocol.JobID(fmt.Sprint("one-", i)), GPUs: 1, Share: 1000, CPU: 4_000})
	}
	s.growGangs(g)
	return s
}

func TestAShareOfTheJobsOfEightGPUsGrows(t *testing.T) {
	for _, share := range []float64{0.3, 0.5, 1} {
		s := grown(200, gangsSpec{Share: share})
		gangs, eight, sum := 0, 0, 0
		for i := range s.Jobs {
			j := &s.Jobs[i]
			if j.GPUs < 8 {
				if j.GPUs != 1 || j.IsGang() {
					t.Fatalf("%+v: only jobs of 8 GPUs grow", j)
				}
				continue
			}
			sum += j.GPUs
			if !j.IsGang() {
				eight++
			} else if gangs++; j.Pods[0].GPUs != 8 || j.Pods[0].CPU != 32_000 || j.Pods[0].Memory != 256<<10 {
				t.Fatalf("%+v: a pod is not what the job was", j)
			}
		}
		if mean := float64(sum) / 200; gangs != int(200*share) || eight != 200-gangs || mean < kalosMean-0.2 || mean > kalosMean {
			t.Errorf("share %g: %d gangs, mean %.2f; want %g of 200 and %g", share, gangs, mean, 200*share, kalosMean)
		}
	}
	fifty := 50.0
	if s := grown(100, gangsSpec{Share: 0.5, Mean: &fifty}); !strings.Contains(s.Notes[0], "50 of 100 jobs of 8 GPUs have grown to gangs of pods of 8") || !strings.Contains(s.Notes[0], "it should be 50.00") {
		t.Errorf("the notes do not say what grew: %q", s.Notes)
	}
	// Where no job has 8 GPUs the notes say so.
	if s := grown(0, gangsSpec{Share: 1}); len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "no job of 8 GPUs") {
		t.Errorf("notes %q", s.Notes)
	}
}

// A list of nodes is used to a larger part where the load alone would leave a gang without a site; a gang that
// even the whole list does not hold does not count, and is noted.
func TestFleetsHoldTheGangsThatCanBeHeld(t *testing.T) {
	s := Scenario{Seed: 1, Sites: []Site{{Name: "a"}, {Name: "b"}}}
	var nodes []trace.TraceNode
	for i := range 40 {
		nodes = append(nodes, trace.TraceNode{Name: fmt.Sprint("n", i), CPU: 96_000, Memory: 400 << 10, GPUs: 8, Model: "V100"})
	}
	gang := func(id protocol.JobID, pods int) protocol.Job {
		return protocol.Job{ID: id}.WithPods([]protocol.Component{{Role: "worker", Pods: pods, GPUs: 8, Share: 1000, CPU: 32_000}})
	}
	s.Jobs = []protocol.Job{gang("wide", 16), gang("small", 2), gang("never", 21)}
	scale, widest := s.scaleForGangs(nodes, 0.1, []int{0, 1})
	if s.distributeNodes(sampleNodes(nodes, scale, 2, 1), []int{0, 1}); widest != 128 || scale < 0.8 || scale > 0.95 || !s.SomeSiteFits(s.Jobs[0]) {
		t.Errorf("scaleForGangs = %g, %d, sites of %d and %d nodes; want the first that has 16 on a site", scale, widest, len(s.Sites[0].Nodes), len(s.Sites[1].Nodes))
	}
	s.noteGangsThatFitNowhere()
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "1 gangs, such as never of 168 GPUs, fit no site even when it is empty") {
		t.Errorf("notes %q", s.Notes)
	}
}

// Whether an empty site holds a gang is counted pod by pod: sums over nodes would admit what no node holds.
func TestASiteHoldsAGangPodByPod(t *testing.T) {
	node := func(model string, gpus int, cores protocol.Milli) Node {
		return Node{Name: fmt.Sprint(model, gpus), Model: model, GPUs: gpus, CPU: 1000 * cores, Memory: 1 << 20}
	}
	for _, tc := range []struct {
		name  string
		nodes []Node
		pods  []protocol.Component
		want  bool
	}{
		{"two pods of four on nodes of six", []Node{node("T4", 6, 64), node("T4", 6, 64)}, []protocol.Component{{Role: "w", Pods: 2, GPUs: 4, Share: 1000, CPU: 1}}, true},
		{"three pods of four on nodes of six", []Node{node("T4", 6, 64), node("T4", 6, 64)}, []protocol.Component{{Role: "w", Pods: 3, GPUs: 4, Share: 1000, CPU: 1}}, false},
		{"pods on two models", []Node{node("T4", 4, 64), node("V100", 4, 64)}, []protocol.Component{{Role: "w", Pods: 2, GPUs: 4, Share: 1000, CPU: 1}}, false},
		{"two halves of one device", []Node{node("T4", 1, 64)}, []protocol.Component{{Role: "w", Pods: 2, GPUs: 1, Share: 500, CPU: 1}}, true},
		{"three pods of two thirds on two devices", []Node{node("T4", 2, 64)}, []protocol.Component{{Role: "w", Pods: 3, GPUs: 1, Share: 660, CPU: 1}}, false},
		{"a driver beside the workers", []Node{node("T4", 8, 20), node("", 0, 20)}, []protocol.Component{{Role: "driver", Pods: 1, CPU: 18_000}, {Role: "w", Pods: 2, GPUs: 4, Share: 1000, CPU: 10_000}}, true},
	} {
		j := protocol.Job{ID: "gang"}.WithPods(tc.pods)
		if got := (Scenario{Sites: []Site{{Nodes: tc.nodes}}}).SomeSiteFits(j); got != tc.want {
			t.Errorf("%s: SomeSiteFits = %v; want %v", tc.name, got, tc.want)
		}
	}
}
