// Package jobstatus is what a coordinator shows of a market that goes on: how each
// job stands, what each site offers, what the last rounds decided. It is a view of a
// live history, which forgets what is long over, so that it does not grow with the
// age of the market.
package jobstatus

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Job is how one job stands. Times are RFC 3339 in JSON; a time that is not known is left out.
type Job struct {
	ID       protocol.JobID `json:"id"`
	Tenant   string         `json:"tenant,omitempty"`
	State    history.State  `json:"state"`
	Stopping bool           `json:"stopping,omitempty"` // its site was asked to stop it
	Site     string         `json:"site,omitempty"`     // that has it, or where the plan would run it
	Awarded  bool           `json:"awarded,omitempty"`  // the site has it; without, the plan may change
	Node     string         `json:"node,omitempty"`     // where known
	Devices  []int          `json:"devices,omitempty"`  // of the node's GPUs, where known
	Nodes    []string       `json:"nodes,omitempty"`    // of a job of several pods: all its nodes, where known
	Model    string         `json:"model,omitempty"`    // of its GPUs
	GPUs     float64        `json:"gpus"`               // a share of one is below 1
	CPU      float64        `json:"cpu_cores"`
	Memory   float64        `json:"memory_gib"`
	Arrived  protocol.Time  `json:"arrived"`
	Deadline protocol.Time  `json:"deadline,omitzero"`
	Changed  protocol.Time  `json:"changed,omitzero"` // of the newest fact about its state
	Start    protocol.Time  `json:"start,omitzero"`   // planned, then measured
	Finish   protocol.Time  `json:"finish,omitzero"`  // planned, then measured
	Until    protocol.Time  `json:"until,omitzero"`   // when it is called again
	Queue    *QueuePlace    `json:"queue"`            // null: it is not to start anywhere, or runs
	Epoch    uint64         `json:"epoch,omitempty"`
	Rounds   int            `json:"rounds"`
	Why      string         `json:"why,omitempty"` // of the last decision, in a code
	Note     string         `json:"note,omitempty"`
	Saving   float64        `json:"plan_saves_usd,omitempty"` // the plan of a held job, against a start now
	Failed   string         `json:"failed,omitempty"`         // how its program failed
	Late     bool           `json:"late,omitempty"`
	// Estimated says that Measured was not metered, or not all of it.
	Estimated bool `json:"estimated,omitempty"`

	Bid      *Figures `json:"bid"`      // of the award in force; null: it has none
	Measured *Figures `json:"measured"` // null: its run has not ended

	Parts []Part `json:"parts,omitempty"` // of a job whose parts may be at different sites

	Events []Event `json:"events,omitempty"` // of one job that is asked for: what happened to it, oldest first

	over   bool   // no message can change it any more
	digest uint64 // of its submission
}

// A Part is how one part of a job stands. It is a job of its own, of that id.
type Part struct {
	ID    protocol.JobID `json:"id"`
	State history.State  `json:"state"`
	Site  string         `json:"site,omitempty"`
}

// Figures are energy, carbon and cost of one job, facility's share included.
type Figures struct {
	Energy float64 `json:"energy_kwh"`
	Carbon float64 `json:"carbon_kg"`
	Money  float64 `json:"cost_usd"`
}

// An Event is one thing that happened to a job, perhaps several times in a row.
type Event struct {
	Reason history.JobEventKind  `json:"reason"`
	First  protocol.Time         `json:"first"`
	Last   protocol.Time         `json:"last"`
	Count  int                   `json:"count"`
	Site   string                `json:"site,omitempty"`
	Start  protocol.Time         `json:"start,omitzero"` // planned
	Until  protocol.Time         `json:"until,omitzero"` // of Held: it is called again then
	Why    protocol.Code         `json:"why,omitempty"`
	Note   string                `json:"note,omitempty"`
	Paid   protocol.Microdollars `json:"paid_microdollars,omitempty"`
}

// Record returns the event as history has it.
func (e Event) Record() history.JobEvent {
	return history.JobEvent{
		Kind: e.Reason, First: e.First, At: e.Last, Times: e.Count, Site: e.Site, Start: e.Start, Until: e.Until,
		Why: protocol.Reason{Code: e.Why, Note: e.Note}, Paid: e.Paid,
	}
}

// eventsOf returns the events of a job as the API shows them.
func eventsOf(r *history.JobRecord) (all []Event) {
	for _, e := range r.Events {
		all = append(all, Event{e.Kind, e.First, e.At, e.Times, e.Site, e.Start, e.Until, e.Why.Code, e.Why.Note, e.Paid})
	}
	return all
}

