package market

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A preemptingMarket is a market of two sites, each with a job of class batch on all its GPUs, and a job of class
// production that finds no room; events are those since the start.
type preemptingMarket struct {
	*testMarket
	events []protocol.Message
	high   protocol.Job
}

func newPreemptingMarket(t *testing.T) *preemptingMarket {
	s := &preemptingMarket{testMarket: newClassMarket(t)}
	s.events = append(s.events, protocol.Message{At: noon, From: protocol.Coordinator, Body: s.market.CurrentPolicy()})
	for _, site := range []string{"bern", "oslo"} {
		s.step(protocol.AgentParty(site), protocol.RegisterSite{Site: site, Pools: []protocol.Pool{{Model: "V100", Nodes: 1, GPUs: 4}}})
		j := s.job()
		j.ID, j.Tenant, j.GPUs = protocol.JobID("low-"+site), "batch-team", 4
		s.step(protocol.Submitter, protocol.Submit{Job: j})
	}
	s.tick()
	for _, site := range []string{"bern", "oslo"} {
		o := s.option(0, 4*time.Hour)
		if site == "oslo" {
			o.Money /= 2
		}
		s.step(protocol.AgentParty(site), protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf(protocol.JobID("low-"+site), o)}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}})
	}
	for _, site := range []string{"bern", "oslo"} {
		s.step(protocol.AgentParty(site), protocol.Accept{Job: protocol.JobID("low-" + site), Epoch: 1, Start: s.now})
	}
	s.now = s.now.Add(30 * time.Minute)
	s.high = s.job()
	s.high.ID, s.high.PriorityClass, s.high.Arrival, s.high.GPUs = "high", "production", s.now, 4
	s.step(protocol.Submitter, protocol.Submit{Job: s.high})
	return s
}

func (s *preemptingMarket) step(who protocol.Party, b protocol.Body) []protocol.Message {
	said := s.send(who, b)
	s.events = append(s.events, slices.Clone(s.market.Events())...)
	return said
}

func (s *preemptingMarket) tick() {
	s.wait()
	s.events = append(s.events, slices.Clone(s.market.Events())...)
}

// answer has both sites say that they could start the job once their run is stopped, and that it can start there
// in two hours otherwise.
func (s *preemptingMarket) answer(runs map[string][]protocol.JobID) (said []protocol.Message) {
	for _, site := range []string{"bern", "oslo"} {
		b := protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf("high", s.option(2*time.Hour, time.Hour))}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}}
		if len(runs[site]) > 0 {
			b.Preemptions = []protocol.PreemptionSet{{Job: "high", Runs: runs[site]}}
		}
		said = append(said, s.step(protocol.AgentParty(site), b)...)
	}
	return said
}

func preempts(ms []protocol.Message) (all []protocol.Message) {
	return slices.DeleteFunc(slices.Clone(ms), func(m protocol.Message) bool { _, ok := m.Body.(protocol.Preempt); return !ok })
}

