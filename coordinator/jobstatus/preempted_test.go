package jobstatus

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A job whose run was taken down to make room says so, and by what, until it is awarded;
// while it is held, the reason is that of the hold.
func TestAPreemptedJobSaysSo(t *testing.T) {
	down := say(oslo, protocol.Coordinator, protocol.Preempted{Job: "a", Epoch: 1, For: "urgent", Why: protocol.Reason{Code: protocol.StrongerClaim}})
	b := told(append(way()[:6], down)...)
	if j, _ := b.JobByID("a", noon.Add(time.Minute)); j.State != history.Preempted || j.Why != string(protocol.StrongerClaim) || j.Note != "urgent" || j.HasEnded() || b.AllSites(noon.Add(time.Minute))[0].Placed != 0 {
		t.Errorf("preempted, it is %+v, at %+v", j, b.AllSites(noon.Add(time.Minute)))
	}
	held := say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 2, Job: "a", Why: protocol.Reason{Code: protocol.Waiting}})
	b = told(append(way()[:6], down, held)...)
	if j, _ := b.JobByID("a", noon.Add(time.Minute)); j.State != history.Preempted || j.Why != string(protocol.Waiting) {
		t.Errorf("preempted and held, it is %+v", j)
	}
	b = told(append(way()[:6], down, held, say(protocol.Coordinator, oslo, protocol.Award{Round: 3, Job: "a", Epoch: 2}))...)
	if j, _ := b.JobByID("a", noon.Add(time.Minute)); j.State != history.Planned {
		t.Errorf("awarded once more, it is %+v", j)
	}
	if !slices.Contains(history.AllStates(), history.Preempted) {
		t.Error("the states that can be asked for lack preempted")
	}
}
