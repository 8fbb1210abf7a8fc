// Package agents is the mind of a site: whether, when and for how much it bids,
// and what it does with what it wins.
//
// The mind owns its body. It asks the fleet, by function call, where a job
// would land and what it would draw, and its grid what an hour will cost; what
// takes time (running a job, setting a cap) it asks of its hands, by message.
// It knows of prices and carbon only what its feed has told it.
//
// What it promises: an offer is a price, not a place. An award is planned
// again; if the room is gone the agent declines. Once it accepts and the
// coordinator confirms that, the job is started, or waits in the site's own queue
// if the award says so. An accept that is not confirmed before its lease ends is
// taken back.
//
// What must survive a restart are facts: see [Agent.Events].
package agents

import (
	"slices"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/runtimeest"
	"github.com/gridbid/gridbid/protocol"
)

// Config is what tells one agent from another.
type Config struct {
	Site     string
	Strategy BidStrategy // default DefaultStrategy(false)
	Network  Network     // default DefaultNetwork
}

// Network is what moving a job's input from another site takes.
type Network struct {
	PerGiB  protocol.Microdollars // paid to carriers
	Carbon  protocol.Milligrams   // per GiB
	MBitSec int64                 // speed of one transfer
}

// DefaultNetwork is two cents, 24 grams and 8.6 seconds for a GiB: a cloud's
// list price between regions; 0.06 kWh (the constant of SustainCluster) at
// 400 g/kWh; a gigabit per second.
func DefaultNetwork() Network {
	return Network{PerGiB: 20_000, Carbon: 24_000, MBitSec: 1000}
}

// An Agent bids for one site. It is a bus.Machine.
type Agent struct {
	cfg                 Config
	sender              protocol.Sender
	dedup               protocol.Deduplicator
	lastCoordinatorTime protocol.Time // latest that the coordinator said anything, by its clock
	resetSince          protocol.Time // since when it numbers lower than before; 0: it does not
	resetIncarnation    uint64        // its life, then
	fleet               *capacity.Fleet
	grid                *forecast.GridState
	jobs                *runtimeest.Profiles
	rememberedRuns      []uint64              // numbers of the facts that jobs was learned from
	gridForecast        protocol.GridForecast // of the last call
	curve               *forecast.Curve       // of outlook
	registered          bool
	executorReported    bool              // the hands have said what they hold
	lackedCapacity      bool              // since the last greeting a job found no room
	lastCallAt          protocol.Time     // when last
	planning            protocol.Planning // of the last call that was valid
	strategy            BidStrategy
	delivery            Delivery                        // of strategy
	faults              map[string]int                  // of strategy, by reason
	lastCall            protocol.Message                // the last one, without its jobs
	calledJobs          map[protocol.JobID]protocol.Job // of the last call
	epochs              map[protocol.JobID]uint64       // highest award heard of jobs here
	queue               []reservation
	pendingAcks         []pendingAck       // words to be said again, soonest first
	events              []protocol.Message // of the last step
	lastAward           protocol.Award     // restoring: the last one
	lastQueueCheck      protocol.Time      // when the queue was last gone through for jobs to start
	running             map[protocol.JobID]*activeRun
	announcedPools      []protocol.Pool                  // that the market was told of
	nodeLossUntil       protocol.Time                    // until when nodes that went may come back
	heldByOthers        [3]int64                         // cores, memory and GPUs that others hold
	rebidAfter          map[protocol.JobID]protocol.Time // until when no offer is made for a job that was lost
	plannedPauses       []plannedPause                   // to come, soonest first
}

// A reservation job is accepted and waits for room.
type reservation struct {
	job       protocol.Job
	award     protocol.Award
	confirmed bool // the coordinator confirmed our accept
}

// A activeRun job has its place, and once it is granted is in the hands' care.
type activeRun struct {
	launch         protocol.Launch
	confirmed      bool   // the coordinator confirmed our accept
	running        bool   // the hands said so
	epoch          uint64 // of the launch
	acceptedEpoch  uint64 // latest epoch under which it was accepted
	started        protocol.Time
	transferCarbon protocol.Milligrams
	pauseAt        protocol.Time // when it is to be paused; 0: never
}

