package query

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// Who asks how many wait is told the same numbers as the lists by state, which have no state of that name.
func TestWaitingJobsAreSplitByState(t *testing.T) {
	s, j := unanswered() // awarded to oslo
	for i, plan := range []string{"", "lyon"} {
		other := j
		other.ID = protocol.JobID("held-" + string(rune('a'+i)))
		s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: other})
		s.addCall(uint64(9+i), other)
		s.addMessage(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: uint64(9 + i), Job: other.ID, Site: plan, Start: after(time.Hour), Why: protocol.Reason{Code: protocol.Waiting}})
	}
	l := s.buildDataset()
	a := l.AnswerQuestion("how many jobs are waiting")
	if a.Kind != "answer" || figureOfAnswer(t, a, "run", "waiting") != 3 || !strings.Contains(strings.Join(a.Text, " "), "By state: 1 pending and 2 planned.") {
		t.Fatalf("%s %q", a.Kind, a.Text)
	}
	counts, _ := l.History().CountJobsAt(l.lastTime())
	for _, st := range []history.State{history.Pending, history.Planned} {
		if got := figureOfAnswer(t, a, "run", "jobs-"+string(st)); got != int64(counts[st]) {
			t.Errorf("%d are said to be %s; counted are %d", got, st, counts[st])
		}
	}
}

// Who asks what is before a job is told its place at the site where it is planned.
func TestAPlannedJobIsToldItsPlaceInTheQueue(t *testing.T) {
	s, j := unanswered()
	for i, id := range []protocol.JobID{"held-a", "held-b"} {
		other := j
		other.ID = id
		s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: other})
		s.addCall(uint64(9+i), other)
		s.addMessage(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: uint64(9 + i), Job: id, Site: "lyon", Start: after(time.Duration(i+1) * time.Hour), Why: protocol.Reason{Code: protocol.CheaperLater}})
	}
	a := s.buildDataset().AnswerQuestion("what is ahead of held-b")
	if a.Kind != "answer" || figureOfAnswer(t, a, "job/held-b", "queue-place") != 2 || figureOfAnswer(t, a, "job/held-b", "queue-length") != 2 || !strings.Contains(strings.Join(a.Text, " "), "before it: held-a.") {
		t.Errorf("%s %q", a.Kind, a.Text)
	}
}
