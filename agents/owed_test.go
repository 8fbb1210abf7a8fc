package agents

import (
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// A site that was said to be gone is told to stop what it had then. What it has by a
// newer award runs on, or waits on.
func TestWhatIsToldToStopStopsNothingNewer(t *testing.T) {
	s := greeted(t)
	s.award(job("runs", 4), 7, false)
	s.award(job("waits", 4), 8, true)
	for _, id := range []protocol.JobID{"runs", "waits"} {
		said := s.agent.Step(s.now, s.market.Say(s.now, "agent/oslo", protocol.Cancel{Job: id, Epoch: 3}))
		want := protocol.Decline{Job: id, Epoch: 3, Why: protocol.Reason{Code: protocol.Cancelled}}
		if len(said) != 1 || said[0].Body != protocol.Body(want) {
			t.Errorf("%s: it says %+v", id, bodies(said))
		}
	}
	if s.agent.live["runs"] == nil || s.agent.queued("waits") < 0 {
		t.Error("what it has by a newer award is gone")
	}
}
