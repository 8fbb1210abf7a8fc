package timeline_test

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A run that was taken down to make room is shown as such from then on, and its GPUs as free.
func TestAPreemptedJobIsShown(t *testing.T) {
	s := sold()
	s.award("oslo", 1)
	before := s.now
	s.now = s.now.Add(time.Hour)
	s.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Preempted{Job: "j", Epoch: 1, Owner: "the lab", Why: protocol.Reason{Code: protocol.Reclaimed}})
	if got := s.d.InstantAt(before); got.Preempted != 0 || got.Running != 1 {
		t.Errorf("before: %+v", got)
	}
	if got := s.d.InstantAt(s.now); got.Preempted != 1 || got.Running+got.Pending+got.Planned+got.Done != 0 || got.Sites[1].Held != 0 {
		t.Errorf("after: %+v", got)
	}
}
