package query

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A site that declined one award and let another lapse is listed with both; a site that
// kept its award is listed with none.
func TestRenegedAwardsAreCountedBySite(t *testing.T) {
	s, _ := unanswered() // oslo is awarded train-1
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Decline{Job: "train-1", Epoch: s.epoch, Why: protocol.Reason{Code: protocol.CapacityTaken}})
	s.now = s.now.Add(time.Minute)
	job := task("train-1", "vision")
	s.addCall(2, job)
	s.addOffer("lyon", 2, "train-1", "", option(1, 5, 500))
	s.addAward("lyon", 2, job, option(1, 5, 500), "", nil, 0)
	s.addMessage(protocol.AgentParty("lyon"), protocol.Coordinator, protocol.Accept{Job: "train-1", Epoch: s.epoch, Start: s.now})
	l := s.buildDataset()
	a := l.AnswerQuestion("which sites declined awards")
	for _, tc := range []struct {
		of, what string
		want     int64
	}{
		{"run", "awards", 2}, {"run", "declined", 1}, {"run", "lapsed", 0},
		{"site/oslo", "awards", 1}, {"site/oslo", "declined", 1}, {"site/lyon", "declined", 0},
	} {
		if got := figureOfAnswer(t, a, tc.of, tc.what); got != tc.want {
			t.Errorf("%s of %s = %d, want %d: %q", tc.what, tc.of, got, tc.want, a.Text)
		}
	}
	if a := l.AnswerQuestion("declined awards at lyon"); figureOfAnswer(t, a, "run", "awards") != 1 || figureOfAnswer(t, a, "run", "declined") != 0 {
		t.Errorf("declined awards at lyon: %q", a.Text)
	}
}
