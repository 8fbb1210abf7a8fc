package history

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A MessageRef is the message that a fact was read from. The zero MessageRef says
// that there is none.
type MessageRef struct {
	From protocol.Party `json:"from"`
	Seq  uint64         `json:"seq"`
	At   protocol.Time  `json:"at"`
}

// A phase is how far the market has come with a job. What people are told is a [State], which
// follows from the phase, the newest decisions and the time.
type phase string

// Phases, in the order in which a job passes through them.
const (
	phaseWaiting   phase = "waiting" // on sale: perhaps held, perhaps declined
	phaseAwarded   phase = "awarded" // given to a site, and no launch is on the ledger
	phaseRunning   phase = "running"
	phasePreempted phase = "preempted" // on sale, as its site took its run down to make room
	phaseEnded     phase = "ended"
	phaseRefused   phase = "refused" // instead of all the others
)

// isOnSale reports whether the coordinator may award a job in that phase.
func (p phase) isOnSale() bool { return p == phaseWaiting || p == phasePreempted }

// A JobRecord is one job's history. What it points to is shared with the History
// and must not be changed.
type JobRecord struct {
	Job       protocol.Job  // of a gang that was awarded with fewer pods than it asked for: with these
	asked     *protocol.Job // what that gang asked for; nil: Job
	Submitted MessageRef
	phase     phase
	Before    int  // how many jobs its id was given to before it
	Older     bool // it was decided on in rounds before those of this record

	Rounds     []RoundSummary // every round it was called in, oldest first
	FullRounds []JobRound     // those of them that are kept in full, oldest first
	Awards     []Decision     // every award, also those declined; the last is the one in force
	Refusal    *Decision      // nil unless it was refused
	Run        *Run           // nil until launched
	Lost       []Run          // earlier runs that their sites could not continue; Planned, where no more is known
	Parts      []Run          // earlier runs that ended in a pause, each with its own bill

	Number    int      // of its id, in the order in which ids were first submitted, from 1
	Decisions []uint64 // numbers of the decisions on it, oldest first: see History.DecisionByNumber

	Called   int        // in how many rounds
	Hold     *Decision  // the hold that it waits by; nil after an award
	Stopping MessageRef // its site was asked to stop it; zero: it was not
	Events   []JobEvent // what happened to it, oldest first
	Digest   uint64     // of its submission (protocol.Submit.Mark); kept for live views alone

	PartStates []PartState // of a job in parts, by all that is known: see LatestJob

	lastCalled uint64 // the newest round of Called
	committed  uint64 // of a job in parts: the epoch under which they stood last
	live       bool   // of a live view, which bounds Events
}

// A RoundSummary is what remains of a round that is not kept in full.
type RoundSummary struct {
	Round    uint64
	At       protocol.Time         // of the call
	Options  int                   // offered in time by all sites
	Best     protocol.Microdollars // total of the cheapest of them; 0 if there were none
	BestSite string                // whose that was
	Kind     string                // of the decision: see Decision
	Code     protocol.Code         //
	Site     string                //
	Until    protocol.Time         //
}

// A JobRound is one clearing round as one job met it.
type JobRound struct {
	Round    uint64
	Called   MessageRef
	Closes   protocol.Time
	Weights  protocol.Weights
	Answers  []Answer // of every site known when the round was called, by name
	Summary  RoundSummary
	Decision Decision
}

// An Answer is one site's answer for one job in one round.
type Answer struct {
	Site    string
	Message MessageRef // zero: the site was silent
	Late    bool       // sent after the round had closed, so not used
	Why     protocol.Reason
	Options []PricedOption // cheapest first; equal ones in the site's order

	Expect []protocol.Estimate // of a job that does not say how long it runs: what the site took it for
}

// A PricedOption is an option with what it costs by cause, under the weights and the
// shadow prices that the round was called with. Room is no cost of the job: it
// is what the GPU-hours that it takes are worth to others by those prices, and
// a clearing chooses by both together.
type PricedOption struct {
	protocol.BidOption
	Terms protocol.CostBreakdown
	Room  protocol.Microdollars
	Hole  *protocol.Hole // of a gang: what its site keeps idle for it until the start; nil: nothing, or not stated
}

