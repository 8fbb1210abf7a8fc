// Package program is what the binaries that run one site of a live federation share:
// the configuration file, and the process that connects the site to the federation and
// serves its metrics. The cluster-agent binary uses it for a site on a real cluster,
// `gridbid site` for a simulated one; each builds its site itself.
package program

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/bus/telemetry"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/cluster-agent/signals"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/protocol"
)

// EnvPrefix begins the names of the environment variables that set flags.
const EnvPrefix = "GRIDBID_AGENT_"

// A Program runs one site until it is stopped.
type Program struct {
	Name  string // as in errors and help
	About string // the first part of its help
	// Prepare checks what only this program knows of a configuration, and returns
	// how its site is built. Preparing must write nothing: --check does it too. The feed
	// reports the site's grid; it is nil if none is configured.
	Prepare func(c Config, log *slog.Logger, feed *signals.Poller) (build Builder, err error)
}

// A Builder builds the parties of a site at its start.
type Builder func() (runtime.Config, error)

// Run is the main function of the program. It returns the exit code: 0 done, 1 failed,
// 2 a flag or the configuration is wrong.
func (p Program) Run(args []string, out io.Writer) int {
	var c Config
	return daemon.Program{
		Name: p.Name, EnvPrefix: EnvPrefix, About: p.About,
		ListenHelp: "/metrics, /healthz and /readyz", NoServer: "`gridbid federation add-site` writes one",
		Load: func(file string) (_ *daemon.Settings, err error) {
			c, err = LoadConfig(p.Name, file)
			return &c.Settings, err
		},
		Prepare: func(x *daemon.Process) (daemon.Service, error) {
			poller := c.NewPoller(x.Log)
			build, err := p.Prepare(c, x.Log, poller)
			return func(ctx context.Context) error { return serveSite(ctx, x, c, poller, build) }, err
		},
	}.Run(args, out)
}

// serveSite connects a site to the federation and runs it until ctx ends.
func serveSite(ctx context.Context, x *daemon.Process, c Config, poller *signals.Poller, build Builder) error {
	site, ceiling := c.Site, c.ceilingWatts()
	cfg, err := build()
	if err != nil {
		return err
	}
	hub, err := x.DialBus()
	if err != nil {
		return err
	}
	tele, err := x.StartTelemetry(ctx, protocol.AgentParty(site), hub)
	if err != nil {
		return err
	}
	defer tele.CloseAndLog(x.Log)
	tele.AddReadinessCheck(hub.CheckConnected)
	if poller != nil {
		tele.RegisterSignals(sourceStates(poller))
	}
	if x.Listen != "" {
		listener, err := x.ListenHTTP()
		if err != nil {
			return err
		}
		defer x.ServeHTTP(listener, tele.HTTPHandler())()
	}
	cfg.Watch = func(state func(protocol.Time) capacity.State) {
		tele.RegisterAgent(func() (telemetry.AgentStatus, bool) {
			s := agentStatus(site, poller, state, time.Now())
			s.CeilingWatts = ceiling
			return s, true
		})
	}
	cfg.OnSent, cfg.FederationBus, cfg.Log, cfg.HeldDir = tele.CountMessages, hub, x.Log, c.Held
	return runtime.RunSite(ctx, cfg)
}

// ceilingWatts returns the ceiling of a site's GPUs; 0: none is known.
func (c Config) ceilingWatts() float64 {
	if c.Kubernetes == nil {
		return 0
	}
	return c.Kubernetes.Ceiling
}

// sourceStates returns a function that reads the state of a poller's sources for
// metrics.
func sourceStates(f *signals.Poller) func() []telemetry.SignalStatus {
	return func() (out []telemetry.SignalStatus) {
		for _, s := range f.SourceStatuses(time.Now()) {
			out = append(out, telemetry.SignalStatus{Source: s.Source, Quantity: s.Tells, Known: s.Value != nil, Value: valueOrZero(s.Value), Age: s.Age, Horizon: s.Horizon, Stale: s.Stale, Failures: s.Why})
		}
		return out
	}
}

// valueOrZero returns what p points to, or 0.
func valueOrZero(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// agentStatus returns what metrics show of a site: by what its agent bids, and what its capacity
// holds. poller is nil for a site whose grid a scenario has.
func agentStatus(site string, poller *signals.Poller, state func(protocol.Time) capacity.State, now time.Time) telemetry.AgentStatus {
	x := state(protocol.FromStdTime(now))
	s := telemetry.AgentStatus{
		Site: site, GPUs: make(map[string]float64), HeldGPUs: make(map[string]float64), IdleGPUs: float64(x.Idle) / 1000, FragmentedGPUs: float64(x.Fragmented) / 1000,
		RunningJobs: x.Runs, CappedJobs: x.Capped, PowerWatts: float64(x.Power) / 1000, WaitingGangs: x.WaitingGangs, KeptGPUHours: float64(x.KeptGPUHours) / 1000,
	}
	for _, p := range x.Pools {
		if p.Model != "" {
			s.GPUs[p.Model], s.HeldGPUs[p.Model] = float64(p.GPUs)/1000, float64(p.Held)/1000
		}
	}
	if poller == nil {
		return s
	}
	for q, into := range map[protocol.Quantity]**float64{protocol.GridPrice: &s.PriceUSDPerMWh, protocol.GridCarbon: &s.CarbonGramsPerKWh, protocol.GridPUE: &s.PUE} {
		if v, ok := poller.CurrentValue(q, now); ok {
			*into = &v
		}
	}
	return s
}