// New returns an agent that bids for a fleet, by what it hears of a grid.
func New(cfg Config, f *capacity.Fleet, g *forecast.GridState) *Agent {
	if cfg.Strategy == nil {
		cfg.Strategy = DefaultStrategy(false)
	}
	if cfg.Network == (Network{}) {
		cfg.Network = DefaultNetwork()
	}
	return &Agent{
		strategy: cfg.Strategy, delivery: cfg.Strategy.Delivery(), faults: make(map[string]int),
		planning: protocol.DefaultPlanning(),
		cfg:      cfg, sender: protocol.Sender{Party: protocol.AgentParty(cfg.Site)}, fleet: f, grid: g, jobs: runtimeest.New(runtimeest.Config{}),
		calledJobs: make(map[protocol.JobID]protocol.Job),
		epochs:     make(map[protocol.JobID]uint64),
		running:    make(map[protocol.JobID]*activeRun),
		rebidAfter: make(map[protocol.JobID]protocol.Time),
	}
}

// lacksNodes reports whether the agent, begun anew, knows no node of its site yet.
func (a *Agent) lacksNodes() bool { return !a.registered && a.fleet.HasNoNodes() }

// Due implements bus.Machine. An agent introduces itself as soon as it lives and
// knows of a node; from then on it speaks when spoken to, when a job of its queue
// is to start, and when it was not answered. Before, it only says again which jobs
// it has no more.
func (a *Agent) Due() (due protocol.Time) {
	if !a.registered && !a.fleet.HasNoNodes() {
		return 1
	}
	if i := slices.IndexFunc(a.pendingAcks, a.mayResend); i >= 0 {
		due = a.pendingAcks[i].due
	}
	if a.lacksNodes() {
		return due
	}
	if len(a.plannedPauses) > 0 && (due == 0 || a.plannedPauses[0].at < due) {
		due = a.plannedPauses[0].at
	}
	for _, r := range a.queue {
		if t := a.nextStartCheck(r); t > a.lastQueueCheck && (due == 0 || t < due) {
			due = t
		}
	}
	return due
}

// Tick implements bus.Machine.
func (a *Agent) Tick(now protocol.Time) []protocol.Message {
	a.events = a.events[:0]
	if a.lastQueueCheck == 0 || now < a.lastQueueCheck.Add(-maxRetryDelay) { // begun anew, perhaps by a clock that was ahead; or it was set back
		a.clampFutureRetries(now)
	}
	a.lastQueueCheck = now
	if a.lacksNodes() {
		return a.retransmitDue(now)
	}
	var said []protocol.Message
	if !a.registered {
		said = a.registerSite(now)
	}
	said = append(said, a.retransmitDue(now)...)
	said = append(said, a.sendDuePauses(now)...)
	return append(said, a.startQueuedJobs(now)...)
}

// Step implements bus.Machine.
func (a *Agent) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	a.events = a.events[:0]
	if !a.admitMessage(m) {
		return nil
	}
	switch m.From {
	case protocol.Coordinator:
		switch b := m.Body.(type) {
		case protocol.CallForBids:
			a.lastCall = m
			return a.answerCall(now, b)
		case protocol.Award:
			return a.handleAward(now, m, b)
		case protocol.Confirm:
			return a.handleConfirm(now, m, b)
		case protocol.Cancel:
			return a.handleCancel(now, b)
		case protocol.Settlement:
			a.handleSettlement(m, b)
		}
	case protocol.ExecutorParty(a.cfg.Site):
		switch b := m.Body.(type) {
		case protocol.Started:
			a.handleStarted(now, m, b)
		case protocol.Finished:
			return a.handleFinished(now, b)
		case protocol.Interrupted:
			return a.handleInterrupted(now, b)
		case protocol.Inventory:
			return a.handleInventory(now, b)
		case protocol.IdleReading:
			return a.reportIdleReading(now, b)
		}
	case protocol.SignalParty(a.cfg.Site):
		if b, ok := m.Body.(protocol.Signal); ok {
			a.grid.RecordSignal(now, b)
			a.curve = nil // the next call sees new forecasts
		}
	}
	return nil
}

func (a *Agent) messageTo(now protocol.Time, to protocol.Party, b protocol.Body) []protocol.Message {
	return []protocol.Message{a.sender.NewMessage(now, to, b)}
}
