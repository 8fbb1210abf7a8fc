package market

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// own returns a submission of the queue of oslo, whose agent may start it by itself.
func (s *testMarket) own(id protocol.JobID, gpus int) protocol.Submit {
	return protocol.Submit{Alone: true, Job: protocol.Job{
		ID: "oslo/" + id, Tenant: "oslo/ops", GPUs: gpus, Share: protocol.Milli(1000 * min(gpus, 1)), CPU: 1000, Arrival: s.now, Run: time.Hour, Deadline: s.now.Add(8 * time.Hour),
	}}
}

// A site that has not bid for a job that it may start by itself keeps others from it.
func TestOwnJobIsAwardedOnlyOnceItsSiteHasBid(t *testing.T) {
	s := newTestMarket(t, "oslo", "bern")
	s.send("queue/oslo", s.own("job", 0))
	s.wait()
	s.offer("bern", bidsOf("oslo/job", s.option(0, time.Hour)))
	s.wait() // the window ends without oslo
	if d := lastSent[protocol.Defer](s); d.Why.Code != protocol.HomeSilent {
		t.Errorf("deferred by %+v; want %s", d.Why, protocol.HomeSilent)
	}
	s.wait()
	s.offer("oslo", noBids("oslo/job", protocol.NoCapacity))
	s.offer("bern", bidsOf("oslo/job", s.option(0, time.Hour)))
	if lastSent[protocol.Award](s).Job != "oslo/job" {
		t.Errorf("not awarded once oslo had answered")
	}
}

// A run that a site began while no coordinator was heard counts for its tenant's quota when it is reported,
// also beyond the max: what the tenant wants next waits until the run has ended. The site is paid.
func TestOwnRunCountsForItsQuota(t *testing.T) {
	s := newTestMarket(t)
	s.send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Quotas: []protocol.Quota{{Name: "oslo/ops", Max: 4000, Weight: 1000}, {Name: "*", Weight: 1000}}})
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100", Nodes: 2, GPUs: 16}}})
	start := protocol.LocalStart{Job: "oslo/big", Epoch: 1, Option: protocol.BidOption{Start: s.now.Add(-time.Minute), Finish: s.now.Add(time.Hour), Model: "V100", Money: 500}}
	if got := s.send("agent/oslo", start); len(got) != 0 {
		t.Errorf("of an unknown job: %+v", got)
	}
	s.send("queue/oslo", s.own("big", 6))
	s.send("queue/oslo", s.own("next", 2))
	s.send("agent/oslo", start)
	a := lastSent[protocol.Award](s)
	if a.Job != "oslo/big" || a.Epoch != 2 || a.Why.Code != protocol.StartedAlone {
		t.Fatalf("awarded %+v", a)
	}
	s.send("agent/oslo", protocol.Accept{Job: a.Job, Epoch: a.Epoch, Start: start.Option.Start})
	option := func() protocol.BidOption {
		o := s.option(0, time.Hour)
		o.Model = "V100"
		return o
	}
	offer := func() {
		room := freeCapacity(s.now)
		room.Model, room.Free, room.Total = "V100", []protocol.Milli{10_000, 10_000}, 16_000
		s.send("agent/oslo", protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf("oslo/next", option())}, Capacity: []protocol.CapacityProfile{room}})
	}
	s.wait()
	offer()
	if d := lastSent[protocol.Defer](s); d.Job != "oslo/next" || d.Why.Code != protocol.OverQuota || !strings.Contains(d.Why.Note, "6 of the 4 GPUs") {
		t.Errorf("beside the run, deferred by %+v; want %s", d.Why, protocol.OverQuota)
	}
	s.now = s.now.Add(30 * time.Minute)
	s.send("agent/oslo", protocol.UsageReport{Job: a.Job, Epoch: a.Epoch, Started: start.Option.Start, Ended: s.now, Money: 400})
	if x := lastSent[protocol.Settlement](s); x.Payer != "oslo/ops" || x.Paid != 400 {
		t.Errorf("settled %+v", x)
	}
	s.wait()
	offer()
	if x := lastSent[protocol.Award](s); x.Job != "oslo/next" {
		t.Errorf("awarded %+v; want the next job, once the run had ended", x)
	}
	// The site that lost its files reports a run of a job that is over.
	start.Epoch = 7
	s.send("agent/oslo", start)
	if c := lastSent[protocol.Cancel](s); c.Job != "oslo/big" || c.Epoch != 7 {
		t.Errorf("sent %+v; want a Cancel", c)
	}
}
