// Command coordinator runs the market of a live federation: it leads, or stands
// by for the one that does.
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

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/bus/telemetry"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/archive"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/leader"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/internal/loopback"
	"github.com/gridbid/gridbid/protocol"
)

const about = `coordinator runs the market of a live federation. Several may run: one leads, the
others stand by and take over within seconds.

  coordinator --config coordinator.yaml
  coordinator --config coordinator.yaml --check

SIGTERM and SIGINT end it: what it has said is kept, and a standby takes over at
once. Exit codes: 0 done; 1 failed; 2 a flag or the configuration is wrong.`

const prefix = "GRIDBID_COORDINATOR_"

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// options are the flags.
type options struct {
	config, listen, nats, host, level, format, notebook string
	check                                               bool
}

func run(args []string, out io.Writer) int {
	fs := flag.NewFlagSet("coordinator", flag.ContinueOnError)
	fs.SetOutput(out)
	var o options
	fs.StringVar(&o.config, "config", "", "configuration `FILE` in YAML")
	fs.BoolVar(&o.check, "check", false, "say whether the configuration is right, and exit")
	fs.StringVar(&o.listen, "listen", "", "loopback `ADDRESS` of the desk, where people ask (default 127.0.0.1:7480)")
	fs.StringVar(&o.nats, "nats", "", "`FILE` that says how the NATS server is reached")
	fs.StringVar(&o.host, "host", "", "run a nats-server in this process, by its configuration `FILE`")
	fs.StringVar(&o.notebook, "notebook", "", "`FOLDER` for ledgers of what is heard and said; the page finds them again after a restart")
	fs.StringVar(&o.level, "log-level", "", "debug, info, warn or error (default info)")
	fs.StringVar(&o.format, "log-format", "", "text or json (default text)")
	return daemon.Run(fs, prefix, about, args, &o.check, func() (daemon.Service, *slog.Logger, error) {
		s, err := prepare(o, out)
		return s.serve, s.log, err
	})
}

// A setup is a configuration that was checked.
type setup struct {
	config config
	access natsbus.AccessFile
	advice market.Advice
	judge  func(context.Context, bus.Port, uint32) error // nil: there is none
	people []api.Person                                  // who may confirm a policy; nil: names are believed
	log    *slog.Logger
}

// prepare reads all that is configured, flags first.
func prepare(o options, out io.Writer) (setup, error) {
	c, err := load(o.config)
	if err != nil {
		return setup{}, err
	}
	c.Listen = cmp.Or(o.listen, c.Listen, "127.0.0.1:7480")
	c.Host, c.Notebook = cmp.Or(o.host, c.Host), cmp.Or(o.notebook, c.Notebook)
	c.Log.Level, c.Log.Format = cmp.Or(o.level, c.Log.Level, "info"), cmp.Or(o.format, c.Log.Format, "text")
	if o.nats != "" {
		c.NATS, c.NATSFile = nil, o.nats
	}
	s := setup{config: c}
	if s.log, err = daemon.Logger(out, c.Log.Level, c.Log.Format); err != nil {
		return s, err
	}
	if err := daemon.Loopback(c.Listen); err != nil {
		return s, err
	}
	if _, err := telemetry.Endpoint(c.Traces.Endpoint); err != nil {
		return s, fmt.Errorf("traces: %w", err)
	}
	if s.advice, s.judge, err = c.Model.open(s.log); err != nil {
		return s, err
	}
	if s.people, err = c.people(); err != nil {
		return s, err
	}
	if c.Host != "" {
		if err := natsbus.CheckHost(c.Host); err != nil {
			return s, fmt.Errorf("host: %w", err)
		}
	}
	s.access, err = c.access()
	return s, err
}

// serve runs the coordinator until ctx ends.
func (s setup) serve(ctx context.Context) error {
	hub, end, err := s.hub(ctx)
	if err != nil {
		return err
	}
	defer end()
	tele, err := telemetry.New(ctx, telemetry.Config{Who: protocol.Coordinator, Endpoint: s.config.Traces.Endpoint, Ratio: s.config.Traces.Ratio, Log: s.log})
	if err != nil {
		return err
	}
	defer tele.End(s.log)
	tele.Watch(hub)
	hub.Limits = natsbus.SiteLimits()
	d := api.New()
	if s.people != nil {
		d.Know(s.people)
	} else {
		s.log.Info("no people_file: whoever may log in here may confirm a policy, under any name")
	}
	listener, err := net.Listen("tcp", s.config.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	n, err := archive.Open(s.config.Notebook, time.Now(), s.log)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	for _, path := range []string{"/v1/", "/healthz", "/readyz"} {
		mux.Handle(path, d.Handler())
	}
	page, closePage := s.page(ctx, n)
	defer closePage()
	mux.Handle("/", page)
	mux.Handle("GET /metrics", loopback.Only(tele.Handler()))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the desk is closed", "err", err)
		}
	}()
	defer server.Close()
	s.log.Info("desk open", "address", "http://"+listener.Addr().String())
	rules := s.config.market()
	rules.Advice = s.advice
	return leader.Run(ctx, leader.Config{
		Hub: hub, Market: rules, SitePayload: cmp.Or(s.access.SitePayload, natsbus.DefaultSitePayload), Judge: s.judge, Rule: func() auction.Rule { return auction.New(auction.Config{}) },
		Books: eventlog.Config{Replicas: s.access.Replicas, Lease: time.Duration(s.config.Lease), Keep: time.Duration(s.config.Keep), Log: s.log},
		Desk:  d, Log: s.log, Scribe: n, Told: tele.Told, Stood: tele.Stood, Counted: tele.Counted,
	})
}

// hub reaches the server, or runs it.
func (s setup) hub(ctx context.Context) (*natsbus.Hub, func(), error) {
	if s.config.Host == "" {
		hub, err := natsbus.Open(s.access.Access)
		if err == nil {
			hub.Log = s.log
		}
		return hub, func() {}, err
	}
	hosted, err := natsbus.Host(s.config.Host, s.access.Access)
	if err != nil {
		return nil, nil, err
	}
	hosted.Log = s.log
	go hosted.Watch(ctx, 2*time.Second, s.log, federation.Watched(s.config.Host)...)
	s.log.Info("nats-server started", "url", hosted.URL())
	return &hosted.Hub, hosted.Close, nil
}
