// Package runtime builds and runs the parties of one site: its agent, and beside it an
// executor, a signal source and a queue. Agent and executor log their events in a
// folder, so a site that was killed continues in the state in which it was.
//
// Executor and signal source talk to their agent within this process, over no network.
// A site that is disconnected from its federation continues to run the jobs that it
// has accepted.
package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/protocol"
)

// A Restartable is a machine that can be restarted with a new incarnation: an agent,
// an executor, a signal source.
type Restartable interface {
	bus.Machine
	BeginIncarnation(incarnation uint32)
}

// A PersistentParty is a Restartable whose state is restored from its events.
type PersistentParty interface {
	Restartable
	Events() []protocol.Message
	Restore(protocol.Message) error
	NeedsEvent(protocol.Message) bool
}

// Config describes one site to RunSite.
type Config struct {
	Site          string
	DataDir       string // folder of the event logs, one subfolder for each party
	Agent         PersistentParty
	FederationBus bus.Bus // connects agent and queue to the coordinator
	SiteBus       bus.Bus // connects the site's own parties; nil: one within this process
	Clock         bus.Clock
	Heartbeat     time.Duration // between the agent's heartbeats; 0: 2 s
	Log           *slog.Logger

	// SideParties are the site's other machines; events of a PersistentParty are logged.
	SideParties map[protocol.Party]Restartable
	// More are run with the site's own bus until the site ends: executors and signal
	// sources that are no machine. Their incarnation is the agent's.
	More map[protocol.Party]func(ctx context.Context, siteBus bus.Bus, incarnation uint32) error
	// Queue is run with the connection of the site's queue to the federation until the
	// site ends, with the agent or alone: Agent may be nil then. nil: there is no queue.
	Queue func(ctx context.Context, conn bus.Conn, incarnation uint32) error
	// Watch is called once, before the agent runs, with a function that returns the state of the
	// agent's capacity and is safe for concurrent use. It is not called for a hub. nil: no call.
	Watch func(state func(now protocol.Time) capacity.State)
	// OnSent is called with the messages that the agent received and sent; nil: no call.
	OnSent func(received, sent []protocol.Message)
	// HeldDir is the folder for ledgers of what the agent said to the coordinator and heard of it, with
	// which the site verifies the coordinator's log; "": none is kept.
	HeldDir string
}

// heartbeatInterval is how often a live agent says that it is alive, by default. The coordinator takes a site
// for silent after three that it misses.
const heartbeatInterval = 2 * time.Second

// RunSite runs a site until ctx ends, which is no error, or one of its parties fails,
// which ends the others too. All event logs are closed when it returns.
func RunSite(ctx context.Context, cfg Config) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &siteRun{cfg: cfg}
	defer func() { err = errors.Join(err, r.closeLogs()) }()
	incarnation, err := r.restoreParties()
	if err != nil {
		return err
	}
	if r.held, err = openHeld(cfg.HeldDir, cfg.Site, incarnation, cfg.Log); err != nil {
		return err
	}
	// Parties of one process need no server between them.
	siteBus := cfg.SiteBus
	if siteBus == nil {
		siteBus = new(membus.Bus)
	}
	// The first party that fails ends ctx, and with it all others.
	var all sync.WaitGroup
	start := func(what string, run func() error) {
		all.Go(func() {
			if err := run(); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("site %s: %s: %w", cfg.Site, what, err))
			}
		})
	}
	if a, ok := cfg.Agent.(interface{ ReportStarts() }); ok {
		a.ReportStarts()
	}
	if a, ok := cfg.Agent.(interface{ SendHeartbeats(time.Duration) }); ok {
		a.SendHeartbeats(cfg.Clock.Simulated(cmp.Or(cfg.Heartbeat, heartbeatInterval)))
	}
	if cfg.Agent != nil { // first: it must be connected before the others send
		conn, err := r.connectAgent(ctx, siteBus)
		if err != nil {
			return err
		}
		r.watchAgent()
		start("agent", func() error {
			return r.loopFor(cfg.Agent, protocol.AgentParty(cfg.Site)).Run(ctx, conn, r.lockedMachine(cfg.Agent, protocol.AgentParty(cfg.Site)))
		})
	}
	if cfg.Queue != nil {
		start("queue", func() error {
			conn := bus.NewReconnectingConn(ctx, cfg.FederationBus, protocol.QueueParty(cfg.Site), cfg.Log)
			if cfg.Agent != nil && siteBus != cfg.FederationBus {
				local, err := siteBus.Connect(ctx, protocol.QueueParty(cfg.Site))
				if err != nil {
					return errors.Join(err, conn.Close())
				}
				agent, _ := cfg.Agent.(interface{ MayStartAlone(*protocol.Job) bool })
				conn = copiedToAgent{Conn: conn, local: local, to: protocol.AgentParty(cfg.Site), agent: agent}
			}
			return cfg.Queue(ctx, conn, incarnation)
		})
	}
	for who, p := range cfg.SideParties {
		if _, persistent := p.(PersistentParty); !persistent { // those began theirs in restoreParties
			p.BeginIncarnation(incarnation)
		}
		conn, err := siteBus.Connect(ctx, who)
		if err != nil {
			cancel(err)
			break
		}
		start(string(who), func() error { return r.loopFor(p, who).Run(ctx, conn, r.lockedMachine(p, who)) })
	}
	for who, run := range cfg.More {
		start(string(who), func() error { return run(ctx, siteBus, incarnation) })
	}
	<-ctx.Done()
	all.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// A siteRun is one call of RunSite.
