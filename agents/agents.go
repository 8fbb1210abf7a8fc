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
// What must survive a restart are facts: see [Agent.Facts].
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
	cfg      Config
	mouth    protocol.Mouth
	ears     protocol.Ears
	heard    protocol.Time // latest that the coordinator said anything, by its clock
	doubt    protocol.Time // since when it numbers lower than before; 0: it does not
	doubted  uint64        // its life, then
	fleet    *capacity.Fleet
	grid     *forecast.Known
	jobs     *runtimeest.Profiles
	ran      []uint64         // numbers of the facts that jobs was learned from
	outlook  protocol.Outlook // of the last call
	curve    *forecast.Curve  // of outlook
	greeted  bool
	told     bool              // the hands have said what they hold
	short    bool              // since the last greeting a job found no room
	called   protocol.Time     // when last
	planning protocol.Planning // of the last call that was valid
	strategy BidStrategy
	delivery Delivery                        // of strategy
	faults   map[string]int                  // of strategy, by reason
	call     protocol.Message                // the last one, without its jobs
	asked    map[protocol.JobID]protocol.Job // of the last call
	epochs   map[protocol.JobID]uint64       // highest award heard of jobs here
	queue    []reserved
	owed     []owed             // words to be said again, soonest first
	facts    []protocol.Message // of the last step
	won      protocol.Award     // restoring: the last one
	looked   protocol.Time      // when the queue was last gone through for jobs to start
	live     map[protocol.JobID]*live
	pools    []protocol.Pool                  // that the market was told of
	absent   protocol.Time                    // until when nodes that went may come back
	others   [3]int64                         // cores, memory and GPUs that others hold
	rests    map[protocol.JobID]protocol.Time // until when no offer is made for a job that was lost
	breaks   []pause                          // to come, soonest first
}

// A reserved job is accepted and waits for room.
type reserved struct {
	job     protocol.Job
	award   protocol.Award
	granted bool // the coordinator confirmed our accept
}

// A live job has its place, and once it is granted is in the hands' care.
type live struct {
	launch  protocol.Launch
	granted bool   // the coordinator confirmed our accept
	running bool   // the hands said so
	epoch   uint64 // of the launch
	award   uint64 // latest epoch under which it was accepted
	started protocol.Time
	moved   protocol.Milligrams
	pause   protocol.Time // when it is to be paused; 0: never
}

// New returns an agent that bids for a fleet, by what it hears of a grid.
func New(cfg Config, f *capacity.Fleet, g *forecast.Known) *Agent {
	if cfg.Strategy == nil {
		cfg.Strategy = DefaultStrategy(false)
	}
	if cfg.Network == (Network{}) {
		cfg.Network = DefaultNetwork()
	}
	return &Agent{
		strategy: cfg.Strategy, delivery: cfg.Strategy.Delivery(), faults: make(map[string]int),
		planning: protocol.DefaultPlanning(),
		cfg:      cfg, mouth: protocol.Mouth{Who: protocol.Agent(cfg.Site)}, fleet: f, grid: g, jobs: runtimeest.New(runtimeest.Config{}),
		asked:  make(map[protocol.JobID]protocol.Job),
		epochs: make(map[protocol.JobID]uint64),
		live:   make(map[protocol.JobID]*live),
		rests:  make(map[protocol.JobID]protocol.Time),
	}
}

// blind reports whether the agent, begun anew, knows no node of its site yet.
func (a *Agent) blind() bool { return !a.greeted && a.fleet.Empty() }

// Due implements bus.Machine. An agent introduces itself as soon as it lives and
// knows of a node; from then on it speaks when spoken to, when a job of its queue
// is to start, and when it was not answered. Before, it only says again which jobs
// it has no more.
func (a *Agent) Due() (due protocol.Time) {
	if !a.greeted && !a.fleet.Empty() {
		return 1
	}
	if i := slices.IndexFunc(a.owed, a.sayable); i >= 0 {
		due = a.owed[i].due
	}
	if a.blind() {
		return due
	}
	if len(a.breaks) > 0 && (due == 0 || a.breaks[0].at < due) {
		due = a.breaks[0].at
	}
	for _, r := range a.queue {
		if t := a.begins(r); t > a.looked && (due == 0 || t < due) {
			due = t
		}
	}
	return due
}

// Tick implements bus.Machine.
func (a *Agent) Tick(now protocol.Time) []protocol.Message {
	a.facts = a.facts[:0]
	if a.looked == 0 || now < a.looked.Add(-mostWait) { // begun anew, perhaps by a clock that was ahead; or it was set back
		a.hasten(now)
	}
	a.looked = now
	if a.blind() {
		return a.remind(now)
	}
	var said []protocol.Message
	if !a.greeted {
		said = a.hello(now)
	}
	said = append(said, a.remind(now)...)
	said = append(said, a.interrupt(now)...)
	return append(said, a.advance(now)...)
}

// Step implements bus.Machine.
func (a *Agent) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	a.facts = a.facts[:0]
	if !a.hears(m) {
		return nil
	}
	switch m.From {
	case protocol.Coordinator:
		switch b := m.Body.(type) {
		case protocol.Call:
			a.call = m
			return a.offer(now, b)
		case protocol.Award:
			return a.awarded(now, m, b)
		case protocol.Confirm:
			return a.confirmed(now, m, b)
		case protocol.Cancel:
			return a.cancel(now, b)
		case protocol.Settled:
			a.settled(m, b)
		}
	case protocol.Hands(a.cfg.Site):
		switch b := m.Body.(type) {
		case protocol.Started:
			a.started(now, m, b)
		case protocol.Exited:
			return a.exited(now, b)
		case protocol.Lost:
			return a.lost(now, b)
		case protocol.Inventory:
			return a.surveyed(now, b)
		case protocol.Reading:
			return a.read(now, b)
		}
	case protocol.Feed(a.cfg.Site):
		if b, ok := m.Body.(protocol.Signal); ok {
			a.grid.Hear(now, b)
			a.curve = nil // the next call sees new forecasts
		}
	}
	return nil
}

func (a *Agent) say(now protocol.Time, to protocol.Party, b protocol.Body) []protocol.Message {
	return []protocol.Message{a.mouth.Say(now, to, b)}
}
