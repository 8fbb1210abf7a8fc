package protocol

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The price of waiting of a standard job is the root law to the microdollar: the square of the price
// times the run is the square of the hour's price times an hour.
func TestTheWaitPriceOfAStandardJobFallsWithTheRootOfItsRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Weights{WaitStandard: Microdollars(rapid.Int64Range(1, 1_000_000).Draw(t, "price"))}
		run := time.Duration(rapid.Int64Range(1_000, MaxRun.Milliseconds()).Draw(t, "run")) * time.Millisecond
		twice := 2 * int64(w.WaitPrice(&Job{Run: run}))
		product := func(a int64, d time.Duration) *big.Int {
			x := new(big.Int).Mul(big.NewInt(a), big.NewInt(a))
			return x.Mul(x, big.NewInt(d.Milliseconds()))
		}
		want := product(2*int64(w.WaitStandard), time.Hour)
		if product(max(twice-1, 0), run).Cmp(want) > 0 || product(twice+1, run).Cmp(want) < 0 {
			t.Errorf("at %d for an hour, a GPU-hour of waiting before a run of %v costs %d", w.WaitStandard, run, twice/2)
		}
	})
	w := Weights{WaitNow: 3, WaitStandard: 5_000, WaitFlexible: 7}
	for _, tc := range []struct {
		job  Job
		want Microdollars
	}{
		{Job{}, 5_000}, {Job{Run: time.Hour}, 5_000}, {Job{Run: 4 * time.Hour}, 2_500}, {Job{Run: 15 * time.Minute}, 10_000},
		{Job{Run: 1}, 300_000}, {Job{Run: 4 * time.Hour, Urgency: UrgencyNow}, 3}, {Job{Run: 4 * time.Hour, Urgency: UrgencyFlexible}, 7},
	} {
		if got := w.WaitPrice(&tc.job); got != tc.want {
			t.Errorf("%s job of %v: %d; want %d", tc.job.Urgency, tc.job.Run, got, tc.want)
		}
	}
}

func TestWaitingAndLatenessArePricedByUrgencyAndUpToTheWorth(t *testing.T) {
	w := DefaultWeights()
	j := Job{GPUs: 4, Share: 1000, Arrival: noon, Run: 4 * time.Hour, Deadline: noon.Add(8 * time.Hour)}
	for _, tc := range []struct {
		name        string
		of          Weights
		urgency     Urgency
		wait, over  time.Duration
		delay, late Microdollars
	}{
		{"standard", w, UrgencyStandard, 2 * time.Hour, 0, 4 * 2 * 2_500, 0},
		{"now", w, UrgencyNow, 2 * time.Hour, 0, 4 * 2 * 2_000_000, 0},
		{"flexible", w, UrgencyFlexible, 2 * time.Hour, 0, 4 * 2 * 1_000, 0},
		{"milliseconds count", w, UrgencyNow, 900 * time.Millisecond, 0, 4 * 500, 0},
		{"a little late", w, UrgencyStandard, 0, time.Hour, 0, 4 * 2_000_000},
		{"late beyond its worth", w, UrgencyStandard, 0, 40 * time.Hour, 0, 4 * 4 * 2_000_000},
		{"ranked", w.ForRanking(), UrgencyStandard, 2 * time.Hour, 40 * time.Hour, 4 * 2 * 2_500, 4 * 40 * 10_000_000},
		{"ranked, a second late", w.ForRanking(), UrgencyStandard, 0, time.Second, 0, 4 * 2_500_000},
		{"ranked, in time", w.ForRanking(), UrgencyStandard, 0, 0, 0, 0},
		{"waiting was free", FreeWaitingWeights(), UrgencyStandard, 2 * time.Hour, 40 * time.Hour, 0, 4 * 40 * 10_000_000},
		{"but not for all", FreeWaitingWeights(), UrgencyNow, 2 * time.Hour, 0, 4 * 2 * 1_000_000, 0},
		{"a dearer lateness ranks by its price", Weights{Late: 20_000_000}.ForRanking(), UrgencyNow, 0, time.Hour, 0, 4 * 20_000_000},
	} {
		j.Urgency = tc.urgency
		delay, late := tc.of.DelayAndLateCost(j, noon.Add(tc.wait), j.Deadline.Add(tc.over))
		if delay != tc.delay || late != tc.late {
			t.Errorf("%s: delay %d, lateness %d; want %d and %d", tc.name, delay, late, tc.delay, tc.late)
		}
	}
	cores := Job{CPU: 16_000, Run: time.Hour, Arrival: noon, Deadline: noon, Urgency: UrgencyNow}
	if delay, late := w.DelayAndLateCost(cores, noon.Add(time.Hour), noon.Add(9*time.Hour)); delay != 2_000_000 || late != 2_000_000 {
		t.Errorf("sixteen cores: delay %d, lateness %d; want those of a GPU", delay, late)
	}
}

