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

// Is reports whether s submits the job again.
func (j Job) Is(s protocol.Submit) bool { return j.digest == s.Digest() }

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

// A Board is what is shown. The zero Board is empty and ready to use.
type Board struct{ live *history.Book }

// view returns the history that is shown.
func (b *Board) view() *history.Book {
	if b.live == nil {
		b.live = history.New(history.Config{Live: true})
	}
	return b.live
}

// Told takes in the messages that the coordinator received, and those that it sent
// because of them.
func (b *Board) Told(heard, said []protocol.Message) { b.view().AddStep(heard, said) }

// Add takes in a message that the coordinator received or sent, in order, or a fact from
// which it was restored. A message that its sender may not send changes nothing.
func (b *Board) Add(m protocol.Message) { b.view().Add(m) }

// Policy returns the operators' policy in force; version 0 is none.
func (b *Board) Policy() (p protocol.Policy) {
	if all := b.view().Rules(); len(all) > 0 {
		p = all[len(all)-1].Policy
	}
	return p
}

// Job returns how a job stands; false if it is not known, or was forgotten.
func (b *Board) Job(id protocol.JobID) (Job, bool) {
	r, ok := b.view().Job(id)
	if !ok {
		return Job{}, false
	}
	return jobOf(&r), true
}

// Jobs returns all jobs that are known, latest arrival first.
func (b *Board) Jobs() []Job {
	var out []Job
	for _, id := range b.view().Jobs() {
		j, _ := b.Job(id)
		out = append(out, j)
	}
	slices.SortStableFunc(out, func(x, y Job) int { return cmp.Compare(y.Arrived, x.Arrived) })
	return out
}

// Sites returns all sites, by name.
func (b *Board) Sites() []Site {
	placed := make(map[string]int)
	for _, j := range b.Jobs() {
		if j.State == Placed || j.State == Stopping {
			placed[j.Site]++
		}
	}
	var out []Site
	for _, s := range b.view().Sites() {
		if s.Registered {
			x := siteOf(&s)
			x.Placed = placed[s.Site]
			out = append(out, x)
		}
	}
	return out
}

// Rounds returns the last rounds, latest first.
func (b *Board) Rounds() []Round {
	var out []Round
	for _, r := range slices.Backward(b.view().Rounds()) {
		out = append(out, Round{
			Round: r.Round, At: r.Called.At, Jobs: r.Jobs, Offers: len(r.Offered), Awards: r.Awards, Holds: r.Holds, Refused: r.Refused,
			Cost: r.Proof.Primal.InDollars(), Bound: r.Proof.Bound.InDollars(),
		})
	}
	return out
}
