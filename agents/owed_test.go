package agents

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A site that was said to be gone is told to stop what it had then. What it has by a
// newer award runs on, or waits on.
func TestWhatIsToldToStopStopsNothingNewer(t *testing.T) {
	s := greeted(t)
	s.award(job("runs", 4), 7, false)
	s.award(job("waits", 4), 8, true)
	for _, id := range []protocol.JobID{"runs", "waits"} {
		said := s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", protocol.Cancel{Job: id, Epoch: 3}))
		want := protocol.Decline{Job: id, Epoch: 3, Why: protocol.Reason{Code: protocol.Cancelled}}
		if len(said) != 1 || said[0].Body != protocol.Body(want) {
			t.Errorf("%s: it says %+v", id, bodies(said))
		}
	}
	if s.agent.running["runs"] == nil || s.agent.queueIndex("waits") < 0 {
		t.Error("what it has by a newer award is gone")
	}
}

// What is owed is said again within a minute also by a clock that was set back by hours,
// and by an agent that was begun anew by such a clock.
func TestWhatIsOwedIsSaidAgainByAClockThatIsSetBack(t *testing.T) {
	for name, anew := range map[string]bool{"it lives on": false, "it is begun anew": true} {
		s := newSite(t, MarginalCost{}, 4)
		s.agent.Tick(s.now)
		var facts []protocol.Message
		hear := func([]protocol.Message) { facts = append(facts, s.agent.Events()...) }
		o := s.call(job("train", 4))[0].Options[0]
		hear(s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", protocol.Award{Job: "train", Epoch: 1, Option: o, Lease: s.now.Add(10 * time.Second)})))
		hear(s.confirm("train", 1, protocol.AcceptConfirmed))
		s.now = s.now.Add(time.Hour)
		hear(s.exit("train", 1))
		s.agent.Tick(s.now)
		if anew {
			s.agent = newSite(t, MarginalCost{}, 4).agent
			for _, m := range facts {
				if err := s.agent.Restore(m); err != nil {
					t.Fatal(err)
				}
			}
			s.agent.BeginIncarnation(2)
		}
		s.now = s.now.Add(-3 * time.Hour)
		again := 0
		said := s.agent.Tick(s.now)
		for end := s.now.Add(maxRetryDelay); s.agent.Due() != 0 && s.agent.Due() <= end; {
			s.now = s.agent.Due()
			said = append(said, s.agent.Tick(s.now)...)
		}
		for _, m := range said {
			if isUsageReport(m.Body) {
				again++
			}
		}
		if again == 0 {
			t.Errorf("%s: within a minute it says %+v", name, bodies(said))
		}
	}
}
