package market

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Sites remember under which epochs they had a job. A job may have the id of one
// that was forgotten, also after a restart: its epochs are new.
func TestEpochsOfAnIDRiseAlsoWhenItWasForgotten(t *testing.T) {
	s := newStage(t)
	s.market = New(Config{Remember: time.Hour}, &soonest{})
	s.tell("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	facts, last := slices.Clone(s.market.Events()), uint64(0)
	tell := func(who protocol.Party, b protocol.Body) {
		s.tell(who, b)
		facts = append(facts, s.market.Events()...)
	}
	run := func(id protocol.JobID) uint64 {
		j := s.job()
		j.ID, j.Arrival, j.Deadline = id, s.now, s.now.Add(8*time.Hour)
		tell(protocol.Submitter, protocol.Submit{Job: j})
		s.wait()
		tell("agent/oslo", protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{menu(id, s.option(0, time.Hour))}, Capacity: []protocol.CapacityProfile{room(s.now)}})
		a := the[protocol.Award](s)
		tell("agent/oslo", protocol.Accept{Job: id, Epoch: a.Epoch})
		d := s.done(a)
		s.now = d.Ended
		tell("agent/oslo", d)
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
		for _, f := range facts {
			s.market.Restore(f)
		}
		s.market.BeginIncarnation(life + 1)
	}
}
