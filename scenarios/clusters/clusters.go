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
	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/cluster-agent/fleet"
	"github.com/gridbid/gridbid/cluster-agent/grid"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/power"
	"github.com/gridbid/gridbid/cluster-agent/site"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/world"
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
	s.living.Go(func() { _ = bus.Live(ctx, port, m) }) // ends with ctx
	return nil
}

// A Site is one cluster of a federation.
type Site struct {
	kube.Config
	Kubeconfig string
	Folder     string                // where its agent keeps its facts
	Price      protocol.Microdollars // per kWh, at all hours
	Carbon     protocol.Milligrams   // per kWh, at all hours
}

// Add starts a site: agent, hands and feed. Stop kills it, with no farewell.
func (s *Stage) Add(ctx context.Context, x Site) (stop func(), err error) {
	name := x.Config.Site
	body, err := fleet.New(fleet.Config{Power: power.Default()})
	if err != nil {
		return nil, err
	}
	if err := x.Connect(x.Kubeconfig); err != nil {
		return nil, err
	}
	feed, err := constant(name, x)
	if err != nil {
		return nil, err
	}
	log := x.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	cfg := site.Config{
		Site: name, Folder: x.Folder, Far: s.hub, Log: log,
		Agent:  agents.New(agents.Config{Site: name, Habit: agents.Habit{Later: true, Choose: true}}, body, grid.New(grid.Config{})),
		Beside: map[protocol.Party]site.Party{protocol.Feed(name): feed},
		More: func(ctx context.Context, near bus.Hub, life uint32) error {
			port, err := near.Join(ctx, protocol.Hands(name))
			if err != nil {
				return err
			}
			x.Config.Life = life
			return kube.New(x.Config).Run(ctx, port)
		},
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	s.living.Go(func() {
		defer close(done)
		if err := site.Run(ctx, cfg); err != nil {
			log.Error("a site ended", "site", name, "error", err)
		}
	})
	return func() { cancel(); <-done }, nil
}

// constant is a feed of a grid that does not change, with a week behind it.
func constant(name string, x Site) (*world.Feed, error) {
	start := Now().Floor(time.Hour).Add(-7 * 24 * time.Hour)
	feed := world.NewFeed(name, start)
	for what, value := range map[protocol.Quantity]int64{
		protocol.GridPrice: int64(x.Price), protocol.GridCarbon: int64(x.Carbon), protocol.GridPUE: 1100,
	} {
		var points []protocol.Point
		for h := range 24 * 60 {
			points = append(points, protocol.Point{At: start.Add(time.Duration(h) * time.Hour), Value: value})
		}
		series, err := grid.NewSeries(points)
		if err != nil {
			return nil, fmt.Errorf("clusters: %w", err)
		}
		feed.Add(what, series, grid.Market{})
	}
	return feed, nil
}
