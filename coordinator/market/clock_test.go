package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A machine may start with a clock that is hours ahead and is set back a moment later. Timers set
// in between must not wait for those hours.
func TestClockSetBackDelaysNothing(t *testing.T) {
	for name, before := range map[string]func(*testMarket){
		"a job that was submitted": func(*testMarket) {},
		"a job that is called":     func(s *testMarket) { s.wait() },
		"a job that is held": func(s *testMarket) {
			s.wait()
			s.offer("bern", noBids("train", protocol.NoCapacity))
			s.offer("oslo", noBids("train", protocol.NoCapacity))
		},
		"a job that was awarded": func(s *testMarket) {
			s.wait()
			s.offer("bern", noBids("train", protocol.NoCapacity))
			s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestMarket(t, "bern", "oslo")
			s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
			before(s)
			calls := count[protocol.CallForBids](s.sent)
			s.now = s.now.Add(-3 * time.Hour)
			end := s.now.Add(time.Minute)
			s.record(s.market.Tick(s.now)) // a timer goes off when it was to
			for count[protocol.CallForBids](s.sent) == calls && s.now < end {
				s.wait()
			}
			if s.now > end {
				t.Fatalf("it is called at %v, by a clock that was set back to %v", s.now, end.Add(-time.Minute))
			}
			s.offer("bern", noBids("train", protocol.NoCapacity))
			s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
			if a := lastSent[protocol.Award](s); a.Lease > s.now.Add(time.Minute) || count[protocol.CallForBids](s.sent) != calls+1 {
				t.Errorf("at %v it is awarded until %v", s.now, a.Lease)
			}
		})
	}
}

// The same of a coordinator that takes over from one whose clock was ahead.
func TestNewLeaderWithAClockBehindDelaysNothing(t *testing.T) {
	s := newTestMarket(t)
	var events []protocol.Message
	keep := func() { events = append(events, s.market.Events()...) }
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	keep()
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	keep()
	s.wait()
	s.offer("oslo", noBids("train", protocol.NoCapacity))
	keep()
	s.market = New(Config{}, s.rule)
	for _, f := range events {
		s.market.Restore(f)
	}
	s.market.BeginIncarnation(2)
	s.now = s.now.Add(-3 * time.Hour)
	end, calls := s.now.Add(time.Minute), count[protocol.CallForBids](s.sent)
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	if s.wait(); count[protocol.CallForBids](s.sent) != calls+1 || s.now > end {
		t.Errorf("it is called at %v, by a clock that is at %v", s.now, end)
	}
}

// Nor is the id of a job that has ended known for longer.
func TestIDIsFreeAfterTheClockWasSetBack(t *testing.T) {
	s := newTestMarket(t)
	s.market = New(Config{Remember: 24 * time.Hour}, s.rule)
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.send(protocol.Submitter, protocol.Cancel{Job: "train"})
	s.now = s.now.Add(-12 * time.Hour)
	s.record(s.market.Tick(s.now))
	s.now = s.now.Add(25 * time.Hour)
	j := s.job()
	j.Arrival, j.Deadline = s.now, s.now.Add(8*time.Hour)
	if sent := s.send(protocol.Submitter, protocol.Submit{Job: j}); count[protocol.Reject](sent) != 0 {
		t.Errorf("after the time it is remembered for, another job of its id is answered %+v", sent)
	}
}

// The same for ids of which a snapshot says that they ended by a clock that was years ahead, and
// for ids that ended after them.
func TestIDsEndedByAClockAheadAreFreeInTime(t *testing.T) {
	s := newTestMarket(t)
	s.market = New(Config{Remember: 24 * time.Hour}, s.rule)
	s.market.Restore(protocol.Message{From: protocol.SnapshotSource, Body: protocol.Snapshot{Ended: []protocol.EndedJob{
		{Job: "ahead", At: s.now.Add(50_000 * time.Hour), Digest: 1}, {Job: "train", At: s.now, Digest: 2},
	}}})
	s.market.BeginIncarnation(2)
	j := s.job()
	for _, want := range []int{1, 0} { // known, and not
		if sent := s.send(protocol.Submitter, protocol.Submit{Job: j}); count[protocol.Reject](sent) != want {
			t.Errorf("at %v another job of its id is answered %+v", s.now, sent)
		}
		s.now = s.now.Add(25 * time.Hour)
		j.Arrival, j.Deadline = s.now, s.now.Add(8*time.Hour)
	}
}
