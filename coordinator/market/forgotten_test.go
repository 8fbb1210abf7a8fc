package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// The market may be told to remember for longer than it did. What is on its books
// under an id that it had forgotten by then is another job.
func TestAJobOfAForgottenIDIsKeptByAMarketThatRemembersLonger(t *testing.T) {
	s := newStage(t)
	s.market = New(Config{Remember: time.Hour}, &soonest{})
	var facts []protocol.Message
	submit := func(id protocol.JobID) {
		j := s.job()
		j.ID, j.Arrival, j.Deadline = id, s.now, s.now.Add(8*time.Hour)
		s.tell(protocol.Submitter, protocol.Submit{Job: j})
		facts = append(facts, s.market.Events()...)
	}
	cancel := func(id protocol.JobID) {
		s.tell(protocol.Submitter, protocol.Cancel{Job: id})
		facts = append(facts, s.market.Events()...)
		s.now = s.now.Add(2 * time.Hour)
	}
	submit("nightly")
	cancel("nightly")
	submit("other")
	cancel("other") // nightly is forgotten
	submit("nightly")
	again := New(Config{Remember: 24 * time.Hour}, &soonest{})
	for _, f := range facts {
		again.Restore(f)
	}
	if l := again.lots["nightly"]; l.state != waiting || again.Due() == 0 || len(again.endedLots) != 1 {
		t.Errorf("it is in state %d, the market is due at %v, and remembers %v", l.state, again.Due(), again.endedLots)
	}
}

// Of both jobs there may be nothing left but the id and when it ended.
func TestTwoJobsOfAForgottenIDEndOnce(t *testing.T) {
	s := newStage(t)
	s.market = New(Config{Remember: 24 * time.Hour}, &soonest{})
	s.market.Restore(protocol.Message{From: protocol.SnapshotSource, Body: protocol.Snapshot{Ended: []protocol.EndedJob{
		{Job: "nightly", At: noon.Add(-3 * time.Hour), Digest: 1}, {Job: "nightly", At: noon, Digest: 2},
	}}})
	s.now = noon.Add(48 * time.Hour)
	j := s.job()
	j.Arrival, j.Deadline = s.now, s.now.Add(8*time.Hour)
	s.tell(protocol.Submitter, protocol.Submit{Job: j})
	s.tell(protocol.Submitter, protocol.Cancel{Job: j.ID})
	if len(s.market.endedLots) != 1 || s.market.KnownJobs() != 1 {
		t.Errorf("it remembers %v", s.market.endedLots)
	}
}

// That an id is free again hangs on the time alone, and not on whether another job has
// ended since: on a quiet market none has.
func TestAnIDIsFreeAgainOnAQuietMarket(t *testing.T) {
	s := newStage(t)
	s.market = New(Config{Remember: 24 * time.Hour}, &soonest{})
	submit := func() []protocol.Message {
		j := s.job()
		j.Arrival, j.Deadline = s.now, s.now.Add(8*time.Hour)
		return s.tell(protocol.Submitter, protocol.Submit{Job: j})
	}
	submit()
	s.tell(protocol.Submitter, protocol.Cancel{Job: "train"})
	s.now = s.now.Add(23 * time.Hour)
	if said := submit(); count[protocol.Reject](said) != 1 {
		t.Errorf("within the time it is remembered for, another job of its id is answered %+v", said)
	}
	s.now = s.now.Add(2 * time.Hour)
	if said := submit(); count[protocol.Reject](said) != 0 || s.market.lots["train"].state != waiting {
		t.Errorf("after it, one is answered %+v", said)
	}
}
