package query

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// nights is a run in which one id was given to three jobs: the first was held and ended
// late at oslo, the second ended in time at lyon, and of the third nothing is decided.
func nights() *runBuilder {
	s := &runBuilder{now: noon}
	s.addRegistration("lyon", "oslo")
	begin := func(n int) (protocol.Job, time.Duration) {
		from := time.Duration(n) * 24 * time.Hour
		s.now = after(from)
		j := task("nightly", "vision")
		j.Arrival, j.Deadline = s.now, s.now.Add(3*time.Hour)
		s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
		return j, from
	}
	j, from := begin(0)
	s.addCall(1, j)
	s.addOffer("oslo", 1, "nightly", "", option(from+time.Hour, 1, 50))
	s.addMessage(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 1, Job: "nightly", Until: s.now.Add(time.Hour), Why: protocol.Reason{Code: protocol.CheaperLater}})
	s.now = s.now.Add(time.Hour)
	s.addCall(2, j)
	s.addOffer("oslo", 2, "nightly", "", option(from+time.Hour, 1, 50))
	s.addAward("oslo", 2, j, option(from+time.Hour, 1, 50), "o1", []int{0, 1}, 3*time.Hour)
	j, from = begin(1)
	s.addCall(3, j)
	s.addOffer("lyon", 3, "nightly", "", option(from, 1, 50))
	s.addAward("lyon", 3, j, option(from, 1, 50), "l1", []int{0, 1}, time.Hour)
	j, _ = begin(2)
	s.addCall(4, j)
	return s
}

// What was decided on one of several jobs of an id is told of that one.
func TestADecisionBelongsToItsJobInstance(t *testing.T) {
	s := nights()
	l := s.buildDataset()
	first := s.addDecision("nightly", 2)
	if a := l.AnswerQuestion("late jobs"); len(a.Table.Rows) != 1 || a.Table.Rows[0][8] != first {
		t.Errorf("late jobs: %v; want one, by %s", a.Table.Rows, first)
	}
	if a := l.AnswerQuestion("top 5 jobs by carbon"); len(a.Table.Rows) != 2 || a.Table.Rows[0][8] == a.Table.Rows[1][8] {
		t.Errorf("top: %v; want two, each by its own decision", a.Table.Rows)
	}
	holds(t, l, "why did nightly wait", "It was never held", "because")
	holds(t, l, "why "+first, "awarded to oslo", "lyon")
	if a := l.AnswerQuestion("what happened to nightly"); figureOfAnswer(t, a, "job/nightly", "decisions") != 0 {
		t.Errorf("what happened: %q; want nothing of the jobs before", a.Table.Rows)
	}
	if a := l.AnswerQuestion("which jobs are waiting at lyon"); figureOfAnswer(t, a, "run", "waiting") != 0 {
		t.Errorf("waiting at lyon: %q %v", a.Text, a.Table.Rows)
	}
	if a := l.AnswerQuestion("why did site lyon not overflow"); figureOfAnswer(t, a, "site/lyon", "held-cheaper-later") != 1 || figureOfAnswer(t, a, "site/lyon", "held") != 1 {
		t.Errorf("overflow: %q", a.Text)
	}
}

// A clock that is ahead where a job is submitted takes no decision from it.
func TestADecisionBelongsToItsJobWhateverTheClockOfTheSubmitter(t *testing.T) {
	s := nights()
	for i, m := range s.messages {
		if m.From == protocol.Submitter {
			s.messages[i].At = m.At.Add(2 * time.Hour)
		}
	}
	holds(t, s.buildDataset(), "why "+s.addDecision("nightly", 3), "due 14 Apr 15:00", "")
}
