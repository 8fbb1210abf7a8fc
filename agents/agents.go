// Package agents is the bidding agent of a site: a state machine that decides whether, when and at
// what price the site bids, and what it does with the jobs that it wins.
//
// The agent owns the site's capacity (agents/capacity) and grid forecast (agents/forecast), and
// asks both by function call where a job would run and what an hour will cost. What takes time
// (running a job, setting a power cap) it asks of the site's executor by message. It knows prices
// and carbon intensities only from its signal source's messages.
//
// A bid states a price and reserves nothing. An award is planned anew; if the capacity is gone,
// the agent declines. Once it accepts and the coordinator confirms that (decision 0020), the
// executor launches the job, or it waits in the site's queue if the award allows that. An Accept
// that is not confirmed before its lease ends is taken back.
//
// What must survive a restart are events: see [Agent.Events]. coordinator/market is the other side
// of the protocol.
package agents

import (
	"slices"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/runtimeest"
	"github.com/gridbid/gridbid/agents/terms"
	"github.com/gridbid/gridbid/protocol"
)

// Config distinguishes one agent from another.
type Config struct {
	Site     string
	Strategy BidStrategy // default DefaultStrategy()
	Network  Network     // default DefaultNetwork
	Terms    terms.Terms // of the site; the zero value has none
	Location protocol.Location
	// Services says that the site's executor runs replicas of services: without it the agent holds none.
	Services bool
}

// Network is what it costs to move a job's input from another site.
type Network struct {
	PerGiB  protocol.Microdollars // paid to carriers per GiB
	Carbon  protocol.Milligrams   // per GiB
	MBitSec int64                 // of one transfer, in Mbit/s; must be positive
}

// DefaultNetwork is two cents, 24 grams of CO2 and 8.6 seconds per GiB: a cloud's list price
// between regions; 0.06 kWh (the constant of SustainCluster) at 400 g/kWh; a gigabit per second.
func DefaultNetwork() Network {
	return Network{PerGiB: 20_000, Carbon: 24_000, MBitSec: 1000}
}

// An Agent bids for one site. It is a bus.Machine, and not safe for concurrent use.
type Agent struct {
	cfg                 Config
	sender              protocol.Sender
	dedup               protocol.Deduplicator
	lastCoordinatorTime protocol.Time // latest timestamp of the coordinator, by its clock
	resetSince          protocol.Time // since when the coordinator's numbers are lower than before; 0: they are not
	resetIncarnation    uint64        // the coordinator's incarnation at resetSince
	fleet               *capacity.Fleet
	grid                *forecast.GridState
	jobs                *runtimeest.Profiles  // run times learned from jobs that ran here
	rememberedRuns      []uint64              // sequence numbers of the events that jobs was learned from
	gridForecast        protocol.GridForecast // as of the last call
	curve               *forecast.Curve       // cost curve of gridForecast; nil: rebuild it
	registered          bool                  // the market knows this site
	executorReported    bool                  // the executor has sent an inventory since this agent started
	lackedCapacity      bool                  // a job found no capacity since the last registration
	lastCallAt          protocol.Time         // when the last call came
	planning            protocol.Planning     // of the last valid call
	sitePrices          protocol.SitePrices   // the last ones
	roomPrices          shadowPrices          // of the last call: what GPUs here are worth to jobs
	asked               askedGPUs             // by jobs: see replicasBeyond
	strategy            BidStrategy
	delivery            Delivery                         // of the strategy
	starts              startChoices                     // scratch of startsOf
	costLine            forecast.Line                    // of curve, for starts
	ways                []capacity.RunConfig             // scratch of bidsForJob
	faults              map[string]int                   // of the strategy, by reason
	lastCall            protocol.Message                 // the last call for bids; its jobs are in calledJobs
	calledJobs          calledJobs                       // of the last call
	epochs              map[protocol.JobID]uint64        // highest award seen of each job that is here
	queue               []reservation                    // accepted jobs that wait for capacity, in the order in which they start
	pendingAcks         []*pendingAck                    // messages to retransmit until they are answered, by due time
	ackDue              map[protocol.JobID]protocol.Time // of each of pendingAcks
	events              []protocol.Message               // of the latest Step or Tick
	resizeAt            protocol.Time                    // when resizeRuns looks next; 0: at no time
	ranPausableGang     bool                             // it ran a gang that may be paused: else planResizes looks at no run
	lastAward           protocol.Award                   // used by Restore only: the last one restored
	lastQueueCheck      protocol.Time                    // when startQueuedJobs last ran
	running             map[protocol.JobID]*activeRun
	announcedPools      []protocol.Pool                  // as last registered with the market
	nodeLossUntil       protocol.Time                    // until then nodes that went away may come back
	heldByOthers        [3]int64                         // CPU, memory and GPUs that pods of other schedulers use: see othersReleasedCapacity
	rebidAfter          map[protocol.JobID]protocol.Time // until then no bids for a job that this site lost
	plannedPauses       []plannedPause                   // by time
	provisional         []provisionalBill                // to correct when their hours are published
	reportsStarts       bool                             // see ReportStarts
	startReports        []startReport
	keptRooms           []keptRoom
	hub                 hubState
	leaveStated         protocol.Time // by the terms, when the site leaves
	leaveNoted          bool          // when it leaves counts from when the agent first knew
	own                 map[protocol.JobID]*ownJob
	ownCalled           map[protocol.JobID]protocol.Time // own jobs that a coordinator has called, so that only an award may start them, and when they arrived
	heartbeat           heartbeat
	services            map[protocol.ServiceID]*heldService
	triedVersion        int // of the fleet when replicas without a node were tried last: see keepServices
}

