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

// A Job is how one job stands. Times are RFC 3339 in JSON; a time that is not
// known is "never".
type Job struct {
	ID       protocol.JobID `json:"id"`
	Tenant   string         `json:"tenant,omitempty"`
	State    State          `json:"state"`
	Site     string         `json:"site,omitempty"`  // that has it, or where the plan would run it
	Model    string         `json:"model,omitempty"` // of its GPUs
	GPUs     int            `json:"gpus"`
	Arrived  protocol.Time  `json:"arrived"`
	Deadline protocol.Time  `json:"deadline"`
	Changed  protocol.Time  `json:"changed"` // when it came to this state
	Start    protocol.Time  `json:"start"`   // planned, then measured
	Finish   protocol.Time  `json:"finish"`  // planned, then measured
	Until    protocol.Time  `json:"until"`   // when it is called again
	Epoch    uint64         `json:"epoch,omitempty"`
	Rounds   int            `json:"rounds"`
	Why      string         `json:"why,omitempty"` // of the last decision, in a code
	Note     string         `json:"note,omitempty"`

	// Bid, then measured: facility's share included.
	Energy float64 `json:"energy_kwh,omitempty"`
	Carbon float64 `json:"carbon_kg,omitempty"`
	Money  float64 `json:"cost_usd,omitempty"`
	Late   bool    `json:"late,omitempty"`
	Failed string  `json:"failed,omitempty"`
	// Estimated says that energy, carbon and cost of an ended job were not
	// metered, or not all of them.
	Estimated bool `json:"estimated,omitempty"`

	digest uint64 // of its submission
}

// IsSubmittedBy reports whether s is the submission of this job, sent once more: its digest is
// the same. Another submission under the same id is a duplicate.
func (j Job) IsSubmittedBy(s protocol.Submit) bool { return j.digest == s.Digest() }

// HasEnded reports whether the job has ended.
func (j Job) HasEnded() bool { return j.State == Done || j.State == Refused }

// A Site is the newest state that a site reported. Price, carbon and PUE are zero before its
// first bid.
type Site struct {
	Name           string          `json:"name"`
	Pools          []protocol.Pool `json:"-"`
	GPUs           int             `json:"gpus"`
	Free           float64         `json:"free_gpus"`         // now, by its last offer
	Placed         int             `json:"placed"`            // jobs that it has
	Done           int             `json:"done"`              // jobs that it has finished
	Price          float64         `json:"price_usd_mwh"`     // of this hour
	Carbon         float64         `json:"carbon_g_kwh"`      // of this hour
	PUE            float64         `json:"pue"`               //
	Drained        bool            `json:"drained,omitempty"` // gets no more jobs
	Decommissioned bool            `json:"gone,omitempty"`    // an operator said that it will not come back
	LastMessage    protocol.Time   `json:"heard"`             // last
	Silent         int             `json:"silent"`            // rounds in a row that it did not answer
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

// JobByID returns how a job stands; false if it is not known, or was forgotten.
func (b *View) JobByID(id protocol.JobID) (Job, bool) {
	r, ok := b.liveHistory().LatestJob(id)
	if !ok {
		return Job{}, false
	}
	return jobOf(&r), true
}

// AllJobs returns all jobs that are known, latest arrival first.
func (b *View) AllJobs() []Job {
	var out []Job
	for _, id := range b.liveHistory().JobIDs() {
		j, _ := b.JobByID(id)
		out = append(out, j)
	}
	slices.SortStableFunc(out, func(x, y Job) int { return cmp.Compare(y.Arrived, x.Arrived) })
	return out
}

// AllSites returns all sites, by name.
func (b *View) AllSites() []Site {
	// A job that is stopping still holds its devices.
	placed := make(map[string]int)
	for _, j := range b.AllJobs() {
		if j.State == Placed || j.State == Stopping {
			placed[j.Site]++
		}
	}
	var out []Site
	// Sites that are named by awards alone have nothing to show.
	for _, s := range b.liveHistory().SiteRecords() {
		if s.Registered {
			x := siteOf(&s)
			x.Placed = placed[s.Site]
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
