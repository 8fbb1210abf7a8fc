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

// A Party is a machine that can be begun anew: an agent, hands, a feed.
type Party interface {
	bus.Machine
	Begin(life uint32)
}

// A Keeper is a Party with facts.
type Keeper interface {
	Party
	Facts() []protocol.Message
	Restore(protocol.Message) error
	Needs(protocol.Message) bool
}

// Config is one site.
type Config struct {
	Site   string
	Folder string // where facts are kept
	Agent  Keeper
	Far    bus.Hub // the federation's
	Near   bus.Hub // of hands and feeds; nil is one within this process
	Clock  bus.Clock
	Log    *slog.Logger

	// Beside are the other parties of the site; a Keeper keeps its facts too.
	Beside map[protocol.Party]Party
	// More are run with the near hub until the site ends: hands and feeds that are
	// no machine. They begin their life with the agent.
	More map[protocol.Party]func(ctx context.Context, near bus.Hub, life uint32) error
	// Queue is run with a port of the site's queue to the federation until the site
	// ends. It begins its life with the agent, or alone: Agent may be nil then. Nil
	// is none.
	Queue func(ctx context.Context, far bus.Port, life uint32) error
	// Told is shown what the agent heard and said; nil is nobody.
	Told func(heard, said []protocol.Message)
}

// Run lets a site live until ctx ends, which is no error, or one of its parties
// fails.
func Run(ctx context.Context, cfg Config) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{cfg: cfg}
	defer func() { err = errors.Join(err, r.close()) }()
	life, err := r.restore()
	if err != nil {
		return err
	}
	near := cfg.Near
	if near == nil {
		near = new(membus.Hub)
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
		port, err := r.port(ctx, near)
		if err != nil {
			return err
		}
		start("agent", func() error {
			return r.loop(cfg.Agent, protocol.Agent(cfg.Site)).Run(ctx, port, r.machine(cfg.Agent, protocol.Agent(cfg.Site)))
		})
	}
	if cfg.Queue != nil {
		start("queue", func() error {
			return cfg.Queue(ctx, bus.Lasting(ctx, cfg.Far, protocol.Queue(cfg.Site), cfg.Log), life)
		})
	}
	for who, p := range cfg.Beside {
		if _, keeps := p.(Keeper); !keeps {
			p.Begin(life)
		}
		port, err := near.Join(ctx, who)
		if err != nil {
			cancel(err)
			break
		}
		start(string(who), func() error { return r.loop(p, who).Run(ctx, port, r.machine(p, who)) })
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

type run struct {
	cfg    Config
	lives  map[protocol.Party]*wal.Lives
	guards map[protocol.Party]*guard
}

// A guard keeps a machine from being asked what it needs while it takes a step:
// facts are written beside it.
type guard struct {
	sync.Mutex
	Keeper
}

// Needs reports whether a fact is still needed.
func (g *guard) Needs(m protocol.Message) bool {
	g.Lock()
	defer g.Unlock()
	return g.Keeper.Needs(m)
}

// Step implements bus.Machine.
func (g *guard) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	g.Lock()
	defer g.Unlock()
	return g.Keeper.Step(now, m)
}

// Tick implements bus.Machine.
func (g *guard) Tick(now protocol.Time) []protocol.Message {
	g.Lock()
	defer g.Unlock()
	return g.Keeper.Tick(now)
}

// restore begins a life of all who keep facts, and returns the agent's.
func (r *run) restore() (uint32, error) {
	r.lives, r.guards = make(map[protocol.Party]*wal.Lives), make(map[protocol.Party]*guard)
	if r.cfg.Agent == nil {
		return r.alone()
	}
	agent := protocol.Agent(r.cfg.Site)
	keepers := map[protocol.Party]Keeper{agent: r.cfg.Agent}
	for who, p := range r.cfg.Beside {
		if k, ok := p.(Keeper); ok {
			keepers[who] = k
		}
	}
	for who, k := range keepers {
		n := 0
		folder := filepath.Join(r.cfg.Folder, role(who))
		restore := func(m protocol.Message) error {
			if site := m.From.Site(); site != "" && site != r.cfg.Site {
				return fmt.Errorf("%s holds what site %s noted: give each site a folder of its own", folder, site)
			}
			n++
			if err := k.Restore(m); err != nil {
				r.cfg.Log.Warn("a fact does not fit", "party", who, "err", err)
			}
			return nil
		}
		g := &guard{Keeper: k}
		r.guards[who] = g
		l, err := wal.Begin(folder, restore, g.Needs)
		if err != nil {
			return 0, fmt.Errorf("site %s: %w", r.cfg.Site, err)
		}
		r.lives[who] = l
		k.Begin(l.Life())
		r.cfg.Log.Info("begun", "party", who, "life", l.Life(), "facts", n)
	}
	return r.lives[agent].Life(), nil
}

// alone begins a life of a queue that has no agent. It keeps no facts; its lives
// are counted.
func (r *run) alone() (uint32, error) {
	who := protocol.Queue(r.cfg.Site)
	none := func(protocol.Message) error { return nil }
	l, err := wal.Begin(filepath.Join(r.cfg.Folder, role(who)), none, func(protocol.Message) bool { return false })
	if err != nil {
		return 0, fmt.Errorf("site %s: %w", r.cfg.Site, err)
	}
	r.lives[who] = l
	return l.Life(), nil
}

// role is the first part of a party's name.
func role(who protocol.Party) string {
	return string(who[:len(who)-len(who.Site())-1])
}

func (r *run) close() error {
	var errs []error
	for _, l := range r.lives {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// port joins the agent to both hubs.
func (r *run) port(ctx context.Context, near bus.Hub) (bus.Port, error) {
	who := protocol.Agent(r.cfg.Site)
	if near == r.cfg.Far {
		return near.Join(ctx, who)
	}
	local, err := near.Join(ctx, who)
	if err != nil {
		return nil, err
	}
	return bus.Apart(local, bus.Lasting(ctx, r.cfg.Far, who, r.cfg.Log)), nil
}

// offers bind nobody: an award is planned again, and one for an offer that the
// agent has forgotten is declined. So they do not wait for the disk.
func offers(m protocol.Message) bool {
	_, ok := m.Body.(protocol.Offer)
	return ok
}

// machine returns p, guarded if it keeps facts.
func (r *run) machine(p Party, who protocol.Party) bus.Machine {
	if g := r.guards[who]; g != nil {
		return g
	}
	return p
}

func (r *run) loop(p Party, who protocol.Party) bus.Loop {
	l := bus.Loop{Clock: r.cfg.Clock}
	if lives := r.lives[who]; lives != nil {
		l.Keep = func(_ context.Context, ms []protocol.Message) error { return lives.Append(ms) }
		l.Unbound = offers
	}
	if p == Party(r.cfg.Agent) {
		l.Told = r.cfg.Told
	}
	return l
}
