package history

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

var meta = Meta{
	Scenario: "test", Policy: "auction", Seed: 7, Start: noon, End: at(3 * time.Hour),
	GPUs: 4000, Weights: weights, Frag: 0.25, Wall: 2 * time.Second,
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("%s = %v; want %v", what, got, want)
	}
}

func TestTotals(t *testing.T) {
	got := twoRounds().book(Config{}).ComputeTotals(meta)
	if got.Jobs != 1 || got.Placed != 1 || got.Late != 0 || got.Unplaced != 0 || got.Rounds != 2 {
		t.Errorf("counts = %+v; want one job, placed, in two rounds", got)
	}
	if got.Awards != 1 || got.Holds != 1 || got.Decisions != 2 {
		t.Errorf("decisions = %+v; want one award and one hold", got)
	}
	// 66 minutes of 300 W are 0.33 kWh, 0.363 with the facility's tenth; three
	// sites of 100 W idle for three hours draw 0.99 kWh with it.
	near(t, "energy", got.EnergyKWh, 0.363+0.99)
	near(t, "idle", got.IdleKWh, 0.99)
	near(t, "carbon", got.CarbonKg, 0.0726+9*0.022)
	near(t, "cost", got.CostUSD, 0.01815+9*0.0055)
	near(t, "objective", got.ObjectiveUSD, got.CostUSD+got.CarbonUSD)
	near(t, "wait", got.WaitS.Mean, 3600)
	near(t, "jct", got.JCTS.P95, 126*60)
	near(t, "slowdown", got.Slowdown.Mean, 2.1)
	near(t, "utilisation", got.GPUUtil, 1.1/12)
	near(t, "gap", got.Gap, 0.1)
}

func TestAnUnplacedJobCostsMoreThanOneThatRunsLate(t *testing.T) {
	late := &stage{now: noon}
	j := job("a")
	late.hello("oslo")
	late.submit(j)
	unplaced := late.book(Config{}).ComputeTotals(meta)
	late.now = at(3 * time.Hour)
	epoch := late.award("oslo", 1, j, option(0, 1, 1))
	late.run("oslo", "n1", []int{0}, j, epoch, option(0, 1, 1), time.Hour)
	ran := late.book(Config{}).ComputeTotals(meta)
	if unplaced.Unplaced != 1 || ran.Late != 1 {
		t.Fatalf("unplaced %d, late %d; want 1 and 1", unplaced.Unplaced, ran.Late)
	}
	near(t, "lateness of a job that was never run", unplaced.LateUSD, 10)
	near(t, "lateness of a job that ended an hour late", ran.LateUSD, 10)
}

// A job that was paused waited until its first part began: the pause is no delay.
func TestAPauseIsNoDelay(t *testing.T) {
	w := protocol.DefaultWeights()
	j := protocol.Job{GPUs: 2, Share: 1000, Arrival: noon, Run: time.Hour, Deadline: at(24 * time.Hour)}
	whole := JobRecord{Job: j, phase: phaseEnded, Run: &Run{Started: at(2 * time.Hour), Ended: at(3 * time.Hour)}}
	paused := JobRecord{Job: j, phase: phaseEnded, Parts: []Run{{Started: at(2 * time.Hour)}}, Run: &Run{Started: at(9 * time.Hour), Ended: at(10 * time.Hour)}}
	if a, b := whole.NonEnergyCost(Meta{Weights: w}).Delay, paused.NonEnergyCost(Meta{Weights: w}).Delay; a != 2*2*w.WaitStandard || b != a {
		t.Errorf("a job that starts two hours after noon is charged %d for its waiting, paused afterwards %d; want %d", a, b, 4*w.WaitStandard)
	}
}

func TestSlowdownIsBounded(t *testing.T) {
	for _, tc := range []struct {
		name     string
		run, jct time.Duration
		want     int64
	}{
		{"a job that waited as long as it ran", time.Hour, 2 * time.Hour, 2000},
		{"a faster GPU is not below one", time.Hour, time.Minute, 1000},
		{"a job of a second counts as ten", time.Second, 20 * time.Second, 2000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := boundedSlowdown(protocol.Job{Run: tc.run}, tc.jct); got != tc.want {
				t.Errorf("boundedSlowdown(run %v, jct %v) = %d; want %d", tc.run, tc.jct, got, tc.want)
			}
		})
	}
}

func TestSpread(t *testing.T) {
	var hundred []int64
	for i := range int64(100) {
		hundred = append(hundred, (100-i)*1000)
	}
	for _, tc := range []struct {
		name   string
		values []int64
		want   Spread
	}{
		{"nothing", nil, Spread{}},
		{"one", []int64{2500}, Spread{2.5, 2.5, 2.5, 2.5}},
		{"two: the median is the smaller", []int64{3000, 1000}, Spread{2, 1, 3, 3}},
		{"a hundred, unsorted", hundred, Spread{50.5, 50, 95, 100}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := spreadOf(tc.values); got != tc.want {
				t.Errorf("spreadOf(%v) = %+v; want %+v", tc.values, got, tc.want)
			}
		})
	}
}

// The keys that the project has promised.
func TestTheJSONHasEveryPromisedKey(t *testing.T) {
	raw, err := json.Marshal(twoRounds().book(Config{}).ComputeTotals(meta))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"schema", "scenario", "seed", "policy", "jobs", "placed", "late", "unplaced", "energy_kwh", "carbon_kg", "cost_usd",
		"objective_usd", "gpu_util", "frag_ratio", "decisions", "wall_s",
	} {
		if _, ok := got[key]; !ok {
			t.Errorf("key %q is missing", key)
		}
	}
	for key, parts := range map[string][]string{"wait_s": {"mean", "p50", "p95"}, "jct_s": {"mean", "p95"}, "slowdown": {"mean", "p95"}} {
		inner, _ := got[key].(map[string]any)
		for _, part := range parts {
			if _, ok := inner[part]; !ok {
				t.Errorf("key %q has no %q", key, part)
			}
		}
	}
}

func TestBusy(t *testing.T) {
	got := twoRounds().book(Config{}).GPUsHeldBySite(noon, at(3*time.Hour), 30*time.Minute)
	if want := []protocol.Milli{0, 0, 1000, 1000, 200, 0}; !slices.Equal(got["oslo"], want) {
		t.Errorf("busy at oslo = %v; want %v", got["oslo"], want)
	}
	if len(got["lyon"]) != 6 || slices.Max(got["lyon"]) != 0 {
		t.Errorf("busy at lyon = %v; want six times nothing", got["lyon"])
	}
	if got := New(Config{}).GPUsHeldBySite(noon, noon, time.Hour); len(got) != 0 {
		t.Errorf("busy of no time = %v", got)
	}
}