// A Decision is what the coordinator decided about a job, and how the site answered.
type Decision struct {
	Kind    string // "award", "hold", "refuse"; "" while there is none
	Message MessageRef
	Why     protocol.Reason
	Site    string        // that was awarded it, or where the plan of a hold would run it
	Start   protocol.Time // planned; 0 if a hold has no plan
	Until   protocol.Time // of a hold: it is called again then, at the latest

	Policy uint64                // version of the operators' policy, if it had rules
	Saving protocol.Microdollars // of a hold, in a live view: see SavingOfHold

	// Of an award.
	Round    uint64
	Epoch    uint64
	Option   PricedOption  // as of that round
	PauseAt  protocol.Time // when the site is to pause it; 0: never
	Queue    bool          // it may wait at the site
	Proof    protocol.Certificate
	Answer   string // "accept", "decline", "preempted"; "" while there is none
	Answered MessageRef
	Declined protocol.Reason // why it was declined, or its run preempted
	Expired  bool            // the site did not answer in time, so the job was back on sale

	Preempted *protocol.Preempted // its run was taken down to make room; nil: it was not

	Starts   []KnownStart // when the job was to start, as it became known
	Released MessageRef   // zero: it holds, or held to the end of its job
	voided   bool         // its site was declared gone, so a late accept counts for nothing
}

// A KnownStart is a start as it was known from an instant on: planned, then measured.
type KnownStart struct {
	Known, Start protocol.Time
	Planned      bool // by an award or an accept: the job starts no earlier than that was sent
}

// A Run is a job on a site's devices. What an agent and its runtime send each other is not on
// the ledger of a coordinator: there a run is Planned from when the site accepted
// it until its agent reports a start or an end; only then is its node known.
type Run struct {
	Planned  bool // Started is when it was to start
	inferred bool // from an accept: its launch is not on the ledger
	Launched MessageRef
	Site     string
	Epoch    uint64
	Node     string
	Devices  []int
	Places   []protocol.Place // of a gang, on all its nodes; Node and Devices are the first
	Domain   string           // of a gang with a topology wish: the one that has all its pods; "": none has
	Model    string
	Cap      protocol.Milliwatts // of each device; 0: none
	Plan     time.Duration       // how long it was to take

	Exited  MessageRef           // zero: it still runs
	Drawn   protocol.Millijoules // by its devices and its part of the host, as the runtime measured
	Done    MessageRef           // zero: not reported yet
	Started protocol.Time
	Ended   protocol.Time
	Cost    protocol.Usage // measured; Finish is Ended

	Estimated bool   // Cost is no measurement, or not all of it
	Paused    bool   // it ended in a pause: what is left of the job is on sale
	Preempted bool   // it was stopped to make room, and has a bill: what is left of the job is on sale, perhaps all of it
	Failed    string // in words, if the job's own program failed

	Transfer protocol.Microdollars // for moving its input; of a run that was paused

	Settlement MessageRef // zero: not settled yet
	Settled    protocol.Settlement
}

// PlacesOf returns where r runs: a gang's places, or its one node.
func (r *Run) PlacesOf() []protocol.Place {
	l := protocol.Launch{Node: r.Node, Devices: r.Devices, Places: r.Places}
	return l.PlacesOf()
}

// NodeNames returns the nodes of r, each once.
func (r *Run) NodeNames() (names []string) {
	for _, p := range r.PlacesOf() {
		if !slices.Contains(names, p.Node) {
			names = append(names, p.Node)
		}
	}
	return names
}

// IsOnNode reports whether a part of r runs on a node.
func (r *Run) IsOnNode(name string) bool {
	return slices.ContainsFunc(r.PlacesOf(), func(p protocol.Place) bool { return p.Node == name })
}

// Asked returns the job as it was submitted, with all of its pods.
func (r *JobRecord) Asked() protocol.Job {
	if r.asked != nil {
		return *r.asked
	}
	return r.Job
}

