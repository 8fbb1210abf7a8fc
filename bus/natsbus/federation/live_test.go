package federation_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A market and its sites hear each other: over one server, and over servers of
// the sites' own.
func TestPartiesHearEachOther(t *testing.T) {
	for _, topology := range []string{"one server", "leaves"} {
		t.Run(topology, func(t *testing.T) {
			s := newStage(t)
			var north, south bus.Bus = s.open("oslo"), s.open("lyon")
			if topology == "leaves" {
				north, south = s.leaf("oslo"), s.leaf("lyon")
			}
			coordinator, tenant := s.join(s.hub, protocol.Coordinator), s.join(s.open("vision"), vision)
			a, b, hands := s.join(north, oslo), s.join(south, lyon), s.join(north, protocol.ExecutorParty("oslo"))
			// A leaf tells the hub what its parties listen to a moment later.
			if topology == "leaves" {
				s.settle(coordinator, a, oslo)
				s.settle(coordinator, b, lyon)
			}
			s.say(tenant, protocol.Message{Version: protocol.Current, At: 1, From: vision, Seq: 1, To: protocol.Coordinator, Body: protocol.Cancel{Job: "vision/1"}})
			if m := <-coordinator.Messages(); m.From != vision || m.Body != (protocol.Cancel{Job: "vision/1"}) {
				t.Errorf("the coordinator heard %+v", m)
			}
			s.say(coordinator, word(protocol.Coordinator, "", 1001, "call"), word(protocol.Coordinator, oslo, 1002, "award"), word(protocol.Coordinator, vision, 1003, "hold"))
			for _, c := range []struct {
				who  string
				port bus.Conn
				want []protocol.JobID
			}{
				{"oslo", a, []protocol.JobID{"call", "award"}},
				{"lyon", b, []protocol.JobID{"call"}},
				{"a tenant", tenant, []protocol.JobID{"hold"}},
			} {
				for _, want := range c.want {
					if got := s.hears(c.port); got != want {
						t.Errorf("%s heard %q; want %q", c.who, got, want)
					}
				}
			}
			s.say(b, word(lyon, protocol.Coordinator, 1002, "offer of lyon"))
			if got := s.hears(coordinator); got != "offer of lyon" {
				t.Errorf("the coordinator heard %q", got)
			}
			s.say(a, word(oslo, protocol.ExecutorParty("oslo"), 1002, "launch"))
			if got := s.hears(hands); got != "launch" {
				t.Errorf("the hands of oslo heard %q", got)
			}
			s.say(hands, word(protocol.ExecutorParty("oslo"), oslo, 1, "started"))
			if got := s.hears(a); got != "started" {
				t.Errorf("oslo heard %q from its hands", got)
			}
		})
	}
}

// settle repeats a word until it is heard, each way.
func (s *stage) settle(coordinator, agent bus.Conn, who protocol.Party) {
	s.Helper()
	for _, way := range []struct {
		from, to protocol.Party
		out, in  bus.Conn
	}{{protocol.Coordinator, who, coordinator, agent}, {who, protocol.Coordinator, agent, coordinator}} {
		seq, before := uint64(0), len(way.in.Messages())
		s.until("a leaf passes on what is said", func() bool {
			seq++
			s.say(way.out, word(way.from, way.to, seq, "settle"))
			return len(way.in.Messages()) > before
		})
		s.say(way.out, word(way.from, way.to, 1000, "settled"))
		for s.hears(way.in) != "settled" {
		}
	}
}
