package protocol

//lint:file-ignore U1000 msgpack reads the field _msgpack by reflection: a struct with it is written as an array.

import "time"

// What is said about a job. The package comment tells who says which to whom.
type (
	// Submit asks that a job be run. The same id again is the same job.
	Submit struct {
		Job  Job  `msgpack:"j"`
		Task Task `msgpack:"tk,omitempty"`
	}

	// CallForBids opens a clearing round: all jobs in it are sold together.
	CallForBids struct {
		Round        uint64        `msgpack:"n"`
		Closes       Time          `msgpack:"cl"` // offers said later are not read
		Jobs         []Job         `msgpack:"j"`
		Weights      Weights       `msgpack:"w" name:"terms"`             // what an option is judged by
		ShadowPrices []ShadowPrice `msgpack:"sp,omitempty" name:"shadow"` // what room is worth, so that agents offer where it is cheap
		// MaxBytes is the most that the encoded Offer may have, as EncodedSize counts; 0: MaxMessage.
		MaxBytes int `msgpack:"mb,omitempty"`

		Planning Planning `msgpack:"pl,omitempty"` // the zero Planning means DefaultPlanning
	}

	// Bids answers a Call: one row for each of its jobs, and the site's state.
	Bids struct {
		Round    uint64            `msgpack:"n"`
		Jobs     []JobBids         `msgpack:"j"`
		Capacity []CapacityProfile `msgpack:"rm,omitempty" name:"room"` // per GPU model
		Grid     GridForecast      `msgpack:"g"`

		// Of the GPUs that are idle as it offers, in thousandths: all, and those
		// that the jobs it was lately asked for could not use (docs/fgd.md). For
		// people: nothing is decided by them.
		Idle           Milli `msgpack:"id,omitempty"`
		FragmentedGPUs Milli `msgpack:"ul,omitempty" name:"useless"`
	}

	// Award gives a job to the site that reads it.
	Award struct {
		Round          uint64      `msgpack:"n"`
		Job            JobID       `msgpack:"j"`
		Epoch          uint64      `msgpack:"e"` // hands refuse a job whose epoch is older than one they saw
		Option         BidOption   `msgpack:"o"`
		MayQueue       bool        `msgpack:"q,omitempty" name:"queue"` // wait at the site when there is no room now
		NotBeforeStart bool        `msgpack:"fm,omitempty" name:"firm"` // it shall not start before the option does
		Lease          Time        `msgpack:"l"`                        // an award heard later is declined
		Pause          Time        `msgpack:"pz,omitempty"`             // the site pauses the job then; 0: it runs to its end
		Why            Reason      `msgpack:"w"`
		Proof          Certificate `msgpack:"pf"`
		Task           Task        `msgpack:"tk,omitempty"`
	}

	// Defer says that a job is not sold yet.
	Defer struct {
		Round uint64 `msgpack:"n"`
		Job   JobID  `msgpack:"j"`
		Until Time   `msgpack:"u"`            // called again then, at the latest
		Site  string `msgpack:"s,omitempty"`  // where the plan of now would run it
		Start Time   `msgpack:"st,omitempty"` // and when
		Why   Reason `msgpack:"w"`
	}

	// Reject says that a job will not be run.
	Reject struct {
		Job JobID  `msgpack:"j"`
		Why Reason `msgpack:"w"`
	}

	// Accept says that the site has reserved what the award asked for.
	Accept struct {
		Job   JobID  `msgpack:"j"`
		Epoch uint64 `msgpack:"e"`
		Start Time   `msgpack:"st"` // planned
	}

	// Decline says that the site cannot do what it offered. The job goes into
	// the next round.
	Decline struct {
		Job   JobID  `msgpack:"j"`
		Epoch uint64 `msgpack:"e"`
		Why   Reason `msgpack:"w"`
	}

	// Confirm says that what its listener said of a job is on the
	// coordinator's books, and what follows: see [Acknowledged], [AcceptConfirmed], [AwardVoid] and
	// [JobClosed]. A site launches no job before it is told that its Accept stands.
	Confirm struct {
		Job   JobID  `msgpack:"j"`
		Epoch uint64 `msgpack:"e,omitempty"` // 0 of a Submit
		Code  Code   `msgpack:"c"`
	}

	// Cancel asks that a job not be run, or be stopped: a submitter asks the
	// coordinator, the coordinator the site, the site its hands. Kept, a job that
	// runs is paused: the hands save what it has done, and say Exited with what is
	// left; or, if they cannot, Started.
	Cancel struct {
		Job        JobID  `msgpack:"j"`
		Epoch      uint64 `msgpack:"e,omitempty"` // 0 of a submitter
		Checkpoint bool   `msgpack:"kp,omitempty" name:"keep"`
	}

	// Launch tells the hands to run a job now. Said again under the same epoch
	// it asks how the job stands: Started if it runs, Exited if it has ended.
	Launch struct {
		Job     Job           `msgpack:"j"`
		Epoch   uint64        `msgpack:"e"`
		Node    string        `msgpack:"nd"`
		Devices []int         `msgpack:"dv"`
		Model   string        `msgpack:"md,omitempty"`
		Cap     Milliwatts    `msgpack:"cp,omitempty"` // of each device; 0: none
		Run     time.Duration `msgpack:"r"`            // how long the plan says it takes
		Power   Milliwatts    `msgpack:"pw"`           // what the plan says it draws, before the facility's share
		Task    Task          `msgpack:"tk,omitempty"`
	}

	// Started says that a job has begun.
	Started struct {
		Job   JobID  `msgpack:"j"`
		Epoch uint64 `msgpack:"e"`
	}

	// Finished says that a job ended, and what its devices and its part of the
	// host drew in each hour of its run: measured, before the facility's share.
	Finished struct {
		Job    JobID          `msgpack:"j"`
		Epoch  uint64         `msgpack:"e"`
		Draw   []HourlyEnergy `msgpack:"dr"`
		Failed string         `msgpack:"fl,omitempty"` // in words, if its own program failed
		// Estimated says that Draw is no measurement, in whole or in part.
		Estimated bool        `msgpack:"es,omitempty"`
		Use       Utilization `msgpack:"u,omitempty"`
		// Left is how much of its Launch's Run a job had before it that was paused.
		Left time.Duration `msgpack:"lf,omitempty"`
		// Ended is when it ended, by the clock of its machine; 0: just now.
		Ended Time `msgpack:"en,omitempty"`
	}

	// Interrupted says that a job could not be started, or was taken down by no fault
	// of its own, and that nothing of it runs any more: it may be run elsewhere.
	Interrupted struct {
		Job   JobID          `msgpack:"j"`
		Epoch uint64         `msgpack:"e"`
		Why   Reason         `msgpack:"w"`
		Draw  []HourlyEnergy `msgpack:"dr,omitempty"` // of what it ran

		Estimated bool `msgpack:"es,omitempty"` // see Exited
	}

	// UsageReport reports an ended job to the market: the facility's energy, and what
	// it cost at the prices and intensities of its own hours.
	UsageReport struct {
		Job     JobID        `msgpack:"j"`
		Epoch   uint64       `msgpack:"e"`
		Started Time         `msgpack:"st"`
		Ended   Time         `msgpack:"en"`
		Node    string       `msgpack:"nd"`
		Devices []int        `msgpack:"dv"`
		IT      Millijoules  `msgpack:"it"` // before the facility's share
		Energy  Millijoules  `msgpack:"eg"`
		Carbon  Milligrams   `msgpack:"co"`
		Money   Microdollars `msgpack:"mo"`
		Failed  string       `msgpack:"fl,omitempty"` // see Exited

		Estimated bool `msgpack:"es,omitempty"` // see Exited
		// Left is the run, at the reference clock, that a paused job has before it.
		Left time.Duration `msgpack:"lf,omitempty"`
	}

	// Settlement closes a job: what was measured against what was bid, and the
	// payment that follows.
	Settlement struct {
		Job     JobID        `msgpack:"j"`
		Site    string       `msgpack:"s"`
		Payer   string       `msgpack:"py"` // tenant
		Paid    Microdollars `msgpack:"pd"`
		BidFor  Usage        `msgpack:"b"`
		Counted Usage        `msgpack:"c"`
		Late    bool         `msgpack:"l,omitempty"`

		Estimated bool `msgpack:"es,omitempty"` // Counted is no measurement: see Exited
		Part      bool `msgpack:"pt,omitempty"` // of a job that was paused: the rest is yet to come
	}

	// JobStatus tells the queue of a site how a job stands that it submitted:
	// the site's own people look there, and nowhere else.
	JobStatus struct {
		Job    JobID  `msgpack:"j"`
		Epoch  uint64 `msgpack:"e,omitempty"`
		State  Code   `msgpack:"c"`            // Waiting; Stands, with Site; Closed, by Why or settled
		Site   string `msgpack:"s,omitempty"`  // that has it, or had it to its end
		Model  string `msgpack:"md,omitempty"` // of its GPUs
		Start  Time   `msgpack:"st"`           // planned, then measured
		Bill   Usage  `msgpack:"b"`            // bid, with the planned finish; then measured
		Failed string `msgpack:"fl,omitempty"` // see Exited
		Why    Reason `msgpack:"w"`            // it waits again, was awarded, or was refused
	}
)

