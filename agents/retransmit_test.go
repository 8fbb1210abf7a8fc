package agents

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A decommissioned site must stop what it had then. What it has under a newer award goes on.
func TestCancelOfAnOldEpochStopsNothingNewer(t *testing.T) {
	s := greeted(t)
	s.award(job("runs", 4), 7, false)
	s.award(job("waits", 4), 8, true)
	for _, id := range []protocol.JobID{"runs", "waits"} {
		sent := s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", protocol.Cancel{Job: id, Epoch: 3}))
		want := protocol.Decline{Job: id, Epoch: 3, Why: protocol.Reason{Code: protocol.Cancelled}}
		if len(sent) != 1 || sent[0].Body != protocol.Body(want) {
			t.Errorf("%s: it sends %+v", id, bodies(sent))
		}
	}
	if s.agent.running["runs"] == nil || s.agent.queueIndex("waits") < 0 {
		t.Error("what it has by a newer award is gone")
	}
}

// Messages are retransmitted within a minute also after the clock was set back by hours, and after
// a restart by such a clock.
func TestRetransmissionSurvivesAClockSetBack(t *testing.T) {
	for name, anew := range map[string]bool{"it keeps running": false, "it restarts": true} {
		s := newSite(t, MarginalCost{}, 4)
		s.agent.Tick(s.now)
		var events []protocol.Message
		hear := func([]protocol.Message) { events = append(events, s.agent.Events()...) }
		o := s.call(job("train", 4))[0].Options[0]
		hear(s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", protocol.Award{Job: "train", Epoch: 1, Option: o, Lease: s.now.Add(10 * time.Second)})))
		hear(s.confirm("train", 1, protocol.AcceptConfirmed))
		s.now = s.now.Add(time.Hour)
		hear(s.exit("train", 1))
		s.agent.Tick(s.now)
		if anew {
			s.agent = newSite(t, MarginalCost{}, 4).agent
			for _, m := range events {
				if err := s.agent.Restore(m); err != nil {
					t.Fatal(err)
				}
			}
			s.agent.BeginIncarnation(2)
		}
		s.now = s.now.Add(-3 * time.Hour)
		again := 0
		sent := s.agent.Tick(s.now)
		for end := s.now.Add(maxRetryDelay); s.agent.Due() != 0 && s.agent.Due() <= end; {
			s.now = s.agent.Due()
			sent = append(sent, s.agent.Tick(s.now)...)
		}
		for _, m := range sent {
			if isUsageReport(m.Body) {
				again++
			}
		}
		if again == 0 {
			t.Errorf("%s: within a minute it sends %+v", name, bodies(sent))
		}
	}
}