// A reservation is an accepted job that waits in the site's queue.
type reservation struct {
	job       protocol.Job
	award     protocol.Award
	confirmed bool // the coordinator confirmed our accept
}

// An activeRun is a job that has its capacity; once its Accept is confirmed the executor runs it.
type activeRun struct {
	launch         protocol.Launch
	confirmed      bool                // the coordinator confirmed our accept
	running        bool                // the executor reported its start
	epoch          uint64              // of the award that it was launched under
	acceptedEpoch  uint64              // latest epoch under which the agent accepted it
	started        protocol.Time       // planned until running
	transferCarbon protocol.Milligrams // of moving its input
	pauseAt        protocol.Time       // when to pause it; 0: never
	byMonth        bool                // its report says what is of which month, if it runs over more than one
	preempt        *protocol.Preempt   // the coordinator had it stopped to make room; nil: it did not
	recall         *protocol.Preempt   // the site stops it at Until for a job of its own, if that waits then; nil: it does not
	resizing       bool                // its executor was asked to pause it, to go on elsewhere or with another number of pods
	cannotPause    bool                // its executor could not save a checkpoint for that
}

// New returns an agent that bids for a site's capacity by the forecasts of g.
func New(cfg Config, f *capacity.Fleet, g *forecast.GridState) *Agent {
	if cfg.Strategy == nil {
		cfg.Strategy = DefaultStrategy()
	}
	if cfg.Network == (Network{}) {
		cfg.Network = DefaultNetwork()
	}
	return &Agent{
		strategy: cfg.Strategy, delivery: cfg.Strategy.Delivery(), faults: make(map[string]int),
		planning: protocol.DefaultPlanning(),
		cfg:      cfg, sender: protocol.Sender{Party: protocol.AgentParty(cfg.Site)}, fleet: f, grid: g, jobs: runtimeest.New(runtimeest.Config{}),
		epochs:     make(map[protocol.JobID]uint64),
		ackDue:     make(map[protocol.JobID]protocol.Time),
		running:    make(map[protocol.JobID]*activeRun),
		rebidAfter: make(map[protocol.JobID]protocol.Time),
		services:   make(map[protocol.ServiceID]*heldService), leaveStated: cfg.Terms.Leave,
		own:       make(map[protocol.JobID]*ownJob),
		ownCalled: make(map[protocol.JobID]protocol.Time),
	}
}

// lacksNodes reports whether a restarted agent has not received its site's inventory yet. Until
// then it must not place, start or claim anything.
func (a *Agent) lacksNodes() bool { return !a.registered && a.fleet.HasNoNodes() }

// StateAt returns what the agent's capacity holds at now, for metrics. Like all methods it must not
// be called while another one runs.
func (a *Agent) StateAt(now protocol.Time) capacity.State { return a.fleet.StateAt(now) }

// Due implements bus.Machine. An agent registers as soon as it knows a node. After that it acts
// when a message comes, when a queued job or a pause is due, and when a retransmission is. Before,
// it only retransmits Declines and usage reports. Heartbeats come apart from all that.
func (a *Agent) Due() protocol.Time {
	due := a.workDue()
	if h := a.heartbeat; h.every > 0 && (due == 0 || h.next < due) {
		due = max(h.next, 1)
	}
	return due
}

