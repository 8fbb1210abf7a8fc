package query

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Who preempted a job, why it waits and what happened to it are answered by the message
// that its site sent.
func TestAPreemptionIsAnswered(t *testing.T) {
	s := &runBuilder{now: noon}
	s.addRegistration("oslo", "lyon")
	j := task("train-1", "vision")
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addCall(1, j)
	s.addAward("oslo", 1, j, option(time.Hour, 1, 50), "", nil, 0)
	s.now = after(90 * time.Minute)
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Preempted{Job: j.ID, Epoch: s.epoch, For: "urgent", Why: protocol.Reason{Code: protocol.StrongerClaim}, Lost: 20 * time.Minute})
	s.now = after(2 * time.Hour)
	s.addCall(2)
	l := s.buildDataset()
	a := l.AnswerQuestion("who preempted train-1")
	if text := strings.Join(a.Text, " "); figureOfAnswer(t, a, "run", "preempted") != 1 || figureOfAnswer(t, a, "job/train-1", "lost-work") != 1_200_000 ||
		!strings.Contains(text, "the room went to job urgent") || strings.Contains(text, "preempts nobody") || len(a.Table.Rows) != 1 {
		t.Errorf("who preempted it: %q %+v", text, a.Table)
	}
	for q, want := range map[string]string{
		"why did train-1 wait": "was preempted", "what happened to train-1": "It is preempted", "how many jobs are there": "1 preempted",
	} {
		if text := strings.Join(l.AnswerQuestion(q).Text, " "); !strings.Contains(text, want) {
			t.Errorf("%s: %q; want %q in it", q, text, want)
		}
	}
}
