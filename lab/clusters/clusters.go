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

// Now is the time by the clock.
func Now() protocol.Time { return protocol.At(time.Now()) }

// A Stage is a federation that lives.
type Stage struct {
	hub    bus.Hub
	living sync.WaitGroup
}

// Open starts the market on a hub. It and all sites end with ctx; Wait waits for
// that.
func Open(ctx context.Context, hub bus.Hub) (*Stage, error) {
	s := &Stage{hub: hub}
	terms := protocol.Weights{Carbon: 100_000, Delay: 200_000, Late: 5_000_000}
	return s, s.live(ctx, protocol.Coordinator, scenarios.NewMarket(terms, 200*time.Millisecond))
}

// Wait waits until all parties have ended.
func (s *Stage) Wait() { s.living.Wait() }

func (s *Stage) live(ctx context.Context, who protocol.Party, m bus.Machine) error {
	port, err := s.hub.Join(ctx, who)
	if err != nil {
		return fmt.Errorf("clusters: %s: %w", who, err)
	}
	s.living.Go(func() {
		if err := bus.Live(ctx, port, m); ctx.Err() == nil {
			slog.Error("a party of the stage ended", "party", who, "error", err)
		}
	})
	return nil
}

// A Site is one cluster of a federation, with a grid that never changes.
type Site struct {
	executor.Config
	Kubeconfig string                // "": of the cluster that this process runs in
	Folder     string                // where its parties keep their facts
	Price      protocol.Microdollars // per kWh, at all hours
	Carbon     protocol.Milligrams   // per kWh, at all hours
	PUE        protocol.Milli        // default 1.1
	Queue      *queue.Config         // takes in Jobs of the cluster; nil is none
}

// build returns the parties of a site, as cluster-agent builds them.
func (x Site) build() (runtime.Config, error) {
	return kubesite.Build(kubesite.Config{
		SiteConfig: runtime.SiteConfig{Site: x.Config.Site, Folder: x.Folder, Power: x.Power},
		Kubeconfig: x.Kubeconfig, Executor: x.Config, Queue: x.Queue,
	}, runtime.LocalParty{Service: x.constantSignals().Run})
}

// Add starts a site. Stop kills it, with no farewell.
func (s *Stage) Add(ctx context.Context, x Site) (stop func(), err error) {
	cfg, err := x.build()
	if err != nil {
		return nil, err
	}
	cfg.Far = s.hub
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	s.living.Go(func() {
		defer close(done)
		if err := runtime.Run(ctx, cfg); ctx.Err() == nil {
			slog.Error("a site of the stage ended", "site", cfg.Site, "error", err)
		}
	})
	return func() { cancel(); <-done }, nil
}

// constantSignals report a grid that does not change.
func (x Site) constantSignals() *signals.Feed {
	if x.PUE == 0 {
		x.PUE = 1100
	}
	return &signals.Feed{Site: x.Config.Site, Log: slog.New(slog.DiscardHandler), Fixed: map[protocol.Quantity]float64{
		protocol.GridPrice: float64(x.Price) / 1000, protocol.GridCarbon: float64(x.Carbon) / 1000, protocol.GridPUE: float64(x.PUE) / 1000,
	}}
}
