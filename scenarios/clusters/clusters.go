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
	Kubeconfig string                // "": of the cluster that this process runs in
	Folder     string                // where its agent keeps its facts
	Price      protocol.Microdollars // per kWh, at all hours
	Carbon     protocol.Milligrams   // per kWh, at all hours
	PUE        protocol.Milli        // default 1.1
}

// Parties are those of a site, ready to be run: agent, hands on the cluster, and
// a feed that says the same at all hours.
func (x Site) Parties() (site.Config, error) {
	name := x.Config.Site
	body, err := fleet.New(fleet.Config{Power: power.Default(), Standby: fleet.UsualStandby})
	if err != nil {
		return site.Config{}, err
	}
	if err := x.Connect(x.Kubeconfig); err != nil {
		return site.Config{}, err
	}
	feed, err := x.feed()
	if err != nil {
		return site.Config{}, err
	}
	return site.Config{
		Site: name, Folder: x.Folder, Log: slog.New(slog.DiscardHandler),
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
	}, nil
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
		_ = site.Run(ctx, cfg) // ends with ctx
	})
	return func() { cancel(); <-done }, nil
}

// lasts is how long a constant feed speaks.
const lasts = 400 * 24 * time.Hour

// feed is that of a grid that does not change, with a week behind it.
func (x Site) feed() (*world.Feed, error) {
	if x.PUE == 0 {
		x.PUE = 1100
	}
	start := Now().Floor(time.Hour).Add(-7 * 24 * time.Hour)
	feed := world.NewFeed(x.Config.Site, start)
	for _, q := range []struct {
		what  protocol.Quantity
		value int64
	}{{protocol.GridPrice, int64(x.Price)}, {protocol.GridCarbon, int64(x.Carbon)}, {protocol.GridPUE, int64(x.PUE)}} {
		var points []protocol.Point
		for t := start; t < start.Add(lasts); t = t.Add(time.Hour) {
			points = append(points, protocol.Point{At: t, Value: q.value})
		}
		series, err := grid.NewSeries(points)
		if err != nil {
			return nil, fmt.Errorf("clusters: %w", err)
		}
		feed.Add(q.what, series, grid.Market{})
	}
	return feed, nil
}
