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
			return []RunConfig{f.runConfigFor(p, j, power.Choice{})}, protocol.Reason{}
		}
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
func (n *node) fitsWhenEmpty(j protocol.Job) bool {
	return int64(j.CPU) <= n.CPU && int64(j.Memory) <= n.Memory && j.GPUs <= n.GPUs &&
		(j.GPUs == 0 || n.GPUMemory == 0 || int64(j.GPUMemory) <= n.GPUMemory)
}

// runConfigFor returns how j runs on a pool under c; the zero Choice means without a cap.
func (f *Fleet) runConfigFor(p *pool, j protocol.Job, c power.Choice) RunConfig {
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
	if j.GPUs == 0 {
		return ways[0], why, true
	}
	if q, ok := f.quoteNode(now, j, "", j.Run); ok {
		return f.runConfigFor(f.poolOf(f.nodes[q.Node].Model), j, power.Choice{}), why, true
	}
	return ways[0], why, true
}

// A PlacementQuote describes where a job would be placed now, without placing it.
type PlacementQuote struct {
	FragmentationDelta protocol.Milli // change of the GPUs that typical jobs cannot use; negative: fewer
	Score              protocol.Milli // the placement policy's, of the node
}

// QuotePlacement returns where a job would be placed now on a model, or on any that it allows, to
// run for so long. False if there is no capacity now.
func (f *Fleet) QuotePlacement(now protocol.Time, j protocol.Job, model string, run time.Duration) (PlacementQuote, bool) {
	q, ok := f.quoteNode(now, j, model, run)
	if !ok {
		return PlacementQuote{}, false
	}
	return PlacementQuote{FragmentationDelta: protocol.Milli(q.DeltaF), Score: protocol.Milli(q.Score)}, true
}

// quoteNode returns the placement that StartRun would choose now.
func (f *Fleet) quoteNode(now protocol.Time, j protocol.Job, model string, run time.Duration) (q fgd.Quote, ok bool) {
	ok = f.tryWithReservations(now, j, run, f.reservedNode(j.ID), func(skip fgd.NodeSet) bool {
		q = f.cluster.QuoteExcept(fgdRequest(j, model), skip)
		return q.Fits
	})
	return q, ok
}

// idlePower returns the power of an awake node without jobs.
func (n *node) idlePower(f *Fleet) protocol.Milliwatts {
	return n.Host.IdlePower(f.poolOf(n.Model).gpu, n.GPUs)
}

// IdlePowerShare returns a job's share of an awake node's idle power, by the GPUs or CPUs that it
// uses (decision 0007). The node is not known when a bid is made, so the first of the pool stands for
// it.
func (f *Fleet) IdlePowerShare(j protocol.Job, model string) protocol.Milliwatts {
	p := f.poolOf(model)
	if p == nil || len(p.nodes) == 0 {
		p = &f.pools[0]
	}
	n := &f.nodes[p.nodes[0]]
	// Only what being awake adds: a sleeping node's power is drawn in any case.
	awake := n.idlePower(f) - n.Host.Asleep
	switch {
	case j.GPUs > 0 && n.GPUs > 0:
		return awake * protocol.Milliwatts(j.TotalGPUMilli()) / protocol.Milliwatts(n.GPUs*1000)
	case n.CPU > 0:
		return awake * protocol.Milliwatts(j.CPU) / protocol.Milliwatts(n.CPU)
	}
	return 0
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

// CapacityProfiles returns the free GPUs of each model by slot, from the slot of now on, if jobs
// end as planned; and how many of them are open to deferrable jobs, if headroom is kept. A job
// past its planned end counts until the next slot. Reservations count as used from their
// beginning. A cordoned node has nothing free, whatever ends there.
func (f *Fleet) CapacityProfiles(now protocol.Time, slot time.Duration, slots int) []protocol.CapacityProfile {
	var out []protocol.CapacityProfile
	f.headroomNodes()
	for i := range f.pools {
		p := &f.pools[i]
		if p.model == "" {
			continue
		}
		r := protocol.CapacityProfile{Model: p.model, From: now.Floor(slot), Slot: slot, Total: p.total}
		var headroom []int
		for _, n := range p.nodes {
			if f.nodes[n].isHeadroom {
				headroom = append(headroom, n)
			}
		}
		r.Free = f.freeGPUsBySlot(now, p.nodes, r, slots)
		if len(headroom) > 0 {
			r.ForDeferrable = slices.Clone(r.Free)
			for s, free := range f.freeGPUsBySlot(now, headroom, r, slots) {
				r.ForDeferrable[s] = max(r.ForDeferrable[s]-free, 0)
			}
		}
		out = append(out, r)
	}
	return out
}

// freeGPUsBySlot returns the free GPUs of some nodes by the slots of r, from the changes in each
// slot.
func (f *Fleet) freeGPUsBySlot(now protocol.Time, nodes []int, r protocol.CapacityProfile, slots int) []protocol.Milli {
	// index returns the slot of an instant, clipped to the profile.
	index := func(t protocol.Time) int { return min(max(int(t.Sub(r.From)/r.Slot), 0), slots) }
	ends := make([]protocol.Milli, slots+1)
	free := protocol.Milli(0)
	for _, i := range nodes {
		n := &f.nodes[i]
		if n.unschedulable {
			continue
		}
		// Free now: all GPUs less what others, running jobs and reservations hold.
		free += protocol.Milli(n.GPUs) * 1000
		for _, b := range n.others {
			free -= protocol.Milli(b.Request.TotalMilli())
		}
		for _, run := range n.jobs {
			free -= run.Job.TotalGPUMilli()
			ends[index(max(run.End, now+1).Ceil(r.Slot))] += run.Job.TotalGPUMilli()
		}
		for _, k := range n.reservations {
			ends[index(k.from)] -= k.job.TotalGPUMilli()
			ends[index(k.until.Ceil(r.Slot))] += k.job.TotalGPUMilli()
		}
	}
	// Changes add up from slot to slot; overbooked capacity counts as none.
	out := make([]protocol.Milli, slots)
	for s := range out {
		free += ends[s]
		out[s] = max(free, 0)
	}
	return out
}
