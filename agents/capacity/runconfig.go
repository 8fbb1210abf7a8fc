package capacity

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// RunConfigs returns how a job could run if every node were empty: one configuration per allowed
// GPU model and power cap. If there is none, why gives the reason.
func (f *Fleet) RunConfigs(j protocol.Job) (ways []RunConfig, why protocol.Reason) {
	return f.AppendRunConfigs(nil, &j)
}

// AppendRunConfigs appends the result of RunConfigs to ways, which is empty.
func (f *Fleet) AppendRunConfigs(ways []RunConfig, j *protocol.Job) (_ []RunConfig, why protocol.Reason) {
	if j.IsGang() {
		return f.gangConfigs(ways, j)
	}
	why = protocol.Reason{Code: protocol.NoSuchGPU}
	for i := range f.pools {
		p := &f.pools[i]
		if j.GPUs > 0 && (p.model == "" || len(j.Models) > 0 && !slices.Contains(j.Models, p.model)) {
			continue
		}
		// Where no model fits, the reason is the most specific one: the model exists but is too small.
		if !slices.ContainsFunc(p.nodes, func(n int) bool { return f.nodes[n].fitsWhenEmpty(j) }) {
			why = protocol.Reason{Code: protocol.FitsNoNode}
			continue
		}
		// Jobs without GPUs have neither model nor caps: the first pool that fits stands for all.
		if j.GPUs == 0 {
			return append(ways, f.runConfigFor(p, j, power.Choice{})), protocol.Reason{}
		}
		ways = slices.Grow(ways, len(p.choices))
		for _, c := range p.choices {
			ways = append(ways, f.runConfigFor(p, j, c))
		}
	}
	if len(ways) > 0 {
		why = protocol.Reason{}
	}
	return ways, why
}

// fitsWhenEmpty reports whether an empty node could run j.
func (n *node) fitsWhenEmpty(j *protocol.Job) bool {
	return int64(j.CPU) <= n.CPU && int64(j.Memory) <= n.Memory && j.GPUs <= n.GPUs &&
		(j.GPUs == 0 || n.GPUMemory == 0 || int64(j.GPUMemory) <= n.GPUMemory)
}

// runConfigFor returns how j runs on a pool under c; the zero Choice means without a cap.
func (f *Fleet) runConfigFor(p *pool, j *protocol.Job, c power.Choice) RunConfig {
	w := RunConfig{Choice: c}
	if j.GPUs > 0 {
		// The first choice is the one without a cap.
		w.Model = p.model
		if c == (power.Choice{}) {
			w.Choice = p.choices[0]
		}
	}
	w.Run = w.Choice.RunTime(j.Run)
	w.Power = power.JobPower(p.gpu, w.Choice, f.nodes[p.nodes[0]].Host, j.TotalGPUMilli(), j.CPU)
	return w
}

// Default returns how a job runs if the agent chooses neither model nor cap: on the node that the
// placement policy would take now, or else on the first model that fits.
func (f *Fleet) Default(now protocol.Time, j protocol.Job) (RunConfig, protocol.Reason, bool) {
	ways, why := f.RunConfigs(j)
	if len(ways) == 0 {
		return RunConfig{}, why, false
	}
	switch {
	case j.GPUs == 0:
		return ways[0], why, true
	case j.IsGang(): // on one model: the first on which it could start now
		for _, w := range ways {
			if _, ok := f.quoteGang(now, &j, w.Model, w.Run); ok {
				return w, why, true
			}
		}
		return ways[0], why, true
	}
	if q, ok := f.quoteNode(now, j, "", j.Run); ok {
		return f.runConfigFor(f.poolOf(f.nodes[q.Node].Model), &j, power.Choice{}), why, true
	}
	return ways[0], why, true
}

// A PlacementQuote describes where a job would be placed now, without placing it.
type PlacementQuote struct {
	FragmentationDelta protocol.Milli // change of the GPUs that typical jobs cannot use; negative: fewer
	Score              protocol.Milli // the placement policy's, of the node

	WakeTime   time.Duration       // until the node is awake
	AddedAwake []Span              // when the run keeps the node awake and nothing else does
	SleepPower protocol.Milliwatts // that the node saves asleep; 0: it never sleeps
}

// QuotePlacement returns where a job would be placed now on a model, or on any that it allows, to
// run for so long. False if there is no capacity now.
func (f *Fleet) QuotePlacement(now protocol.Time, j protocol.Job, model string, run time.Duration) (PlacementQuote, bool) {
	if j.IsGang() {
		return f.quoteGangPlacement(now, &j, model, run)
	}
	q, ok := f.quoteNode(now, j, model, run)
	if !ok {
		return PlacementQuote{}, false
	}
	n := &f.nodes[q.Node]
	p := PlacementQuote{FragmentationDelta: protocol.Milli(q.DeltaF), Score: protocol.Milli(q.Score), WakeTime: n.wakeTime(now), SleepPower: n.sleepPower()}
	n.addedAwakeTime(now, now, now.Add(p.WakeTime+run), &p.AddedAwake)
	return p, true
}

// quoteNode returns the placement that StartRun would choose now.
func (f *Fleet) quoteNode(now protocol.Time, j protocol.Job, model string, run time.Duration) (q fgd.Quote, ok bool) {
	ok = f.tryWithReservations(now, &j, model, run, f.reservedNode(j.ID), func(skip fgd.NodeSet) bool {
		q = f.cluster.QuoteExcept(fgdRequest(j, model), skip)
		return q.Fits
	})
	return q, ok
}

// heldGPUMemory returns the memory of each GPU that jobs use, in MiB.
func (n *node) heldGPUMemory() (mib [fgd.MaxGPUs]int64) {
	for _, r := range n.jobs {
		for d := range mib {
			if r.placement.Devices.Has(d) {
				mib[d] += r.placement.Request.GPUMemory
			}
		}
	}
	return mib
}
