package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A restart may configure a longer Remember than before. A Submit in the event log under an id
// that had been forgotten by then is another job.
func TestJobOfAForgottenIDSurvivesALongerRemember(t *testing.T) {
	s := newTestMarket(t)
	s.market = New(Config{Remember: time.Hour}, &soonest{})
	var events []protocol.Message
	submit := func(id protocol.JobID) {
		j := s.job()
		j.ID, j.Arrival, j.Deadline = id, s.now, s.now.Add(8*time.Hour)
		s.send(protocol.Submitter, protocol.Submit{Job: j})
		events = append(events, s.market.Events()...)
	}
	cancel := func(id protocol.JobID) {
		s.send(protocol.Submitter, protocol.Cancel{Job: id})
		events = append(events, s.market.Events()...)
		s.now = s.now.Add(2 * time.Hour)
	}
	submit("nightly")
	cancel("nightly")
	submit("other")
	cancel("other") // nightly is forgotten
	submit("nightly")
	restored := New(Config{Remember: 24 * time.Hour}, &soonest{})
	for _, f := range events {
		restored.Restore(f)
	}
	if l := restored.lots["nightly"]; l.state != waiting || restored.Due() == 0 || len(restored.endedLots) != 1 {
		t.Errorf("it is in state %d, the market is due at %v, and remembers %v", l.state, restored.Due(), restored.endedLots)
	}
}

// Of both jobs there may be nothing left but the id and when it ended.
func TestTwoJobsOfAForgottenIDEndOnceEach(t *testing.T) {
	s := newTestMarket(t)
	s.market = New(Config{Remember: 24 * time.Hour}, &soonest{})
	s.market.Restore(protocol.Message{From: protocol.SnapshotSource, Body: protocol.Snapshot{Ended: []protocol.EndedJob{
		{Job: "nightly", At: noon.Add(-3 * time.Hour), Digest: 1}, {Job: "nightly", At: noon, Digest: 2},
	}}})
	s.now = noon.Add(48 * time.Hour)
	j := s.job()
	j.Arrival, j.Deadline = s.now, s.now.Add(8*time.Hour)
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	s.send(protocol.Submitter, protocol.Cancel{Job: j.ID})
	if len(s.market.endedLots) != 1 || s.market.KnownJobs() != 1 {
		t.Errorf("it remembers %v", s.market.endedLots)
	}
}

// An id becomes free by time alone, also if no other job ends.
func TestIDIsFreeOnAQuietMarket(t *testing.T) {
	s := newTestMarket(t)
	s.market = New(Config{Remember: 24 * time.Hour}, &soonest{})
	submit := func() []protocol.Message {
		j := s.job()
		j.Arrival, j.Deadline = s.now, s.now.Add(8*time.Hour)
		return s.send(protocol.Submitter, protocol.Submit{Job: j})
	}
	submit()
	s.send(protocol.Submitter, protocol.Cancel{Job: "train"})
	s.now = s.now.Add(23 * time.Hour)
	if sent := submit(); count[protocol.Reject](sent) != 1 {
		t.Errorf("within the time it is remembered for, another job of its id is answered %+v", sent)
	}
	s.now = s.now.Add(2 * time.Hour)
	if sent := submit(); count[protocol.Reject](sent) != 0 || s.market.lots["train"].state != waiting {
		t.Errorf("after it, one is answered %+v", sent)
	}
}
