package agents

import (
	"fmt"
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// Of what frees at least so many GPUs on one node the cheapest is found, also where the greedy choice is dearer.
func TestCheapestChoiceIsExact(t *testing.T) {
	for _, c := range []struct {
		name string
		all  []candidate
		need protocol.Milli
		want string
	}{
		{"R-P1", []candidate{{"a", 3, 3_000_000}, {"b", 3, 3_300_000}, {"c", 5, 5_800_000}}, 5, "[c]"},
		{"R-P2", []candidate{{"a", 2, 3_000_000}, {"b", 2, 1_000_000}, {"c", 4, 3_500_000}}, 4, "[c]"},
		{"equal loss, fewer runs", []candidate{{"a", 1, 1}, {"b", 1, 1}, {"c", 2, 2}}, 2, "[c]"},
	} {
		if got := firstThatFrees(c.all, c.need); fmt.Sprint(got.runs) != c.want {
			t.Errorf("%s: %v; want %s", c.name, got.runs, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		all := make([]candidate, rapid.IntRange(1, 9).Draw(t, "runs"))
		for i := range all {
			all[i] = candidate{protocol.JobID(fmt.Sprint("r", i)), protocol.Milli(rapid.IntRange(1, 6).Draw(t, "gpus")), protocol.Microdollars(rapid.IntRange(0, 9).Draw(t, "lost"))}
		}
		need := protocol.Milli(rapid.IntRange(1, 20).Draw(t, "need"))
		var want *choice
		for set := range 1 << len(all) { // all of them
			var freed protocol.Milli
			c := choice{runs: make([]protocol.JobID, bits.OnesCount(uint(set)))}
			for i := range all {
				if set>>i&1 == 1 {
					freed, c.lost = freed+all[i].gpus, c.lost+all[i].lost
				}
			}
			if freed >= need && (want == nil || c.isBetter(*want)) {
				want = &c
			}
		}
		got := firstThatFrees(all, need)
		if want == nil && got.runs != nil || want != nil && (got.lost != want.lost || len(got.runs) != len(want.runs)) {
			t.Fatalf("of %v for %d: %+v; want %+v", all, need, got, want)
		}
	})
}

// firstThatFrees returns the first choice that frees so many GPUs.
func firstThatFrees(all []candidate, need protocol.Milli) choice {
	gpus := make(map[protocol.JobID]protocol.Milli)
	for _, c := range all {
		gpus[c.id] = c.gpus
	}
	for _, c := range cheapestPerAmount(all) {
		freed := protocol.Milli(0)
		for _, id := range c.runs {
			freed += gpus[id]
		}
		if freed >= need {
			return c
		}
	}
	return choice{}
}

// A site stops the one run that loses least, and not the two that stand before it in the call's order; told no
// losses, as by an older coordinator, it follows the order. A run that ends before it had saved its checkpoint
// goes on.
func TestASiteStopsWhatLosesLeast(t *testing.T) {
	for _, tc := range []struct {
		name string
		lost []protocol.Microdollars
		want string
	}{
		{"by loss", []protocol.Microdollars{3_000_000, 1_000_000, 3_500_000}, "[c]"},
		{"by order", nil, "[a b]"},
	} {
		s := newSite(t, eager, 8)
		for i, gpus := range []int{2, 2, 4} {
			s.award(job(protocol.JobID(fmt.Sprintf("%c", 'a'+i)), gpus), 1, true)
		}
		high := job("high", 4)
		call := protocol.CallForBids{Jobs: []protocol.Job{high}, Weights: weights, Preemptable: []protocol.PreemptionSet{{Job: "high", Runs: []protocol.JobID{"a", "b", "c"}, Lost: tc.lost}}}
		o := s.offer(call)
		if len(o.Preemptions) != 1 || fmt.Sprint(o.Preemptions[0].Runs) != tc.want {
			t.Errorf("%s: it would stop %+v; want %s", tc.name, o.Preemptions, tc.want)
		}
	}
}
