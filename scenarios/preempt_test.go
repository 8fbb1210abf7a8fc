package scenarios

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A job that can be paused keeps what it has done when it is stopped to make room: it goes on from its
// checkpoint, its own tenant pays for both parts, and nothing is lost. One that cannot starts anew, and the
// tenant of the job with the higher class pays for the part that is lost. Replay itself holds the parts to
// their bills, and all of them to the meters.
func TestAPreemptedJobGoesOnFromItsCheckpoint(t *testing.T) {
	for _, pause := range []time.Duration{0, 2 * time.Minute} {
		s, err := spec.LoadScenario("acceptance/x3-an-equal-class-stops-nobody.yaml", spec.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Jobs {
			j := &s.Jobs[i]
			if j.Tenant = "urgent"; j.ID == "r" {
				j.Tenant, j.PriorityClass, j.Urgency, j.Pause = "patient", "p0", protocol.UrgencyStandard, pause
			}
		}
		res, err := Replay(t.Context(), s, "auction", new(membus.Bus), Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, _ := res.History.LatestJob("r")
		high, _ := res.History.LatestJob("new")
		if len(r.Parts) != 1 || r.Run == nil || !r.Parts[0].Preempted || r.Awards[0].Preempted == nil || !high.HasEnded() {
			t.Fatalf("pause %v: r is %+v", pause, r)
		}
		first, last, p := r.Parts[0], r.Run, r.Awards[0].Preempted
		payer := "urgent"
		if pause > 0 {
			payer = "patient"
		}
		whole := r.Awards[0].Option.Finish.Sub(r.Awards[0].Option.Start)
		if ran := last.Ended.Sub(last.Started); (pause > 0) != (ran < whole-20*time.Minute) || (p.Lost > 0) != (pause == 0) || (p.Left > 0) != (pause > 0) {
			t.Errorf("pause %v: it ran %v of %v again, %v of work lost, %v left", pause, ran, whole, p.Lost, p.Left)
		}
		if first.Settled.Payer != payer || first.Settled.Paid == 0 || last.Settled.Payer != "patient" {
			t.Errorf("pause %v: the first part is paid for by %s, the last by %s", pause, first.Settled.Payer, last.Settled.Payer)
		}
		if state := res.History.JobStateAt(&r, first.Ended.Add(time.Second)); state.State != history.Preempted && state.State != history.Planned {
			t.Errorf("pause %v: stopped, it is %+v", pause, state)
		}
	}
}