// What is said about options that cost nearly the same.
type (
	// JudgeRequest puts to the judge some options of one job, each of which may be
	// awarded: they fit beside all else that the round awards, and cost little
	// more than the best of them. The judge has no other options.
	JudgeRequest struct {
		Round   uint64           `msgpack:"n"`
		Job     JobID            `msgpack:"j"`
		Until   Time             `msgpack:"u"` // an Answer heard later is not read
		Choices []JudgeChoice    `msgpack:"c"` // in an order that says nothing of their cost
		Notes   []OperatorNotice `msgpack:"nt,omitempty"`
	}

	// JudgeAnswer is what the judge says: the same question was put to a model
	// twice, the second time in the opposite order. Or why there is no answer.
	JudgeAnswer struct {
		Round  uint64        `msgpack:"n"`
		Job    JobID         `msgpack:"j"`
		Picks  []JudgePick   `msgpack:"p,omitempty"` // first and second asking
		Fault  Code          `msgpack:"f,omitempty"`
		Model  string        `msgpack:"m,omitempty"`
		Prompt string        `msgpack:"h,omitempty"` // SHA-256 of what was asked, in hexadecimal
		Took   time.Duration `msgpack:"t,omitempty"`
		Tokens int           `msgpack:"k,omitempty"` // of both askings, in and out
	}
)

