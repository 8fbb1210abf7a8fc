package scenarios

import (
	"context"
	"strings"
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
	awards := func(drains ...spec.Event) (within, outside int) {
		s := s
		s.Events = drains
		o := Options{Record: func(m protocol.Message) error {
			if _, ok := m.Body.(protocol.Award); ok && m.To == protocol.AgentParty(site) {
				if m.At > from && m.At <= to {
					within++
				} else {
					outside++
				}
			}
			return nil
		}}
		if _, err := Replay(context.Background(), s, PolicyAuction, new(membus.Bus), o); err != nil {
			t.Fatal(err)
		}
		return within, outside
	}
	if within, _ := awards(); within == 0 {
		t.Fatalf("%s wins nothing in that time without a drain: the test says nothing", site)
	}
	if within, outside := awards(spec.Event{Kind: spec.DrainSite, Name: site, At: from, Until: to}); within != 0 || outside == 0 {
		t.Errorf("drained, %s is awarded %d jobs in that time and %d at others; want none and some", site, within, outside)
	}
	if within, outside := awards(spec.Event{Kind: spec.DrainSite, Name: site}); within+outside != 0 {
		t.Errorf("drained throughout, %s is awarded %d jobs", site, within+outside)
	}
}

// In a live federation operators and networks do what events of a replay do; nodes that fail are the
// simulated cluster's own.
func TestALiveSiteTakesEventsOfNodesAlone(t *testing.T) {
	s := small(0)
	node := s.Sites[0].Nodes[0].Name
	for kind, want := range map[spec.EventKind]bool{spec.NodeDown: true, spec.SiteSilent: false, spec.DrainSite: false, spec.RemoveSite: false, spec.CancelJob: false} {
		s.Events = []spec.Event{{At: s.Start, Kind: kind, Name: node}}
		_, err := SimulateSite(s, s.Sites[0].Name, s.Start, s.End)
		if ok := err == nil; ok != want || !ok && !strings.Contains(err.Error(), "the event "+string(kind)+" of "+node+" is for replays only") {
			t.Errorf("%s: %v; want it taken: %v", kind, err, want)
		}
	}
}
