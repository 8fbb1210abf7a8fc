package jobstatus

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// jobOf returns how a job of a history stands: its state, and what was bid, planned and measured.
func jobOf(h *history.History, r *history.JobRecord, now protocol.Time, queues map[string]history.SiteQueue) Job {
	s := h.JobStateNow(r, now)
	j := Job{
		ID: r.Job.ID, Tenant: r.Job.Tenant, GPUs: gpusOf(r.Job), CPU: float64(r.Job.CPU) / 1000, Memory: float64(r.Job.Memory) / 1024,
		Arrived: r.Job.Arrival, Deadline: r.Job.Deadline, Rounds: r.Called, over: r.IsOver(), digest: r.Digest,
		State: s.State, Stopping: s.Stopping, Site: s.Site, Awarded: s.Awarded, Changed: s.Since, Start: s.Start, Why: string(s.Why.Code), Note: s.Why.Note,
	}
	for _, p := range h.PartStates(r, now) {
		j.Parts = append(j.Parts, Part{p.Part, p.State, p.Site})
	}
	if r.Job.IsDivided() {
		j.over = s.State.IsFinal()
	}
	if h := r.Hold; h != nil && !s.Awarded && !s.State.IsFinal() {
		j.Until = h.Until
		if saved, ok := r.SavingOfHold(); ok {
			j.Saving = saved.InDollars()
		}
	}
	if a := r.CurrentAward(); a != nil && s.Awarded {
		j.applyAward(r, a)
	}
	if d := r.Refusal; d != nil && j.State == history.Failed {
		j.Failed = d.Why.Note
	}
	if s.State == history.Preempted && j.Note == "" && len(r.Awards) > 0 {
		if p := r.Awards[len(r.Awards)-1].Preempted; p != nil {
			j.Note = cmp.Or(string(p.For), p.Owner)
		}
	}
	if place, before := queues[s.Site].PlaceOf(r.Job.ID); place > 0 {
		next := slices.Clone(before[max(0, len(before)-shownBefore):])
		slices.Reverse(next)
		j.Queue = &QueuePlace{Place: place, Of: len(queues[s.Site]), Before: next}
	}
	return j
}

// gpusOf returns the GPUs of a job, shares counted as such.
func gpusOf(j protocol.Job) float64 { return float64(j.TotalGPUMilli()) / 1000 }

// applyAward sets what follows from the award by which a job runs, is to run or ran: what was
// bid, and what was measured once its run ended.
func (j *Job) applyAward(r *history.JobRecord, a *history.Decision) {
	o := a.Option
	j.Epoch, j.Model, j.Finish = a.Epoch, o.Model, o.Finish
	j.Bid = figuresOf(protocol.Usage{Energy: o.Energy, Carbon: o.Carbon, Money: o.Money})
	// A later planned start moves the planned end as much; a measured start leaves it.
	start := o.Start
	for _, k := range a.Starts {
		if k.Planned {
			j.Finish += k.Start - start
		}
		start = k.Start
	}
	run := r.RunOf(a)
	if run == nil {
		return
	}
	if j.Node, j.Devices = run.Node, run.Devices; len(run.Places) > 0 {
		j.Nodes = run.NodeNames()
	}
	if run.Done == (history.MessageRef{}) {
		return
	}
	// What is settled replaces what was reported: the market may have corrected it.
	measured := run.Cost
	j.Finish, j.Failed, j.Estimated, j.Late = run.Ended, run.Failed, run.Estimated, r.EndedLate()
	if run.Settlement != (history.MessageRef{}) {
		measured = run.Settled.Counted
		j.Finish, j.Late, j.Estimated = measured.Finish, run.Settled.Late, run.Settled.Estimated
	}
	j.Measured = figuresOf(measured)
}

// figuresOf returns energy, carbon and cost, facility's share included, in the units of the API.
func figuresOf(x protocol.Usage) *Figures {
	return &Figures{x.Energy.InKWh(), x.Carbon.InKilograms(), x.Money.InDollars()}
}

// siteOf returns the newest state that a site reported, in the units of the API.
func siteOf(s *history.SiteRecord) Site {
	x := Site{Name: s.Site, Pools: s.Pools, Done: s.Settled, Drained: s.Drained, DrainedUntil: s.DrainedUntil(), Decommissioned: s.IsDecommissioned(), LastMessage: s.LastMessage(), Silent: s.SilentRounds}
	for _, p := range s.Pools {
		x.GPUs += p.GPUs
	}
	if m, ok := s.NewestMeter(); ok {
		x.Draw, x.DrawOfJobs, x.Metered = float64(m.MeanPower())/1000, float64(m.Total-m.Idle.IT)/3.6e6, m.Hour
	}
	return x
}
