package protocol

import "time"

// Messages about runs that are stopped to make room.
type (
	// Preempt asks a site to stop a run, so that another job can start there. The site saves a
	// checkpoint if the run can, answers with Preempted, and keeps the room for the job For.
	Preempt struct {
		Job   JobID  `msgpack:"j"`
		Epoch uint64 `msgpack:"e"`
		For   JobID  `msgpack:"f"`
		Why   Reason `msgpack:"w"`
		Until Time   `msgpack:"u"` // the room is kept for so long
	}

	// Preempted reports that a site stopped a run to make room, and that nothing of the run uses
	// devices any more. The market requeues the job. What the coordinator asked for (Preempt) has a
	// usage report of the run, which is paid for; what a site does by itself has none.
	Preempted struct {
		Job   JobID         `msgpack:"j"`
		Epoch uint64        `msgpack:"e"`
		For   JobID         `msgpack:"f,omitempty"` // the job that needs the devices; "": Owner reclaimed them
		Owner string        `msgpack:"o,omitempty"` // who reclaimed them, if For is ""
		Why   Reason        `msgpack:"w"`
		Lost  time.Duration `msgpack:"ls,omitempty"` // work done since the last checkpoint, at the reference clock

		// The usage report; Ended 0: there is none. See UsageReport.
		Started   Time          `msgpack:"st,omitempty"`
		Ended     Time          `msgpack:"en,omitempty"`
		Node      string        `msgpack:"nd,omitempty"`
		Devices   []int         `msgpack:"dv,omitempty"`
		IT        Millijoules   `msgpack:"it,omitempty"`
		Energy    Millijoules   `msgpack:"eg,omitempty"`
		Carbon    Milligrams    `msgpack:"co,omitempty"`
		Money     Microdollars  `msgpack:"mo,omitempty"`
		Estimated bool          `msgpack:"es,omitempty"`
		Left      time.Duration `msgpack:"lf,omitempty"` // rest of its run time by the checkpoint; 0: there is none, and it starts anew
		Places    []Place       `msgpack:"ps,omitempty"`
		Months    []MonthUsage  `msgpack:"mu,omitempty"`
	}

	// A PreemptionSet names runs beside a job. In a CallForBids they may be stopped for the job, and
	// Lost says what would be lost of each; in Bids the job could start at once without these.
	PreemptionSet struct {
		Job  JobID          `msgpack:"j"`
		Runs []JobID        `msgpack:"r"`
		Lost []Microdollars `msgpack:"l,omitempty"` // of each run, in the order of Runs; none: unknown, and the first are stopped first
	}
)

func (Preempt) messageKind() string    { return "preempt" }
func (Preempted) messageKind() string  { return "preempted" }
func (b Preempt) referredJob() JobID   { return b.Job }
func (b Preempted) referredJob() JobID { return b.Job }

// Why a run is preempted.
const (
	StrongerClaim  Code = "stronger-claim"  // the job For has a stronger claim to the devices: a higher priority
	Reclaimed      Code = "reclaimed"       // the owner of the site took the devices back
	QuotaReclaimed Code = "quota-reclaimed" // the room was lent to its tenant, and the tenant of the job For is guaranteed it
)

// PreemptAfter is how soon a site must be able to start a job for no run to be stopped for it.
const PreemptAfter = 5 * time.Minute

// Report returns the usage report of the run; false if there is none.
func (b Preempted) Report() (UsageReport, bool) {
	return UsageReport{
		Job: b.Job, Epoch: b.Epoch, Started: b.Started, Ended: b.Ended, Node: b.Node, Devices: b.Devices,
		IT: b.IT, Energy: b.Energy, Carbon: b.Carbon, Money: b.Money, Estimated: b.Estimated, Left: b.Left, Places: b.Places, Months: b.Months,
	}, b.Ended != 0
}

// IsForBudget reports whether a run is to be paused since a budget has no room for it: it makes room for no job, and
// if it cannot be paused it goes on.
func (m Preempt) IsForBudget() bool {
	return m.Why.Code == BudgetSpent || m.Why.Code == CarbonBudgetSpent
}
