package agents

import (
	"reflect"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A coordinator that lost its event log numbers messages and epochs from zero. A site accepts it
// after a while, and can win the same jobs once more.
func TestCoordinatorThatLostItsLogIsAcceptedAfterAGrace(t *testing.T) {
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
				t.Fatalf("%s: accepted at once", name)
			}
		}
		if answers == 0 {
			t.Fatalf("%s: it is not accepted in %v", name, s.now.Sub(since))
		}
		if sent := bodies(s.award(job("train", 1), 3, false)); !reflect.DeepEqual(sent, []protocol.Body{protocol.Accept{Job: "train", Epoch: 3, Start: noon}}) {
			t.Errorf("%s: awarded what runs, it sends %+v", name, sent)
		}
		if s.award(job("waits", 4), 4, true); s.agent.pendingAckOf("waits") != nil {
			t.Errorf("%s: awarded what waits, and told that it stands, it still owes %+v", name, s.agent.pendingAckOf("waits"))
		}
	}
}

// Neither a coordinator that was fenced off nor a duplicate message counts as a reset.
func TestFencedFormerCoordinatorIsIgnored(t *testing.T) {
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
			t.Fatal("the leader is not accepted")
		}
		s.now = s.now.Add(incarnationGrace / 2)
		if m, former = call(former); len(s.agent.Step(s.now, m)) != 0 {
			t.Fatalf("a former coordinator is accepted at %v", s.now)
		}
		for _, m := range twice {
			if len(s.agent.Step(s.now, m)) != 0 {
				t.Fatalf("what was sent at %v is accepted at %v", m.At, s.now)
			}
		}
		s.now = s.now.Add(incarnationGrace / 2)
	}
}
