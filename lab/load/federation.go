package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/leader"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A loadFederation is a live federation in this process, over real NATS connections.
type loadFederation struct {
	dir      string
	scenario spec.Scenario
	server   *natsbus.Server
	awards   chan protocol.JobID
	bids     bidTimes
	seen     trafficCounts
	settling atomic.Pointer[settling] // nil: awards are measured
	stages   phaseTimer
	all      sync.WaitGroup
	stops    []context.CancelFunc // one for each site
	submit   func(id protocol.JobID) error
	cancel   context.CancelFunc
}

// startLoadFederation starts the sites of s and their coordinator over a server of their own, in a
// temporary folder. The context that it returns ends with close, which the caller calls.
func startLoadFederation(ctx context.Context, s spec.Scenario, flush bool) (*loadFederation, context.Context, error) {
	dir, err := os.MkdirTemp("", "gridbid-load-")
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &loadFederation{dir: dir, scenario: s, awards: make(chan protocol.JobID, 4096), cancel: cancel}
	if f.server, err = natsbus.StartServer(natsbus.Config{Listen: "127.0.0.1:0", Store: filepath.Join(dir, "nats"), Sync: flush}); err == nil {
		err = f.startParties(ctx)
	}
	if err != nil {
		f.close()
		return nil, nil, err
	}
	return f, ctx, nil
}

// close ends all parties and then their server, and removes the folder.
func (f *loadFederation) close() {
	f.cancel()
	f.all.Wait()
	if f.server != nil {
		f.server.Close()
	}
	_ = os.RemoveAll(f.dir)
}

// dialServer returns a bus with its own connections.
func (f *loadFederation) dialServer() *natsbus.Bus {
	return natsbus.Dial(f.server.ClientURL(), natsbus.PasswordsOf(f.server))
}

// startParties starts the coordinator, waits until it leads, and starts the sites.
func (f *loadFederation) startParties(ctx context.Context) error {
	quiet := slog.New(slog.DiscardHandler)
	d := api.New()
	f.all.Go(func() {
		_ = leader.RunWhenElected(ctx, leader.Config{
			Bus: f.dialServer(), API: d, Log: quiet, OnSent: f.countTraffic, OnInput: f.stages.observeInput,
			EventLog: eventlog.Config{Lease: 30 * time.Second}, // what is measured is not that another begins to lead
			Market: market.Config{Gather: -1, // a real one waits a second, which would hide what is measured
				Terms: scenarios.MarketWeights(f.scenario)},
			Rule: func() auction.ClearingRule { return auction.New(auction.Config{}) },
		})
	})
	for !d.IsLeading() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	now := protocol.FromStdTime(time.Now())
	for _, place := range f.scenario.Sites {
		name := place.Name
		x, err := scenarios.SimulateSite(f.scenario, name, now, now.Add(30*24*time.Hour))
		if err != nil {
			return err
		}
		cfg, err := x.Build(filepath.Join(f.dir, name))
		if err != nil {
			return err
		}
		cfg.Agent, cfg.FederationBus = &timedAgent{cfg.Agent, &f.bids}, f.dialServer()
		siteCtx, stop := context.WithCancel(ctx)
		f.stops = append(f.stops, stop)
		f.all.Go(func() { _ = runtime.RunSite(siteCtx, cfg) })
	}
	conn, err := f.dialServer().Connect(ctx, protocol.Submitter)
	if err != nil {
		return err
	}
	f.all.Go(func() {
		for range conn.Messages() { // drop the submitter's messages
		}
	})
	sender := protocol.Sender{Party: protocol.Submitter}
	f.submit = func(id protocol.JobID) error {
		now := protocol.FromStdTime(time.Now())
		return conn.Send(ctx, sender.NewMessage(now, protocol.Coordinator, protocol.Submit{Job: protocol.Job{
			Urgency: protocol.UrgencyNow, ID: id, Tenant: "load", GPUs: 1, Share: 1000, CPU: 1000, Memory: 1024,
			Arrival: now, Run: time.Second, Deadline: now.Add(10 * time.Second),
		}}))
	}
	return f.awaitAllSitesBid(ctx)
}

// awaitAllSitesBid submits jobs until one of them gets bids from all sites.
func (f *loadFederation) awaitAllSitesBid(ctx context.Context) error {
	for i := range 200 {
		if err := f.submit(protocol.JobID(fmt.Sprintf("greet-%d", i))); err != nil {
			return err
		}
		select {
		case <-f.awards:
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if int(f.seen.offers.Swap(0)) == len(f.scenario.Sites) {
			return nil
		}
	}
	return errors.New("not all sites sent bids: check that the machine has enough memory for them")
}

// stopSites ends the last n sites for good. To the market they fall silent.
func (f *loadFederation) stopSites(n int) {
	for _, stop := range f.stops[len(f.stops)-n:] {
		stop()
	}
}

// awardsOneByOne submits n jobs, each after the award of the one before, and returns the
// time of each.
func (f *loadFederation) awardsOneByOne(ctx context.Context, prefix string, n int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	for i := range took {
		id := protocol.JobID(fmt.Sprintf("%s-%d", prefix, i))
		f.stages.beginJob(id)
		began := time.Now()
		if err := f.submit(id); err != nil {
			return nil, err
		}
		for got := protocol.JobID(""); got != id; {
			var err error
			if got, err = f.awaitAward(ctx); err != nil {
				return nil, err
			}
		}
		took[i] = time.Since(began)
		f.stages.endJob()
	}
	return took, nil
}

// submitConcurrently awards n jobs, with at most atOnce submitted and not awarded.
func (f *loadFederation) submitConcurrently(ctx context.Context, n, atOnce int) error {
	for submitted, awarded := 0, 0; awarded < n; {
		if submitted < n && submitted-awarded < atOnce {
			if err := f.submit(protocol.JobID(fmt.Sprintf("many-%d", submitted))); err != nil {
				return err
			}
			submitted++
			continue
		}
		if _, err := f.awaitAward(ctx); err != nil {
			return err
		}
		awarded++
	}
	return nil
}

// awaitAward waits for the next award.
func (f *loadFederation) awaitAward(ctx context.Context) (protocol.JobID, error) {
	select {
	case id := <-f.awards:
		return id, nil
	case <-time.After(time.Minute):
		return "", errors.New("no award within a minute")
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// cpuCount is the number of sites that compute bids in parallel.
func cpuCount() int { return goruntime.NumCPU() }
