package generate_test

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/generate"
)

func TestDiceOfTheSameNamesFallTheSame(t *testing.T) {
	draw := func(seed uint64, names ...string) uint64 { return generate.SeededRand(seed, names...).Uint64() }
	if first, second := draw(1, "a", "b"), draw(1, "a", "b"); first != second {
		t.Error("the same seed and names drew two numbers")
	}
	seen := map[uint64]string{}
	for _, tc := range []struct {
		what  string
		seed  uint64
		names []string
	}{
		{"a b", 1, []string{"a", "b"}}, {"b a", 1, []string{"b", "a"}}, {"ab", 1, []string{"ab"}},
		{"a, empty, b", 1, []string{"a", "", "b"}}, {"none", 1, nil}, {"seed 2", 2, []string{"a", "b"}},
	} {
		n := draw(tc.seed, tc.names...)
		if other, dup := seen[n]; dup {
			t.Errorf("%s and %s drew the same number", tc.what, other)
		}
		seen[n] = tc.what
	}
}

func TestAnyMixIsADayOfJobsThatMakeSense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		count := rapid.IntRange(0, 90).Draw(t, "count")
		end := noon.Add(time.Duration(rapid.IntRange(1, 72).Draw(t, "hours")) * time.Hour)
		mix := generate.WorkloadMix{Count: count, TraitRates: generate.TraitRates{
			Sites:      rapid.SampledFrom([][]string{nil, {"a"}, {"a", "b"}}).Draw(t, "sites"),
			Deferrable: protocol.Milli(rapid.IntRange(0, 1000).Draw(t, "deferrable")),
			Resident:   protocol.Milli(rapid.SampledFrom([]int{0, 500, 1000}).Draw(t, "resident")),
			Input:      protocol.Milli(rapid.SampledFrom([]int{0, 1000}).Draw(t, "input")),
		}}
		jobs := mix.GenerateJobs(seed, noon, end)
		if len(jobs) != count {
			t.Fatalf("%d jobs; want %d", len(jobs), count)
		}
		for _, j := range jobs {
			if why := j.InvalidReason(); why != "" {
				t.Errorf("job %+v: %s", j, why)
			}
			if j.Arrival < noon || j.Arrival >= end {
				t.Errorf("%s arrives at %v; want [%v, %v)", j.ID, j.Arrival, noon, end)
			}
			if slack := j.Deadline.Sub(j.Arrival.Add(j.Run)); slack < time.Hour || slack > 24*time.Hour {
				t.Errorf("%s has %v of slack; want 1h..24h", j.ID, slack)
			}
		}
		if !slices.IsSortedFunc(jobs, func(a, b protocol.Job) int {
			return cmp.Or(cmp.Compare(a.Arrival, b.Arrival), cmp.Compare(a.ID, b.ID))
		}) {
			t.Error("jobs are not by arrival, then id")
		}
		if again := mix.GenerateJobs(seed, noon, end); !reflect.DeepEqual(jobs, again) {
			t.Error("the same seed gave other jobs")
		}
	})
}

func TestWhatAJobIsLikeDoesNotHangOnTheOthers(t *testing.T) {
	h := generate.TraitRates{Sites: []string{"a", "b", "c"}, Deferrable: 500, Flexible: 500, Resident: 500, Input: 500}
	rapid.Check(t, func(t *rapid.T) {
		j := protocol.Job{ID: protocol.JobID(rapid.StringMatching(`[a-z]{1,6}`).Draw(t, "id")), Arrival: noon, Run: 3 * time.Hour}
		seed := rapid.Uint64().Draw(t, "seed")
		first := h.AssignTraits(seed, j, generate.Given{})
		h.AssignTraits(seed, protocol.Job{ID: "another", Arrival: noon, Run: time.Hour}, generate.Given{})
		if again := h.AssignTraits(seed, j, generate.Given{}); !reflect.DeepEqual(first, again) {
			t.Errorf("AssignTraits gave %+v, then %+v", first, again)
		}
		// A later arrival moves the deadline, and nothing else.
		j.Arrival = noon.Add(time.Hour)
		later := h.AssignTraits(seed, j, generate.Given{})
		if later.Deadline != first.Deadline.Add(time.Hour) || later.Home != first.Home || later.Input != first.Input || later.Urgency != first.Urgency {
			t.Errorf("an hour later: %+v; want as %+v with the deadline moved", later, first)
		}
	})
}

func TestAnyRegionGivesEveryHourAValueThatCanBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, lo, hi float64) float64 { return rapid.Float64Range(lo, hi).Draw(t, name) }
		r := generate.SyntheticRegion{
			Price:  generate.DailyProfile{Mean: number("price", -50, 500), Swing: number("price swing", 0, 2000)},
			Carbon: generate.DailyProfile{Mean: number("carbon", 0, 1200), Swing: number("carbon swing", 0, 800)},
			Match:  number("match", -1, 1), PUE: number("pue", 1, 2), Peak: rapid.IntRange(0, 23).Draw(t, "peak"),
		}
		hours := rapid.IntRange(0, 100).Draw(t, "hours")
		s := r.GenerateSignals(rapid.Uint64().Draw(t, "seed"), "here", noon, hours)
		for _, q := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon, protocol.GridPUE} {
			if len(s[q]) != hours {
				t.Fatalf("%s has %d points; want %d", q, len(s[q]), hours)
			}
			for h, p := range s[q] {
				if p.At != noon.Add(time.Duration(h)*time.Hour) {
					t.Fatalf("%s point %d at %v", q, h, p.At)
				}
				if low := map[protocol.Quantity]int64{protocol.GridPrice: -100_000, protocol.GridCarbon: 10_000, protocol.GridPUE: 1000}[q]; p.Value < low || p.Value > math.MaxInt32 {
					t.Errorf("%s point %d = %d; want at least %d", q, h, p.Value, low)
				}
			}
		}
	})
}
