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
	"github.com/gridbid/gridbid/coordinator/notary"
	"github.com/gridbid/gridbid/coordinator/snapshot"
	"github.com/gridbid/gridbid/protocol"
)

// Config configures one coordinator.
type Config struct {
	Bus      *natsbus.Bus
	Market   market.Config               // its MaxOfferBytes, if 0, is derived from the servers' payload limits
	Rule     func() auction.ClearingRule // a new one for each term
	EventLog eventlog.Config
	// SitePayload is the largest message in bytes that the server takes from a site;
	// 0: the same as from this coordinator.
	SitePayload int
	// MaxTail is the number of entries that no snapshot covers at which the next
	// snapshot is made; default 20,000, which take about a second to read.
	MaxTail uint64
	Clock   bus.Clock
	API     *api.Server
	Log     *slog.Logger
	// Judge serves the judge's connection while this coordinator leads; incarnation is
	// the coordinator's. nil: there is no judge.
	Judge func(ctx context.Context, conn bus.Conn, incarnation uint32) error
	// Recorder records the inputs of the coordinator; nil: they are not recorded.
	Recorder InputRecorder
	// OnInput is called for each input when the market processes it; nil: no call.
	OnInput func(now protocol.Time, received *protocol.Message)
	// OnSent is called with the messages that the coordinator received and sent; nil:
	// no call.
	OnSent func(received, sent []protocol.Message)
	// OnRestore is called with the events that a term begins with, and with none when
	// it is over; nil: no call.
	OnRestore func(events []protocol.Message)
	// OnCounts is called with the market's number of refusals by reason; nil: no call.
	OnCounts func(map[string]int)
	// Notary says how the coordinator keeps a log that others can check; nil: it keeps none.
	Notary *notary.Config
}

// An InputRecorder records everything that a coordinator's decisions depend on, and the
// messages that it sent. Each term restores the events of earlier ones, begins, and
// processes inputs. RecordInput is called for an input when the events that it led to are
// stored, so that no recorded input can be lost in a crash. RecordTime is called every two
// seconds, however little happens.
type InputRecorder interface {
	RecordRestored(protocol.Message)
	BeginIncarnation(now protocol.Time, incarnation uint32, restored []protocol.Input, rules market.Config) error
	RecordInput(now protocol.Time, received *protocol.Message)
	RecordSent(received, sent []protocol.Message)
	RecordTime(now protocol.Time)
}

// nopRecorder is an InputRecorder that records nothing.
type nopRecorder struct{}

// RecordRestored implements InputRecorder.
func (nopRecorder) RecordRestored(protocol.Message) {}

// BeginIncarnation implements InputRecorder.
func (nopRecorder) BeginIncarnation(protocol.Time, uint32, []protocol.Input, market.Config) error {
	return nil
}

// RecordInput implements InputRecorder.
func (nopRecorder) RecordInput(protocol.Time, *protocol.Message) {}

// RecordSent implements InputRecorder.
func (nopRecorder) RecordSent(received, sent []protocol.Message) {}

// RecordTime implements InputRecorder.
func (nopRecorder) RecordTime(protocol.Time) {}

// retryDelay is the pause after a term that failed; the same failure is logged once per
// relogInterval.
const (
	retryDelay    = 200 * time.Millisecond
	relogInterval = time.Minute
)

// RunWhenElected leads whenever it gets the lease, until ctx ends; then it returns nil. It logs
// why a term ended, and tries to begin the next one.
func RunWhenElected(ctx context.Context, cfg Config) error {
	if cfg.Recorder == nil {
		cfg.Recorder = nopRecorder{}
	}
	if cfg.OnRestore == nil {
		cfg.OnRestore = func([]protocol.Message) {}
	}
	cfg.EventLog.OnStandby = func() { cfg.API.StandBy(nil) }
	var loggedAt time.Time
	for last := ""; ; {
		err := runTerm(ctx, cfg)
		cfg.API.ResetStatus()
		cfg.OnRestore(nil)
		if ctx.Err() != nil {
			return nil
		}
		cfg.API.StandBy(err)
		if why := fmt.Sprint(err); why != last || time.Since(loggedAt) > relogInterval {
			cfg.Log.Warn("leader: the term has ended; standing by", "err", err)
			last, loggedAt = why, time.Now()
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryDelay):
		}
	}
}

