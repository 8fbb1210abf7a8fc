package main

import (
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

func TestMessagesFindsEachMessageThatNamesAJob(t *testing.T) {
	const id protocol.JobID = "train-1"
	job := protocol.Job{ID: id}
	for _, body := range []protocol.Body{
		protocol.Submit{Job: job}, protocol.CallForBids{Jobs: []protocol.Job{job}}, protocol.Bids{Jobs: []protocol.JobBids{{Job: id}}},
		protocol.Award{Job: id}, protocol.Defer{Job: id}, protocol.Reject{Job: id}, protocol.Accept{Job: id}, protocol.Decline{Job: id},
		protocol.Confirm{Job: id}, protocol.Cancel{Job: id}, protocol.Launch{Job: job}, protocol.Started{Job: id}, protocol.Finished{Job: id},
		protocol.Interrupted{Job: id}, protocol.CompletedRun{Job: job}, protocol.UsageReport{Job: id}, protocol.Settlement{Job: id}, protocol.JobStatus{Job: id},
		protocol.JudgeRequest{Job: id}, protocol.JudgeAnswer{Job: id}, protocol.Inventory{Held: []protocol.FoundRunning{{Launch: protocol.Launch{Job: job}}}},
		protocol.Snapshot{Ended: []protocol.EndedJob{{Job: id}}}, protocol.Snapshot{Strays: []protocol.OrphanedRun{{Job: id}}},
	} {
		m := protocol.Message{Body: body}
		if !(messageFilter{jobs: []string{"other", "train-1"}}).matchesMessage(m) || (messageFilter{jobs: []string{"other"}}).matchesMessage(m) {
			t.Errorf("%s: messages --job does not find it", m.KindName())
		}
	}
}