// Lateness never falls with time, never exceeds the worth, and at most costs what it does without
// limit.
func TestLatenessIsTheLesserOfItsTimeAndTheWorth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Weights{Late: Microdollars(rapid.Int64Range(0, 1e9).Draw(t, "late")), LateMost: Microdollars(rapid.Int64Range(1, 1e9).Draw(t, "most"))}
		j := Job{GPUs: rapid.IntRange(1, MaxGPUs).Draw(t, "gpus"), Share: 1000, Arrival: noon, Deadline: noon, Run: time.Duration(rapid.Int64Range(0, int64(MaxRun)).Draw(t, "run"))}
		a, b := rapid.Int64Range(0, MaxRun.Milliseconds()).Draw(t, "a"), rapid.Int64Range(0, MaxRun.Milliseconds()).Draw(t, "b")
		_, first := w.DelayAndLateCost(j, noon, noon+Time(min(a, b)))
		_, then := w.DelayAndLateCost(j, noon, noon+Time(max(a, b)))
		free := w
		free.LateMost = 0
		_, most := free.DelayAndLateCost(j, noon, noon+Time(max(a, b)))
		if first > then || then != min(most, w.MostLateCost(&j)) {
			t.Errorf("late by %d ms %d, by %d ms %d; without limit %d, worth %d", min(a, b), first, max(a, b), then, most, w.MostLateCost(&j))
		}
	})
}

func TestOnlyStandardJobsHaveALimitOfWaiting(t *testing.T) {
	w := DefaultWeights()
	j := Job{Arrival: noon, Run: 30 * time.Minute}
	if got := w.LatestWorthBidding(&j); got != noon.Add(150*time.Minute) {
		t.Errorf("latest start of a standard job of half an hour is %v; want two hours and its run after noon", got)
	}
	j.Run = 0
	if got := w.LatestWorthBidding(&j); got != noon.Add(3*time.Hour) {
		t.Errorf("a job of unknown run counts as one of an hour; got %v", got)
	}
	for _, u := range []Urgency{UrgencyNow, UrgencyFlexible} {
		j.Urgency = u
		if w.LatestWorthBidding(&j) < noon.Add(MaxRun) {
			t.Errorf("a %s job has a limit of %v", u, w.LatestWorthBidding(&j))
		}
	}
	if j.Urgency = UrgencyStandard; FreeWaitingWeights().LatestWorthBidding(&j) < noon.Add(MaxRun) {
		t.Error("a standard job has a limit where waiting is free")
	}
}

func TestUrgenciesAreReadAndWritten(t *testing.T) {
	for text, want := range map[string]Urgency{"now": UrgencyNow, "standard": UrgencyStandard, "flexible": UrgencyFlexible} {
		if got, err := ParseUrgency(text); err != nil || got != want || got.String() != text {
			t.Errorf("ParseUrgency(%q) = %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "Now", "later"} {
		if _, err := ParseUrgency(text); err == nil {
			t.Errorf("ParseUrgency(%q) has no fault", text)
		}
	}
	j := Job{ID: "a", CPU: 1000, Arrival: noon, Deadline: noon, Urgency: "standard"}
	if j.InvalidReason() == "" {
		t.Error("a job has a fourth urgency, and is valid")
	}
	for _, tc := range []struct {
		deferrable, due bool
		want            Urgency
	}{{false, false, UrgencyNow}, {false, true, UrgencyNow}, {true, true, UrgencyFlexible}, {true, false, UrgencyStandard}} {
		if got := UrgencyFromDeferrable(tc.deferrable, tc.due); got != tc.want {
			t.Errorf("deferrable %v, with a deadline %v: %s; want %s", tc.deferrable, tc.due, got, tc.want)
		}
	}
}
