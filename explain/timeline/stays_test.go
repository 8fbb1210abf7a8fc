package timeline_test

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An id is free again when its job has been over for a while: a nightly job has the
// same one each night, and its own deadline.
func TestAnIDMayBeGivenAgain(t *testing.T) {
	s := sold()
	ran := func(epoch uint64) {
		s.award("oslo", epoch)
		began := s.now
		s.now = s.now.Add(time.Hour)
		s.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.UsageReport{Job: "j", Epoch: epoch, Started: began, Ended: s.now, Energy: 7})
		s.say(protocol.Coordinator, "", protocol.Settlement{Job: "j", Site: "oslo"})
	}
	ran(1)
	first := s.now
	s.now = s.now.Add(24 * time.Hour)
	j := protocol.Job{ID: "j", GPUs: 3, Share: 1000, Deadline: s.now.Add(2 * time.Hour)}
	s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	if got, want := s.held("oslo", s.now), "0 held, 0 waiting, 0 running, 1 ended"; got != want {
		t.Errorf("submitted again: %s; want %s", got, want)
	}
	s.say(protocol.Coordinator, "", protocol.CallForBids{Round: 2, Jobs: []protocol.Job{j}})
	if got, want := s.held("oslo", s.now), "0 held, 1 waiting, 0 running, 1 ended"; got != want {
		t.Errorf("called again: %s; want %s", got, want)
	}
	ran(2)
	if got, want := s.held("oslo", s.now.Add(-10*time.Minute)), "3 held, 0 waiting, 1 running, 1 ended"; got != want {
		t.Errorf("running again: %s; want %s", got, want)
	}
	late := s.d.InstantAt(s.now).Late - s.d.InstantAt(first).Late
	if got, want := s.held("oslo", s.now), "0 held, 0 waiting, 0 running, 2 ended"; got != want || late != 0 {
		t.Errorf("ended again: %s, and %d of them late; want %s, in time", got, late, want)
	}
}

// A job whose site did not answer runs nowhere, and is back if the site answers late.
func TestAnAwardThatIsNotAnsweredLapses(t *testing.T) {
	s := sold()
	s.say(protocol.Coordinator, protocol.AgentParty("oslo"), protocol.Award{Job: "j", Epoch: 1, Option: protocol.BidOption{Start: s.now.Add(time.Hour)}})
	s.now = s.now.Add(time.Minute)
	s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Job: "j", Until: s.now})
	s.now = s.now.Add(2 * time.Hour)
	if got, want := s.held("oslo", s.now), "0 held, 1 waiting, 0 running, 0 ended"; got != want {
		t.Errorf("not answered: %s; want %s", got, want)
	}
	s.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Accept{Job: "j", Epoch: 1, Start: s.now})
	if got, want := s.held("oslo", s.now), "2 held, 0 waiting, 1 running, 0 ended"; got != want {
		t.Errorf("answered late: %s; want %s", got, want)
	}
	s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Job: "j", Until: s.now})
	if got, want := s.held("oslo", s.now), "2 held, 0 waiting, 1 running, 0 ended"; got != want {
		t.Errorf("a hold of a job that is taken: %s; want %s", got, want)
	}
}

// A bill that the market did not believe is in no sum.
func TestABillThatIsRefusedIsInNoSum(t *testing.T) {
	for _, left := range []time.Duration{0, time.Hour} {
		s := sold()
		s.award("oslo", 1)
		before := s.d.InstantAt(s.now)
		s.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.UsageReport{
			Job: "j", Epoch: 1, Started: s.now, Ended: s.now.Add(48 * time.Hour), Energy: 7, Carbon: 7, Money: -7, Left: left,
		})
		s.say(protocol.Coordinator, protocol.Submitter, protocol.Reject{Job: "j", Why: protocol.Reason{Code: protocol.ImpossibleBid}})
		now := s.d.InstantAt(s.now)
		if now.Failed != 1 || now.Late != 0 || now.Energy != before.Energy || now.Carbon != before.Carbon || now.Money != before.Money {
			t.Errorf("with %v left: %+v; want as before: %+v", left, now, before)
		}
	}
}

// Whoever takes over from another coordinator has its awards off the books, and no calls.
func TestAnIDThatWasGivenAgainIsKnownByItsAward(t *testing.T) {
	s := sold()
	s.award("oslo", 1)
	s.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.UsageReport{Job: "j", Epoch: 1, Started: s.now, Ended: s.now})
	s.say(protocol.Coordinator, "", protocol.Settlement{Job: "j", Site: "oslo"})
	s.now = s.now.Add(24 * time.Hour)
	s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: protocol.Job{ID: "j", GPUs: 3, Share: 1000, Deadline: s.now.Add(time.Hour)}})
	s.award("lyon", 2)
	if got, want := s.held("lyon", s.now), "3 held, 0 waiting, 1 running, 1 ended"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