type siteRun struct {
	cfg           Config
	logs          map[protocol.Party]*wal.FileLog // open event logs, each of which counts incarnations
	lockedParties map[protocol.Party]*lockedParty
	held          *heldLedger
}

// A lockedParty serializes NeedsEvent with the machine's steps: the event log calls
// NeedsEvent from another goroutine when it compacts.
type lockedParty struct {
	sync.Mutex
	PersistentParty
}

// NeedsEvent reports whether the party still needs an event for its recovery.
func (g *lockedParty) NeedsEvent(m protocol.Message) bool {
	g.Lock()
	defer g.Unlock()
	return g.PersistentParty.NeedsEvent(m)
}

// Step implements bus.Machine.
func (g *lockedParty) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	g.Lock()
	defer g.Unlock()
	return g.PersistentParty.Step(now, m)
}

// Tick implements bus.Machine.
func (g *lockedParty) Tick(now protocol.Time) []protocol.Message {
	g.Lock()
	defer g.Unlock()
	return g.PersistentParty.Tick(now)
}

// restoreParties opens the event logs, restores all persistent parties and begins
// their incarnations. It returns the agent's incarnation. An event that a party cannot
// apply is logged and skipped.
func (r *siteRun) restoreParties() (uint32, error) {
	r.logs, r.lockedParties = make(map[protocol.Party]*wal.FileLog), make(map[protocol.Party]*lockedParty)
	if r.cfg.Agent == nil {
		return r.restoreQueueOnly()
	}
	agent := protocol.AgentParty(r.cfg.Site)
	persistent := map[protocol.Party]PersistentParty{agent: r.cfg.Agent}
	for who, p := range r.cfg.SideParties {
		if k, ok := p.(PersistentParty); ok {
			persistent[who] = k
		}
	}
	// Each party has an event log in a folder of its own.
	for who, k := range persistent {
		n := 0
		folder := filepath.Join(r.cfg.DataDir, partyRole(who))
		restore := func(m protocol.Message) error {
			if site := m.From.SiteName(); site != "" && site != r.cfg.Site {
				return fmt.Errorf("%s holds events of site %s: give each site a folder of its own", folder, site)
			}
			n++
			if err := k.Restore(m); err != nil {
				r.cfg.Log.Warn("skipped an event that does not fit the state", "party", who, "err", err)
			}
			return nil
		}
		g := &lockedParty{PersistentParty: k}
		r.lockedParties[who] = g
		l, err := wal.OpenFileLog(folder, restore, g.NeedsEvent)
		if err != nil {
			return 0, fmt.Errorf("site %s: %w", r.cfg.Site, err)
		}
		r.logs[who] = l
		k.BeginIncarnation(l.Incarnation())
		r.cfg.Log.Info("party started", "party", who, "incarnation", l.Incarnation(), "events", n)
	}
	return r.logs[agent].Incarnation(), nil
}

// restoreQueueOnly begins an incarnation of a queue without an agent. The queue has no events;
// its log only counts incarnations.
func (r *siteRun) restoreQueueOnly() (uint32, error) {
	who := protocol.QueueParty(r.cfg.Site)
	none := func(protocol.Message) error { return nil }
	l, err := wal.OpenFileLog(filepath.Join(r.cfg.DataDir, partyRole(who)), none, func(protocol.Message) bool { return false })
	if err != nil {
		return 0, fmt.Errorf("site %s: %w", r.cfg.Site, err)
	}
	r.logs[who] = l
	return l.Incarnation(), nil
}

