package query

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// acceptedRun plays a job until oslo has accepted it, and is to run it at once.
func acceptedRun() *runBuilder {
	s, _ := unanswered()
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Accept{Job: "train-1", Epoch: s.epoch, Start: s.now})
	return s
}

// A site that an operator declared decommissioned has no jobs and no GPUs; one that
// registers again has both.
func TestADecommissionedSiteHasNoJobsAndNoGPUs(t *testing.T) {
	s := acceptedRun()
	s.now = after(2 * time.Hour)
	s.addMessage(protocol.OperatorAPI, protocol.Coordinator, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	s.now = after(3 * time.Hour)
	s.addRegistration("lyon")
	l := s.buildDataset()
	if a := l.AnswerQuestion("which jobs are waiting at oslo"); figureOfAnswer(t, a, "run", "waiting") != 0 {
		t.Errorf("waiting at oslo: %v", a.Table.Rows)
	}
	if a := l.AnswerQuestion("which jobs are waiting"); figureOfAnswer(t, a, "run", "waiting") != 1 || a.Table.Rows[0][5] != "waits to be sold again" {
		t.Errorf("waiting: %v", a.Table.Rows)
	}
	if a := l.AnswerQuestion("what happened to train-1"); figureOfAnswer(t, a, "job/train-1", "declines") != 1 || !strings.HasPrefix(a.Table.Rows[len(a.Table.Rows)-1][3], "taken from oslo: ") {
		t.Errorf("what happened: %q %q", a.Text, a.Table.Rows)
	}
	holds(t, l, "why did train-1 wait", "At 13 Apr 14:00 it was taken from oslo: an operator said", "It was never held")
	holds(t, l, "is oslo down", "An operator said at 13 Apr 14:00 that oslo will not come back.", "")
	for at, free := range map[string]int64{"13:00": 14_000, "14:30": 8_000} {
		if got := figureOfAnswer(t, l.AnswerQuestion("free gpus at "+at), "run", "free"); got != free {
			t.Errorf("at %s %d thousandths are free; want %d", at, got, free)
		}
	}
	s.addCall(2, task("train-1", "vision"))
	s.addOffer("lyon", 2, "train-1", protocol.NoCapacity)
	s.now = s.now.Add(time.Minute)
	s.addRegistration("lyon")
	holds(t, s.buildDataset(), "silent agents", "All other sites answered the last round", "not answered by oslo")
	s.addRegistration("oslo")
	l = s.buildDataset()
	holds(t, l, "is oslo down", "The record ends at", "come back")
	if got := figureOfAnswer(t, l.AnswerQuestion("free gpus"), "run", "free"); got != 16_000 {
		t.Errorf("when oslo is back %d thousandths are free", got)
	}
}