// workDue is Due without heartbeats.
func (a *Agent) workDue() (due protocol.Time) {
	if !a.registered && !a.fleet.HasNoNodes() {
		return 1
	}
	if i := slices.IndexFunc(a.pendingAcks, a.mayResend); i >= 0 {
		due = a.pendingAcks[i].due
	}
	if a.lacksNodes() {
		return due
	}
	for _, t := range []protocol.Time{a.nextStartReport(), a.servicesDue(), a.nextRecall(), a.nextLeave()} {
		if t != 0 && (due == 0 || t < due) {
			due = t
		}
	}
	if a.resizeAt != 0 && (due == 0 || a.resizeAt < due) {
		due = a.resizeAt
	}
	if len(a.plannedPauses) > 0 && (due == 0 || a.plannedPauses[0].at < due) {
		due = a.plannedPauses[0].at
	}
	if t := a.ownJobsDue(); t != 0 && (due == 0 || t < due) {
		due = t
	}
	for _, k := range a.keptRooms {
		if due == 0 || k.until < due {
			due = k.until
		}
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
	if a.lastQueueCheck == 0 || now < a.lastQueueCheck.Add(-maxRetryDelay) { // restarted, perhaps after a clock that was ahead, or the clock was set back
		a.clampFutureRetries(now)
	}
	a.lastQueueCheck = now
	a.adoptReplicas(now)
	msgs := a.heartbeatDue(now)
	if a.lacksNodes() {
		return append(msgs, a.retransmitDue(now)...)
	}
	if !a.registered {
		msgs = append(msgs, a.registerSite(now)...)
	}
	msgs = append(msgs, a.retransmitDue(now)...)
	a.dropKeptRooms(now)
	msgs = append(msgs, a.sendDuePauses(now)...)
	msgs = append(msgs, a.resizeRuns(now)...)
	msgs = append(msgs, a.sendStartReports(now)...)
	a.noteLeave(now)
	msgs = append(msgs, a.stopRecalled(now)...)
	msgs = append(msgs, a.stopLeft(now)...)
	msgs = append(msgs, a.startQueuedJobs(now)...)
	msgs = append(msgs, a.tendOwnJobs(now)...)
	return append(msgs, a.keepServices(now)...)
}

// Step implements bus.Machine.
func (a *Agent) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	a.events = a.events[:0]
	if m.From == protocol.Coordinator {
		a.hub.heard = now
		switch b := m.Body.(type) {
		case protocol.Heartbeat:
			return a.tendOwnJobs(now)
		case protocol.LogRequest:
			return a.answerLogRequest(now, b)
		}
	}
	if !a.admitMessage(m) {
		return nil
	}
	a.adoptReplicas(now)
	msgs := a.handleMessage(now, m)
	return append(msgs, a.keepServices(now)...)
}

// handleMessage acts on a message that is new.
func (a *Agent) handleMessage(now protocol.Time, m protocol.Message) []protocol.Message {
	switch m.From {
	case protocol.Coordinator:
		switch b := m.Body.(type) {
		case protocol.SitePrices:
			a.sitePrices = b
		case protocol.CallForBids:
			a.lastCall = m
			b = a.withSitePrices(b, b.Round)
			a.roomPrices = newShadowPrices(b.ShadowPrices, a.cfg.Site)
			if a.cfg.Services {
				a.asked.observeCall(now, b.Jobs, a.fleet.PoolTotals())
			}
			return a.answerCall(now, b)
		case protocol.QuoteRequest:
			return a.answerQuoteRequest(now, a.withSitePrices(b.Call, 0))
		case protocol.Award:
			return a.handleAward(now, m, b)
		case protocol.Confirm:
			return a.handleConfirm(now, m, b)
		case protocol.Cancel:
			return a.handleCancel(now, b)
		case protocol.Preempt:
			return a.handlePreempt(now, m, b)
		case protocol.Settlement:
			a.handleSettlement(m, b)
		case protocol.CallForCapacity:
			return a.answerCallForCapacity(now, b)
		case protocol.AssignReplicas:
			return a.handleAssign(now, m, b)
		}
	case protocol.ExecutorParty(a.cfg.Site):
		switch b := m.Body.(type) {
		case protocol.Started:
			return a.handleStarted(now, m, b)
		case protocol.Finished:
			return a.handleFinished(now, b)
		case protocol.Interrupted:
			return a.handleInterrupted(now, b)
		case protocol.Inventory:
			return a.handleInventory(now, b)
		case protocol.IdleReading:
			return a.reportIdleReading(now, b)
		case protocol.ReplicasRunning:
			a.handleReplicasRunning(now, b)
		case protocol.JobLog:
			return a.messageTo(now, protocol.Coordinator, b)
		}
	case protocol.QueueParty(a.cfg.Site):
		return a.handleOwnJob(now, m)
	case protocol.SignalParty(a.cfg.Site):
		if b, ok := m.Body.(protocol.Signal); ok {
			a.grid.RecordSignal(now, b)
			a.curve = nil // the next call sees new forecasts
			return a.correctBills(now)
		}
	}
	return nil
}

// messageTo returns one message that is not retransmitted.
func (a *Agent) messageTo(now protocol.Time, to protocol.Party, b protocol.Body) []protocol.Message {
	return []protocol.Message{a.sender.NewMessage(now, to, b)}
}
