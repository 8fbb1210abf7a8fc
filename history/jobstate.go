package history

import (
	"cmp"
	"slices"
	"sort"

	"github.com/gridbid/gridbid/protocol"
)

// A State is how a job stands, in the words in which people know it. Every view takes it from
// [History.JobStateAt] or [History.JobStateNow], so that they agree in what they say and count.
type State string

// States, in the order in which a job may pass through them. The last four are final.
const (
	Pending   State = "pending"   // on sale, and neither place nor start are planned
	Planned   State = "planned"   // to start at a known place and time, by an award or by the market's plan for held jobs
	Running   State = "running"   // on its devices
	Preempted State = "preempted" // its run was taken down to make room; so until it is awarded anew
	Done      State = "done"      // ran to its end
	Failed    State = "failed"    // ran, and its program failed, or what its site reported of the run cannot be true
	Cancelled State = "cancelled" // by its submitter or an operator, before or while it ran
	Refused   State = "refused"   // by the market: no site can run it, or it is malformed
)

// AllStates returns all states, in the order in which a job may pass through them.
func AllStates() []State {
	return []State{Pending, Planned, Running, Preempted, Done, Failed, Cancelled, Refused}
}

// IsFinal reports whether a job stays in the state.
func (s State) IsFinal() bool { return s == Done || s == Failed || s == Cancelled || s == Refused }

// A JobState is how one job stands at an instant.
type JobState struct {
	State State         // "" before the job began
	Since protocol.Time // of the newest fact that says so
	Site  string        // that runs or ran it, is to run it by an award, or would by a plan; "" if there is none
	// Start is planned until the job runs. Of a job that runs it is measured only where its site
	// reports starts, else it is as planned.
	Start    protocol.Time
	Awarded  bool            // Site has it by an award; without, Site and Start are a plan, which every round may change
	Stopping bool            // its site was asked to stop it
	Why      protocol.Reason // of what led here; the zero Reason where nothing was decided
}

// everything is when all that is on the stream is known.
const everything = protocol.Time(1<<63 - 1)

// JobStateAt returns how a job of this history stood at an instant: as it was known then, but for
// when a run ended.
func (b *History) JobStateAt(r *JobRecord, at protocol.Time) JobState { return b.jobState(r, at, at) }

// JobStateNow returns how a job of this history stands by all that is known. Where no start was
// reported, now tells whether a planned one has come.
func (b *History) JobStateNow(r *JobRecord, now protocol.Time) JobState {
	return b.jobState(r, everything, now)
}

// jobState returns how a job stood at an instant by what was known until known. The newest award
// that holds decides; without one the job is on sale.
func (b *History) jobState(r *JobRecord, known, now protocol.Time) JobState {
	switch begin := r.BeginTime(); {
	case begin > known:
		return JobState{}
	case r.Refusal != nil && r.Refusal.Message.At <= known:
		return r.refusedState()
	case r.Job.IsDivided():
		return b.wholeState(r, known, now)
	}
	var a *Decision
	for i := range r.Awards {
		if r.Awards[i].Message.At <= known {
			a = &r.Awards[i]
		}
	}
	if a == nil {
		return b.onSale(r, known, JobState{State: Pending, Since: r.BeginTime()})
	}
	if a.Released.At != 0 && a.Released.At <= known {
		s := JobState{State: Pending, Since: a.Released.At, Why: a.Declined}
		if a.Preempted != nil {
			s.State = Preempted
		}
		return b.onSale(r, known, s)
	}
	end, paused := r.EndOf(a)
	run := r.RunOf(a)
	reported := known == everything && run != nil && run.Done != (MessageRef{})
	switch over := reported || end != 0 && (end <= now || known == everything); {
	case over && paused: // what is left of it is on sale
		return b.onSale(r, known, JobState{State: Pending, Since: end})
	case over:
		return r.endedState(a, end)
	}
	s := JobState{State: Planned, Since: a.Message.At, Site: a.Site, Start: a.StartAsOf(known), Awarded: true, Why: a.Why}
	s.Stopping = r.Stopping != (MessageRef{}) && r.Stopping.At <= known
	accepted := a.acceptedBy(known)
	s.Since = max(s.Since, accepted)
	if a.isStartMeasured(known) || accepted != 0 && s.Start != 0 && s.Start <= now && !b.reportsStarts(a.Site, known) {
		s.State, s.Since = Running, s.Start
	}
	return s
}

// reportsStarts reports whether a site was known at an instant to report when jobs start. A job of
// another counts as running from its planned start on.
func (b *History) reportsStarts(site string, known protocol.Time) bool {
	s := b.sites[site]
	return s != nil && s.startsReported != 0 && s.startsReported <= known
}

// isStartMeasured reports whether the start of an award was measured, as known at an instant.
func (d *Decision) isStartMeasured(known protocol.Time) bool {
	return slices.ContainsFunc(d.Starts, func(k KnownStart) bool { return !k.Planned && k.Known <= known })
}

// refusedState returns how a job stands that the market will not run.
func (r *JobRecord) refusedState() JobState {
	return JobState{State: StateOfRefusal(r.Refusal.Why.Code), Since: r.Refusal.Message.At, Why: r.Refusal.Why}
}

// StateOfRefusal returns the state in which the market's message that it will not run a job leaves
// the job: one message serves for jobs that it refuses, and for those that people cancelled.
func StateOfRefusal(why protocol.Code) State {
	switch why {
	case protocol.Cancelled, protocol.SiteDecommissioned: // with its site, at the word of an operator
		return Cancelled
	case protocol.ImpossibleBid:
		return Failed
	}
	return Refused
}

