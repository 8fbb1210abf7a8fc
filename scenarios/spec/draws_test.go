package spec

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/generate"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// pool is invented jobs whose run times and gangs are like Philly's.
func pool(n int) []protocol.Job {
	return generate.WorkloadMix{Count: n}.GenerateJobs(1, 0, protocol.Time(oneDay.Milliseconds()))
}

func itself(j protocol.Job) protocol.Job { return j }

func TestDrawsDealThePoolOut(t *testing.T) {
	const count, strata = 50, maxStrata
	all := pool(count*strata + 7)
	seen := make(map[protocol.JobID]int)
	for draw := 1; draw <= strata; draw++ {
		jobs, err := drawStratified(all, count, draw, 1, itself)
		if err != nil || len(jobs) != count {
			t.Fatalf("draw %d: %d jobs, %v; want %d", draw, len(jobs), err, count)
		}
		for _, j := range jobs {
			seen[j.ID]++
		}
		if twice, _ := drawStratified(all, count, draw, 1, itself); !slices.EqualFunc(jobs, twice, func(x, y protocol.Job) bool { return x.ID == y.ID }) {
			t.Errorf("draw %d differs from itself", draw)
		}
	}
	if len(seen) != count*strata {
		t.Errorf("%d jobs are drawn; want each of %d once", len(seen), count*strata)
	}
	first, _ := drawStratified(all, count, 1, 1, itself)
	for what, other := range map[string][2]int{"after the pool is dealt out": {strata + 1, 1}, "under another seed": {1, 2}} {
		jobs, _ := drawStratified(all, count, other[0], uint64(other[1]), itself)
		if slices.EqualFunc(first, jobs, func(x, y protocol.Job) bool { return x.ID == y.ID }) {
			t.Errorf("%s the draw is the first one", what)
		}
	}
	if _, err := drawStratified(all[:count+9], count, 1, 1, itself); err == nil {
		t.Errorf("a pool that is no larger than a draw is no error")
	}
}

// Fewer jobs tell as much: GPU-hours of stratified draws vary far less than those of plain
// random samples of the same pool.
func TestStratifiedDrawsVaryLessThanRandomOnes(t *testing.T) {
	const count = 300
	all := pool(count * maxStrata)
	d := rand.New(rand.NewPCG(1, 2))
	var stratified, random, gangs []float64
	for draw := 1; draw <= maxStrata; draw++ {
		jobs, err := drawStratified(all, count, draw, 1, itself)
		if err != nil {
			t.Fatal(err)
		}
		stratified = append(stratified, totalGPUHours(jobs))
		gangs = append(gangs, float64(len(slices.DeleteFunc(jobs, func(j protocol.Job) bool { return j.GPUs < 8 }))))
		var some []protocol.Job
		for _, i := range d.Perm(len(all))[:count] {
			some = append(some, all[i])
		}
		random = append(random, totalGPUHours(some))
	}
	s, r := relativeVariance(stratified), relativeVariance(random)
	t.Logf("standard deviation of GPU-hours, %% of the mean: stratified %.2f, random %.2f", 100*math.Sqrt(s), 100*math.Sqrt(r))
	if s*10 > r {
		t.Errorf("variance of GPU-hours: %.5f of stratified draws, %.5f of random ones; want a tenth at most", s, r)
	}
	if slices.Max(gangs)-slices.Min(gangs) > 1 {
		t.Errorf("draws have %v to %v gangs of eight; want them spread evenly", slices.Min(gangs), slices.Max(gangs))
	}
}

// A draw replaces the jobs of a day and nothing of its grids.
func TestADrawIsAnotherSampleOfTheSameDay(t *testing.T) {
	load := func(draw int) Scenario {
		s, err := LoadScenario(DefaultScenario, Options{MaxJobs: 40, Draw: draw})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	own, first, second := load(0), load(1), load(2)
	for what, s := range map[string]Scenario{"first": first, "second": second} {
		if len(s.Jobs) != 40 || s.Hash == own.Hash || fmt.Sprint(s.Sites) != fmt.Sprint(own.Sites) || s.Start != own.Start {
			t.Errorf("%s draw: %d jobs, hash %s; want 40 others at the same sites", what, len(s.Jobs), s.Hash)
		}
		if !slices.IsSortedFunc(s.Jobs, func(x, y protocol.Job) int { return int(x.Arrival - y.Arrival) }) || s.Jobs[39].Arrival.Sub(s.Jobs[0].Arrival) < 12*time.Hour {
			t.Errorf("%s draw: arrivals %v..%v; want them in order over the day", what, s.Jobs[0].Arrival, s.Jobs[39].Arrival)
		}
	}
	if first.Hash == second.Hash || first.Hash != load(1).Hash {
		t.Errorf("hashes %s, %s, and of the first once more %s", first.Hash, second.Hash, load(1).Hash)
	}
	if _, err := LoadScenario(DefaultScenario, Options{Draw: -1}); err == nil {
		t.Errorf("a draw below 0 is no error")
	}
}

// relativeVariance is the variance over the square of the mean.
func relativeVariance(v []float64) (out float64) {
	mean := 0.0
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		out += (x/mean - 1) * (x/mean - 1) / float64(len(v)-1)
	}
	return out
}

// A limit on jobs is the size of a draw, and the pool is of consecutive jobs of the trace.
func TestADrawOfATraceHasAsManyJobsAsTheLimit(t *testing.T) {
	var all []trace.TraceJob
	for _, j := range pool(200) {
		all = append(all, trace.TraceJob{Job: j})
	}
	for what, tc := range map[string]struct {
		jobs       jobsSpec
		read, kept int
	}{
		"no draw":              {jobsSpec{Max: 200}, 200, 200},
		"no draw, a limit":     {jobsSpec{Max: 200, thinTo: 10}, 200, 10},
		"a draw":               {jobsSpec{Max: 40, draw: 2}, 800, 40},
		"a draw, a limit":      {jobsSpec{Max: 40, thinTo: 10, draw: 20}, 200, 10},
		"a draw of the usual":  {jobsSpec{draw: 1}, defaultMax * maxStrata, 0}, // 200 are too few
		"a draw, most of them": {jobsSpec{Max: 101, draw: 1}, 2020, 0},
	} {
		kept, err := tc.jobs.selectRecords(all, 1)
		if got := tc.jobs.traceJobs(); got != tc.read || len(kept) != tc.kept || errors.Is(err, ErrTooFewJobs) != (tc.kept == 0) {
			t.Errorf("%s: reads %d, keeps %d, %v; want %d and %d", what, got, len(kept), err, tc.read, tc.kept)
		}
	}
}
