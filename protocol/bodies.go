package protocol

//lint:file-ignore U1000 the field _msgpack is read by reflection: a struct with it is written as an array.

import "time"

// Messages about a job. The package comment lists the sender and the receiver of each.
type (
	// Submit asks the market to run a job. The same id means the same job.
	Submit struct {
		Job  Job  `msgpack:"j"`
		Task Task `msgpack:"tk,omitempty"`
		// Alone: the site whose queue submits the job may start it by itself while it hears no coordinator.
		// Until the site has bid for it, the coordinator awards it to nobody.
		Alone bool `msgpack:"al,omitempty"`
	}

	// CallForBids opens a clearing round: all jobs in it are awarded together.
	CallForBids struct {
		Round        uint64        `msgpack:"n"`
		Closes       Time          `msgpack:"cl"` // at the latest; bids that come after the round count in the next one
		Jobs         []Job         `msgpack:"j"`
		Weights      Weights       `msgpack:"w" name:"terms"`             // of the objective that ranks options
		ShadowPrices []ShadowPrice `msgpack:"sp,omitempty" name:"shadow"` // of capacity, so that agents bid where it is cheap; or see SitePrices
		// MaxBytes is the largest encoded size of the Bids, as EncodedSize counts; 0: MaxMessage.
		MaxBytes int `msgpack:"mb,omitempty"`

		Planning Planning `msgpack:"pl,omitempty"` // the zero Planning means DefaultPlanning

		Preemptable []PreemptionSet `msgpack:"pe,omitempty"` // of jobs that may have others stopped

		// Asked says for each job which of Sites are asked, as rising positions, where not all are: see
		// JobsFor. Of a job without positions all sites are asked; without such a job, Sites are those
		// asked for some job, and the call reaches their agents alone: see Message.OnlyTo.
		Sites []string `msgpack:"st,omitempty"`
		Asked [][]int  `msgpack:"as,omitempty"`
	}

	// Bids answers a CallForBids: one row for each of its jobs, and the state of the site.
	Bids struct {
		Round    uint64            `msgpack:"n"`
		Jobs     []JobBids         `msgpack:"j"`
		Capacity []CapacityProfile `msgpack:"rm,omitempty" name:"room"` // per GPU model
		Grid     GridForecast      `msgpack:"g"`

		// The GPUs that are idle now, in thousandths: all, and those that the jobs of
		// recent calls could not use (docs/fgd.md). For display: no decision uses them.
		Idle           Milli `msgpack:"id,omitempty"`
		FragmentedGPUs Milli `msgpack:"ul,omitempty" name:"useless"`

		// Of gangs: the nodes of each option, what options that start later keep idle, and what would fit
		// of those that never will.
		Spreads []Spread     `msgpack:"sd,omitempty"`
		Holes   []Hole       `msgpack:"hl,omitempty"`
		Largest []LargestSet `msgpack:"lg,omitempty"`

		// Gangs with a required topology, each of whose options has all pods in one domain. The market drops
		// the options of others: of an agent that does not know of the wish.
		WithinDomain []JobID `msgpack:"wd,omitempty"`

		Preemptions []PreemptionSet `msgpack:"pe,omitempty"` // of jobs that find no room at once
	}

	// Award gives a job to the site that receives it.
	Award struct {
		Round          uint64      `msgpack:"n"`
		Job            JobID       `msgpack:"j"`
		Epoch          uint64      `msgpack:"e"` // fencing token: executors refuse a job with an older epoch than they have seen
		Option         BidOption   `msgpack:"o"`
		MayQueue       bool        `msgpack:"q,omitempty" name:"queue"` // wait at the site if there is no free capacity now
		NotBeforeStart bool        `msgpack:"fm,omitempty" name:"firm"` // do not start before the option's start
		Lease          Time        `msgpack:"l"`                        // the site declines the award after this time
		Pause          Time        `msgpack:"pz,omitempty"`             // when the site pauses the job; 0: it runs to its end
		Why            Reason      `msgpack:"w"`
		Proof          Certificate `msgpack:"pf"`
		Task           Task        `msgpack:"tk,omitempty"`
		Places         []Place     `msgpack:"ps,omitempty"` // of a gang, as bid; the site places it anew

		// Of a job whose tenant has a budget: by how much more than bid it may pay and emit, which is reserved.
		PaidOff   Microdollars `msgpack:"po,omitempty"`
		CarbonOff Milligrams   `msgpack:"co,omitempty"`
		ByMonth   bool         `msgpack:"bm,omitempty"` // the report of a run over more than one month says what is of which
	}

	// Defer defers a job: it is not awarded yet.
	Defer struct {
		Round uint64 `msgpack:"n"`
		Job   JobID  `msgpack:"j"`
		Until Time   `msgpack:"u"`            // the market calls the job at this time or before
		Site  string `msgpack:"s,omitempty"`  // the site of the current plan
		Start Time   `msgpack:"st,omitempty"` // the start of the current plan
		Why   Reason `msgpack:"w"`
	}

	// Reject rejects a job: it will not be run.
	Reject struct {
		Job JobID  `msgpack:"j"`
		Why Reason `msgpack:"w"`
	}

	// Accept confirms that the site has reserved the capacity for an award.
	Accept struct {
		Job   JobID  `msgpack:"j"`
		Epoch uint64 `msgpack:"e"`
		Start Time   `msgpack:"st"` // planned
	}

	// Decline reports that the site cannot run an award any more. The next round calls
	// the job once more.
	Decline struct {
		Job   JobID  `msgpack:"j"`
		Epoch uint64 `msgpack:"e"`
		Why   Reason `msgpack:"w"`
	}

	// Confirm acknowledges a message about a job: its events are stored. See [Acknowledged],
	// [AcceptConfirmed], [AwardVoid] and [JobClosed]. A site launches a job only after AcceptConfirmed.
	Confirm struct {
		Job   JobID  `msgpack:"j"`
		Epoch uint64 `msgpack:"e,omitempty"` // 0 for a Submit
		Code  Code   `msgpack:"c"`
	}

	// Cancel asks not to run a job, or to stop it: a submitter asks the coordinator,
	// the coordinator the site, the site its executor. With Checkpoint the job is
	// paused: the executor saves a checkpoint and sends Finished with Left, or Started
	// if it cannot.
	Cancel struct {
		Job        JobID  `msgpack:"j"`
		Epoch      uint64 `msgpack:"e,omitempty"` // 0 from a submitter
		Checkpoint bool   `msgpack:"kp,omitempty" name:"keep"`
	}

	// Launch makes the executor start a job now. A repetition with the same epoch asks
	// for its status: Started if it runs, Finished if it has ended.
	Launch struct {
		Job     Job           `msgpack:"j"`
		Epoch   uint64        `msgpack:"e"`
		Node    string        `msgpack:"nd"`
		Devices []int         `msgpack:"dv"`
		Model   string        `msgpack:"md,omitempty"`
		Cap     Milliwatts    `msgpack:"cp,omitempty"` // power cap of each device; 0: none
		Run     time.Duration `msgpack:"r"`            // planned run time
		Power   Milliwatts    `msgpack:"pw"`           // planned draw, without the facility's overhead
		Task    Task          `msgpack:"tk,omitempty"`
		Places  []Place       `msgpack:"ps,omitempty"` // of a gang, on all its nodes; Node and Devices are the first
		Domain  string        `msgpack:"dm,omitempty"` // of a job with a topology wish: the one that has all its pods; "": none has
		Wake    []string      `msgpack:"wk,omitempty"` // nodes to be awake for jobs to come: those asleep wake, those without a job linger anew; an executor that cannot leaves them
	}

	// Started reports that a job has started: the executor to the agent, and a live agent to
	// the coordinator, with the node and its devices.
	Started struct {
		Job     JobID  `msgpack:"j"`
		Epoch   uint64 `msgpack:"e"`
		Node    string `msgpack:"nd,omitempty"` // to the coordinator
		Devices []int  `msgpack:"dv,omitempty"` // to the coordinator

		Places []Place `msgpack:"ps,omitempty"` // of a gang, to the coordinator
		Domain string  `msgpack:"dm,omitempty"` // as in the Launch, to the coordinator
	}

	// Finished reports that a job ended, and the measured energy of its devices and its
	// part of the host in each hour, without the facility's overhead.
	Finished struct {
		Job    JobID          `msgpack:"j"`
		Epoch  uint64         `msgpack:"e"`
		Draw   []HourlyEnergy `msgpack:"dr"`
		Failed string         `msgpack:"fl,omitempty"` // reason as text, if the job's own program failed
		// Estimated: at least a part of Draw was not measured.
		Estimated bool        `msgpack:"es,omitempty"`
		Use       Utilization `msgpack:"u,omitempty"`
		// Left is the rest of its Launch's Run, for a job that was paused.
		Left time.Duration `msgpack:"lf,omitempty"`
		// Ended is its end by the clock of its machine; 0: the time of this message.
		Ended Time `msgpack:"en,omitempty"`
		// Stopped: a Cancel ended it; without, it had ended by itself.
		Stopped bool `msgpack:"sp,omitempty"`
	}

	// Interrupted reports that a job could not be started or was interrupted by another cause
	// than its own program. Nothing of it runs any more, so it may run elsewhere.
	Interrupted struct {
		Job   JobID          `msgpack:"j"`
		Epoch uint64         `msgpack:"e"`
		Why   Reason         `msgpack:"w"`
		Draw  []HourlyEnergy `msgpack:"dr,omitempty"` // of the time that it ran

		Estimated bool `msgpack:"es,omitempty"` // see Finished
	}

	// UsageReport is the usage report of an ended job: energy with the facility's overhead,
	// carbon and money at the values of its own hours.
	UsageReport struct {
		Job     JobID        `msgpack:"j"`
		Epoch   uint64       `msgpack:"e"`
		Started Time         `msgpack:"st"`
		Ended   Time         `msgpack:"en"`
		Node    string       `msgpack:"nd"`
		Devices []int        `msgpack:"dv"`
		IT      Millijoules  `msgpack:"it"` // without the facility's overhead
		Energy  Millijoules  `msgpack:"eg"`
		Carbon  Milligrams   `msgpack:"co"`
		Money   Microdollars `msgpack:"mo"`
		Failed  string       `msgpack:"fl,omitempty"` // see Finished

		Estimated bool `msgpack:"es,omitempty"` // see Finished
		// Left is the rest of a paused job's run time, at the reference clock.
		Left   time.Duration `msgpack:"lf,omitempty"`
		Places []Place       `msgpack:"ps,omitempty"` // of a gang: see Launch
		Months []MonthUsage  `msgpack:"mu,omitempty"` // of a run over more than one month, if its Award asks for them: they sum to Carbon and Money
	}

	// Settlement closes a job: measured usage against the bid, and the payment.
	Settlement struct {
		Job     JobID        `msgpack:"j"`
		Site    string       `msgpack:"s"`
		Payer   string       `msgpack:"py"` // tenant
		Paid    Microdollars `msgpack:"pd"`
		BidFor  Usage        `msgpack:"b"`
		Counted Usage        `msgpack:"c"`
		Late    bool         `msgpack:"l,omitempty"`

		Estimated bool `msgpack:"es,omitempty"` // at least a part of Counted was not measured
		Part      bool `msgpack:"pt,omitempty"` // of a paused job: settlements of the rest follow

		Tariff Microdollars `msgpack:"tf,omitempty"` // part of Paid: what the site's tariff comes to

		Charges []BudgetCharge `msgpack:"bc,omitempty"` // to the budgets of the payer's quotas
	}

	// JobStatus sends a job's status to the queue that submitted it, which shows it to
	// the users of its cluster.
	JobStatus struct {
		Job    JobID  `msgpack:"j"`
		Epoch  uint64 `msgpack:"e,omitempty"`
		State  Code   `msgpack:"c"`            // Waiting; AcceptConfirmed, with Site; JobClosed, by Why or settled
		Site   string `msgpack:"s,omitempty"`  // that has it, or had it at its end
		Model  string `msgpack:"md,omitempty"` // of its GPUs
		Start  Time   `msgpack:"st"`           // planned, then measured
		Bill   Usage  `msgpack:"b"`            // bid, with the planned finish; then measured
		Failed string `msgpack:"fl,omitempty"` // see Finished
		Why    Reason `msgpack:"w"`            // why it waits, was awarded, or was rejected
	}
)

