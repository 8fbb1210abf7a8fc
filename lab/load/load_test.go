package main

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"
)

// What is measured is measured of a federation that works: every job is awarded,
// over real connections, and the bare server beside it answers too.
func TestALiveFederationIsMeasured(t *testing.T) {
	const most = 3 // what else a machine does may befall a floor, and not what stands on it
	for tries := 1; ; tries++ {
		r := measured[loadResult](t)
		if r.Sites != 3 || r.Award.P99 < r.Award.P50 || r.Floor.P50 <= 0 || r.Bids <= 0 || r.JobsPerSecond <= 0 || r.AuctionsPerSecond <= 0 {
			t.Errorf("measured %+v", r)
		}
		if r.Award.P50 > r.Floor.P50 && r.Durable.P50 > r.Floor.P50 {
			return
		}
		if tries == most {
			t.Fatalf("%d times an award, or what is durable, takes no longer than the floor: %+v", tries, r)
		}
	}
}

// One dead site of four holds no award up for a window of two seconds, once the market has noticed.
func TestADeadSiteDoesNotHoldAwardsUp(t *testing.T) {
	r := measured[deadResult](t, "-sites", "4", "-dead", "1", "-each", "8")
	if r.Sites != 4 || r.Dead != 1 || len(r.Runs) != 1 || r.Runs[0].With.P50 >= 2*time.Second || r.P50.Mean <= -1 {
		t.Errorf("measured %+v", r)
	}
}

func TestRunsAreSummarized(t *testing.T) {
	if got, want := newSpreadOfRuns([]float64{0.1, 0.3, 0.2}), (spreadOfRuns{0.2, 0.1}); math.Abs(got.Mean-want.Mean)+math.Abs(got.SD-want.SD) > 1e-9 {
		t.Errorf("mean and sd of runs: %+v; want %+v", got, want)
	}
	if got := medianOf([]int{9, 1, 4, 7, 3}, func(n int) int { return 10 * n }); got != 40 {
		t.Errorf("median of runs: %d; want 40", got)
	}
}

// measured returns what a measurement in JSON has of the one number of sites.
func measured[R any](t *testing.T, more ...string) R {
	t.Helper()
	var out bytes.Buffer
	if err := runLoadTest(t.Context(), append([]string{"-sites", "3", "-sync", "no", "-each", "20", "-burst", "60", "-json"}, more...), &out); err != nil {
		t.Fatal(err)
	}
	var all []R
	if err := json.Unmarshal(out.Bytes(), &all); err != nil || len(all) != 1 {
		t.Fatalf("%s: %v", out.Bytes(), err)
	}
	return all[0]
}

// Memory does not grow with the jobs that were settled: history is in the books,
// not in the heap.
func TestMemoryIsFlat(t *testing.T) {
	marks, err := measureSettledJobs(busyMinutes, 120_000, 10)
	if err != nil {
		t.Fatal(err)
	}
	// From the seventh of ten as many jobs end as are forgotten.
	first, last := marks[6], marks[8]
	if last.Heap > first.Heap+first.Heap/5 || last.Known > first.Known+first.Known/20 {
		t.Errorf("after %d jobs %d bytes are in use and %d jobs known; after %d, %d and %d", first.Jobs, first.Heap, first.Known, last.Jobs, last.Heap, last.Known)
	}
}

// Of a job that ended, the market keeps its id and little more: the rest is in the event log.
func TestAnEndedJobLeavesTheMemory(t *testing.T) {
	marks, err := measureSettledJobs(busyMonth(1_000_000), 48_000, 4)
	if err != nil {
		t.Fatal(err)
	}
	// From the second of four on as many whole jobs are kept as ever are.
	first, last := marks[1], marks[3]
	each := (int(last.Heap) - int(first.Heap)) / (last.Known - first.Known)
	t.Logf("%d B for each of %d jobs that ended since", each, last.Known-first.Known)
	if each > 300 || last.Known < 40_000 {
		t.Errorf("%d jobs are known, and each of those that ended takes %d B", last.Known, each)
	}
}

// A thousand sites bid in one round: one call, an offer each, and an award and an
// accept for each job.
func TestAThousandSitesBidInOneRound(t *testing.T) {
	r, err := measureDirectRound(1000, 16)
	if err != nil {
		t.Fatal(err)
	}
	if r.Awarded != 16 || r.Messages != 1000+1000+16+16 {
		t.Errorf("%+v", r)
	}
}

// Jobs are settled as long as others come, at sites that never fill up.
func TestJobsAreSettledAtSitesWithRoom(t *testing.T) {
	var out bytes.Buffer
	if err := runLoadTest(t.Context(), []string{"-sites", "3", "-sync", "no", "-settle", "4s", "-in-flight", "100", "-json"}, &out); err != nil {
		t.Fatal(err)
	}
	var all []settledRate
	if err := json.Unmarshal(out.Bytes(), &all); err != nil || len(all) != 1 {
		t.Fatalf("%s: %v", out.Bytes(), err)
	}
	// In each of a second's runs as many jobs as are in flight could end; a busy machine does less.
	if r := all[0]; r.Settled == 0 || r.Settled > 400 || r.Rounds == 0 || r.Received < 3 || r.Sent < 4 || r.Busy <= 0 || r.Busy > 0.81 || r.CPU <= 0 {
		t.Errorf("measured %+v", r)
	}
}
