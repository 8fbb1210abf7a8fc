package scenarios

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/scenarios/baseline"
)

// A day of jobs that can be paused, under the rules that do so. Play itself holds
// each part to its bill, and all of them to the meters.
func TestPausedJobsRunOnAndAddUp(t *testing.T) {
	s := small(150)
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Deferrable && j.GPUs > 0 && i%2 == 0 {
			j.Pause, j.State = 2*time.Minute, 4096
		}
	}
	for _, policy := range []string{baseline.WaitInterrupting, baseline.SuspendResume} {
		res, err := Play(t.Context(), s, policy, new(membus.Hub), Options{})
		if err != nil {
			t.Fatal(err)
		}
		paused, done := 0, 0
		for _, id := range res.Book.Jobs() {
			r, _ := res.Book.Job(id)
			if r.Run == nil {
				t.Fatalf("%s: %s never ended", policy, id)
			}
			done++
			paused += len(r.Parts)
			epoch, ran := uint64(0), time.Duration(0)
			for _, p := range append(r.Parts, *r.Run) {
				if p.Epoch <= epoch {
					t.Errorf("%s: %s ran on under epoch %d after %d", policy, id, p.Epoch, epoch)
				}
				epoch = p.Epoch
				ran += p.Ended.Sub(p.Started)
			}
			// No GPU of the stage is three times as fast as the reference; a slow
			// one takes longer, and each pause its own cost.
			if least := r.Job.Run / 3; ran < least {
				t.Errorf("%s: %s of %v ran for %v in %d parts", policy, id, r.Job.Run, ran, 1+len(r.Parts))
			}
		}
		if paused < 3 || done != len(s.Jobs) {
			t.Errorf("%s: %d pauses, %d of %d jobs done", policy, paused, done, len(s.Jobs))
		}
		t.Logf("%s: %d pauses, %d late", policy, paused, res.Totals.Late)
	}
}
