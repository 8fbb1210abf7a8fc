package protocol

// A Code is a reason in a form that programs can compare and count.
type Code string

// Why a site has no option for a job.
const (
	NotAllowed   Code = "region-not-allowed" // residency
	NoSuchGPU    Code = "no-such-gpu"
	FitsNoNode   Code = "fits-no-node"
	NoCapacity   Code = "no-room"
	PastDeadline Code = "misses-deadline"
	NoSignal     Code = "no-grid-signal"
	NotCalled    Code = "not-asked"           // the market's rule calls another site for this job
	Forbidden    Code = "policy"              // a rule of the operators' policy forbids it
	BadPlanning  Code = "impossible-planning" // the Planning of the CallForBids is not valid

	OverQuota      Code = "over-quota"       // its tenant holds its share of the quota tree
	QueueBlocked   Code = "queue-blocked"    // one that stands before it in its StrictFIFO queue finds no room
	RefusedByTerms Code = "refused-by-terms" // the terms of the site: whom it serves, how much it lends, and when
)

// Reasons of awards, deferrals, rejections and declines.
const (
	Cheapest      Code = "least-cost"      // of all options in the clearing of its round
	ByRule        Code = "by-rule"         // a rule without prices chose the site, or the program of an outside policy
	CheaperLater  Code = "cheaper-later"   // the plan has a cheaper start later
	Waiting       Code = "waiting"         // no site has free capacity now
	NoBids        Code = "no-offer"        // no site has an option
	Malformed     Code = "malformed"       // the job is invalid: see Job.InvalidReason
	Duplicate     Code = "duplicate"       // another job has the same id
	CapacityTaken Code = "room-gone"       // the capacity was taken after the bid
	Superseded    Code = "superseded"      // an award of a newer epoch is known
	UnknownJob    Code = "unknown-job"     // the job was not called
	NoAnswer      Code = "site-silent"     // it did not answer in time
	ImpossibleBid Code = "impossible-term" // a bid with impossible values
	Cancelled     Code = "cancelled"       // by its submitter or an operator
	Unconfirmed   Code = "unconfirmed"     // no confirmation came before the lease ended
	ChosenByJudge Code = "judge"           // a judge chose among options that cost nearly the same
	Preempting    Code = "preempting"      // runs are being stopped to make room for it
)

// Reasons of a judge's choice.
const (
	OperatorNote    Code = "operator_note"
	SpreadLoad      Code = "spread_load"
	MaintenanceSoon Code = "maintenance_soon"
	LessFragments   Code = "less_fragmentation"
	NoPreference    Code = "no_preference" // the rule decides
)

// Reasons why there is no verdict. The market's rule decides then.
const (
	AnswerLate      Code = "late"        // not in time
	AnswerFailed    Code = "error"       // no reply, or an incomplete one
	AnswerInvalid   Code = "invalid"     // not a valid verdict
	NotAmongChoices Code = "not-offered" // a handle that was not among the choices
	OrderDependent  Code = "order"       // the choice changed with the order of the options
	OverBudget      Code = "over-budget" // calls or tokens of this hour are spent
)

// Reasons why an executor reports a job as interrupted.
const (
	ClusterRefused Code = "cluster-refused" // quota, admission, or an invalid task
	Evicted        Code = "evicted"
	NodeLost       Code = "node-gone"
	TakenOver      Code = "taken-over"  // another scheduler or user replaced it
	NotStarted     Code = "not-started" // it did not start in time
)

// Codes of a Confirm.
const (
	Acknowledged    Code = "taken"  // acknowledges a Submit, or without a job a RegisterSite: stop retransmitting
	AcceptConfirmed Code = "stands" // acknowledges an Accept: the job is at this site only
	AwardVoid       Code = "void"   // the award has expired: release the reservation
	JobClosed       Code = "closed" // acknowledges a UsageReport, or the Submit of a job that has ended

	UnknownSite Code = "unknown-site" // answers Bids: send a RegisterSite first
)
