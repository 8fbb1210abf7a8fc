package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Messages of sites and submitters carry the time of their own clocks. A restored market continues
// at once, even if such a clock was a year ahead.
func TestRestoredTimersUseTheMarketsClockOnly(t *testing.T) {
	year := 365 * 24 * time.Hour
	for name, last := range map[string]func(*testMarket, protocol.Award) (protocol.Party, protocol.Body){
		"a job that was given back": func(_ *testMarket, a protocol.Award) (protocol.Party, protocol.Body) {
			return "agent/oslo", protocol.Decline{Job: a.Job, Epoch: a.Epoch}
		},
		"a job that was paused": func(s *testMarket, a protocol.Award) (protocol.Party, protocol.Body) {
			d := s.done(a)
			d.Left, s.now = 3*time.Hour, d.Ended
			return "agent/oslo", d
		},
		"a job that is to be stopped": func(_ *testMarket, a protocol.Award) (protocol.Party, protocol.Body) {
			return protocol.Submitter, protocol.Cancel{Job: a.Job}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestMarket(t)
			s.market = New(Config{}, &pauser{})
			var events []protocol.Message
			keep := func() { events = append(events, s.market.Events()...) }
			s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"})
			keep()
			s.send(protocol.Submitter, protocol.Submit{Job: s.pausable()})
			keep()
			s.wait()
			s.offer("oslo", bidsOf("train", s.option(0, 4*time.Hour)))
			keep()
			a := lastSent[protocol.Award](s)
			s.send("agent/oslo", protocol.Accept{Job: a.Job, Epoch: a.Epoch})
			keep()
			m := s.message(last(s, a))
			m.At = s.now.Add(year)
			s.record(s.market.Step(s.now, m))
			keep()
			restored := New(Config{}, &pauser{})
			for _, f := range events {
				restored.Restore(f)
			}
			if due, previous := restored.Due(), s.market.Due(); due == 0 || due > previous.Add(time.Minute) {
				t.Errorf("begun anew it is due at %v, and would have been at %v", due, previous)
			}
		})
	}
}
