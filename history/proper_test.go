package history

import (
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// Anybody may tell a coordinator anything. Only what he may say is recorded.
func TestASiteSaysNothingInTheCoordinatorsName(t *testing.T) {
	for _, lie := range []protocol.Body{
		protocol.Reject{Job: "a"}, protocol.Settlement{Job: "a", Site: "oslo"}, protocol.Defer{Job: "a", Round: 1}, protocol.CallForBids{Round: 9},
		protocol.Award{Job: "a", Epoch: 9}, protocol.Submit{Job: job("b")}, protocol.RegisterSite{Site: "oslo"}, protocol.Launch{Job: job("a"), Epoch: 1},
	} {
		s := &stage{now: noon}
		s.hello("oslo")
		s.submit(job("a"))
		s.call(1, job("a"))
		s.say("agent/bern", protocol.Coordinator, lie)
		b := s.book(Config{})
		r, _ := b.LatestJob("a")
		if r.phase != phaseWaiting || r.FullRounds[0].Decision.Kind != "" || len(b.JobIDs()) != 1 || len(b.RoundRecords()) != 1 || len(b.SiteRecords()[0].Pools) == 0 || b.hasLaunches || len(b.CheckInvariants(nil)) != 0 {
			t.Errorf("after %T of a site: %+v, %v", lie, r, b.CheckInvariants(nil))
		}
	}
}
