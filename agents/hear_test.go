package agents

import (
	"reflect"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A coordinator that lost its books counts from the beginning again, and its epochs
// too. A site hears it after a while, and its jobs may be sold to it again.
func TestACoordinatorThatLostItsBooksIsHeard(t *testing.T) {
	for name, lost := range map[string]uint32{"of many terms": 5, "of one": 1} {
		s := newSite(t, MarginalCost{}, 4)
		s.market.Incarnation = lost
		s.award(job("train", 1), 1000, false)
		s.award(job("waits", 4), 1001, true)
		s.market = protocol.Sender{Party: protocol.Coordinator, Incarnation: 1}
		answers, since := 0, s.now
		for range 20 {
			s.now = s.now.Add(10 * time.Second)
			answers += len(s.agent.Step(s.now, s.market.NewMessage(s.now, "", protocol.CallForBids{Round: 1, Jobs: []protocol.Job{job("next", 1)}})))
			if answers > 0 && lost > 1 && s.now <= since.Add(incarnationGrace) {
				t.Fatalf("%s: heard at once", name)
			}
		}
		if answers == 0 {
			t.Fatalf("%s: it is not heard in %v", name, s.now.Sub(since))
		}
		if said := bodies(s.award(job("train", 1), 3, false)); !reflect.DeepEqual(said, []protocol.Body{protocol.Accept{Job: "train", Epoch: 3, Start: noon}}) {
			t.Errorf("%s: awarded what runs, it says %+v", name, said)
		}
		if s.award(job("waits", 4), 4, true); s.agent.pendingAckOf("waits") != nil {
			t.Errorf("%s: awarded what waits, and told that it stands, it still owes %+v", name, s.agent.pendingAckOf("waits"))
		}
	}
}

// A coordinator that another has shut out, and one that is heard twice, are not
// heard for all that.
func TestAFormerCoordinatorIsNotHeard(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	former := protocol.Sender{Party: protocol.Coordinator, Incarnation: 1}
	s.market.Incarnation = 2
	call := func(m protocol.Sender) (protocol.Message, protocol.Sender) {
		return m.NewMessage(s.now, "", protocol.CallForBids{Round: 1, Jobs: []protocol.Job{job("next", 1)}}), m
	}
	var twice []protocol.Message
	for range 50 {
		var m protocol.Message
		m, s.market = call(s.market)
		if twice = append(twice, m); len(s.agent.Step(s.now, m)) != 1 {
			t.Fatal("who leads is not heard")
		}
		s.now = s.now.Add(incarnationGrace / 2)
		if m, former = call(former); len(s.agent.Step(s.now, m)) != 0 {
			t.Fatalf("a former coordinator is heard at %v", s.now)
		}
		for _, m := range twice {
			if len(s.agent.Step(s.now, m)) != 0 {
				t.Fatalf("what was said at %v is heard again at %v", m.At, s.now)
			}
		}
		s.now = s.now.Add(incarnationGrace / 2)
	}
}