// StateRecord returns the state of the job as history has it.
func (j Job) StateRecord() history.JobState {
	return history.JobState{
		State: j.State, Since: j.Changed, Site: j.Site, Start: j.Start, Awarded: j.Awarded, Stopping: j.Stopping,
		Why: protocol.Reason{Code: protocol.Code(j.Why), Note: j.Note},
	}
}

// A QueuePlace says when a job's turn comes among those that are to start at its site.
type QueuePlace struct {
	Place  int              `json:"place"` // from 1
	Of     int              `json:"of"`
	Before []protocol.JobID `json:"before,omitempty"` // the last of them, nearest first; at most shownBefore
}

// shownBefore bounds the jobs that a QueuePlace names: a person asks who is next, and the list of
// jobs has the rest.
const shownBefore = 5

// IsSubmittedBy reports whether s is the submission of this job, sent once more: its digest is
// the same. Another submission under the same id is a duplicate.
func (j Job) IsSubmittedBy(s protocol.Submit) bool { return j.digest == s.Digest() }

// HasEnded reports whether the job has come to a final state.
func (j Job) HasEnded() bool { return j.State.IsFinal() }

// IsOver reports whether the job has ended and is settled, so that its id is free.
func (j Job) IsOver() bool { return j.over }

// A Site is the newest state that a site reported. Price, carbon and PUE are zero before its
// first bid.
type Site struct {
	Name           string          `json:"name"`
	Pools          []protocol.Pool `json:"-"`
	GPUs           int             `json:"gpus"`
	Held           float64         `json:"held_gpus"`         // now, by running jobs
	Free           float64         `json:"free_gpus"`         // that no job of the market holds
	Running        int             `json:"running"`           // jobs, now
	Planned        int             `json:"planned"`           // jobs that it has and has not started
	Placed         int             `json:"placed"`            // jobs that it has
	LastEnd        protocol.Time   `json:"last_end,omitzero"` // when the last of these is to end
	Done           int             `json:"done"`              // jobs that it has finished
	Price          float64         `json:"price_usd_mwh"`     // of this hour
	Carbon         float64         `json:"carbon_g_kwh"`      // of this hour
	PUE            float64         `json:"pue"`               //
	Drained        bool            `json:"drained,omitempty"` // gets no more jobs
	DrainedUntil   protocol.Time   `json:"drained_until,omitzero"`
	Decommissioned bool            `json:"gone,omitempty"`         // an operator said that it will not come back
	LastMessage    protocol.Time   `json:"heard,omitzero"`         // last; with the API also heartbeats, and left out while this leader has heard nothing
	Silent         int             `json:"silent"`                 // rounds in a row that it did not answer
	Draw           float64         `json:"power_w,omitempty"`      // drawn: the mean of the last metered hour
	DrawOfJobs     float64         `json:"jobs_power_w,omitempty"` // of that, by jobs, with the facility's share: what a cap counts
	Metered        protocol.Time   `json:"power_of"`               // begin of that hour; "never" without
	PowerCap       float64         `json:"power_cap_w,omitempty"`  // by the operators' policy; 0: none
	Condition
}

// A Condition is how a site stands, since when and why.
type Condition struct {
	State protocol.SiteState `json:"state"`
	Since protocol.Time      `json:"since"`
	Until protocol.Time      `json:"until,omitzero"` // of a drain or a pause with an end
	Why   protocol.Code      `json:"reason,omitempty"`
	Note  string             `json:"note,omitempty"`
	By    string             `json:"by,omitempty"` // the operator
}

// Record returns the condition as history has it.
func (c Condition) Record() history.SiteCondition {
	return history.SiteCondition{State: c.State, Since: c.Since, Until: c.Until, Why: protocol.Reason{Code: c.Why, Note: c.Note}, By: c.By}
}

// conditionOf returns a condition as the API shows it.
func conditionOf(c history.SiteCondition) Condition {
	return Condition{c.State, c.Since, c.Until, c.Why.Code, c.Why.Note, c.By}
}

// A Round is one auction.
type Round struct {
	Round   uint64        `json:"round"`
	At      protocol.Time `json:"at"`
	Jobs    int           `json:"jobs"`
	Offers  int           `json:"offers"`
	Awards  int           `json:"awards"`
	Holds   int           `json:"holds"`
	Refused int           `json:"refused"`
	Cost    float64       `json:"cost_usd"`  // of its awards, by the market's terms
	Bound   float64       `json:"bound_usd"` // no clearing of it costs less
}

// A View is what is shown. The zero View is empty and ready to use.
type View struct{ live *history.History }

// ViewOf returns what is shown of a history, which may be a whole record: a reader of one sees what
// its coordinator showed.
func ViewOf(h *history.History) *View { return &View{h} }

// liveHistory returns the history that is shown, and makes it first where the View is zero.
func (b *View) liveHistory() *history.History {
	if b.live == nil {
		b.live = history.New(history.Config{Live: true})
	}
	return b.live
}

