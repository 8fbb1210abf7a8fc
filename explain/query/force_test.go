package query

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// holds asks, and fails where an answer does not say one thing or says another.
func holds(t *testing.T, l *Dataset, q, says, never string) {
	t.Helper()
	a := l.AnswerQuestion(q)
	assertGrounded(t, a)
	text := strings.Join(a.Text, " ")
	if a.Kind != "answer" || !strings.Contains(text, says) || never != "" && strings.Contains(text, never) {
		t.Errorf("%s: %s %q; want %q, and no %q", q, a.Kind, text, says, never)
	}
}

// unanswered plays a job until oslo is awarded it in the first round, which nobody
// accepts.
func unanswered() (*runBuilder, protocol.Job) {
	s, j := &runBuilder{now: noon}, task("train-1", "vision")
	s.addRegistration("lyon", "oslo")
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addCall(1, j)
	s.addOffer("lyon", 1, "train-1", protocol.NoCapacity)
	s.addOffer("oslo", 1, "train-1", "", option(0, 1, 50))
	s.epoch++
	s.addMessage(protocol.Coordinator, protocol.AgentParty("oslo"), protocol.Award{
		Round: 1, Job: "train-1", Epoch: s.epoch, Option: option(0, 1, 50), Why: protocol.Reason{Code: protocol.Cheapest},
	})
	return s, j
}

// An award that its site does not answer in time is not in force: the job is on sale
// again, and stands by what was decided since.
func TestAnAwardThatLapsedIsNotInForce(t *testing.T) {
	s, j := unanswered()
	holds(t, s.buildDataset(), "where is train-1", "was awarded to oslo", "nowhere")
	s.now = s.now.Add(time.Minute)
	s.addCall(2, j)
	s.addOffer("lyon", 2, "train-1", protocol.NoCapacity)
	s.addMessage(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 2, Job: "train-1", Until: after(time.Hour), Why: protocol.Reason{Code: protocol.Waiting}})
	l := s.buildDataset()
	holds(t, l, "where is train-1", "runs nowhere; it is pending", "awarded")
	holds(t, l, "when did train-1 start", "no plan for it is in the record", "oslo")
	holds(t, l, "why train-1", "was held in round 2", "awarded to oslo")
	holds(t, l, "why did train-1 wait", "was held in round 2", "to start")
	holds(t, l, "why "+s.addDecision("train-1", 1), "oslo did not answer in time", "")
}

// A job that is cancelled is refused by no round: what rounds decided on it stays theirs,
// and it stands by the refusal.
func TestACancelledJobKeepsWhatRoundsDecided(t *testing.T) {
	s, _ := unanswered()
	s.now = s.now.Add(time.Minute)
	no := decisionLabel(s.addMessage(protocol.Coordinator, protocol.Submitter, protocol.Reject{Job: "train-1", Why: protocol.Reason{Code: protocol.Cancelled}}))
	l := s.buildDataset()
	holds(t, l, "why "+s.addDecision("train-1", 1), "was awarded to oslo", "")
	holds(t, l, "why "+no, "was cancelled at", "awarded")
	holds(t, l, "why train-1", "was cancelled at", "awarded")
	holds(t, l, "why did train-1 wait", "was cancelled at", "awarded")
	holds(t, l, "when did train-1 start", "It was cancelled", "plan")
	holds(t, l, "why not oslo for train-1", "It was awarded to oslo in round 1", "not taken")
	holds(t, l, "what did waiting save", "Over 0 jobs", "")
	for _, id := range l.DecisionNumbers() {
		if r, ok := l.DecisionDocument(id); !ok || r.ID != decisionLabel(id) {
			t.Errorf("%s as a document: %v, %s", decisionLabel(id), ok, r.ID)
		}
	}
}

// A federation does not tell its coordinator when a job starts: what a site accepted may
// run by now.
func TestAnAcceptedJobIsNotReportedAsNotStarted(t *testing.T) {
	s, _ := unanswered()
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Accept{Job: "train-1", Epoch: s.epoch, Start: s.now})
	s.now = s.now.Add(30 * time.Minute)
	s.addRegistration("oslo")
	holds(t, s.buildDataset(), "why did train-1 wait", "when it did is known when it is over", "has not started")
}

// A job that was evicted ran before, so no answer says that it has not started.
func TestAnEvictedJobIsNotReportedAsNotStarted(t *testing.T) {
	for _, end := range []protocol.Body{
		nil, protocol.Reject{Job: "train-1", Why: protocol.Reason{Code: protocol.Cancelled}},
	} {
		s, _ := unanswered()
		s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Accept{Job: "train-1", Epoch: s.epoch, Start: s.now})
		s.now = s.now.Add(2 * time.Hour)
		s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Decline{Job: "train-1", Epoch: s.epoch, Why: protocol.Reason{Code: protocol.Evicted}})
		if end != nil {
			s.addMessage(protocol.Coordinator, protocol.Submitter, end)
		}
		l := s.buildDataset()
		for _, q := range []string{"why did train-1 wait", "when did train-1 start", "how long did train-1 wait"} {
			holds(t, l, q, "", "not started")
		}
	}
}

// What another coordinator decided, from which this one took over, was decided all the
// same: its award is in the stored log, and its round is not.
func TestADecisionWhoseRoundIsNotOnRecordCounts(t *testing.T) {
	s := &runBuilder{now: noon}
	s.addRegistration("oslo")
	j := task("train-1", "vision")
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addAward("oslo", 7, j, option(0, 1, 50), "", nil, 0)
	l := s.buildDataset()
	holds(t, l, "why train-1", "was awarded to oslo at 13 Apr 12:00, because it costs least", "Nothing was decided")
	holds(t, l, "which sites bid on train-1", "its round is not in this record", "called in no round")
	holds(t, l, "what should i change for train-1", "its round is not in this record", "called in no round")
	holds(t, l, "what would train-1 have cost at oslo", "its round is not in this record", "not known when")
}