// endedState returns how a job stands whose run by an award has ended.
func (r *JobRecord) endedState(a *Decision, end protocol.Time) JobState {
	run := r.RunOf(a)
	s := JobState{State: Done, Since: end, Site: a.Site, Start: run.Started, Awarded: true, Why: a.Why}
	switch {
	case r.Stopping != (MessageRef{}): // that its program was killed is no failure of its own
		s.State, s.Stopping, s.Why = Cancelled, true, protocol.Reason{Code: protocol.Cancelled}
	case run.Failed != "":
		s.State, s.Why = Failed, protocol.Reason{Note: run.Failed}
	}
	return s
}

// onSale returns how a job stands that may be awarded: planned, if its last hold says where and
// when it is to run. A preempted job stays preempted, with its plan.
func (b *History) onSale(r *JobRecord, known protocol.Time, s JobState) JobState {
	h := b.holdAsOf(r, known)
	if h.Kind != "hold" {
		return s
	}
	s.Since, s.Why = h.At, h.Why
	if h.Site != "" && h.Start != 0 {
		if s.Site, s.Start = h.Site, h.Start; s.State == Pending {
			s.State = Planned
		}
	}
	return s
}

// holdAsOf returns the newest decision on a job that was known, if that is a hold. A live view keeps
// only the hold in force.
func (b *History) holdAsOf(r *JobRecord, known protocol.Time) DecisionRef {
	if h := r.Hold; h != nil && h.Message.At <= known {
		return DecisionRef{Kind: "hold", At: h.Message.At, Site: h.Site, Start: h.Start, Until: h.Until, Why: h.Why}
	}
	later := sort.Search(len(r.Decisions), func(i int) bool { return b.decisions[b.byNumber[r.Decisions[i]]].At > known })
	if later == 0 || known == everything { // with everything known, Hold says all
		return DecisionRef{}
	}
	return b.decisions[b.byNumber[r.Decisions[later-1]]]
}

// acceptedBy returns when the site accepted the award, or reported on its run, as known at an instant;
// 0: not at all.
func (d *Decision) acceptedBy(known protocol.Time) protocol.Time {
	if len(d.Starts) > 1 && d.Starts[1].Known <= known { // the first is of the award itself
		return d.Starts[1].Known
	}
	return 0
}

// A SiteQueue lists the jobs that are to start at one site, soonest first. Equal starts are by
// arrival, then by id.
type SiteQueue []protocol.JobID

// PlaceOf returns the place of a job in the queue, from 1, and the jobs before it; 0 if it is not
// in it.
func (q SiteQueue) PlaceOf(id protocol.JobID) (place int, before []protocol.JobID) {
	i := slices.Index(q, id)
	return i + 1, q[:max(i, 0)]
}

// SiteQueuesAt returns the queue of each site as it was known at an instant: jobs that the site was
// awarded and has not started, and held jobs that are planned there.
func (b *History) SiteQueuesAt(at protocol.Time) map[string]SiteQueue { return b.siteQueues(at, at) }

// SiteQueuesNow returns the queue of each site by all that is known.
func (b *History) SiteQueuesNow(now protocol.Time) map[string]SiteQueue {
	return b.siteQueues(everything, now)
}

// siteQueues sorts the jobs with a planned start by site and start.
func (b *History) siteQueues(known, now protocol.Time) map[string]SiteQueue {
	type entry struct {
		job protocol.Job
		JobState
	}
	var all []entry
	for _, e := range b.entries() {
		if s := b.jobState(&e.rec, known, now); s.Start != 0 && (s.State == Planned || s.State == Preempted) {
			all = append(all, entry{e.rec.Job, s})
		}
	}
	slices.SortFunc(all, func(x, y entry) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.job.Arrival, y.job.Arrival), cmp.Compare(x.job.ID, y.job.ID))
	})
	queues := make(map[string]SiteQueue)
	for _, x := range all {
		queues[x.Site] = append(queues[x.Site], x.job.ID)
	}
	return queues
}

// A SiteUse is what jobs take of a site at an instant.
type SiteUse struct {
	Held    protocol.Milli // GPUs, by running jobs
	Running int            // jobs
	Planned int            // jobs that are to start there: by an award, or by the plan for held jobs
}

// CountJobsAt returns how many jobs were in each state and what they took of each site, as known at
// an instant. A live view knows only how they stand now.
func (b *History) CountJobsAt(at protocol.Time) (states map[State]int, sites map[string]SiteUse) {
	known := at
	if b.cfg.Live {
		known = everything
	}
	states, sites = make(map[State]int), make(map[string]SiteUse)
	for _, e := range b.entries() {
		s := b.jobState(&e.rec, known, at)
		use := sites[s.Site]
		switch s.State {
		case "": // it had not begun
			continue
		case Running:
			use.Running++
			held := e.rec.Job
			if e.rec.Run != nil {
				held = e.rec.JobIn(e.rec.Run)
			}
			use.Held += held.TotalGPUMilli()
		case Planned:
			use.Planned++
		}
		states[s.State]++
		sites[s.Site] = use
	}
	return states, sites
}

// entries returns all jobs in the order in which they began; a live view, which keeps one of each
// id, by id.
func (b *History) entries() []*jobEntry {
	if !b.cfg.Live {
		return b.inOrder
	}
	all := make([]*jobEntry, 0, len(b.jobs))
	for _, id := range b.JobIDs() {
		all = append(all, b.jobs[id])
	}
	return all
}
