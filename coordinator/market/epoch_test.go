package market

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Sites remember the epochs under which they had a job. A new job may reuse a forgotten id, also
// after a restart: its epochs must be higher.
func TestEpochsOfAForgottenIDKeepRising(t *testing.T) {
	s := newTestMarket(t)
	s.market = New(Config{Remember: time.Hour}, &soonest{})
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	events, last := slices.Clone(s.market.Events()), uint64(0)
	send := func(who protocol.Party, b protocol.Body) {
		s.send(who, b)
		events = append(events, s.market.Events()...)
	}
	run := func(id protocol.JobID) uint64 {
		j := s.job()
		j.ID, j.Arrival, j.Deadline = id, s.now, s.now.Add(8*time.Hour)
		send(protocol.Submitter, protocol.Submit{Job: j})
		s.wait()
		send("agent/oslo", protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf(id, s.option(0, time.Hour))}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}})
		a := lastSent[protocol.Award](s)
		send("agent/oslo", protocol.Accept{Job: id, Epoch: a.Epoch})
		d := s.done(a)
		s.now = d.Ended
		send("agent/oslo", d)
		s.now = s.now.Add(time.Hour)
		if a.Job != id {
			t.Fatalf("awarded %+v; want %s", a, id)
		}
		return a.Epoch
	}
	for life := range uint32(3) {
		for range 3 {
			epoch := run("nightly")
			if epoch <= last {
				t.Fatalf("life %d: epoch %d after %d", life, epoch, last)
			}
			last = epoch
			run("other") // by then it is forgotten
		}
		s.market = New(Config{Remember: time.Hour}, &soonest{})
		for _, f := range events {
			s.market.Restore(f)
		}
		s.market.BeginIncarnation(life + 1)
	}
}
