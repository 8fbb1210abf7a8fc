package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// What a site or a submitter says bears the time of its own clock. A market that
// is begun anew goes on at once all the same, though the clock was a year ahead.
func TestARestartGoesByNobodyElsesClock(t *testing.T) {
	year := 365 * 24 * time.Hour
	for name, last := range map[string]func(*stage, protocol.Award) (protocol.Party, protocol.Body){
		"a job that was given back": func(_ *stage, a protocol.Award) (protocol.Party, protocol.Body) {
			return "agent/oslo", protocol.Decline{Job: a.Job, Epoch: a.Epoch}
		},
		"a job that was paused": func(s *stage, a protocol.Award) (protocol.Party, protocol.Body) {
			d := s.done(a)
			d.Left, s.now = 3*time.Hour, d.Ended
			return "agent/oslo", d
		},
		"a job that is to be stopped": func(_ *stage, a protocol.Award) (protocol.Party, protocol.Body) {
			return protocol.Submitter, protocol.Cancel{Job: a.Job}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.market = New(Config{}, &pauser{})
			var facts []protocol.Message
			keep := func() { facts = append(facts, s.market.Events()...) }
			s.tell("agent/oslo", protocol.RegisterSite{Site: "oslo"})
			keep()
			s.tell(protocol.Submitter, protocol.Submit{Job: s.pausable()})
			keep()
			s.wait()
			s.offer("oslo", menu("train", s.option(0, 4*time.Hour)))
			keep()
			a := the[protocol.Award](s)
			s.tell("agent/oslo", protocol.Accept{Job: a.Job, Epoch: a.Epoch})
			keep()
			m := s.say(last(s, a))
			m.At = s.now.Add(year)
			s.hear(s.market.Step(s.now, m))
			keep()
			again := New(Config{}, &pauser{})
			for _, f := range facts {
				again.Restore(f)
			}
			if due, lived := again.Due(), s.market.Due(); due == 0 || due > lived.Add(time.Minute) {
				t.Errorf("begun anew it is due at %v, and would have been at %v", due, lived)
			}
		})
	}
}
