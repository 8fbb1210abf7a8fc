// Package clusters runs a live federation over real Kubernetes control planes, by the
// wall clock: the market, and for each cluster an agent with an executor and a signal
// source. Tests, benchmarks and an example use it. An installed site runs the same
// parties, built by the same function, in a process of its own.
package clusters

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/cluster-agent/kube/queue"
	"github.com/gridbid/gridbid/cluster-agent/kubesite"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/cluster-agent/signals"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
)

// WallClock returns the current time.
func WallClock() protocol.Time { return protocol.FromStdTime(time.Now()) }

// A LiveTestbed is a federation in this process.
type LiveTestbed struct {
	bus     bus.Bus
	running sync.WaitGroup
}

// weights are those of the market: carbon at $100 a tonne; 20 cents for each hour that a job waits
// which is wanted now, and $5 for each hour that a job is late.
var weights = protocol.Weights{Carbon: 100_000, WaitNow: 200_000, Late: 5_000_000}

// StartMarket starts the market on a bus, which clears by the rule of a policy. The market and all
// sites end with ctx; AwaitParties waits for that.
func StartMarket(ctx context.Context, hub bus.Bus, policy string) (*LiveTestbed, error) {
	s := &LiveTestbed{bus: hub}
	return s, s.runParty(ctx, protocol.Coordinator, scenarios.NewMarket(policy, weights, 200*time.Millisecond))
}

// AwaitParties waits until all parties have ended.
func (s *LiveTestbed) AwaitParties() { s.running.Wait() }

// runParty connects a machine and runs it until the context of the testbed ends.
func (s *LiveTestbed) runParty(ctx context.Context, who protocol.Party, m bus.Machine) error {
	conn, err := s.bus.Connect(ctx, who)
	if err != nil {
		return fmt.Errorf("clusters: %s: %w", who, err)
	}
	s.running.Go(func() {
		if err := bus.RunMachine(ctx, conn, m); ctx.Err() == nil {
			slog.Error("a party of the testbed failed", "party", who, "error", err)
		}
	})
	return nil
}

// A LiveSite is one cluster of a federation, with constant grid signals.
type LiveSite struct {
	executor.Config
	Kubeconfig string                // "": the cluster that this process runs in
	DataDir    string                // folder of its parties' event logs
	Price      protocol.Microdollars // per kWh, at all hours
	Carbon     protocol.Milligrams   // per kWh, at all hours
	PUE        protocol.Milli        // default 1.1
	Queue      *queue.Config         // submits Jobs of the cluster; nil: none
}

// buildSite returns the site's parties, built as cluster-agent builds them.
func (x LiveSite) buildSite() (runtime.Config, error) {
	return kubesite.BuildSite(kubesite.Config{
		SiteConfig: runtime.SiteConfig{Site: x.Config.Site, Folder: x.DataDir, Power: x.Power},
		Kubeconfig: x.Kubeconfig, Executor: x.Config, Queue: x.Queue,
	}, runtime.LocalParty{Service: x.constantSignals().Run})
}

// StartSite starts a site. stop ends it at once, without deregistering it.
func (s *LiveTestbed) StartSite(ctx context.Context, x LiveSite) (stop func(), err error) {
	cfg, err := x.buildSite()
	if err != nil {
		return nil, err
	}
	cfg.FederationBus = s.bus
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	s.running.Go(func() {
		defer close(done)
		if err := runtime.RunSite(ctx, cfg); ctx.Err() == nil {
			slog.Error("a site of the testbed failed", "site", cfg.Site, "error", err)
		}
	})
	return func() { cancel(); <-done }, nil
}

// constantSignals returns a signal source whose values never change.
func (x LiveSite) constantSignals() *signals.Poller {
	if x.PUE == 0 {
		x.PUE = 1100
	}
	return &signals.Poller{Site: x.Config.Site, Log: slog.New(slog.DiscardHandler), Fixed: map[protocol.Quantity]float64{
		protocol.GridPrice: float64(x.Price) / 1000, protocol.GridCarbon: float64(x.Carbon) / 1000, protocol.GridPUE: float64(x.PUE) / 1000,
	}}
}