// What is said beside a job.
type (
	// RegisterSite tells the market what a site is.
	RegisterSite struct {
		Site  string `msgpack:"s"`
		Pools []Pool `msgpack:"p"`
	}

	// Inventory tells an agent what its site consists of, all of it, whenever
	// that changes. The first after the hands began also tells what runs, so
	// that an agent which forgot takes it up again.
	Inventory struct {
		Nodes []Node         `msgpack:"n"`
		Held  []FoundRunning `msgpack:"h,omitempty"`
	}

	// FoundRunning is a job that the hands found running.
	FoundRunning struct {
		Launch Launch `msgpack:"l"`
		Since  Time   `msgpack:"s"`
	}

	// Drain asks the coordinator to send no more jobs to a site, or, with Over,
	// to send it some again. What the site has accepted it finishes.
	Drain struct {
		Site string `msgpack:"s"`
		Over bool   `msgpack:"o,omitempty"`
	}

	// InputLog is the coordinator's own account of what it took in, in the order
	// in which it did: with it a ledger leads to the same decisions again. It
	// travels to nobody. Several of one life continue each other.
	InputLog struct {
		Incarnation uint64  `msgpack:"l" name:"life"` // of the coordinator, see Mouth
		Rules       string  `msgpack:"r,omitempty"`   // its settings as JSON, with the first of a life
		Books       []Input `msgpack:"bk,omitempty"`  // facts of earlier lives, from which this one began
		Steps       []Input `msgpack:"st,omitempty"`
	}

	// A Input is one message that a party took in, by its speaker and number, and
	// when that was by the clock of who took it in. Without a speaker it was the
	// clock alone.
	Input struct {
		_msgpack struct{} `msgpack:",as_array"`

		At   Time
		From Party
		Seq  uint64
	}

	// Signal tells an agent values of its grid that are known now: of hours
	// gone, of this hour, or published ahead.
	Signal struct {
		What   Quantity `msgpack:"q"`
		Points []Point  `msgpack:"p"`
		Guess  bool     `msgpack:"g,omitempty"` // forecast by others, and neither measured nor sold
	}

	// IdleReading tells an agent what its site drew in an hour outside of jobs.
	IdleReading struct {
		Hour  Time        `msgpack:"h"`
		Idle  Millijoules `msgpack:"id"` // awake but unused devices and hosts, and sleeping nodes
		Total Millijoules `msgpack:"tt"` // of the whole site, metered apart from the jobs

		Estimated bool `msgpack:"es,omitempty"` // no meter says so, or not all of it
	}

	// SiteUsage reports a site's hour to the market, with its own bill.
	SiteUsage struct {
		Hour  Time        `msgpack:"h"`
		Total Millijoules `msgpack:"tt"` // before the facility's share
		Idle  Usage       `msgpack:"id"` // IT energy apart: see Bill

		Estimated bool `msgpack:"es,omitempty"` // see Reading
	}
)

