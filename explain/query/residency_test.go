package query

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A job that found no place under its residency rule may find one without: then there is
// no run to compare with.
func TestAJobThatRunsOnlyWithoutItsRule(t *testing.T) {
	j := task("train-1", "vision")
	j.Regions = []string{"lyon"}
	play := func(free bool) *runBuilder {
		s := &runBuilder{now: noon}
		s.addRegistration("lyon", "oslo")
		s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
		s.addCall(1, j)
		s.addOffer("lyon", 1, j.ID, protocol.NoCapacity)
		if free {
			s.addOffer("oslo", 1, j.ID, "", option(0, 2, 50))
			s.addAward("oslo", 1, j, option(0, 2, 50), "o1", []int{0, 1}, time.Hour)
		} else {
			s.addOffer("oslo", 1, j.ID, protocol.NotAllowed)
			s.addMessage(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 1, Job: j.ID, Until: after(time.Hour), Why: protocol.Reason{Code: protocol.NoBids}})
		}
		return s
	}
	l := play(false).buildDataset()
	l.SetReplay(ReplaySetup{Replay: func(d DayChange) (DayReplay, error) {
		book := history.New(history.Config{})
		for _, m := range play(d.Free == j.ID).messages {
			book.AddMessage(m)
		}
		return DayReplay{History: book}, nil
	}})
	holds(t, l, "what if job train-1 without the residency rule", "It would have run at oslo from 13 Apr 12:00; as recorded it does not run.", "as against")
}
