package history

import (
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// In a live view a submission counts only where the coordinator answered its sender, in the same step, that the job is
// on record.
func TestASubmissionCountsIfItsSenderWasToldThatItIsOnRecord(t *testing.T) {
	for _, tc := range []struct {
		name string
		to   protocol.Party
		body protocol.Body
		want bool
	}{
		{"acknowledged", protocol.Submitter, protocol.Confirm{Job: "a", Code: protocol.Acknowledged}, true},
		{"acknowledged to another", protocol.QueueParty("oslo"), protocol.Confirm{Job: "a", Code: protocol.Acknowledged}, false},
		{"another job", protocol.Submitter, protocol.Confirm{Job: "b", Code: protocol.Acknowledged}, false},
		{"closed", protocol.Submitter, protocol.Confirm{Job: "a", Code: protocol.JobClosed}, false},
		{"impossible", protocol.Submitter, protocol.Reject{Job: "a", Why: protocol.Reason{Code: protocol.FitsNoNode}}, true},
		{"a duplicate", protocol.Submitter, protocol.Reject{Job: "a", Why: protocol.Reason{Code: protocol.Duplicate}}, false},
	} {
		submitter, coordinator := protocol.Sender{Party: protocol.Submitter}, protocol.Sender{Party: protocol.Coordinator}
		h := New(Config{Live: true})
		h.AddStep([]protocol.Message{submitter.NewMessage(1, protocol.Coordinator, protocol.Submit{Job: protocol.Job{ID: "a"}})},
			[]protocol.Message{coordinator.NewMessage(1, tc.to, tc.body)})
		if got := h.jobs["a"] != nil; got != tc.want {
			t.Errorf("%s: the job is on record: %v; want %v", tc.name, got, tc.want)
		}
	}
}