// Messages about options that cost nearly the same.
type (
	// JudgeRequest offers the judge some options of one job. Each may be awarded: it fits
	// next to the round's other awards, and costs little more than the best. The judge can
	// choose no other option.
	JudgeRequest struct {
		Round   uint64           `msgpack:"n"`
		Job     JobID            `msgpack:"j"`
		Until   Time             `msgpack:"u"` // answers after this time are ignored
		Choices []JudgeChoice    `msgpack:"c"` // in an order that does not depend on their cost
		Notes   []OperatorNotice `msgpack:"nt,omitempty"`
	}

	// JudgeAnswer is the judge's result: a model's choices for both orders of the options,
	// or why there is none.
	JudgeAnswer struct {
		Round   uint64        `msgpack:"n"`
		Job     JobID         `msgpack:"j"`
		Picks   []JudgePick   `msgpack:"p,omitempty"` // for the first and the second order
		Fault   Code          `msgpack:"f,omitempty"`
		Model   string        `msgpack:"m,omitempty"`
		Prompt  string        `msgpack:"h,omitempty"` // SHA-256 of the first prompt, in hex
		Elapsed time.Duration `msgpack:"t,omitempty" name:"took"`
		Tokens  int           `msgpack:"k,omitempty"` // of both calls, in and out
	}
)

