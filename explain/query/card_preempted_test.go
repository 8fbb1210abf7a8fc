package query_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// The story of a job says when its run was preempted, why, for whom, and what was lost.
func TestAPreemptionIsTold(t *testing.T) {
	for _, tc := range []struct {
		m    protocol.Preempted
		want string
	}{
		{protocol.Preempted{For: "urgent", Why: protocol.Reason{Code: protocol.StrongerClaim}, Lost: 20 * time.Minute},
			"its run at oslo was preempted: another job had a stronger claim to its devices; the room went to job urgent; 20 min of work are lost."},
		{protocol.Preempted{Owner: "the lab", Why: protocol.Reason{Code: protocol.Reclaimed, Note: "exams"}},
			"its run at oslo was preempted: the owner of the site took the devices back (exams); the room went back to the lab."},
	} {
		s := begin("oslo")
		s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job()})
		s.call(1, job())
		s.award("oslo", 1, protocol.BidOption{Start: noon, Finish: noon.Add(time.Hour)}, protocol.Cheapest)
		s.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Accept{Job: "train-42", Epoch: 1, Start: noon})
		s.now = at(30 * time.Minute)
		tc.m.Job, tc.m.Epoch = "train-42", 1
		s.say(protocol.AgentParty("oslo"), protocol.Coordinator, tc.m)
		if got := s.text(t); !strings.Contains(got, tc.want) {
			t.Errorf("told as %q; want %q in it", got, tc.want)
		}
	}
}
