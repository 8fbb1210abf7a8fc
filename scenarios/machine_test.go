package scenarios

import (
	"testing"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/sim/loop"
)

// A strict machine is one whose promises are held to.
type strict struct {
	bus.Machine
	t   *testing.T
	who protocol.Party
	seq uint64
}

func (s *strict) Tick(now protocol.Time) []protocol.Message {
	said := s.Machine.Tick(now)
	if due := s.Machine.Due(); due != 0 && due <= now {
		s.t.Errorf("%s: due at %v after a tick at %v", s.who, due, now)
	}
	return s.heard(now, said)
}

// Step delivers every message twice, as a bus may.
func (s *strict) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	said := s.Machine.Step(now, m)
	if again := s.Machine.Step(now, m); len(again) != 0 {
		s.t.Errorf("%s answered a %s again that it had heard before", s.who, m.KindName())
	}
	return s.heard(now, said)
}

func (s *strict) heard(now protocol.Time, said []protocol.Message) []protocol.Message {
	for _, m := range said {
		if s.seq++; m.From != s.who || m.At != now || m.Seq != s.seq || m.Version != protocol.Current {
			s.t.Errorf("%s said message %d from %s at %v as number %d", s.who, m.Seq, m.From, m.At, s.seq)
		}
	}
	return said
}

// Every party sends under its own name, with the current time, in sequence, is not due
// right after a tick, and ignores duplicates: the run is the same.
func TestAllPartiesKeepThePromisesOfAMachine(t *testing.T) {
	s := small(20)
	for _, policy := range []string{PolicyAuction, "carbon-threshold", "k8s-least-allocated"} {
		once, _ := told(t, s, policy, new(membus.Bus))
		st, err := BuildTestbed(s, policy)
		if err != nil {
			t.Fatal(err)
		}
		for who, m := range st.Parties {
			st.Parties[who] = &strict{Machine: m, t: t, who: who}
		}
		said, err := loop.Run(t.Context(), new(membus.Bus), st.Parties, loop.Config{Start: st.Start, Done: st.AllDone})
		if err != nil || said != len(once) {
			t.Errorf("%s: %d messages, %v; said once they are %d", policy, said, err, len(once))
		}
	}
}