// partyRole returns the first part of a party's name, such as "agent" of "agent/oslo".
func partyRole(who protocol.Party) string {
	return string(who[:len(who)-len(who.SiteName())-1])
}

// closeLogs closes all event logs.
func (r *siteRun) closeLogs() error {
	var errs []error
	if r.held != nil {
		errs = append(errs, r.held.close())
	}
	for _, l := range r.logs {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// connectAgent connects the agent to the site bus and to the federation, as one
// connection. They may be the same bus, in tests.
func (r *siteRun) connectAgent(ctx context.Context, siteBus bus.Bus) (bus.Conn, error) {
	who := protocol.AgentParty(r.cfg.Site)
	if siteBus == r.cfg.FederationBus {
		return siteBus.Connect(ctx, who)
	}
	local, err := siteBus.Connect(ctx, who)
	if err != nil {
		return nil, err
	}
	return bus.NewSplitConn(local, bus.NewReconnectingConn(ctx, r.cfg.FederationBus, who, r.cfg.Log)), nil
}

// A copiedToAgent is the queue's connection to the federation, which also tells the site's agent what the
// queue submits and cancels: it may start these jobs while it hears no coordinator.
type copiedToAgent struct {
	bus.Conn
	local bus.Conn
	to    protocol.Party
	agent interface{ MayStartAlone(*protocol.Job) bool } // nil: it starts none by itself
}

// Send implements bus.Conn.
func (c copiedToAgent) Send(ctx context.Context, ms ...protocol.Message) error {
	ms = slices.Clone(ms)
	copies := make([]protocol.Message, len(ms))
	for i := range ms {
		if s, ok := ms[i].Body.(protocol.Submit); ok && c.agent != nil {
			s.Alone = c.agent.MayStartAlone(&s.Job)
			ms[i].Body = s
		}
		copies[i] = ms[i]
		copies[i].To = c.to
	}
	return errors.Join(c.local.Send(ctx, copies...), c.Conn.Send(ctx, ms...))
}

// Close implements bus.Conn.
func (c copiedToAgent) Close() error { return errors.Join(c.local.Close(), c.Conn.Close()) }

// watchAgent passes the agent's state to Config.Watch.
func (r *siteRun) watchAgent() {
	agent, ok := r.cfg.Agent.(interface {
		StateAt(protocol.Time) capacity.State
	})
	if r.cfg.Watch == nil || !ok {
		return
	}
	rest := r.lockedParties[protocol.AgentParty(r.cfg.Site)]
	r.cfg.Watch(func(now protocol.Time) capacity.State {
		rest.Lock()
		defer rest.Unlock()
		return agent.StateAt(now)
	})
}

// isNonBinding reports messages that may be sent before the events of their step are
// on disk: bids, heartbeats and logs of jobs. Bids commit the agent to nothing: an award is planned anew, and one for a
// bid that a restarted agent no longer knows is declined.
func isNonBinding(m protocol.Message) bool {
	switch m.Body.(type) {
	case protocol.Bids, protocol.Quote, protocol.LogRequest, protocol.JobLog, protocol.Heartbeat:
		return true
	}
	return false
}

// lockedMachine returns a party's machine, with its lock if it is persistent.
func (r *siteRun) lockedMachine(p Restartable, who protocol.Party) bus.Machine {
	if g := r.lockedParties[who]; g != nil {
		return g
	}
	return p
}

// loopFor returns the loop of a party, which persists events if the party has a log.
func (r *siteRun) loopFor(p Restartable, who protocol.Party) bus.Loop {
	l := bus.Loop{Clock: r.cfg.Clock}
	if log := r.logs[who]; log != nil {
		l.Persist = func(_ context.Context, ms []protocol.Message) error { return log.AppendEvents(ms) }
		l.NonBinding = isNonBinding
	}
	if p == Restartable(r.cfg.Agent) {
		l.OnSent = r.observeAgent()
	}
	return l
}

// observeAgent returns what is called with the messages that the agent received and sent; nil: nobody
// wants them.
func (r *siteRun) observeAgent() func(received, sent []protocol.Message) {
	if r.cfg.HeldDir == "" {
		return r.cfg.OnSent
	}
	return func(received, sent []protocol.Message) {
		r.held.record(received, sent)
		if r.cfg.OnSent != nil {
			r.cfg.OnSent(received, sent)
		}
	}
}
