// Package clusters sets a live federation on stage over real Kubernetes control
// planes: the market, and for each cluster an agent, its hands and a feed, all by
// the clock. It is what tests and the example of three clusters start; a site
// that is installed runs the same parties as one process.
package clusters

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/queue"
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

// A Site is one cluster of a federation.
type Site struct {
	kube.Config
	Kubeconfig string                // "": of the cluster that this process runs in
	Folder     string                // where its agent keeps its facts
	Price      protocol.Microdollars // per kWh, at all hours
	Carbon     protocol.Milligrams   // per kWh, at all hours
	PUE        protocol.Milli        // default 1.1

	// Feed tells of a real grid; nil is one of Price, Carbon and PUE at all hours.
	Feed *signals.Feed
	Grid forecast.Config // by which the agent forecasts what it is not told
	Idle bool            // bids charge a job its share of its node's idle draw

	// Queue takes in Jobs of the cluster; nil is none. What the site knows is filled
	// in.
	Queue *queue.Config
}

// Parties are those of a site, ready to be run: agent, hands on the cluster, and a
// feed.
func (x Site) Parties() (runtime.Config, error) {
	name := x.Config.Site
	if len(x.Power.Models()) == 0 {
		x.Power = power.Default()
	}
	body, err := capacity.New(capacity.Config{Power: x.Power, Standby: capacity.UsualStandby})
	if err != nil {
		return runtime.Config{}, err
	}
	if err := x.Connect(x.Kubeconfig); err != nil {
		return runtime.Config{}, err
	}
	signals := x.Feed
	if signals == nil {
		signals = x.constant()
	}
	cfg := runtime.Config{
		Site: name, Folder: x.Folder, Log: slog.New(slog.DiscardHandler),
		Agent: agents.New(agents.Config{Site: name, Habit: agents.Habit{Later: true, Choose: true, Idle: x.Idle}}, body, forecast.New(x.Grid)),
		More: map[protocol.Party]func(context.Context, bus.Hub, uint32) error{
			protocol.Feed(name): signals.Run,
			protocol.Hands(name): func(ctx context.Context, near bus.Hub, life uint32) error {
				port, err := near.Join(ctx, protocol.Hands(name))
				if err != nil {
					return err
				}
				x.Config.Life = life
				return kube.New(x.Config).Run(ctx, port)
			},
		},
	}
	if x.Queue != nil {
		q := *x.Queue
		q.Site, q.Client, q.Dynamic, q.Namespaces, q.Runs, q.Sharing, q.Log = name, x.Client, x.Dynamic, x.Namespaces, true, x.Sharing, x.Log
		cfg.Queue = RunQueue(q)
	}
	return cfg, nil
}

// RunQueue is how a site runs a queue.
func RunQueue(cfg queue.Config) func(context.Context, bus.Port, uint32) error {
	return func(ctx context.Context, far bus.Port, life uint32) error {
		cfg.Life = life
		return queue.New(cfg).Run(ctx, far)
	}
}

// Add starts a site. Stop kills it, with no farewell.
func (s *Stage) Add(ctx context.Context, x Site) (stop func(), err error) {
	cfg, err := x.Parties()
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

// constant is the feed of a grid that does not change.
func (x Site) constant() *signals.Feed {
	if x.PUE == 0 {
		x.PUE = 1100
	}
	return &signals.Feed{Site: x.Config.Site, Log: slog.New(slog.DiscardHandler), Fixed: map[protocol.Quantity]float64{
		protocol.GridPrice: float64(x.Price) / 1000, protocol.GridCarbon: float64(x.Carbon) / 1000, protocol.GridPUE: float64(x.PUE) / 1000,
	}}
}
