// Command cluster-agent bids for one site of a live federation, and runs what it
// wins.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/telemetry"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/cluster-agent/signals"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

const about = `cluster-agent bids for one site of a live federation, and runs what it wins.

  cluster-agent --config oslo.yaml
  cluster-agent --config oslo.yaml --check
  cluster-agent signals --help    read what the configured sources tell of the grid
  cluster-agent profiles --help   what is remembered of jobs that ran
  cluster-agent gpus              what this machine's GPUs say of themselves
  cluster-agent powercal --help   measure a command under several power limits
  cluster-agent node --help       keep and measure the cards of one Kubernetes node

SIGTERM and SIGINT end it: its jobs run on in their cluster, and it takes them up
again when it is started. Exit codes: 0 done; 1 failed; 2 a flag or the
configuration is wrong.`

const prefix = "GRIDBID_AGENT_"

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// options are the flags.
type options struct {
	config, listen, nats, level, format string
	check                               bool
}

// tools are the subcommands.
var tools = map[string]func([]string, io.Writer) error{"signals": runSignals, "profiles": profiles, "gpus": gpus, "powercal": powercal, "guard": guard, "node": runNode}

func run(args []string, out io.Writer) int {
	if len(args) > 0 && tools[args[0]] != nil {
		return tool(args, out)
	}
	fs := flag.NewFlagSet("cluster-agent", flag.ContinueOnError)
	fs.SetOutput(out)
	var o options
	fs.StringVar(&o.config, "config", "", "configuration `FILE` in YAML")
	fs.BoolVar(&o.check, "check", false, "say whether the configuration is right, and exit")
	fs.StringVar(&o.listen, "listen", "", "loopback `ADDRESS` of /metrics, /healthz and /readyz (default: none)")
	fs.StringVar(&o.nats, "nats", "", "`FILE` that says how the NATS server is reached")
	fs.StringVar(&o.level, "log-level", "", "debug, info, warn or error (default info)")
	fs.StringVar(&o.format, "log-format", "", "text or json (default text)")
	return daemon.Run(fs, prefix, about, args, &o.check, func() (daemon.Service, *slog.Logger, error) {
		s, err := prepare(o, out)
		return s.serve, s.log, err
	})
}

func tool(args []string, out io.Writer) int {
	err := tools[args[0]](args[1:], out)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(out, "cluster-agent %s: %v\n", args[0], err)
	return 1
}

// parse reads the flags of a tool. Those behind a word that is none would be passed over.
func parse(fs *flag.FlagSet, args []string) error {
	err := fs.Parse(args)
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unknown argument %q; see %s --help", fs.Arg(0), fs.Name())
	}
	return err
}

// A setup is a configuration that was checked.
type setup struct {
	config   config
	access   natsbus.Access
	scenario spec.Scenario
	log      *slog.Logger
}

// prepare reads all that is configured, flags first.
func prepare(o options, out io.Writer) (setup, error) {
	c, err := load(o.config)
	if err != nil {
		return setup{}, err
	}
	c.Listen = cmp.Or(o.listen, c.Listen)
	c.Log.Level, c.Log.Format = cmp.Or(o.level, c.Log.Level, "info"), cmp.Or(o.format, c.Log.Format, "text")
	if o.nats != "" {
		c.NATS, c.NATSFile = nil, o.nats
	}
	s := setup{config: c}
	if s.log, err = daemon.Logger(out, c.Log.Level, c.Log.Format); err != nil {
		return s, err
	}
	if s.access, err = c.access(); err != nil {
		return s, err
	}
	if err := daemon.Loopback(c.Listen); err != nil && c.Listen != "" {
		return s, err
	}
	if _, err := telemetry.Endpoint(c.Traces.Endpoint); err != nil {
		return s, fmt.Errorf("traces: %w", err)
	}
	if c.Simulate == nil {
		_, err = c.site(s.log, c.feed(s.log))
		return s, err
	}
	s.scenario, err = spec.Load(c.Simulate.Scenario, spec.Options{Data: c.Simulate.Data})
	return s, err
}

// parties are those of the site, real or played, with a live feed or nil.
func (s setup) parties(live *signals.Feed) (runtime.Config, error) {
	if s.config.Simulate != nil {
		return simulate(s.config, s.scenario, live)
	}
	return s.config.site(s.log, live)
}

// serve runs the site until ctx ends.
func (s setup) serve(ctx context.Context) error {
	live := s.config.feed(s.log)
	cfg, err := s.parties(live)
	if err != nil {
		return err
	}
	hub, err := natsbus.Open(s.access)
	if err != nil {
		return err
	}
	hub.Log = s.log
	tele, err := telemetry.New(ctx, telemetry.Config{Who: protocol.Agent(s.config.Site), Endpoint: s.config.Traces.Endpoint, Ratio: s.config.Traces.Ratio, Log: s.log})
	if err != nil {
		return err
	}
	defer tele.End(s.log)
	tele.Watch(hub)
	tele.Check(hub.Ready)
	if live != nil {
		tele.Signals(watched(live))
	}
	cfg.Told = tele.Told
	cfg.Far, cfg.Log = hub, s.log
	if s.config.Listen != "" {
		end, err := s.health(tele.Handler())
		if err != nil {
			return err
		}
		defer end()
	}
	return runtime.Run(ctx, cfg)
}

// health answers how the process does.
func (s setup) health(handler http.Handler) (func(), error) {
	listener, err := net.Listen("tcp", s.config.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("health is closed", "err", err)
		}
	}()
	return func() { _ = server.Close() }, nil
}
