// Package leader runs a live market with leader election: it waits for the lease of
// the event log, restores the state of the last leader, leads as long as it holds
// the lease, and then stands by. So every coordinator is a standby of the others.
//
// Package bus/eventlog has the lease and the events, coordinator/market decides.
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

// Config configures one coordinator.
type Config struct {
	Hub    *natsbus.Hub
	Market market.Config       // its MaxOfferBytes, if 0, is derived from the servers' payload limits
	Rule   func() auction.Rule // a new one for each term
	Books  eventlog.Config
	// SitePayload is the largest message in bytes that the server takes from a site;
	// 0: the same as from this coordinator.
	SitePayload int
	// Tail is the number of entries that no snapshot covers at which the next
	// snapshot is made; default 20,000, which take about a second to read.
	Tail  uint64
	Clock bus.Clock
	Desk  *api.Desk
	Log   *slog.Logger
	// Judge serves the judge's port while this coordinator leads; life is the
	// coordinator's incarnation. nil: there is no judge.
	Judge func(ctx context.Context, port bus.Port, life uint32) error
	// Scribe records the inputs of the coordinator; nil: they are not recorded.
	Scribe Scribe
	// Took is called for each input when the market processes it; nil: no call.
	Took func(now protocol.Time, heard *protocol.Message)
	// Told is called with the messages that the coordinator received and sent; nil:
	// no call.
	Told func(heard, said []protocol.Message)
	// Stood is called with the events that a term begins with, and with none when
	// it is over; nil: no call.
	Stood func(facts []protocol.Message)
	// Counted is called with the market's number of refusals by reason; nil: no call.
	Counted func(map[string]int)
}

// A Scribe records everything that a coordinator's decisions depend on, and the
// messages that it sent. Each term restores the events of earlier ones, begins, and
// processes inputs. Took is called for an input when the events that it led to are
// stored, so that no recorded input can be lost in a crash.
type Scribe interface {
	Restored(protocol.Message)
	Begin(now protocol.Time, life uint32, books []protocol.Step, rules market.Config) error
	Took(now protocol.Time, heard *protocol.Message)
	Told(heard, said []protocol.Message)
}

// nobody is a Scribe that records nothing.
type nobody struct{}

func (nobody) Restored(protocol.Message)                                         {}
func (nobody) Begin(protocol.Time, uint32, []protocol.Step, market.Config) error { return nil }
func (nobody) Took(protocol.Time, *protocol.Message)                             {}
func (nobody) Told(heard, said []protocol.Message)                               {}

// again is the pause after a term that failed; repeat is the interval at which the
// same failure is logged.
const (
	again  = 200 * time.Millisecond
	repeat = time.Minute
)

// Run leads whenever it can, until ctx ends; then it returns nil. It logs why a term
// ended, and tries to begin the next one.
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
			cfg.Log.Warn("leader: the term has ended; standing by", "err", err)
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
	var steps []protocol.Step // passed to the scribe below, where it is certain that an incarnation begins
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
			cancel(errors.New("leader: the term is over"))
		case <-ctx.Done():
		}
	}()
	// The port outlives ctx: when that ends, messages whose events are being stored
	// are still sent.
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
		return fmt.Errorf("leader: %w", err)
	}
	return nil
}

// condense writes a snapshot whenever the log has Tail entries after the latest one,
// so that the next leader starts fast. It reads the log itself, beside the running
// market.
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
				cfg.Log.Warn("leader: cannot write a snapshot of the event log; will retry", "err", err)
			}
			continue
		}
		cfg.Log.Info("leader: wrote a snapshot of the event log", "took", time.Since(began))
	}
}

// judge runs the judge until ctx ends. Without a judge, or after its failure, the
// market decides by its rule.
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
			cfg.Log.Warn("leader: the judge has failed; the market's rule decides", "err", err)
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
