// Package leader runs a market for real: it waits for its turn, stands where the
// last coordinator stood, leads as long as it can, and then waits again. So
// every coordinator is a standby of the others.
package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/coordinator/snapshot"
	"github.com/gridbid/gridbid/protocol"
)

// Config is one coordinator.
type Config struct {
	Hub    *natsbus.Hub
	Market market.Config       // its MaxOfferBytes, if 0, is set by what connections carry
	Rule   func() auction.Rule // a new one for each term
	Books  eventlog.Config
	// SitePayload is how many bytes the server takes of a site in one message; 0: as
	// many as of this coordinator.
	SitePayload int
	// Tail is how many entries the books may have that no summary covers before
	// the next is made; default 20,000, which are read in about a second.
	Tail  uint64
	Clock bus.Clock
	Desk  *api.Desk
	Log   *slog.Logger
	// Judge answers at its port while this coordinator leads; life is the
	// coordinator's. Nil: nobody does.
	Judge func(ctx context.Context, port bus.Port, life uint32) error
	// Scribe takes down what the coordinator takes in; nil: nobody does.
	Scribe Scribe
	// Took is shown each step as the market takes it; nil is nobody.
	Took func(now protocol.Time, heard *protocol.Message)
	// Told is shown what the coordinator heard and said; nil is nobody.
	Told func(heard, said []protocol.Message)
	// Stood is shown the facts that a term begins with, and none when it is over;
	// nil is nobody.
	Stood func(facts []protocol.Message)
	// Counted is shown how often the market has refused what, by reason; nil
	// is nobody.
	Counted func(map[string]int)
}

// A Scribe takes down all that a coordinator's decisions follow from, and what
// it said. Each term restores the facts of those before, begins, and takes steps. A step
// is told when what it led to is on the books, so that no step is told that may be lost.
type Scribe interface {
	Restored(protocol.Message)
	Begin(now protocol.Time, life uint32, books []protocol.Step, rules market.Config) error
	Took(now protocol.Time, heard *protocol.Message)
	Told(heard, said []protocol.Message)
}

// nobody is a Scribe.
type nobody struct{}

func (nobody) Restored(protocol.Message)                                         {}
func (nobody) Begin(protocol.Time, uint32, []protocol.Step, market.Config) error { return nil }
func (nobody) Took(protocol.Time, *protocol.Message)                             {}
func (nobody) Told(heard, said []protocol.Message)                               {}

// again is how long it waits after a term that failed, and repeat after how long it
// says once more what it fails by.
const (
	again  = 200 * time.Millisecond
	repeat = time.Minute
)

// Run leads whenever it can, until ctx ends, which is no error. What ends a term
// is logged, and not returned: the next one begins.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Scribe == nil {
		cfg.Scribe = nobody{}
	}
	if cfg.Stood == nil {
		cfg.Stood = func([]protocol.Message) {}
	}
	cfg.Books.Waits = func() { cfg.Desk.Stand(nil) }
	var said time.Time
	for last := ""; ; {
		err := term(ctx, cfg)
		cfg.Desk.Clear()
		cfg.Stood(nil)
		if ctx.Err() != nil {
			return nil
		}
		cfg.Desk.Stand(err)
		if why := fmt.Sprint(err); why != last || time.Since(said) > repeat {
			cfg.Log.Warn("not leading; standing by again", "err", err)
			last, said = why, time.Now()
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

func term(outer context.Context, cfg Config) error {
	b, err := eventlog.Open(outer, cfg.Hub, protocol.Coordinator, cfg.Books)
	if err != nil {
		return err
	}
	defer b.Close()
	if cfg.Market.MaxOfferBytes == 0 {
		cfg.Market.MaxOfferBytes = cfg.Hub.MaxMessageBytes(b.MaxPayload(), cfg.SitePayload)
	}
	m := market.New(cfg.Market, cfg.Rule())
	cfg.Desk.Clear()
	var facts []protocol.Message
	t, err := b.Begin(outer, func(f protocol.Message) error {
		facts = append(facts, f)
		m.Restore(f)
		cfg.Desk.Restore(f)
		return nil
	})
	if err != nil {
		return err
	}
	var steps []protocol.Step // the scribe is told when it is sure that a life begins
	for _, f := range facts {
		steps = append(steps, protocol.Step{From: f.From, Seq: f.Seq})
		cfg.Scribe.Restored(f)
	}
	cfg.Stood(facts)
	facts = nil
	defer t.End()
	m.Begin(t.Life())
	if err := cfg.Scribe.Begin(cfg.Clock.Now(), t.Life(), steps, cfg.Market); err != nil {
		return err
	}

	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	go func() {
		select {
		case <-t.Over():
			cancel(errors.New("lead: the term is over"))
		case <-ctx.Done():
		}
	}()
	// The port outlives ctx: when that ends, what is being written down is still said.
	port, err := cfg.Hub.Join(context.WithoutCancel(ctx), protocol.Coordinator)
	if err != nil {
		return err
	}
	defer port.Close()
	if err := cfg.judge(ctx, t.Life()); err != nil {
		return err
	}
	var summing sync.WaitGroup
	defer summing.Wait()
	defer cancel(nil)
	summing.Go(func() { cfg.condense(ctx, t) })
	cfg.Log.Info("leading", "term", t.Life(), "facts", len(steps))
	cfg.Desk.Lead(t.Life())
	loop := bus.Loop{Clock: cfg.Clock, Keep: t.Append, Errands: cfg.Desk.Errands(), Took: cfg.Took, Persisted: cfg.Scribe.Took, Told: func(heard, said []protocol.Message) {
		cfg.told(heard, said)
		if cfg.Counted != nil {
			cfg.Counted(m.Counts())
		}
	}}
	if err := loop.Run(ctx, port, m); err != nil {
		return fmt.Errorf("lead: %w", err)
	}
	return nil
}

// condense makes a summary of the books whenever their tail is long, so that the
// next coordinator begins soon. It reads them for itself: the market goes on.
func (cfg Config) condense(ctx context.Context, t *eventlog.Term) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(cfg.Books.Lease/2 + again):
		}
		if t.Tail() < cmp.Or(cfg.Tail, 20_000) {
			continue
		}
		began := time.Now()
		if err := t.Condense(ctx, snapshot.New(cmp.Or(cfg.Market.Remember, protocol.MaxRun))); err != nil {
			if ctx.Err() == nil {
				cfg.Log.Warn("the books are not summed up; trying again", "err", err)
			}
			continue
		}
		cfg.Log.Info("the books are summed up", "took", time.Since(began))
	}
}

// judge has the judge live as long as ctx. The market does without one that fails.
func (cfg Config) judge(ctx context.Context, life uint32) error {
	if cfg.Judge == nil {
		return nil
	}
	port, err := cfg.Hub.Join(ctx, protocol.Judge)
	if err != nil {
		return err
	}
	go func() {
		if err := cfg.Judge(ctx, port, life); ctx.Err() == nil {
			cfg.Log.Warn("the judge is gone; the rule decides", "err", err)
		}
	}()
	return nil
}

func (cfg Config) told(heard, said []protocol.Message) {
	cfg.Desk.Told(heard, said)
	cfg.Scribe.Told(heard, said)
	if cfg.Told != nil {
		cfg.Told(heard, said)
	}
}