// setPods notes with which of its pods a gang is awarded; without places it is on sale again, with all. How
// many pods an elastic job has differs by run: see JobIn.
func (r *JobRecord) setPods(places []protocol.Place) {
	if r.Job.IsElastic() {
		return
	}
	j := r.Asked()
	if r.Job, r.asked = j.AtPlaces(places), nil; r.Job.PodCount() != j.PodCount() {
		r.asked = &j
	}
}

// IsOnSale reports whether the coordinator may award the job.
func (r *JobRecord) IsOnSale() bool { return r.phase.isOnSale() }

// HasEnded reports whether the job's run ended, well or not; a job that was refused, or
// cancelled before it ran, had none.
func (r *JobRecord) HasEnded() bool { return r.phase == phaseEnded }

// IsRefused reports whether the job was refused, or cancelled before a site kept it.
func (r *JobRecord) IsRefused() bool { return r.phase == phaseRefused }

// IsOver reports whether no message can change the job any more: it was refused, or its run
// ended and is settled. Its id may then be given to another job.
func (r *JobRecord) IsOver() bool {
	return r.phase == phaseRefused || r.phase == phaseEnded && r.Run.Settlement != MessageRef{}
}

// CurrentAward returns the award that the job runs or ran by: the last one, if it was not
// declined or preempted and did not lapse, and the job was not refused since; or nil.
func (r JobRecord) CurrentAward() *Decision {
	if n := len(r.Awards); n > 0 && r.phase != phaseRefused && r.Awards[n-1].Answer != "decline" && r.Awards[n-1].Preempted == nil && !r.Awards[n-1].Expired {
		return &r.Awards[n-1]
	}
	return nil
}

// RunOf returns the run of an award: the current one, one that ended in a pause or one
// that was lost; nil if none is known.
func (r *JobRecord) RunOf(a *Decision) *Run {
	is := func(x *Run) bool { return x.Epoch == a.Epoch && x.Site == a.Site }
	if r.Run != nil && is(r.Run) {
		return r.Run
	}
	for _, some := range [][]Run{r.Parts, r.Lost} {
		for i := range some {
			if is(&some[i]) {
				return &some[i]
			}
		}
	}
	return nil
}

// Pauses returns how many runs of the job ended in a pause.
func (r *JobRecord) Pauses() (n int) {
	for i := range r.Parts {
		if r.Parts[i].Paused {
			n++
		}
	}
	return n
}

// EndOf returns when the run of an award ended, and whether in a pause; 0 if it goes on
// or is not known.
func (r *JobRecord) EndOf(a *Decision) (end protocol.Time, paused bool) {
	run := r.RunOf(a)
	switch {
	case run == nil:
		return 0, false
	case run.Done != MessageRef{}:
		return run.Ended, run.Paused
	}
	return run.Exited.At, false
}

// BeginTime returns when the job was submitted, or called if the stream does not have its
// submission.
func (r *JobRecord) BeginTime() protocol.Time {
	if r.Submitted == (MessageRef{}) && len(r.Awards) > 0 {
		return r.Awards[0].Message.At
	}
	return r.Submitted.At
}

// StartAsOf returns the start of an award as it was known at an instant; 0: not at all.
func (d *Decision) StartAsOf(t protocol.Time) (start protocol.Time) {
	for _, k := range d.Starts {
		if k.Known > t {
			continue
		}
		if start = k.Start; k.Planned {
			start = max(k.Start, k.Known)
		}
	}
	return start
}

// WaitTime returns how long the job waited for its start; false before that is known.
func (r JobRecord) WaitTime() (time.Duration, bool) {
	if len(r.Parts) > 0 {
		return r.Parts[0].Started.Sub(r.Job.Arrival), true
	}
	if r.Run == nil || r.Run.Planned {
		return 0, false
	}
	return r.Run.Started.Sub(r.Job.Arrival), true
}

// CompletionTime returns the time from arrival to end; false before the end.
func (r JobRecord) CompletionTime() (time.Duration, bool) {
	if r.phase != phaseEnded {
		return 0, false
	}
	return r.Run.Ended.Sub(r.Job.Arrival), true
}

// EndedLate reports whether the job ended after its deadline.
func (r JobRecord) EndedLate() bool { return r.phase == phaseEnded && r.Run.Ended > r.Job.Deadline }
