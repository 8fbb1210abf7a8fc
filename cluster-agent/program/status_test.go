package program

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/cluster-agent/signals"
	"github.com/gridbid/gridbid/protocol"
)

// Metrics show by what a site bids and what its machines hold; a quantity that nobody published is
// not shown.
func TestMetricsShowWhatTheAgentKnows(t *testing.T) {
	poller := &signals.Poller{Site: "oslo", Fixed: map[protocol.Quantity]float64{protocol.GridPrice: 61.5}}
	state := func(protocol.Time) capacity.State {
		return capacity.State{Pools: []capacity.PoolState{{Model: "", GPUs: 0}, {Model: "H100", GPUs: 8000, Held: 1500}}, Idle: 6500, Fragmented: 500, Runs: 2, Capped: 1, Power: 2_100_000}
	}
	s := agentStatus("oslo", poller, state, time.Now())
	if s.PriceUSDPerMWh == nil || *s.PriceUSDPerMWh != 61.5 || s.CarbonGramsPerKWh != nil || s.PUE != nil {
		t.Errorf("the grid is %v, %v, %v", s.PriceUSDPerMWh, s.CarbonGramsPerKWh, s.PUE)
	}
	if len(s.GPUs) != 1 || s.GPUs["H100"] != 8 || s.HeldGPUs["H100"] != 1.5 || s.IdleGPUs != 6.5 || s.FragmentedGPUs != 0.5 || s.RunningJobs != 2 || s.CappedJobs != 1 || s.PowerWatts != 2100 {
		t.Errorf("the machines are %+v", s)
	}
	if s := agentStatus("oslo", nil, state, time.Now()); s.PriceUSDPerMWh != nil || s.IdleGPUs != 6.5 {
		t.Errorf("without sources: %+v", s)
	}
}
