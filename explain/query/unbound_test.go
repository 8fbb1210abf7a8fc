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
	play := func(free bool) *stage {
		s := &stage{now: noon}
		s.hello("lyon", "oslo")
		s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
		s.call(1, j)
		s.offer("lyon", 1, j.ID, protocol.NoCapacity)
		if free {
			s.offer("oslo", 1, j.ID, "", option(0, 2, 50))
			s.award("oslo", 1, j, option(0, 2, 50), "o1", []int{0, 1}, time.Hour)
		} else {
			s.offer("oslo", 1, j.ID, protocol.NotAllowed)
			s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 1, Job: j.ID, Until: after(time.Hour), Why: protocol.Reason{Code: protocol.NoBids}})
		}
		return s
	}
	l := play(false).log()
	l.Set(Stage{Play: func(d Day) (Rehearsal, error) {
		book := history.New(history.Config{})
		for _, m := range play(d.Free == j.ID).said {
			book.AddMessage(m)
		}
		return Rehearsal{Book: book}, nil
	}})
	holds(t, l, "what if job train-1 without the residency rule", "It would have run at oslo from 13 Apr 12:00; as recorded it does not run.", "as against")
}
