package capacity

import (
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A State is what a fleet has and does at an instant, for metrics.
type State struct {
	Pools            []PoolState         // by GPU model; nodes without GPUs have ""
	Idle, Fragmented protocol.Milli      // idle GPUs, and those of them that the usual jobs cannot use
	Runs, Capped     int                 // jobs that hold capacity, and those of them under a power cap
	WaitingGangs     int                 // with a reservation
	KeptGPUHours     protocol.Milli      // for them, until they start; others may use them meanwhile
	Power            protocol.Milliwatts // of nodes and jobs by the power model, without the facility's overhead and pods of others
}

// A PoolState is the GPUs of a model, and what jobs hold of them, in thousandths of a GPU.
type PoolState struct {
	Model      string
	GPUs, Held protocol.Milli
}

// StateAt returns the state at now. It costs a walk over nodes and runs.
func (f *Fleet) StateAt(now protocol.Time) (s State) {
	s.Idle, s.Fragmented = f.IdleGPUs()
	s.WaitingGangs = len(f.setsOn)
	for _, id := range slices.Sorted(maps.Keys(f.setsOn)) {
		if h := f.holes[id]; h != nil {
			s.KeptGPUHours += h.held
		}
	}
	for _, p := range f.pools {
		x := PoolState{Model: p.model}
		for _, i := range p.nodes {
			n := &f.nodes[i]
			x.GPUs += 1000 * protocol.Milli(n.GPUs)
			awake := len(n.jobs) > 0 || n.awakeUntil(now) != 0
			if s.Power += n.Host.Asleep; awake {
				s.Power += n.idle - n.Host.Asleep
			}
			for _, r := range n.jobs {
				x.Held += r.Job.TotalGPUMilli()
				if r.isFurtherPart {
					continue // the first part stands for the gang
				}
				if s.Runs++; r.RunConfig.Choice.Cap > 0 {
					s.Capped++
				}
				s.Power += r.RunConfig.Power
			}
		}
		s.Pools = append(s.Pools, x)
	}
	return s
}
