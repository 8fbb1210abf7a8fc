package market

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// gang is a job of four pods with two GPUs each.
func (s *testMarket) gang() protocol.Job {
	return s.job().WithPods([]protocol.Component{{Role: "worker", Pods: 4, GPUs: 2, Share: 1000, CPU: 4000}})
}

// offerSpread sends one option for the gang, on some places.
func (s *testMarket) offerSpread(site string, places ...protocol.Place) {
	room := freeCapacity(s.now)
	room.Free, room.Total = []protocol.Milli{16_000}, 16_000
	s.send(protocol.AgentParty(site), protocol.Bids{
		Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf("train", s.option(time.Second, time.Hour))}, Capacity: []protocol.CapacityProfile{room},
		Spreads: []protocol.Spread{{Job: "train", Places: places}},
	})
}

// newGangMarket returns a market in which a gang has been called.
func newGangMarket(t *testing.T) *testMarket {
	s := newTestMarket(t)
	s.send(protocol.AgentParty("oslo"), protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100", Nodes: 2, GPUs: 16}}})
	s.send(protocol.Submitter, protocol.Submit{Job: s.gang()})
	s.wait()
	return s
}

func TestAnAwardOfAGangNamesTheNodesOfItsBid(t *testing.T) {
	s := newGangMarket(t)
	s.offerSpread("oslo", protocol.Place{Pods: 3, Node: "n1"}, protocol.Place{Pods: 1, Node: "n2"})
	if a := lastSent[protocol.Award](s); len(a.Places) != 2 || a.Places[0].Node != "n1" || a.Places[0].Pods != 3 {
		t.Errorf("awarded %+v", a)
	}
}

func TestImpossibleSpreadsAreRefused(t *testing.T) {
	place := func(pods int, node string) protocol.Place { return protocol.Place{Pods: pods, Node: node} }
	for name, places := range map[string][]protocol.Place{
		"no node at all":                       nil,
		"a node named twice":                   {place(2, "n1"), place(2, "n1")},
		"a pod too few":                        {place(3, "n1")},
		"a pod too many":                       {place(3, "n1"), place(2, "n2")},
		"more nodes than the site has":         {place(2, "n1"), place(1, "n2"), place(1, "n3")},
		"a negative number of pods":            {place(-1, "n1"), place(5, "n2")},
		"a component that the job lacks":       {place(3, "n1"), {Component: 1, Pods: 1, Node: "n2"}},
		"a component before the first":         {place(3, "n1"), {Component: -1, Pods: 1, Node: "n2"}},
		"a node without a name":                {place(3, "n1"), place(1, "")},
		"a name longer than any node's can be": {place(3, "n1"), place(1, strings.Repeat("n", 200))},
	} {
		s := newGangMarket(t)
		s.offerSpread("oslo", places...)
		if count[protocol.Award](s.sent) != 0 || s.market.RefusalCounts()[string(protocol.ImpossibleBid)] != 1 {
			t.Errorf("%s: %d awards, refused %v", name, count[protocol.Award](s.sent), s.market.RefusalCounts())
		}
	}
	s := newGangMarket(t)
	s.market.sites["oslo"].registration.Pools[0].GPUs = 4
	s.offerSpread("oslo", place(2, "n1"), place(2, "n2"))
	if count[protocol.Award](s.sent) != 0 {
		t.Error("a site of 4 GPUs got a gang of 8")
	}
	// 17 GPUs of one node are more than any node has.
	s = newTestMarket(t)
	s.send(protocol.AgentParty("oslo"), protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100", Nodes: 9, GPUs: 72}}})
	big := s.job().WithPods([]protocol.Component{{Role: "worker", Pods: 9, GPUs: 2, Share: 1000}})
	s.send(protocol.Submitter, protocol.Submit{Job: big})
	s.wait()
	s.offerSpread("oslo", place(9, "n1"))
	if count[protocol.Award](s.sent) != 0 {
		t.Error("a node of 18 GPUs was believed")
	}
}

func TestAGangThatFitsNoSiteIsRejectedWithTheLargestSetThatWouldFit(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo", "rome")
	s.send(protocol.Submitter, protocol.Submit{Job: s.gang()})
	s.wait()
	for site, pods := range map[string]int{"bern": 1, "oslo": 3, "rome": 99} { // rome's claim is impossible
		s.send(protocol.AgentParty(site), protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{noBids("train", protocol.FitsNoNode)}, Largest: []protocol.LargestSet{{Job: "train", Pods: pods}}})
	}
	got := lastSent[protocol.Reject](s)
	if want := "its 4 pods fit no site, even an empty one: the largest set that would fit is 3, at oslo"; got.Why.Code != protocol.FitsNoNode || got.Why.Note != want {
		t.Errorf("refused for %+v, want %q", got.Why, want)
	}
}

func TestARequiredTopologyIsAwardedOnlyToASiteThatKeepsToIt(t *testing.T) {
	for _, within := range [][]protocol.JobID{nil, {"other"}, {"train"}} {
		s := newTestMarket(t)
		s.send(protocol.AgentParty("oslo"), protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100", Nodes: 2, GPUs: 16}}})
		j := s.gang()
		j.RequiredTopology = "rack"
		s.send(protocol.Submitter, protocol.Submit{Job: j})
		s.wait()
		room := freeCapacity(s.now)
		room.Free, room.Total = []protocol.Milli{16_000}, 16_000
		s.send(protocol.AgentParty("oslo"), protocol.Bids{
			Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf("train", s.option(time.Second, time.Hour))}, Capacity: []protocol.CapacityProfile{room},
			Spreads: []protocol.Spread{{Job: "train", Places: []protocol.Place{{Pods: 4, Node: "n1"}}}}, WithinDomain: within,
		})
		want := 0
		if len(within) > 0 && within[0] == "train" {
			want = 1
		}
		if got := count[protocol.Award](s.sent); got != want {
			t.Errorf("%d awards to a site that keeps to the topology of %v; want %d", got, within, want)
		}
	}
	s := newTestMarket(t, "oslo")
	j := s.gang()
	j.RequiredTopology = "rack"
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	s.wait()
	s.send(protocol.AgentParty("oslo"), protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{noBids("train", protocol.FitsNoNode)}, Largest: []protocol.LargestSet{{Job: "train", Pods: 3}}})
	if got, want := lastSent[protocol.Reject](s).Why.Note, "its 4 pods fit no domain of rack, even an empty one: the largest set that would fit one is 3, at oslo"; got != want {
		t.Errorf("refused for %q, want %q", got, want)
	}
}

