package main

import (
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

func TestTapKnowsEachMessageThatNamesAJob(t *testing.T) {
	const id protocol.JobID = "train-1"
	job := protocol.Job{ID: id}
	for _, body := range []protocol.Body{
		protocol.Submit{Job: job}, protocol.Call{Jobs: []protocol.Job{job}}, protocol.Offer{Jobs: []protocol.Menu{{Job: id}}},
		protocol.Award{Job: id}, protocol.Hold{Job: id}, protocol.Refuse{Job: id}, protocol.Accept{Job: id}, protocol.Decline{Job: id},
		protocol.Confirm{Job: id}, protocol.Cancel{Job: id}, protocol.Launch{Job: job}, protocol.Started{Job: id}, protocol.Exited{Job: id},
		protocol.Lost{Job: id}, protocol.Ran{Job: job}, protocol.Done{Job: id}, protocol.Settled{Job: id}, protocol.Standing{Job: id},
		protocol.Ask{Job: id}, protocol.Answer{Job: id}, protocol.Inventory{Held: []protocol.Held{{Launch: protocol.Launch{Job: job}}}},
		protocol.Brought{Ended: []protocol.Past{{Job: id}}}, protocol.Brought{Strays: []protocol.Stray{{Job: id}}},
	} {
		m := protocol.Message{Body: body}
		if !(tapFilter{jobs: []string{"other", "train-1"}}).passes(m) || (tapFilter{jobs: []string{"other"}}).passes(m) {
			t.Errorf("%s: tap --job does not tell by it", m.Kind())
		}
	}
}
