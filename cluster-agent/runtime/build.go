package runtime

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/agents/terms"
	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A SiteConfig describes a site, independent of what runs its jobs and of where its
// grid signals come from.
type SiteConfig struct {
	Site   string // the site's name in the federation
	Folder string // where its parties log their events: see Config.DataDir

	// Nodes are the site's machines. Leave them empty if the executor reports them.
	Nodes []capacity.Node
	// Power has the power curves of the site's GPUs. The zero table is power.DefaultTable().
	Power power.Table
	// Forecast says how the agent forecasts hours for which no signal has a value.
	Forecast forecast.Config
	// NodesSleep says that the nodes which the executor reports are switched off when they are
	// empty. Bids then include what keeping a node awake costs. Nodes say so by their Host.
	NodesSleep bool
	// WakesAhead says that the executor wakes the nodes that a launch names: see capacity.Config.
	WakesAhead bool
	// Terms are those on which the site runs jobs of others; the zero value has none.
	Terms    terms.Terms
	Location protocol.Location // that it says of itself
	// Services says that the executor runs replicas of services.
	Services bool
}

// A LocalParty is an executor or a signal source. It talks to its site's agent only,
// over the site bus. Exactly one of its fields is set.
type LocalParty struct {
	// Machine is stepped by the site's own loop. If it is a PersistentParty, the site logs
	// its events and restores it from them.
	Machine Restartable
	// Service connects to the site bus by itself and runs until ctx ends. Its incarnation
	// is the agent's. An error ends the site.
	Service func(ctx context.Context, siteBus bus.Bus, incarnation uint32) error
}

// BuildSite builds the parties of a site from an executor, which runs the jobs that
// the site wins, and a source of grid signals. The caller sets FederationBus, Log and
// whatever else depends on the program, and passes the result to RunSite.
func BuildSite(cfg SiteConfig, executor, signals LocalParty) (Config, error) {
	if len(cfg.Power.ModelNames()) == 0 {
		cfg.Power = power.DefaultTable()
	}
	nodes, err := capacity.New(capacity.Config{Nodes: cfg.Nodes, Power: cfg.Power, Policy: fgd.FGD, HeadroomOneIn: capacity.DefaultHeadroomOneIn, PreferAwake: true, NodesSleep: cfg.NodesSleep, WakesAhead: cfg.WakesAhead})
	if err != nil {
		return Config{}, fmt.Errorf("site %s: %w", cfg.Site, err)
	}
	out := Config{
		Site: cfg.Site, DataDir: cfg.Folder, Log: slog.New(slog.DiscardHandler),
		Agent:       agents.New(agents.Config{Site: cfg.Site, Strategy: agents.DefaultStrategy(), Terms: cfg.Terms, Location: cfg.Location, Services: cfg.Services}, nodes, forecast.New(cfg.Forecast)),
		SideParties: make(map[protocol.Party]Restartable),
		More:        make(map[protocol.Party]func(context.Context, bus.Bus, uint32) error),
	}
	for _, x := range []struct {
		name  protocol.Party
		party LocalParty
	}{{protocol.ExecutorParty(cfg.Site), executor}, {protocol.SignalParty(cfg.Site), signals}} {
		switch {
		case (x.party.Machine == nil) == (x.party.Service == nil):
			return Config{}, fmt.Errorf("site %s: %s: set either Machine or Service", cfg.Site, x.name)
		case x.party.Machine != nil:
			out.SideParties[x.name] = x.party.Machine
		default:
			out.More[x.name] = x.party.Service
		}
	}
	return out, nil
}
