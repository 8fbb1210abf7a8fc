// Package clusters sets a live federation on stage over real Kubernetes control
// planes: the market, and for each cluster an agent, its hands and a feed, all by
// the clock. Tests and benchmarks start it; a site that is installed runs the same
// parties, built by the same function, as one process.
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

// WallClock is the time by the clock.
func WallClock() protocol.Time { return protocol.FromStdTime(time.Now()) }

// A LiveTestbed is a federation that lives.
type LiveTestbed struct {
	bus     bus.Bus
	running sync.WaitGroup
}

// StartMarket starts the market on a hub. It and all sites end with ctx; Wait waits for
// that.
func StartMarket(ctx context.Context, hub bus.Bus) (*LiveTestbed, error) {
	s := &LiveTestbed{bus: hub}
	terms := protocol.Weights{Carbon: 100_000, Delay: 200_000, Late: 5_000_000}
	return s, s.runParty(ctx, protocol.Coordinator, scenarios.NewAuctionMarket(terms, 200*time.Millisecond))
}

// AwaitParties waits until all parties have ended.
func (s *LiveTestbed) AwaitParties() { s.running.Wait() }

func (s *LiveTestbed) runParty(ctx context.Context, who protocol.Party, m bus.Machine) error {
	port, err := s.bus.Connect(ctx, who)
	if err != nil {
		return fmt.Errorf("clusters: %s: %w", who, err)
	}
	s.running.Go(func() {
		if err := bus.RunMachine(ctx, port, m); ctx.Err() == nil {
			slog.Error("a party of the stage ended", "party", who, "error", err)
		}
	})
	return nil
}

// A LiveSite is one cluster of a federation, with a grid that never changes.
type LiveSite struct {
	executor.Config
	Kubeconfig string                // "": of the cluster that this process runs in
	DataDir    string                // where its parties keep their facts
	Price      protocol.Microdollars // per kWh, at all hours
	Carbon     protocol.Milligrams   // per kWh, at all hours
	PUE        protocol.Milli        // default 1.1
	Queue      *queue.Config         // takes in Jobs of the cluster; nil is none
}

// buildSite returns the parties of a site, as cluster-agent builds them.
func (x LiveSite) buildSite() (runtime.Config, error) {
	return kubesite.BuildSite(kubesite.Config{
		SiteConfig: runtime.SiteConfig{Site: x.Config.Site, Folder: x.DataDir, Power: x.Power},
		Kubeconfig: x.Kubeconfig, Executor: x.Config, Queue: x.Queue,
	}, runtime.LocalParty{Service: x.constantSignals().Run})
}

// StartSite starts a site. Stop kills it, with no farewell.
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
			slog.Error("a site of the stage ended", "site", cfg.Site, "error", err)
		}
	})
	return func() { cancel(); <-done }, nil
}

// constantSignals report a grid that does not change.
func (x LiveSite) constantSignals() *signals.Poller {
	if x.PUE == 0 {
		x.PUE = 1100
	}
	return &signals.Poller{Site: x.Config.Site, Log: slog.New(slog.DiscardHandler), Fixed: map[protocol.Quantity]float64{
		protocol.GridPrice: float64(x.Price) / 1000, protocol.GridCarbon: float64(x.Carbon) / 1000, protocol.GridPUE: float64(x.PUE) / 1000,
	}}
}