// The site at which the least is lost is asked to stop its run, and no other, until the run is gone. The job waits
// meanwhile and is called then; the tenant of the higher class pays for the work that is lost, and the other job
// is on sale as a whole. A restart at any point changes nothing of that.
func TestOneSiteIsAskedToMakeRoom(t *testing.T) {
	s := newPreemptingMarket(t)
	s.tick()
	call := lastSent[protocol.CallForBids](s.testMarket)
	if len(call.Preemptable) != 1 || call.Preemptable[0].Job != "high" || !slices.Equal(call.Preemptable[0].Runs, []protocol.JobID{"low-oslo", "low-bern"}) {
		t.Fatalf("the call says %+v", call.Preemptable)
	}
	said := s.answer(map[string][]protocol.JobID{"bern": {"low-bern"}, "oslo": {"low-oslo"}})
	asked := preempts(said)
	p, _ := asked[0].Body.(protocol.Preempt)
	if len(asked) != 1 || asked[0].To != "agent/oslo" || p.Job != "low-oslo" || p.For != "high" || p.Why.Code != protocol.StrongerClaim {
		t.Fatalf("asked: %+v", asked)
	}
	if h := lastSent[protocol.Defer](s.testMarket); h.Job != "high" || h.Why.Code != protocol.Preempting || h.Site != "oslo" {
		t.Errorf("the job waits by %+v", h)
	}
	restored := func() *Market {
		k := New(Config{}, &soonest{})
		for _, m := range s.events {
			k.Restore(m)
		}
		return k
	}
	// Lost, it is repeated, by a restarted coordinator, too.
	for _, k := range []*Market{s.market, restored()} {
		at := max(k.Due(), s.now)
		if again := preempts(k.Tick(at)); len(again) != 1 || again[0].To != "agent/oslo" || again[0].Body != p {
			t.Errorf("due at %v, it sends %+v again", at, again)
		}
	}
	s.now = s.now.Add(40 * time.Second)
	said = s.step("agent/oslo", protocol.Preempted{
		Job: "low-oslo", Epoch: 1, For: "high", Why: p.Why, Started: noon, Ended: s.now, Node: "n1", Devices: []int{0, 1, 2, 3}, IT: 100, Energy: 120, Carbon: 3, Money: 1000, Lost: time.Minute,
	})
	paid := lastSent[protocol.Settlement](s.testMarket)
	if paid.Job != "low-oslo" || paid.Payer != "lab" || !paid.Part || paid.Counted.Money != 1000 || paid.Paid != 1000 || paid.BidFor.Money <= 0 || paid.BidFor.Money >= 5_000 {
		t.Errorf("it is settled as %+v", paid)
	}
	if c := lastSent[protocol.Confirm](s.testMarket); c.Job != "low-oslo" || c.Code != protocol.JobClosed {
		t.Errorf("the report is answered with %+v", said)
	}
	for name, k := range map[string]*Market{"": s.market, " after a restart": restored()} {
		low, high := k.lots["low-oslo"], k.lots["high"]
		if low.state != waiting || low.preempt != nil || low.job.Run != time.Hour || high.state != waiting || high.due > s.now.Add(2*time.Second) || len(low.reneges) > 0 || len(low.preempted) != 1 {
			t.Errorf("then%s the jobs are %+v and %+v", name, low, high)
		}
		if k.Accounts().BalanceOf("site/oslo") != 1000 {
			t.Errorf("then%s oslo has %d", name, k.Accounts().BalanceOf("site/oslo"))
		}
	}
	// Still without room, the job has no other run stopped before the deadline, and then it may.
	s.tick()
	if call := lastSent[protocol.CallForBids](s.testMarket); len(call.Preemptable) != 0 {
		t.Errorf("it is called with %+v", call.Preemptable)
	}
}

// A site that could start the job soon, one that names a run that is not its own or may not be stopped, and a job
// whose class never preempts, stop nobody.
func TestNobodyIsStoppedWithoutNeedOrRight(t *testing.T) {
	for name, answer := range map[string]func(*preemptingMarket) []protocol.Message{
		"a site has room": func(s *preemptingMarket) []protocol.Message {
			said := s.step("agent/bern", protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf("high", s.option(time.Minute, time.Hour))}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}})
			b := protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{noBids("high", protocol.NoCapacity)}, Preemptions: []protocol.PreemptionSet{{Job: "high", Runs: []protocol.JobID{"low-oslo"}}}}
			return append(said, s.step("agent/oslo", b)...)
		},
		"a run of another site": func(s *preemptingMarket) []protocol.Message {
			return s.answer(map[string][]protocol.JobID{"bern": {"low-oslo"}})
		},
		"a run that was not named": func(s *preemptingMarket) []protocol.Message {
			return s.answer(map[string][]protocol.JobID{"bern": {"low-bern", "who"}})
		},
		"a run twice": func(s *preemptingMarket) []protocol.Message {
			return s.answer(map[string][]protocol.JobID{"bern": {"low-bern", "low-bern"}})
		},
	} {
		s := newPreemptingMarket(t)
		s.tick()
		if asked := preempts(answer(s)); len(asked) > 0 {
			t.Errorf("%s: %+v", name, asked)
		}
	}
	s := newPreemptingMarket(t)
	j := s.job()
	j.ID, j.PriorityClass, j.Arrival = "quiet", "batch", s.now
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	s.tick()
	if call := lastSent[protocol.CallForBids](s.testMarket); len(call.Jobs) != 2 || len(call.Preemptable) != 1 || call.Preemptable[0].Job != "high" {
		t.Errorf("called with %+v", call.Preemptable)
	}
}

// A run that a site stops unasked goes back on sale, is not paid, and counts as an award that was not kept.
func TestASiteThatStopsARunUnaskedIsNotPaid(t *testing.T) {
	s := newPreemptingMarket(t)
	said := s.step("agent/bern", protocol.Preempted{Job: "low-bern", Epoch: 1, Owner: "ops", Started: noon, Ended: s.now, Energy: 5, Money: 500})
	l := s.market.lots["low-bern"]
	if count[protocol.Settlement](said) != 0 || l.state != waiting || len(l.reneges) != 1 || s.market.Accounts().BalanceOf("site/bern") != 0 {
		t.Errorf("it sends %+v, and the job is %+v", said, l)
	}
	said = s.step("agent/bern", protocol.Preempted{Job: "low-oslo", Epoch: 1, For: "high"})
	if len(said) != 1 || s.market.lots["low-oslo"].state != accepted {
		t.Errorf("of a job of another site it sends %+v", said)
	}
}
