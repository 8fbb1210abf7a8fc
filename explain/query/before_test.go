package query

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A coordinator that took over has the jobs of before from the stored log, and nothing else of
// that time: a sum that reaches back says so.
func TestASumThatReachesBeforeTheCoordinatorBeganSaysSo(t *testing.T) {
	s := acceptedRun()
	s.now = after(26 * time.Hour)
	s.addMessage(protocol.InputRecorder, protocol.InputRecorder, protocol.InputLog{Incarnation: 2})
	s.addCall(2)
	s.now = after(27 * time.Hour)
	s.addMessage(protocol.Coordinator, "", protocol.CallForBids{Round: 3})
	l := s.buildDataset()
	const note = "its coordinator began at 14 Apr 14:00; of before this record has the jobs that the books kept"
	for q, want := range map[string]bool{"carbon by site": true, "carbon today": true, "late jobs": true, "what happened from 13:00 to 15:00": true, "carbon from 14:30 to 15:00": false} {
		if a := l.AnswerQuestion(q); a.Kind != "answer" || strings.Contains(a.Read, note) != want {
			t.Errorf("%s: %s, read as %q; it says that the record begins later: want %v", q, a.Kind, a.Read, want)
		}
	}
	if a := l.AnswerQuestion("compare with yesterday"); a.Kind != "absent" || !strings.Contains(a.Text[0], "begins at 14 Apr 14:00") {
		t.Errorf("%s %q; want that the day before is not on record", a.Kind, a.Text)
	}
}

// A coordinator that was restarted has all its incarnations on record, one after the other.
func TestARestartedCoordinatorHasItsWholeRecord(t *testing.T) {
	s := day()
	for life := range 3 {
		s.addMessage(protocol.InputRecorder, protocol.InputRecorder, protocol.InputLog{Incarnation: uint64(life) + 1})
		s.now = s.now.Add(time.Hour)
		s.addMessage(protocol.Coordinator, "", protocol.CallForBids{Round: uint64(life) + 9})
	}
	if a := s.buildDataset().AnswerQuestion("carbon by site"); strings.Contains(a.Read, "began at") {
		t.Errorf("read as %q", a.Read)
	}
}

// What waiting saved is held against a job's first round, which another coordinator may
// have called.
func TestTheFirstRoundOfARecordIsNotTheJobs(t *testing.T) {
	s, j := &runBuilder{now: noon}, task("train-1", "vision")
	s.addRegistration("oslo")
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addMessage(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 6, Job: "train-1", Why: protocol.Reason{Code: protocol.CheaperLater}})
	s.now = after(30 * time.Minute)
	s.addCall(7, j)
	s.addOffer("oslo", 7, "train-1", "", option(time.Hour, 3, 90), option(2*time.Hour, 1, 50))
	s.addAward("oslo", 7, j, option(2*time.Hour, 1, 50), "o1", []int{0, 1}, time.Hour)
	l := s.buildDataset()
	holds(t, l, "what did waiting save for train-1", "That is not known: the first rounds of job train-1 are not in this record.", "saved job")
	holds(t, l, "what should i change for train-1", "offered in its first round of this record was", "")
	if a := l.AnswerQuestion("what did waiting save"); figureOfAnswer(t, a, "run", "jobs") != 0 {
		t.Errorf("%q; want nothing of a job whose first round is not on record", a.Text)
	}
}