// runTerm leads for one term, and returns why it ended. The order matters: it restores the market,
// fences the former leader off by the first entry of the term (BeginTerm), and only then connects
// as the coordinator.
func runTerm(outer context.Context, cfg Config) error {
	b, err := eventlog.Open(outer, cfg.Bus, protocol.Coordinator, cfg.EventLog)
	if err != nil {
		return err
	}
	defer b.Close()
	// A message over the servers' limits would not arrive, so offers stay below the least of them.
	if cfg.Market.MaxOfferBytes == 0 {
		cfg.Market.MaxOfferBytes = cfg.Bus.MaxMessageBytes(b.MaxPayload(), cfg.SitePayload)
	}
	k, err := cfg.newLedMarket()
	if err != nil {
		return err
	}
	m := k.market
	cfg.API.SetClock(cfg.Clock)
	cfg.API.ResetStatus()
	// Restore market and API from the events of earlier terms.
	var events []protocol.Message
	t, err := b.BeginTerm(outer, func(f protocol.Message) error {
		if err := k.restore(f); err != nil || f.From == protocol.LogWriter {
			return err
		}
		events = append(events, f)
		cfg.API.Restore(f)
		return nil
	})
	if err != nil {
		return err
	}
	var steps []protocol.Input // for the recorder, once it is certain that an incarnation begins
	for _, f := range events {
		steps = append(steps, protocol.Input{From: f.From, Seq: f.Seq})
		cfg.Recorder.RecordRestored(f)
	}
	cfg.OnRestore(events)
	events = nil // freed: a long log takes much memory
	defer t.EndTerm()
	k.beginIncarnation(t.Incarnation())
	if err := cfg.Recorder.BeginIncarnation(cfg.Clock.Now(), t.Incarnation(), steps, cfg.Market); err != nil {
		return err
	}
	k.recordEdge(cfg.Clock.Now(), cfg.Recorder)

	// The loop ends with the term: without the lease another coordinator may lead.
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	go func() {
		select {
		case <-t.Ended():
			cancel(errors.New("leader: the term is over"))
		case <-ctx.Done():
		}
	}()
	// The connection outlives ctx: when that ends, messages whose events are being
	// persisted are still sent.
	conn, err := cfg.Bus.Connect(context.WithoutCancel(ctx), protocol.Coordinator)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := cfg.startJudge(ctx, t.Incarnation()); err != nil {
		return err
	}
	// Deferred in this order so that ctx ends before runTerm waits for what runs beside the market.
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel(nil)
	beside.Go(func() { cfg.snapshotPeriodically(ctx, t) })
	cfg.Log.Info("leading", "term", t.Incarnation(), "events", len(steps))
	cfg.API.AnswerQuotesBy(evaluateQuoteBy(m))
	cfg.API.SendToSitesBy(conn.Send)
	cfg.API.ListQuotasBy(listQuotasBy(m))
	cfg.API.StartLeading(t.Incarnation())
	beside.Go(func() { cfg.API.WatchSites(ctx, t.Incarnation(), m.Suspects, cfg.Log) })
	beside.Go(func() { cfg.sendHeartbeats(ctx, conn) })
	refusals := newRefusalLog(cfg.Log)
	intercept := func(now protocol.Time, m protocol.Message) (taken bool) {
		refusals.observe(m)
		return cfg.API.ReceiveFromSite(now, m)
	}
	loop := bus.Loop{Clock: cfg.Clock, Intercept: intercept, Persist: k.recordingPersist(t, cfg.Recorder), LocalRequests: cfg.API.LocalRequests(), OnInput: cfg.OnInput, Persisted: cfg.Recorder.RecordInput, OnSent: func(received, sent []protocol.Message) {
		cfg.publishSent(received, sent)
		if cfg.OnCounts != nil {
			cfg.OnCounts(m.RefusalCounts())
		}
	}}
	if err := loop.Run(ctx, tenantSafeConn{conn}, k.machine()); err != nil {
		return fmt.Errorf("leader: %w", err)
	}
	return nil
}

// heartbeatInterval is how often a leader says that it is alive: a site that hears nothing for long
// starts jobs of its own by itself.
const heartbeatInterval = 2 * time.Second

// sendHeartbeats sends heartbeats until ctx ends. They stand outside the sequence of its messages, pass no market, and are in no
// ledger, but their times may be. One that cannot be sent is missed, as one that is lost.
func (cfg Config) sendHeartbeats(ctx context.Context, conn bus.Conn) {
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	for {
		now := cfg.Clock.Now()
		cfg.Recorder.RecordTime(now)
		_ = conn.Send(ctx, protocol.Message{
			Version: protocol.Current, At: now, From: protocol.Coordinator, Seq: 1, Body: protocol.Heartbeat{Every: cfg.Clock.Simulated(heartbeatInterval)},
		})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// snapshotPeriodically writes a snapshot whenever the log has MaxTail entries after the latest
// one, so that the next leader starts fast. It reads the log itself, next to the running market.
func (cfg Config) snapshotPeriodically(ctx context.Context, t *eventlog.Term) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(cfg.EventLog.Lease/2 + retryDelay):
		}
		if t.EntriesSinceSnapshot() < cmp.Or(cfg.MaxTail, 20_000) {
			continue
		}
		began := time.Now()
		if err := t.WriteSnapshot(ctx, snapshot.New(cmp.Or(cfg.Market.Remember, protocol.MaxRun))); err != nil {
			if ctx.Err() == nil {
				cfg.Log.Warn("leader: cannot write a snapshot of the event log; will retry", "err", err)
			}
			continue
		}
		cfg.Log.Info("leader: wrote a snapshot of the event log", "took", time.Since(began))
	}
}

// startJudge runs the judge until ctx ends. Without a judge, or after its failure, the
// market decides by its rule.
func (cfg Config) startJudge(ctx context.Context, incarnation uint32) error {
	if cfg.Judge == nil {
		return nil
	}
	conn, err := cfg.Bus.Connect(ctx, protocol.Judge)
	if err != nil {
		return err
	}
	go func() {
		if err := cfg.Judge(ctx, conn, incarnation); ctx.Err() == nil {
			cfg.Log.Warn("leader: the judge has failed; the market's rule decides", "err", err)
		}
	}()
	return nil
}

// publishSent passes on what the coordinator received and sent, once the messages are out.
func (cfg Config) publishSent(received, sent []protocol.Message) {
	cfg.API.ObserveMessages(received, sent)
	cfg.Recorder.RecordSent(received, sent)
	if cfg.OnSent != nil {
		cfg.OnSent(received, sent)
	}
}