// A Task is what to run, as the hands of a site read it: a Kubernetes object in
// JSON, say. The market does not look into it, and tells it only to the site
// that wins.
type Task string

// A Quantity names what a Signal is about, and its unit.
type Quantity string

// Quantities.
const (
	GridPrice  Quantity = "price"  // microdollars per kWh: 55,000 is 55 dollars per MWh
	GridCarbon Quantity = "carbon" // milligrams of CO2-equivalent per kWh
	GridPUE    Quantity = "pue"    // facility power over IT power, in thousandths
)

func (Submit) messageKind() string       { return "submit" }
func (CallForBids) messageKind() string  { return "call" }
func (Bids) messageKind() string         { return "offer" }
func (Award) messageKind() string        { return "award" }
func (Defer) messageKind() string        { return "hold" }
func (Reject) messageKind() string       { return "refuse" }
func (Accept) messageKind() string       { return "accept" }
func (Decline) messageKind() string      { return "decline" }
func (Launch) messageKind() string       { return "launch" }
func (Started) messageKind() string      { return "started" }
func (Finished) messageKind() string     { return "exited" }
func (CompletedRun) messageKind() string { return "ran" }
func (Interrupted) messageKind() string  { return "lost" }
func (UsageReport) messageKind() string  { return "done" }
func (Settlement) messageKind() string   { return "settled" }
func (JobStatus) messageKind() string    { return "standing" }
func (RegisterSite) messageKind() string { return "hello" }
func (Inventory) messageKind() string    { return "inventory" }
func (Signal) messageKind() string       { return "signal" }
func (IdleReading) messageKind() string  { return "reading" }
func (SiteUsage) messageKind() string    { return "meter" }
func (JudgeRequest) messageKind() string { return "ask" }
func (JudgeAnswer) messageKind() string  { return "answer" }
func (Confirm) messageKind() string      { return "confirm" }
func (Cancel) messageKind() string       { return "cancel" }
func (Drain) messageKind() string        { return "drain" }
func (InputLog) messageKind() string     { return "heard" }