// Messages without a job.
type (
	// RegisterSite registers a site and its capacity.
	RegisterSite struct {
		Site     string   `msgpack:"s"`
		Pools    []Pool   `msgpack:"p"`
		Location Location `msgpack:"l,omitempty"`
	}

	// Inventory reports all nodes of a site whenever they change. The first one of an
	// executor's process also has the running jobs, so that an agent without them
	// can adopt them.
	Inventory struct {
		Nodes    []Node         `msgpack:"n"`
		Held     []FoundRunning `msgpack:"h,omitempty"`
		Topology []NodeTopology `msgpack:"tl,omitempty"` // of the nodes that have labels of the site's levels
	}

	// FoundRunning is a job that the executor found running.
	FoundRunning struct {
		Launch Launch `msgpack:"l"`
		Since  Time   `msgpack:"s"`
	}

	// Drain asks the coordinator to award no more jobs to a site, or, with Over, to
	// award it jobs again. The site finishes what it has accepted.
	Drain struct {
		Site  string `msgpack:"s"`
		Over  bool   `msgpack:"o,omitempty"`
		By    string `msgpack:"by,omitempty"` // the operator
		Why   string `msgpack:"y,omitempty"`  // free text of the operator
		Until Time   `msgpack:"u,omitempty"`  // when the operator API ends the drain; 0: when an operator does
	}

	// InputLog is the coordinator's input log: with it a ledger replays to the same
	// decisions. It is stored and never sent. Those of one incarnation continue each
	// other.
	InputLog struct {
		Incarnation uint64  `msgpack:"l" name:"life"`             // incarnation of the coordinator: see Sender
		Rules       string  `msgpack:"r,omitempty"`               // its configuration as JSON, in the first InputLog of an incarnation
		Restored    []Input `msgpack:"bk,omitempty" name:"books"` // the events that the incarnation was restored from
		Steps       []Input `msgpack:"st,omitempty"`
	}

	// An Input is one input of a party: a message, by sender and number, and when the
	// party processed it by its own clock. Without a sender it is a tick of the clock.
	Input struct {
		_msgpack struct{} `msgpack:",as_array"`

		At   Time
		From Party
		Seq  uint64
	}

	// Signal gives an agent known values of its grid: of past hours, of this hour, or
	// published ahead.
	Signal struct {
		What   Quantity `msgpack:"q"`
		Points []Point  `msgpack:"p"`
		Guess  bool     `msgpack:"g,omitempty"` // forecast by a service: neither measured nor sold
	}

	// IdleReading gives an agent its site's energy of an hour, outside of jobs and in total.
	IdleReading struct {
		Hour  Time        `msgpack:"h"`
		Idle  Millijoules `msgpack:"id"` // of awake but unused devices and hosts, and of sleeping nodes
		Total Millijoules `msgpack:"tt"` // of the whole site, measured independently of the jobs

		Estimated bool `msgpack:"es,omitempty"` // at least a part was not measured
	}

	// SiteUsage reports the energy of a site's hour to the market, with its cost.
	SiteUsage struct {
		Hour  Time        `msgpack:"h"`
		Total Millijoules `msgpack:"tt"` // without the facility's overhead
		Idle  Usage       `msgpack:"id"` // of idle draw

		Estimated bool `msgpack:"es,omitempty"` // see IdleReading

		// Jobs is by how much the bills of jobs change for this hour: its price and carbon
		// were published after some of its energy had been billed. A correction has no Total;
		// its Idle is the same change of idle draw.
		Jobs Usage `msgpack:"jb,omitempty"`
	}
)

// A Task is what to run, in the form that the site's executor understands, such as a
// Kubernetes object in JSON. The market does not parse it, and sends it only to the site
// that wins.
type Task string

// A Quantity is the quantity of a Signal; it implies the unit.
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
