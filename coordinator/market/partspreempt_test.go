package market

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A job of a higher class has one part of a job stopped at bern, and so all of its parts. What the part at oslo lost
// is paid by the tenant of the higher class, too, also after a restart in between, and the parts are called together.
func TestAJobInPartsMakesRoomAsAWhole(t *testing.T) {
	for _, restart := range []bool{false, true} {
		s := newClassMarket(t)
		for _, site := range []string{"bern", "oslo"} {
			s.send(protocol.AgentParty(site), protocol.RegisterSite{Site: site, Pools: []protocol.Pool{{Model: "V100", Nodes: 1, GPUs: 1}}})
		}
		s.awardParts()
		s.acceptPart("bern", "train.1", 1)
		s.acceptPart("oslo", "train.2", 1)
		for site, id := range map[string]protocol.JobID{"bern": "train.1", "oslo": "train.2"} {
			s.send(protocol.AgentParty(site), protocol.Started{Job: id, Epoch: 1})
		}
		s.now = s.now.Add(30 * time.Minute)
		high := s.job()
		high.ID, high.Tenant, high.PriorityClass, high.Arrival = "high", "shop", "production", s.now
		s.send(protocol.Submitter, protocol.Submit{Job: high})
		s.wait()
		call := lastSent[protocol.CallForBids](s)
		lost := s.market.lostWork(s.now, s.market.lots["train.1"]) + s.market.lostWork(s.now, s.market.lots["train.2"])
		if len(call.Preemptable) != 1 || !slices.Equal(call.Preemptable[0].Runs, []protocol.JobID{"train.1", "train.2"}) || !slices.Equal(call.Preemptable[0].Lost, []protocol.Microdollars{lost, lost}) || lost == 0 {
			t.Fatalf("the call says %+v; want both parts, each with what is lost of both", call.Preemptable)
		}
		s.send("agent/oslo", protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{noBids("high", protocol.NoSuchGPU)}})
		asked := preempts(s.send("agent/bern", protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf("high", s.option(2*time.Hour, time.Hour))}, Preemptions: []protocol.PreemptionSet{{Job: "high", Runs: []protocol.JobID{"train.1"}}}}))
		if len(asked) != 1 || asked[0].To != "agent/bern" || asked[0].Body.(protocol.Preempt).For != "high" {
			t.Fatalf("asked: %+v", asked)
		}
		report := func(id protocol.JobID, by protocol.JobID, why protocol.Code) protocol.Preempted {
			return protocol.Preempted{Job: id, Epoch: 1, For: by, Why: protocol.Reason{Code: why}, Started: s.now.Add(-30 * time.Minute), Ended: s.now, Node: "n1", Devices: []int{0}, IT: 1000, Energy: 1000, Money: 10}
		}
		asked = preempts(s.send("agent/bern", report("train.1", "high", protocol.StrongerClaim)))
		if p, _ := asked[0].Body.(protocol.Preempt); len(asked) != 1 || asked[0].To != "agent/oslo" || p.For != "" || p.Why.Note != "part train.1 made room for job high" {
			t.Fatalf("then asked: %+v; want the other part stopped, and no room kept there", asked)
		}
		if restart {
			s.market = s.restored()
		}
		s.send("agent/oslo", report("train.2", "", protocol.PartLost))
		if st := lastSent[protocol.Settlement](s); st.Job != "train.2" || st.Payer != "shop" {
			t.Errorf("restart %v: the other part is settled %+v; want it paid by shop", restart, st)
		}
		for _, id := range []protocol.JobID{"train.1", "train.2"} {
			if l := s.market.lots[id]; l.state != waiting || l.due == 0 || l.preempt != nil {
				t.Errorf("restart %v: %s is in state %d, due at %v", restart, id, l.state, l.due)
			}
		}
		// Of the next award bern gives its part back unasked: what oslo lost of that nobody else pays.
		if restart {
			continue
		}
		s.callParts()
		s.acceptPart("bern", "train.1", 2)
		s.acceptPart("oslo", "train.2", 2)
		s.send("agent/bern", protocol.Decline{Job: "train.1", Epoch: 2, Why: protocol.Reason{Code: protocol.CapacityTaken}})
		again := report("train.2", "", protocol.PartLost)
		again.Epoch, again.Started = 2, s.now.Add(-time.Second)
		s.send("agent/oslo", again)
		if st := lastSent[protocol.Settlement](s); st.Job != "train.2" || st.Payer != "lab" {
			t.Errorf("after the next award the other part is settled %+v; want it paid by lab", st)
		}
	}
}
