package scenarios

import (
	"fmt"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/baseline"
)

// A day of jobs that can be paused, under the rules that do so. Play itself holds
// each part to its bill, and all of them to the meters.
func TestPausedJobsRunOnAndAddUp(t *testing.T) {
	s := small(150)
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.MayWait() && j.GPUs > 0 && i%2 == 0 {
			j.Pause, j.State = 2*time.Minute, 4096
		}
	}
	for _, policy := range []string{baseline.RuleWaitInterrupting, baseline.RuleSuspendResume} {
		res, err := Replay(t.Context(), s, policy, new(membus.Bus), Options{})
		if err != nil {
			t.Fatal(err)
		}
		paused, done := 0, 0
		for _, id := range res.History.JobIDs() {
			r, _ := res.History.LatestJob(id)
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

// Between two cheap periods of four hours are eight expensive ones, known the day
// before. Pausable jobs of six hours run in both, all in time, and cost less than if
// they had to run whole.
func TestTheAuctionPausesWhereThatPays(t *testing.T) {
	s := small(0)
	s.Sites = s.Sites[1:2] // hydro, whose market is a day ahead
	hydro := &s.Sites[0]
	for i := range hydro.Signals[protocol.GridPrice] {
		hydro.Signals[protocol.GridPrice][i].Value = 400_000
		if h := i % 24; h < 4 || h >= 12 && h < 16 {
			hydro.Signals[protocol.GridPrice][i].Value = 10_000
		}
	}
	for i := range 4 {
		s.Jobs = append(s.Jobs, protocol.Job{
			ID: protocol.JobID(fmt.Sprintf("train-%d", i)), Tenant: "lab", Home: "hydro", GPUs: 1, Share: 1000, CPU: 4000, Memory: 16 << 10,
			Models: []string{"V100"}, Arrival: s.Start, Run: 6 * time.Hour, Deadline: s.Start.Add(17 * time.Hour), Urgency: protocol.UrgencyStandard,
		})
	}
	spent := func(pause time.Duration) (usd float64, parts int) {
		for i := range s.Jobs {
			s.Jobs[i].Pause = pause
		}
		res, err := Replay(t.Context(), s, PolicyAuction, new(membus.Bus), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range res.History.JobIDs() {
			r, _ := res.History.LatestJob(id)
			parts += len(r.Parts)
		}
		if res.Totals.Late > 0 {
			t.Errorf("with pauses of %v %d jobs were late", pause, res.Totals.Late)
		}
		return res.Totals.JobsUSD, parts
	}
	whole, none := spent(0)
	paused, parts := spent(2 * time.Minute)
	if none != 0 || parts < len(s.Jobs) || paused > 0.6*whole {
		t.Errorf("%d jobs: whole $%.3f, in %d more parts $%.3f", len(s.Jobs), whole, parts, paused)
	}
}

// A replay continues until the rest of a paused job has run, however long after the
// last arrival: otherwise its cost would be missing.
func TestAReplayDoesNotEndBeforeTheRestOfAPausedJob(t *testing.T) {
	s := small(0)
	s.Sites = s.Sites[1:2]
	hydro := &s.Sites[0]
	for i := range hydro.Signals[protocol.GridCarbon] {
		hydro.Signals[protocol.GridCarbon][i].Value = 900_000
		if i%24 < 6 {
			hydro.Signals[protocol.GridCarbon][i].Value = 10_000
		}
	}
	s.Jobs = []protocol.Job{{
		ID: "train", Tenant: "lab", Home: "hydro", GPUs: 1, Share: 1000, CPU: 4000, Memory: 16 << 10, Models: []string{"V100"},
		Arrival: s.Start, Run: 40 * time.Hour, Deadline: s.Start.Add(12 * 24 * time.Hour), Urgency: protocol.UrgencyStandard, Pause: 2 * time.Minute,
	}}
	res, err := Replay(t.Context(), s, baseline.RuleSuspendResume, new(membus.Bus), Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := res.History.LatestJob("train")
	if len(r.Parts) == 0 || !r.HasEnded() || r.Run.Ended < MeteredUntil(s) {
		t.Errorf("in %d parts, %v, %+v; want it paused, and ended after %v", len(r.Parts), r.HasEnded(), r.Run, MeteredUntil(s))
	}
}
