package scenarios

import (
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// GPULoad returns the fraction of the fleets' GPU-hours in the arrival period that the
// jobs ask for, at the fleets' own speeds: 0.65 is 65 %. Report it beside savings:
// deferral needs free capacity.
func GPULoad(s spec.Scenario) float64 {
	asked, there := 0.0, 0.0
	for _, j := range s.Jobs {
		asked += float64(j.TotalGPUMilli()) / 1000 * j.Run.Hours()
	}
	for _, site := range s.Sites {
		for _, n := range site.Nodes {
			speed := 1.0
			if g, ok := power.DefaultTable().LookupModel(n.Model); ok {
				speed = float64(g.Speed) / 1000
			}
			there += float64(float64(n.GPUs)*speed) * s.End.Sub(s.Start).Hours()
		}
	}
	if there == 0 {
		return 0
	}
	return asked / there
}
