package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/sim/executor"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// liveWakeTime is how long a simulated node of a live federation takes to wake by default. The
// minutes of a replay would pass in real time here, before the first job of each node starts.
const liveWakeTime = time.Second

// A SimulatedSite is one site of a scenario for a live federation: what it is made
// of, and the parties that simulate its cluster and its grid.
type SimulatedSite struct {
	runtime.SiteConfig
	Executor runtime.LocalParty
	Signals  runtime.LocalParty
}

// Build returns the parties of the site. They log their events in a folder.
func (s SimulatedSite) Build(folder string) (runtime.Config, error) {
	s.Folder = folder
	return runtime.BuildSite(s.SiteConfig, s.Executor, s.Signals)
}

// SimulateSite simulates one site of a scenario for a live federation, from start.
// Its grid repeats its last day until a time. Its nodes wake in liveWakeTime, unless the
// scenario says how long they take. A site that misreports its bids is an error, and so is an event
// that is not of a node: only replays show what that does.
func SimulateSite(s spec.Scenario, name string, start, until protocol.Time) (SimulatedSite, error) {
	i := slices.IndexFunc(s.Sites, func(x spec.Site) bool { return x.Name == name })
	if i < 0 {
		return SimulatedSite{}, fmt.Errorf("scenarios: %s has no site %q", s.Name, name)
	}
	site := s.Sites[i]
	if !site.Bids.IsHonest() {
		return SimulatedSite{}, fmt.Errorf("scenarios: site %s: bids: what a site misreports is for replays only: remove it from the scenario", name)
	}
	if err := CheckLiveEvents(s); err != nil {
		return SimulatedSite{}, err
	}
	site.Signals = repeatConstantsHourly(site.Signals)
	site.Host.WakeTime = cmp.Or(site.Host.WakeTime, liveWakeTime)
	p, err := simulateSite(s, site, SignalForecasts, start, until)
	if err != nil {
		return SimulatedSite{}, fmt.Errorf("scenarios: site %s: %w", name, err)
	}
	return SimulatedSite{
		SiteConfig: runtime.SiteConfig{
			Site: name, Nodes: NodesOfSite(site), Power: power.DefaultTable(), Forecast: SignalForecasts.forecastConfig(site, nil), Terms: site.Terms, Location: site.Location, Services: true, WakesAhead: true,
		},
		Executor: runtime.LocalParty{Machine: executor.NewDurableSimExecutor(name, p.Executor)},
		Signals:  runtime.LocalParty{Machine: p.SignalPublisher},
	}, nil
}

// CheckLiveEvents returns an error if a scenario has an event that no simulated cluster of a live federation
// can make happen: one that is not of a node.
func CheckLiveEvents(s spec.Scenario) error {
	for _, e := range s.Events {
		if e.Kind != spec.NodeDown {
			return fmt.Errorf("scenarios: %s: the event %s of %s is for replays only: remove it, as in a live federation operators and networks do it", s.Name, e.Kind, e.Name)
		}
	}
	return nil
}

// repeatConstantsHourly repeats a constant quantity for each hour: an agent that runs for long no
// longer trusts a value that was published once, at the start.
func repeatConstantsHourly(all map[protocol.Quantity][]protocol.Point) map[protocol.Quantity][]protocol.Point {
	all = maps.Clone(all)
	for what, points := range all {
		if len(points) == 1 {
			all[what] = append(slices.Clone(points), shiftPoints(points, time.Hour)...)
		}
	}
	return all
}
