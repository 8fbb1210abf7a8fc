package protocol

// A Code is a reason that machines can count.
type Code string

// Why a site has no option for a job.
const (
	NotAllowed   Code = "region-not-allowed" // residency
	NoSuchGPU    Code = "no-such-gpu"
	FitsNoNode   Code = "fits-no-node"
	NoCapacity   Code = "no-room"
	PastDeadline Code = "misses-deadline"
	NoSignal     Code = "no-grid-signal"
	NotCalled    Code = "not-asked"           // the rule of this market asks another site
	Forbidden    Code = "policy"              // a rule of the operators' policy forbids it
	BadPlanning  Code = "impossible-planning" // the Call's Planning is not valid
)

// Why a job was awarded, held, refused or declined.
const (
	Cheapest      Code = "least-cost"      // of all options in the clearing of its round
	ByRule        Code = "by-rule"         // a fixed rule chose the site
	CheaperLater  Code = "cheaper-later"   // the plan runs it at a better hour
	Waiting       Code = "waiting"         // no site has room now
	NoBids        Code = "no-offer"        // no site has an option
	Malformed     Code = "malformed"       // the job makes no sense
	Duplicate     Code = "duplicate"       // of a job with other contents
	CapacityTaken Code = "room-gone"       // taken since the offer
	Superseded    Code = "superseded"      // an award of a newer epoch is known
	UnknownJob    Code = "unknown-job"     // nobody asked about it
	SiteSilent    Code = "site-silent"     // it did not answer in time
	ImpossibleBid Code = "impossible-term" // an offer that cannot be true
	Cancelled     Code = "cancelled"       // its submitter or an operator asked for that
	Unconfirmed   Code = "unconfirmed"     // the coordinator was not heard before the lease ended
	ChosenByJudge Code = "judge"           // a judge chose among options that cost nearly the same
)

// Why a judge picks.
const (
	OperatorNote    Code = "operator_note"
	SpreadLoad      Code = "spread_load"
	MaintenanceSoon Code = "maintenance_soon"
	LessFragments   Code = "less_fragmentation"
	NoPreference    Code = "no_preference" // the rule decides
)

// Why there is no verdict. The rule decides then.
const (
	AnswerLate      Code = "late"        // not in time
	AnswerFailed    Code = "error"       // no reply, or one cut short
	AnswerInvalid   Code = "invalid"     // not what was asked for
	NotAmongChoices Code = "not-offered" // a handle that was not among the choices
	OrderDependent  Code = "order"       // another one when asked in the opposite order
	OverBudget      Code = "over-budget" // calls or tokens of this hour are spent
)

// Why a job was lost by the hands of a site.
const (
	ClusterRefused Code = "cluster-refused" // quota, admission, a task that cannot be read
	Evicted        Code = "evicted"
	NodeLost       Code = "node-gone"
	TakenOver      Code = "taken-over"  // another scheduler or user put it or others in its place
	NotStarted     Code = "not-started" // it did not get to run in time
)

// What a Confirm says.
const (
	Acknowledged    Code = "taken"  // the Submit, or of no job the Hello: it need not be said again
	AcceptConfirmed Code = "stands" // the Accept: the job is the site's alone
	AwardVoid       Code = "void"   // the award is over: let go of what it reserved
	JobClosed       Code = "closed" // the Done, or the Submit of a job that has ended

	UnknownSite Code = "unknown-site" // of an Offer: say Hello first
)
