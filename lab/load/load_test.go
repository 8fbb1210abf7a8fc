package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

// What is measured is measured of a federation that works: every job is awarded,
// over real connections, and the bare server beside it answers too.
func TestALiveFederationIsMeasured(t *testing.T) {
	const most = 3 // what else a machine does may befall a floor, and not what stands on it
	for tries := 1; ; tries++ {
		r := measured(t)
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

func measured(t *testing.T) loadResult {
	t.Helper()
	var out bytes.Buffer
	if err := runLoadTest(t.Context(), []string{"-sites", "3", "-sync", "no", "-each", "20", "-burst", "60", "-json"}, &out); err != nil {
		t.Fatal(err)
	}
	var all []loadResult
	if err := json.Unmarshal(out.Bytes(), &all); err != nil || len(all) != 1 {
		t.Fatalf("%s: %v", out.Bytes(), err)
	}
	return all[0]
}

// Memory does not grow with the jobs that were settled: history is in the books,
// not in the heap.
func TestMemoryIsFlat(t *testing.T) {
	marks, err := measureSettledJobs(120_000, 10)
	if err != nil {
		t.Fatal(err)
	}
	// From the seventh of ten as many jobs end as are forgotten.
	first, last := marks[6], marks[8]
	if last.Heap > first.Heap+first.Heap/5 || last.Known > first.Known+first.Known/20 {
		t.Errorf("after %d jobs %d bytes are in use and %d jobs known; after %d, %d and %d", first.Jobs, first.Heap, first.Known, last.Jobs, last.Heap, last.Known)
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
