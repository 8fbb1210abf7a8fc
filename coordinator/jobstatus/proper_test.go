package jobstatus

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// Anybody may tell a coordinator anything. Only what he may say is shown.
func TestASiteSaysNothingInTheCoordinatorsName(t *testing.T) {
	bern := protocol.Party("agent/bern")
	for _, lie := range []protocol.Body{
		protocol.Reject{Job: "a"}, protocol.Settlement{Job: "a", Site: "oslo"}, protocol.Defer{Job: "a"}, protocol.CallForBids{Round: 9},
		protocol.Award{Job: "a", Epoch: 9}, protocol.Submit{Job: protocol.Job{ID: "b"}}, protocol.RegisterSite{Site: "oslo"},
	} {
		b := told(append(way()[:6], say(bern, protocol.Coordinator, lie))...)
		if j, _ := b.JobByID("a", noon.Add(time.Minute)); j.State != history.Running || len(b.AllJobs(noon.Add(time.Minute))) != 1 || len(b.RecentRounds()) != 1 || b.AllSites(noon.Add(time.Minute))[0].GPUs != 4 {
			t.Errorf("after %T of a site: %+v, %+v", lie, b.AllJobs(noon.Add(time.Minute)), b.AllSites(noon.Add(time.Minute)))
		}
	}
}
