// Package runtime builds and runs the parties of one site: its agent, and beside it
// whatever hands and feeds it has. Agent and hands keep their facts in a folder,
// so a site that was killed stands again where it stood.
//
// Hands and feeds speak to their agent within this process, over no network. A
// site that is cut off from its federation goes on with what it has accepted.
package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/protocol"
)

// A Restartable is a machine that can be begun anew: an agent, hands, a feed.
type Restartable interface {
	bus.Machine
	BeginIncarnation(life uint32)
}

// A PersistentParty is a Party with facts.
type PersistentParty interface {
	Restartable
	Events() []protocol.Message
	Restore(protocol.Message) error
	NeedsEvent(protocol.Message) bool
}

// Config is one site.
type Config struct {
	Site          string
	DataDir       string // where facts are kept
	Agent         PersistentParty
	FederationBus bus.Bus // the federation's
	SiteBus       bus.Bus // of hands and feeds; nil is one within this process
	Clock         bus.Clock
	Log           *slog.Logger

	// SideParties are the other parties of the site; a Keeper keeps its facts too.
	SideParties map[protocol.Party]Restartable
	// More are run with the near hub until the site ends: hands and feeds that are
	// no machine. They begin their life with the agent.
	More map[protocol.Party]func(ctx context.Context, near bus.Bus, life uint32) error
	// Queue is run with a port of the site's queue to the federation until the site
	// ends. It begins its life with the agent, or alone: Agent may be nil then. Nil
	// is none.
	Queue func(ctx context.Context, far bus.Conn, life uint32) error
	// OnSent is shown what the agent heard and said; nil is nobody.
	OnSent func(received, sent []protocol.Message)
}

// RunSite lets a site live until ctx ends, which is no error, or one of its parties
// fails.
func RunSite(ctx context.Context, cfg Config) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &siteRun{cfg: cfg}
	defer func() { err = errors.Join(err, r.closeLogs()) }()
	life, err := r.restoreParties()
	if err != nil {
		return err
	}
	near := cfg.SiteBus
	if near == nil {
		near = new(membus.Bus)
	}
	var all sync.WaitGroup
	start := func(what string, live func() error) {
		all.Go(func() {
			if err := live(); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("site %s: %s: %w", cfg.Site, what, err))
			}
		})
	}
	if cfg.Agent != nil { // it listens before the others speak
		port, err := r.connectAgent(ctx, near)
		if err != nil {
			return err
		}
		start("agent", func() error {
			return r.loopFor(cfg.Agent, protocol.AgentParty(cfg.Site)).Run(ctx, port, r.lockedMachine(cfg.Agent, protocol.AgentParty(cfg.Site)))
		})
	}
	if cfg.Queue != nil {
		start("queue", func() error {
			return cfg.Queue(ctx, bus.NewReconnectingConn(ctx, cfg.FederationBus, protocol.QueueParty(cfg.Site), cfg.Log), life)
		})
	}
	for who, p := range cfg.SideParties {
		if _, keeps := p.(PersistentParty); !keeps {
			p.BeginIncarnation(life)
		}
		port, err := near.Connect(ctx, who)
		if err != nil {
			cancel(err)
			break
		}
		start(string(who), func() error { return r.loopFor(p, who).Run(ctx, port, r.lockedMachine(p, who)) })
	}
	for who, live := range cfg.More {
		start(string(who), func() error { return live(ctx, near, life) })
	}
	<-ctx.Done()
	all.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

type siteRun struct {
	cfg           Config
	incarnations  map[protocol.Party]*wal.FileLog
	lockedParties map[protocol.Party]*lockedParty
}

// A lockedParty keeps a machine from being asked what it needs while it takes a step:
// facts are written beside it.
type lockedParty struct {
	sync.Mutex
	PersistentParty
}

// NeedsEvent reports whether a fact is still needed.
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

