package bound

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// elasticDay is gangDay on which every third job is elastic, from 1 to 4 pods of one GPU, and said on four. On
// fewer it takes less energy. With pause they may be paused.
func elasticDay(n int, pause time.Duration) spec.Scenario {
	s := gangDay(n, 4)
	s.Hash += " with elastic jobs, " + pause.String()
	for i := range s.Jobs {
		if j := &s.Jobs[i]; i%3 == 0 && j.GPUs > 0 {
			j.Speed = []protocol.SpeedPoint{{Pods: 1, Speed: 1000}, {Pods: 2, Speed: 1700}, {Pods: 4, Speed: 2500}}
			j.Run = max(j.Run, time.Hour)
			if pause > 0 && j.MayWait() {
				j.Pause, j.State = pause, 1024
			}
			*j = j.WithPods([]protocol.Component{{Role: "worker", Pods: 4, GPUs: 1, Share: 1000, CPU: 2000, Memory: 8 << 10}})
		}
	}
	return s
}

// No policy beats the bound of a day with elastic jobs, paused or not: it knows every number of pods.
func TestNoPolicyBeatsTheBoundOfADayWithElasticJobs(t *testing.T) {
	for _, pause := range []time.Duration{0, 2 * time.Minute} {
		s := elasticDay(60, pause)
		jobs, all := certify(t, s, false), certify(t, s, true)
		fixed := s
		fixed.Jobs = nil
		for _, j := range s.Jobs {
			j.Speed = nil
			fixed.Jobs = append(fixed.Jobs, j)
		}
		fixed.Hash += " of one size"
		if base := certify(t, fixed, false); base.BoundUSD <= jobs.BoundUSD {
			t.Errorf("with the pods that jobs name the bound is $%.4f, with all numbers $%.4f; want it higher", base.BoundUSD, jobs.BoundUSD)
		}
		for _, policy := range []string{scenarios.PolicyAuction, "home-fifo", "k8s-least-allocated", "suspend-resume"} {
			res, err := scenarios.Replay(t.Context(), s, policy, new(membus.Bus), scenarios.Options{})
			if err != nil {
				t.Fatal(err)
			}
			sizes := map[int]int{}
			for _, r := range scenarios.CompletedJobs(res.History, jobs.Weights) {
				if j, ok := res.History.LatestJob(r.Job); ok && j.Job.IsElastic() {
					at := j.JobIn(j.Run)
					sizes[at.PodCount()]++
				}
			}
			of, with := busy(res, jobs.Weights), res.Totals.ObjectiveUSD
			if of < jobs.BoundUSD || with < all.BoundUSD {
				t.Errorf("%s: $%.4f, with idle nodes $%.4f; the bounds are $%.4f and $%.4f", policy, of, with, jobs.BoundUSD, all.BoundUSD)
			}
			if policy == scenarios.PolicyAuction && len(sizes) < 2 {
				t.Errorf("the auction ran elastic jobs on %v pods; want several numbers", sizes)
			}
			t.Logf("%-20s $%.3f against $%.3f; with idle $%.3f against $%.3f; pods %v", policy, of, jobs.BoundUSD, with, all.BoundUSD, sizes)
		}
	}
}
