// Package jobstatus is what a coordinator shows of a market that goes on: how each
// job stands, what each site offers, what the last rounds decided. It is folded
// from what the coordinator heard and said, and forgets what is long over, so
// that it does not grow with the age of the market. For the whole history, and
// why, there is history.
package jobstatus

import (
	"cmp"
	"maps"
	"slices"

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
	Done     State = "done"
	Refused  State = "refused"
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

	mark   uint64
	lapsed *Job // as it stood when it was awarded, of a job that is held since because nobody accepted that
}

// Is reports whether s submits the job again.
func (j Job) Is(s protocol.Submit) bool { return j.mark == s.Mark() }

// Over reports whether the job has ended.
func (j Job) Over() bool { return j.State == Done || j.State == Refused }

// A Site is what a site last said of itself.
type Site struct {
	Name    string          `json:"name"`
	Pools   []protocol.Pool `json:"-"`
	GPUs    int             `json:"gpus"`
	Free    float64         `json:"free_gpus"`         // now, by its last offer
	Placed  int             `json:"placed"`            // jobs that it has
	Done    int             `json:"done"`              // jobs that it has finished
	Price   float64         `json:"price_usd_mwh"`     // of this hour
	Carbon  float64         `json:"carbon_g_kwh"`      // of this hour
	PUE     float64         `json:"pue"`               //
	Drained bool            `json:"drained,omitempty"` // gets no more jobs
	Gone    bool            `json:"gone,omitempty"`    // an operator said that it will not come back
	Heard   protocol.Time   `json:"heard"`             // last
	Silent  int             `json:"silent"`            // rounds in a row that it did not answer

	answered bool
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

// Bounds of what is kept of what is over.
const (
	mostEnded  = 10_000
	mostRounds = 1_000
)

// A Board is what is shown. The zero Board is empty and ready to use.
type Board struct {
	jobs   map[protocol.JobID]*Job
	ended  []protocol.JobID // oldest first
	sites  map[string]*Site
	rounds []Round
	policy protocol.Policy
}

// Policy returns the operators' policy in force; version 0 is none.
func (b *Board) Policy() protocol.Policy { return b.policy }

// Job returns how a job stands; false if it is not known, or was forgotten.
func (b *Board) Job(id protocol.JobID) (Job, bool) {
	j := b.jobs[id]
	if j == nil {
		return Job{}, false
	}
	return *j, true
}

// Jobs returns all jobs that are known, latest arrival first.
func (b *Board) Jobs() []Job {
	out := make([]Job, 0, len(b.jobs))
	for _, id := range slices.Sorted(maps.Keys(b.jobs)) {
		out = append(out, *b.jobs[id])
	}
	slices.SortStableFunc(out, func(x, y Job) int { return cmp.Compare(y.Arrived, x.Arrived) })
	return out
}

// Sites returns all sites, by name.
func (b *Board) Sites() []Site {
	out := make([]Site, 0, len(b.sites))
	for _, name := range slices.Sorted(maps.Keys(b.sites)) {
		out = append(out, *b.sites[name])
	}
	return out
}

// Rounds returns the last rounds, latest first.
func (b *Board) Rounds() []Round {
	out := slices.Clone(b.rounds)
	slices.Reverse(out)
	return out
}
