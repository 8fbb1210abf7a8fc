package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An accept that comes after its lease stands as long as the job was not sold again. What
// it is to draw is not given to others meanwhile, or the cap would be passed.
func TestWhatALateAcceptWouldDrawIsNotGivenToOthers(t *testing.T) {
	for _, answer := range []protocol.Body{protocol.Accept{Job: "train", Epoch: 1}, protocol.Decline{Job: "train", Epoch: 1}, nil} {
		s := newStage(t, "oslo")
		s.tell(protocol.Desk, protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{
			{ID: "R-1", Kind: protocol.Cap, Sites: []string{"oslo"}, Power: 300_000}, // of runs that draw 200 W
		}})
		s.tell(protocol.Submitter, protocol.Submit{Job: s.job()})
		s.wait()
		s.offer("oslo", menu("train", s.option(0, time.Hour)))
		s.wait() // nobody answered
		s.offer("oslo", no("train", protocol.NoRoom))
		other := s.job()
		other.ID = "other"
		s.tell(protocol.Submitter, protocol.Submit{Job: other})
		s.wait()
		s.offer("oslo", menu("other", s.option(0, time.Hour)))
		if n := count[protocol.Award](s.said); n != 1 {
			t.Fatalf("%d awards are to draw twice 200 W", n)
		}
		if answer != nil {
			s.tell("agent/oslo", answer)
		}
		for s.now < noon.Add(5*time.Minute) {
			if s.wait(); s.market.round != nil {
				s.offer("oslo", menu("other", s.option(0, time.Hour)))
			}
		}
		_, accepted := answer.(protocol.Accept)
		if n := count[protocol.Award](s.said); accepted && n != 1 || !accepted && n < 2 {
			t.Errorf("answered %+v: %d awards", answer, n)
		}
	}
}