// A gang that may start with fewer pods is awarded with as many as a site has room for, and with no fewer
// than it wants.
func TestAGangIsAwardedWithAsFewPodsAsItAllows(t *testing.T) {
	for pods, awarded := range map[int]int{2: 0, 3: 1, 4: 1} {
		s := newTestMarket(t)
		j := s.gang()
		j.MinPods = 3
		s.send(protocol.AgentParty("oslo"), protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100", Nodes: 2, GPUs: 16}}})
		s.send(protocol.Submitter, protocol.Submit{Job: j})
		s.wait()
		room := freeCapacity(s.now)
		room.Free, room.Total = []protocol.Milli{protocol.Milli(pods) * 2000}, protocol.Milli(pods)*2000 // for these pods alone
		s.send(protocol.AgentParty("oslo"), protocol.Bids{
			Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf("train", s.option(time.Second, time.Hour))}, Capacity: []protocol.CapacityProfile{room},
			Spreads: []protocol.Spread{{Job: "train", Places: []protocol.Place{{Pods: pods, Node: "n1"}}}},
		})
		if n := count[protocol.Award](s.sent); n != awarded {
			t.Errorf("%d pods of 4, of which it wants 3: %d awards, want %d", pods, n, awarded)
		}
	}
}

// A gang that may start with fewer pods is asked for on as many as its tenant's quota has room for, at once, and holds
// no more. Without room for its least it waits, and so does one that wants all of its pods.
func TestAGangStartsWithAsFewPodsAsItsQuotaHasRoomFor(t *testing.T) {
	for _, c := range []struct {
		max     protocol.Milli // GPUs; each of the four pods has two
		minPods int
		pods    int // that are asked for and awarded; 0: none
	}{{7, 2, 3}, {5, 2, 2}, {3, 2, 0}, {7, 0, 0}, {8, 2, 4}} {
		s := newTestMarket(t)
		s.send(protocol.AgentParty("oslo"), protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100", Nodes: 2, GPUs: 16}}})
		s.send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Quotas: []protocol.Quota{quotaOf("lab", 0, c.max)}})
		j := s.gang()
		j.MinPods = c.minPods
		s.send(protocol.Submitter, protocol.Submit{Job: j})
		s.wait()
		offer := func(pods int) {
			room := freeCapacity(s.now)
			room.Free, room.Total = []protocol.Milli{16_000}, 16_000
			s.send(protocol.AgentParty("oslo"), protocol.Bids{
				Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf("train", s.option(time.Second, 2*time.Hour))}, Capacity: []protocol.CapacityProfile{room},
				Spreads: []protocol.Spread{{Job: "train", Places: []protocol.Place{{Pods: pods, Node: "n1"}}}},
			})
		}
		offer(4)
		if c.pods == 4 {
			if got := s.market.lots["train"].awardedJob().TotalGPUMilli(); got != 8000 || count[protocol.Award](s.sent) != 1 {
				t.Errorf("with room for all it holds %d", got)
			}
			continue
		}
		if d := lastSent[protocol.Defer](s); count[protocol.Award](s.sent) != 0 || d.Why.Code != protocol.OverQuota {
			t.Fatalf("max %d: awarded beyond its quota, or deferred by %+v", c.max, d.Why)
		}
		refused := s.now
		s.wait()
		if got := lastSent[protocol.CallForBids](s).Jobs[0].MostPods; got != c.pods || got > 0 && s.now > refused.Add(2*time.Second) {
			t.Errorf("max %d: asked for on %d pods %v later; want %d", c.max, got, s.now.Sub(refused), c.pods)
		}
		if c.pods == 0 {
			continue
		}
		offer(c.pods)
		if got := s.market.lots["train"].awardedJob().TotalGPUMilli(); count[protocol.Award](s.sent) != 1 || got != protocol.Milli(c.pods)*2000 {
			t.Errorf("max %d: %d awards, and it holds %d", c.max, count[protocol.Award](s.sent), got)
		}
	}
}