// restoreParties begins a life of all who keep facts, and returns the agent's.
func (r *siteRun) restoreParties() (uint32, error) {
	r.incarnations, r.lockedParties = make(map[protocol.Party]*wal.FileLog), make(map[protocol.Party]*lockedParty)
	if r.cfg.Agent == nil {
		return r.restoreQueueOnly()
	}
	agent := protocol.AgentParty(r.cfg.Site)
	keepers := map[protocol.Party]PersistentParty{agent: r.cfg.Agent}
	for who, p := range r.cfg.SideParties {
		if k, ok := p.(PersistentParty); ok {
			keepers[who] = k
		}
	}
	for who, k := range keepers {
		n := 0
		folder := filepath.Join(r.cfg.DataDir, partyRole(who))
		restore := func(m protocol.Message) error {
			if site := m.From.SiteName(); site != "" && site != r.cfg.Site {
				return fmt.Errorf("%s holds what site %s noted: give each site a folder of its own", folder, site)
			}
			n++
			if err := k.Restore(m); err != nil {
				r.cfg.Log.Warn("a fact does not fit", "party", who, "err", err)
			}
			return nil
		}
		g := &lockedParty{PersistentParty: k}
		r.lockedParties[who] = g
		l, err := wal.OpenFileLog(folder, restore, g.NeedsEvent)
		if err != nil {
			return 0, fmt.Errorf("site %s: %w", r.cfg.Site, err)
		}
		r.incarnations[who] = l
		k.BeginIncarnation(l.Incarnation())
		r.cfg.Log.Info("begun", "party", who, "life", l.Incarnation(), "facts", n)
	}
	return r.incarnations[agent].Incarnation(), nil
}

// restoreQueueOnly begins a life of a queue that has no agent. It keeps no facts; its lives
// are counted.
func (r *siteRun) restoreQueueOnly() (uint32, error) {
	who := protocol.QueueParty(r.cfg.Site)
	none := func(protocol.Message) error { return nil }
	l, err := wal.OpenFileLog(filepath.Join(r.cfg.DataDir, partyRole(who)), none, func(protocol.Message) bool { return false })
	if err != nil {
		return 0, fmt.Errorf("site %s: %w", r.cfg.Site, err)
	}
	r.incarnations[who] = l
	return l.Incarnation(), nil
}

// partyRole is the first part of a party's name.
func partyRole(who protocol.Party) string {
	return string(who[:len(who)-len(who.SiteName())-1])
}

func (r *siteRun) closeLogs() error {
	var errs []error
	for _, l := range r.incarnations {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// connectAgent joins the agent to both hubs.
func (r *siteRun) connectAgent(ctx context.Context, near bus.Bus) (bus.Conn, error) {
	who := protocol.AgentParty(r.cfg.Site)
	if near == r.cfg.FederationBus {
		return near.Connect(ctx, who)
	}
	local, err := near.Connect(ctx, who)
	if err != nil {
		return nil, err
	}
	return bus.NewSplitConn(local, bus.NewReconnectingConn(ctx, r.cfg.FederationBus, who, r.cfg.Log)), nil
}

// isNonBinding bind nobody: an award is planned again, and one for an offer that the
// agent has forgotten is declined. So they do not wait for the disk.
func isNonBinding(m protocol.Message) bool {
	_, ok := m.Body.(protocol.Bids)
	return ok
}

// lockedMachine returns p, guarded if it keeps facts.
func (r *siteRun) lockedMachine(p Restartable, who protocol.Party) bus.Machine {
	if g := r.lockedParties[who]; g != nil {
		return g
	}
	return p
}

func (r *siteRun) loopFor(p Restartable, who protocol.Party) bus.Loop {
	l := bus.Loop{Clock: r.cfg.Clock}
	if lives := r.incarnations[who]; lives != nil {
		l.Persist = func(_ context.Context, ms []protocol.Message) error { return lives.AppendEvents(ms) }
		l.NonBinding = isNonBinding
	}
	if p == Restartable(r.cfg.Agent) {
		l.OnSent = r.cfg.OnSent
	}
	return l
}