// AddStep takes in the messages that the coordinator received, and those that it sent
// because of them.
func (b *View) AddStep(heard, said []protocol.Message) { b.liveHistory().AddStep(heard, said) }

// AddMessage takes in a message that the coordinator received or sent, in order, or a fact from
// which it was restored. A message that its sender may not send changes nothing.
func (b *View) AddMessage(m protocol.Message) { b.liveHistory().AddMessage(m) }

// PolicyInForce returns the operators' policy in force; version 0 is none.
func (b *View) PolicyInForce() (p protocol.Policy) {
	if all := b.liveHistory().PolicyVersions(); len(all) > 0 {
		p = all[len(all)-1].Policy
	}
	return p
}

// JobByID returns how a job stands at an instant; false if it is not known, or was forgotten. It
// looks at no other job, as each submission asks for one: see DescribeJob.
func (b *View) JobByID(id protocol.JobID, now protocol.Time) (Job, bool) {
	h := b.liveHistory()
	r, ok := h.LatestJob(id)
	if !ok {
		return Job{}, false
	}
	return jobOf(h, &r, now, nil), true
}

// DescribeJob is JobByID with the job's place in its queue and what happened to it.
func (b *View) DescribeJob(id protocol.JobID, now protocol.Time) (Job, bool) {
	h := b.liveHistory()
	r, ok := h.LatestJob(id)
	if !ok {
		return Job{}, false
	}
	j := jobOf(h, &r, now, h.SiteQueuesNow(now))
	j.Events = eventsOf(&r)
	return j, true
}

// AllJobs returns all jobs that are known as they stand at an instant, latest arrival first.
func (b *View) AllJobs(now protocol.Time) []Job {
	var out []Job
	h := b.liveHistory()
	queues := h.SiteQueuesNow(now)
	for _, id := range slices.Concat(h.JobIDs(), h.WholeIDs()) {
		r, _ := h.LatestJob(id)
		out = append(out, jobOf(h, &r, now, queues))
	}
	slices.SortStableFunc(out, func(x, y Job) int { return cmp.Compare(y.Arrived, x.Arrived) })
	return out
}

// AllSites returns all sites as they stand at an instant, by name.
func (b *View) AllSites(now protocol.Time) []Site {
	placed, lastEnd := make(map[string]int), make(map[string]protocol.Time)
	for _, id := range b.liveHistory().JobIDs() {
		r, _ := b.liveHistory().LatestJob(id)
		if s := b.liveHistory().JobStateNow(&r, now); s.Awarded && !s.State.IsFinal() {
			placed[s.Site]++
			if a := r.CurrentAward(); a != nil {
				lastEnd[s.Site] = max(lastEnd[s.Site], a.Option.Finish-a.Option.Start+s.Start)
			}
		}
	}
	all := b.SiteStates(now)
	_, use := b.liveHistory().CountJobsAt(now)
	for i := range all {
		x := &all[i]
		x.Placed, x.LastEnd = placed[x.Name], lastEnd[x.Name]
		u := use[x.Name]
		x.Running, x.Planned, x.Held = u.Running, u.Planned, float64(u.Held)/1000
		x.Free = max(0, float64(x.GPUs)-x.Held)
	}
	return all
}

// SiteStates returns all sites as AllSites does, without what jobs take of them: it looks at no job.
func (b *View) SiteStates(now protocol.Time) []Site {
	var out []Site
	// Sites that are named by awards alone have nothing to show.
	for _, s := range b.liveHistory().SiteRecords() {
		if s.Registered {
			x := siteOf(&s)
			if g, ok := b.liveHistory().GridAt(s.Site, now); ok { // dollars per MWh, grams of CO2e per kWh
				x.Price, x.Carbon, x.PUE = g.Price.InDollars()*1000, float64(g.Carbon)/1000, float64(g.PUE)/1000
			}
			x.DrawOfJobs = x.DrawOfJobs * max(x.PUE, 1)
			x.PowerCap = float64(b.liveHistory().PowerCapAt(s.Site, now)) / 1000
			x.Condition = conditionOf(b.liveHistory().ConditionAt(s.Site, now))
			out = append(out, x)
		}
	}
	return out
}

// RecentRounds returns the last rounds, latest first.
func (b *View) RecentRounds() []Round {
	var out []Round
	for _, r := range slices.Backward(b.liveHistory().RoundRecords()) {
		out = append(out, Round{
			Round: r.Round, At: r.Called.At, Jobs: r.Jobs, Offers: len(r.Offered), Awards: r.Awards, Holds: r.Holds, Refused: r.Refused,
			Cost: r.Proof.Primal.InDollars(), Bound: r.Proof.Bound.InDollars(),
		})
	}
	return out
}
