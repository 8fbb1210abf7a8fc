package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A drained site is awarded nothing from the instant of its drain to its end, and something before
// or after.
func TestADrainedSiteIsAwardedNothing(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 120})
	if err != nil {
		t.Fatal(err)
	}
	const site = "hydro-north"
	from, to := s.Start.Add(10*time.Minute), s.Start.Add(3*time.Hour)
	awards := func(o Options) (within, outside int) {
		o.Record = func(m protocol.Message) error {
			if _, ok := m.Body.(protocol.Award); ok && m.To == protocol.AgentParty(site) {
				if m.At > from && m.At <= to {
					within++
				} else {
					outside++
				}
			}
			return nil
		}
		if _, err := Replay(context.Background(), s, PolicyAuction, new(membus.Bus), o); err != nil {
			t.Fatal(err)
		}
		return within, outside
	}
	if within, _ := awards(Options{}); within == 0 {
		t.Fatalf("%s wins nothing in that time without a drain: the test says nothing", site)
	}
	if within, outside := awards(Options{Drain: SiteDrain{Site: site, From: from, To: to}}); within != 0 || outside == 0 {
		t.Errorf("drained, %s is awarded %d jobs in that time and %d at others; want none and some", site, within, outside)
	}
	if within, outside := awards(Options{Drain: SiteDrain{Site: site}}); within+outside != 0 {
		t.Errorf("drained throughout, %s is awarded %d jobs", site, within+outside)
	}
}
