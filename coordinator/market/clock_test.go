package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A machine that begins with a clock that is hours ahead has it set back a moment later.
// What is due then does not wait for those hours.
func TestAClockThatIsSetBackHoldsNothingUp(t *testing.T) {
	for name, before := range map[string]func(*stage){
		"a job that was submitted": func(*stage) {},
		"a job that is called":     func(s *stage) { s.wait() },
		"a job that is held": func(s *stage) {
			s.wait()
			s.offer("bern", no("train", protocol.NoCapacity))
			s.offer("oslo", no("train", protocol.NoCapacity))
		},
		"a job that was awarded": func(s *stage) {
			s.wait()
			s.offer("bern", no("train", protocol.NoCapacity))
			s.offer("oslo", menu("train", s.option(0, time.Hour)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "bern", "oslo")
			s.tell(protocol.Submitter, protocol.Submit{Job: s.job()})
			before(s)
			calls := count[protocol.CallForBids](s.said)
			s.now = s.now.Add(-3 * time.Hour)
			end := s.now.Add(time.Minute)
			s.hear(s.market.Tick(s.now)) // a timer goes off when it was to
			for count[protocol.CallForBids](s.said) == calls && s.now < end {
				s.wait()
			}
			if s.now > end {
				t.Fatalf("it is called at %v, by a clock that was set back to %v", s.now, end.Add(-time.Minute))
			}
			s.offer("bern", no("train", protocol.NoCapacity))
			s.offer("oslo", menu("train", s.option(0, time.Hour)))
			if a := the[protocol.Award](s); a.Lease > s.now.Add(time.Minute) || count[protocol.CallForBids](s.said) != calls+1 {
				t.Errorf("at %v it is awarded until %v", s.now, a.Lease)
			}
		})
	}
}

// The same of a coordinator that takes over from one whose clock was ahead.
func TestWhoTakesOverGoesByAClockThatIsBehind(t *testing.T) {
	s := newStage(t)
	var facts []protocol.Message
	keep := func() { facts = append(facts, s.market.Events()...) }
	s.tell("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	keep()
	s.tell(protocol.Submitter, protocol.Submit{Job: s.job()})
	keep()
	s.wait()
	s.offer("oslo", no("train", protocol.NoCapacity))
	keep()
	s.market = New(Config{}, s.rule)
	for _, f := range facts {
		s.market.Restore(f)
	}
	s.market.BeginIncarnation(2)
	s.now = s.now.Add(-3 * time.Hour)
	end, calls := s.now.Add(time.Minute), count[protocol.CallForBids](s.said)
	s.tell("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	if s.wait(); count[protocol.CallForBids](s.said) != calls+1 || s.now > end {
		t.Errorf("it is called at %v, by a clock that is at %v", s.now, end)
	}
}

// Nor is the id of a job that has ended known for longer.
func TestAnIDIsFreeAgainByAClockThatIsSetBack(t *testing.T) {
	s := newStage(t)
	s.market = New(Config{Remember: 24 * time.Hour}, s.rule)
	s.tell(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.tell(protocol.Submitter, protocol.Cancel{Job: "train"})
	s.now = s.now.Add(-12 * time.Hour)
	s.hear(s.market.Tick(s.now))
	s.now = s.now.Add(25 * time.Hour)
	j := s.job()
	j.Arrival, j.Deadline = s.now, s.now.Add(8*time.Hour)
	if said := s.tell(protocol.Submitter, protocol.Submit{Job: j}); count[protocol.Reject](said) != 0 {
		t.Errorf("after the time it is remembered for, another job of its id is answered %+v", said)
	}
}

// Nor are those of which a summary says that they ended by a clock that was ahead, years
// perhaps, nor any that ended after them.
func TestIDsThatEndedByAClockThatWasAheadAreFreeInTheirTime(t *testing.T) {
	s := newStage(t)
	s.market = New(Config{Remember: 24 * time.Hour}, s.rule)
	s.market.Restore(protocol.Message{From: protocol.SnapshotSource, Body: protocol.Snapshot{Ended: []protocol.EndedJob{
		{Job: "ahead", At: s.now.Add(50_000 * time.Hour), Digest: 1}, {Job: "train", At: s.now, Digest: 2},
	}}})
	s.market.BeginIncarnation(2)
	j := s.job()
	for _, want := range []int{1, 0} { // known, and not
		if said := s.tell(protocol.Submitter, protocol.Submit{Job: j}); count[protocol.Reject](said) != want {
			t.Errorf("at %v another job of its id is answered %+v", s.now, said)
		}
		s.now = s.now.Add(25 * time.Hour)
		j.Arrival, j.Deadline = s.now, s.now.Add(8*time.Hour)
	}
}
