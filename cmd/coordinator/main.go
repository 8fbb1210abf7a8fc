// Command coordinator runs the market of a live federation: it leads, or stands
// by for the one that does.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/natsbus/federation"
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

func run(args []string, out io.Writer) int {
	var c config
	var host, notebook string
	return daemon.Program{
		Name: "coordinator", EnvPrefix: prefix, About: about,
		ListenHelp: "the desk, where people ask", DefaultListen: "127.0.0.1:7480",
		NoServer: "`gridbid federation init` writes one, and `gridbid up` needs none",
		AddFlags: func(fs *flag.FlagSet) {
			fs.StringVar(&host, "host", "", "run a nats-server in this process, by its configuration `FILE`")
			fs.StringVar(&notebook, "notebook", "", "`FOLDER` for ledgers of what is heard and said; the page finds them again after a restart")
		},
		Load: func(file string) (_ *daemon.Settings, err error) {
			c, err = load(file)
			c.Host, c.Notebook = cmp.Or(host, c.Host), cmp.Or(notebook, c.Notebook)
			return &c.Settings, err
		},
		Prepare: func(x *daemon.Process) (daemon.Service, error) {
			s, err := prepare(c, x)
			return s.serve, err
		},
	}.Run(args, out)
}

// A setup is a configuration that was checked.
type setup struct {
	*daemon.Process
	config config
	advice market.Advice
	judge  func(context.Context, bus.Port, uint32) error // nil: there is none
	people []api.Person                                  // who may confirm a policy; nil: names are believed
}

// prepare reads what only a coordinator has in its configuration.
func prepare(c config, x *daemon.Process) (s setup, err error) {
	s = setup{Process: x, config: c}
	if s.advice, s.judge, err = c.Model.open(s.Log); err != nil {
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
	return s, nil
}

// serve runs the coordinator until ctx ends.
func (s setup) serve(ctx context.Context) error {
	hub, end, err := s.hub(ctx)
	if err != nil {
		return err
	}
	defer end()
	tele, err := s.Observe(ctx, protocol.Coordinator, hub)
	if err != nil {
		return err
	}
	defer tele.End(s.Log)
	hub.Limits = natsbus.SiteLimits()
	d := api.New()
	if s.people != nil {
		d.Know(s.people)
	} else {
		s.Log.Info("no people_file: whoever may log in here may confirm a policy, under any name")
	}
	listener, err := s.ListenHTTP()
	if err != nil {
		return err
	}
	n, err := archive.Open(s.config.Notebook, time.Now(), s.Log)
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
	defer s.ServeHTTP(listener, mux)()
	s.Log.Info("desk open", "address", "http://"+listener.Addr().String())
	rules := s.config.market()
	rules.Advice = s.advice
	return leader.Run(ctx, leader.Config{
		Hub: hub, Market: rules, SitePayload: cmp.Or(s.Access.SitePayload, natsbus.DefaultSitePayload), Judge: s.judge, Rule: func() auction.Rule { return auction.New(auction.Config{}) },
		Books: eventlog.Config{Replicas: s.Access.Replicas, Lease: time.Duration(s.config.Lease), Keep: time.Duration(s.config.Keep), Log: s.Log},
		Desk:  d, Log: s.Log, Scribe: n, Told: tele.Told, Stood: tele.Stood, Counted: tele.Counted,
	})
}

// hub reaches the server, or runs it.
func (s setup) hub(ctx context.Context) (*natsbus.Hub, func(), error) {
	if s.config.Host == "" {
		hub, err := s.Dial()
		return hub, func() {}, err
	}
	hosted, err := natsbus.Host(s.config.Host, s.Access.Access)
	if err != nil {
		return nil, nil, err
	}
	hosted.Log = s.Log
	go hosted.Watch(ctx, 2*time.Second, s.Log, federation.Watched(s.config.Host)...)
	s.Log.Info("nats-server started", "url", hosted.URL())
	return &hosted.Hub, hosted.Close, nil
}
