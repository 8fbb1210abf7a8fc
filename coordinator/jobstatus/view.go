package jobstatus

import (
	"cmp"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A State is how a job stands.
type State string

// States of a job.
const (
	Waiting  State = "waiting"  // for a round
	Awarded  State = "awarded"  // to a site that has not answered
	Placed   State = "placed"   // with a site, which runs it or keeps it in its queue
	Stopping State = "stopping" // placed, and to be stopped
	// Preempted is a job whose run its site took down to make room, until it is awarded.
	Preempted State = "preempted"
	Done      State = "done"
	Refused   State = "refused"
)

// AllStates returns all states, in the order in which a job passes through them.
func AllStates() []State {
	return []State{Waiting, Awarded, Placed, Stopping, Preempted, Done, Refused}
}

// jobOf returns how a job stands by its record. What is newer replaces what is older: the last
// award, then a hold after it, then a refusal, which is final.
func jobOf(r *history.JobRecord) Job {
	j := Job{
		ID: r.Job.ID, Tenant: r.Job.Tenant, State: Waiting, GPUs: r.Job.GPUs, Arrived: r.Job.Arrival, Deadline: r.Job.Deadline,
		Changed: r.Submitted.At, Rounds: r.Called, digest: r.Digest,
	}
	if n := len(r.Awards); n > 0 {
		j.applyAward(r, &r.Awards[n-1])
	}
	// A record has a hold only while it waits by one. A preempted job that is held
	// stays Preempted until it is awarded.
	if h := r.Hold; h != nil {
		if j.Changed = h.Message.At; r.State == history.Preempted {
			j.State = Preempted
		} else {
			j.State = Waiting
		}
		j.Until, j.Site, j.Start, j.Finish, j.Model = h.Until, h.Site, h.Start, 0, ""
		j.Why, j.Note = string(h.Why.Code), h.Why.Note
	}
	if d := r.Refusal; d != nil {
		j.State, j.Changed = Refused, d.Message.At
		j.Why, j.Note = string(d.Why.Code), d.Why.Note
	}
	return j
}

// applyAward sets what follows from the newest award of a job: what was bid, then how the site
// answered, then what was measured. Each later fact replaces the one before.
func (j *Job) applyAward(r *history.JobRecord, a *history.Decision) {
	o := a.Option
	j.State, j.Changed = Awarded, a.Message.At
	j.Site, j.Epoch, j.Model, j.Start, j.Finish = a.Site, a.Epoch, o.Model, o.Start, o.Finish
	j.Why, j.Note = string(a.Why.Code), a.Why.Note
	j.setUsage(protocol.Usage{Energy: o.Energy, Carbon: o.Carbon, Money: o.Money})
	// A later planned start moves the planned end as much; a measured start leaves it.
	for _, k := range a.Starts {
		if k.Planned {
			j.Finish += k.Start - j.Start
		}
		j.Start = k.Start
	}
	run := r.RunOf(a)
	switch {
	case a.Answer == "decline":
		j.State, j.Changed = Waiting, a.Answered.At
		j.Why, j.Note = string(a.Declined.Code), a.Declined.Note
		if a.Declined.Code == protocol.SiteDecommissioned {
			j.Site = ""
		}
		return
	case a.Preempted != nil:
		j.State, j.Changed = Preempted, a.Released.At
		j.Why, j.Note = string(a.Declined.Code), cmp.Or(a.Declined.Note, string(a.Preempted.For), a.Preempted.Owner)
		return
	case a.Expired:
		j.State, j.Changed = Waiting, a.Released.At
		return
	// A run that was reported done was accepted, even if the accept is missing.
	case a.Answer == "accept", run != nil && run.Done != (history.MessageRef{}):
		j.State, j.Changed = Placed, a.Answered.At
	}
	stopping := r.Stopping != (history.MessageRef{})
	if stopping {
		j.State = Stopping
	}
	if run == nil || run.Done == (history.MessageRef{}) {
		return
	}
	j.Finish, j.Failed = run.Ended, run.Failed
	// A job counts as done when it is settled, as its report may be rejected until then.
	if run.Settlement == (history.MessageRef{}) {
		return
	}
	j.Changed = run.Settlement.At
	if stopping {
		j.Why, j.Note = string(protocol.Cancelled), "its site was asked to stop it"
	}
	if run.Paused { // what is left of it is on sale
		j.State = Waiting
		return
	}
	j.State = Done
	j.setUsage(run.Settled.Counted)
	j.Finish, j.Late, j.Estimated = run.Settled.Counted.Finish, run.Settled.Late, run.Settled.Estimated
}

// setUsage sets energy, carbon and cost, facility's share included, in the units of the API.
func (j *Job) setUsage(x protocol.Usage) {
	j.Energy, j.Carbon, j.Money = x.Energy.InKWh(), x.Carbon.InKilograms(), x.Money.InDollars()
}

// siteOf returns the newest state that a site reported, in the units of the API: GPUs, dollars
// per MWh, grams of CO2e per kWh.
func siteOf(s *history.SiteRecord) Site {
	x := Site{Name: s.Site, Pools: s.Pools, Done: s.Settled, Drained: s.Drained, Decommissioned: s.IsDecommissioned(), LastMessage: s.LastMessage(), Silent: s.SilentRounds}
	for _, p := range s.Pools {
		x.GPUs += p.GPUs
	}
	// Free GPUs of the slot in which the bid was sent, over all models.
	for _, r := range s.Bid.Room {
		if i := int(s.Bid.At.Sub(r.From) / max(r.Slot, time.Millisecond)); i >= 0 && i < len(r.Free) {
			x.Free += float64(r.Free[i]) / 1000
		}
	}
	// The first value of each series is that of the current hour.
	if g := s.Bid.Grid; len(g.Price) > 0 {
		x.Price = g.Price[0].InDollars() * 1000
	}
	if g := s.Bid.Grid; len(g.Carbon) > 0 {
		x.Carbon = float64(g.Carbon[0]) / 1000
	}
	if g := s.Bid.Grid; len(g.PUE) > 0 {
		x.PUE = float64(g.PUE[0]) / 1000
	}
	return x
}
