// Command coordinator runs the market of a live federation. Several instances may run:
// one is elected leader, the others stand by.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
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
	"github.com/gridbid/gridbid/coordinator/notary"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/protocol"
)

const commandHelp = `coordinator runs the market of a live federation. Several may run: one leads, the
others stand by and take over within seconds.

  coordinator --config coordinator.yaml
  coordinator --config coordinator.yaml --check

SIGTERM and SIGINT end it: its event log is complete, and a standby takes over at
once. Exit codes: 0 done; 1 failed; 2 a flag or the configuration is wrong.`

const envPrefix = "GRIDBID_COORDINATOR_"

func main() { os.Exit(runCommand(os.Args[1:], os.Stderr)) }

// runCommand is main without the process: it returns the exit code.
func runCommand(args []string, out io.Writer) int {
	var c coordinatorConfig
	var host, archiveFolder string
	return daemon.Program{
		Name: "coordinator", EnvPrefix: envPrefix, About: commandHelp,
		ListenHelp: "the API", DefaultListen: "127.0.0.1:7480",
		NoServer: "`gridbid federation init` writes one, and `gridbid up` needs none",
		AddFlags: func(fs *flag.FlagSet) {
			fs.StringVar(&host, "host", "", "run a nats-server in this process, by its configuration `FILE`")
			fs.StringVar(&archiveFolder, "archive", "", "`FOLDER` for the archive of all messages, which the page reads after a restart")
		},
		Load: func(file string) (_ *daemon.Settings, err error) {
			c, err = loadConfig(file)
			c.Host, c.Archive = cmp.Or(host, c.Host), cmp.Or(archiveFolder, c.Archive)
			return &c.Settings, err
		},
		MayListen: func(address string) error { return c.mayListen(address) },
		Prepare: func(x *daemon.Process) (daemon.Service, error) {
			s, err := prepareSetup(c, x)
			return s.serveCoordinator, err
		},
	}.Run(args, out)
}

// A checkedSetup is a configuration that was checked, ready to be served.
type checkedSetup struct {
	*daemon.Process
	config coordinatorConfig
	advice market.Advice
	judge  func(context.Context, bus.Conn, uint32) error // runs the model's party; nil: no model
	auth   *rights.Authenticator                         // of the API's requests; nil: this machine may do everything
	tls    *tls.Config                                   // of the API; nil: none
	notary *notary.Config                                // of the log; nil: there is none
}

// prepareSetup checks what only a coordinator's configuration has. It starts nothing:
// --check calls it too.
func prepareSetup(c coordinatorConfig, x *daemon.Process) (s checkedSetup, err error) {
	s = checkedSetup{Process: x, config: c}
	if s.advice, s.judge, err = c.Model.openAdvisor(s.Log); err != nil {
		return s, err
	}
	if s.auth, err = c.openAuthenticator(x.Log); err != nil {
		return s, err
	}
	if s.tls, err = c.TLS.openTLS(s.Log); err != nil {
		return s, err
	}
	if s.notary, err = c.Proof.openNotary(); err != nil {
		return s, err
	}
	if c.Host != "" {
		if err := natsbus.ValidateServerConfig(c.Host); err != nil {
			return s, fmt.Errorf("host: %w", err)
		}
	}
	return s, nil
}

// serveCoordinator serves the API, the page and metrics, and runs the market whenever
// this instance is elected leader, until ctx ends.
func (s checkedSetup) serveCoordinator(ctx context.Context) error {
	hub, end, err := s.openBus(ctx)
	if err != nil {
		return err
	}
	defer end()
	tele, err := s.StartTelemetry(ctx, protocol.Coordinator, hub)
	if err != nil {
		return err
	}
	defer tele.CloseAndLog(s.Log)
	hub.Limits = natsbus.DefaultSiteLimits()
	d := api.New()
	tele.RegisterSites(api.SiteStateNames(), d.SiteStatuses)
	guard := rights.NewGuard(s.auth, s.Log)
	d.GuardBy(guard)
	if s.auth != nil {
		go s.auth.Run(ctx)
	} else {
		s.Log.Info("no credentials_file: every user of this machine may do everything, for every tenant; set credentials_file to require credentials")
	}
	listener, err := s.ListenHTTP()
	if err != nil {
		return err
	}
	scheme := "http://"
	if s.tls != nil {
		listener, scheme = tls.NewListener(listener, s.tls), "https://"
	}
	n, err := archive.OpenArchive(s.config.Archive, time.Now(), s.Log)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	for _, path := range []string{"/v1/", "/healthz", "/readyz"} {
		mux.Handle(path, d.HTTPHandler())
	}
	page, run, closePage := s.newPageHandler(ctx, n, d, guard)
	defer closePage()
	record := func(ctx context.Context) ([]protocol.Message, error) {
		all, err := run.MarketMessages(ctx)
		return d.OwnRecord(ctx, all), err
	}
	mux.Handle("GET /v1/record", guard.Protect("GET /v1/record", archive.RecordHandler(record, d.IsLeading)))
	mux.Handle("GET /v1/proof", guard.Protect("GET /v1/proof", archive.ProofHandler(run.MarketMessages)))
	mux.Handle("/", page)
	mux.Handle("GET /metrics", guard.Protect("GET /metrics", tele.HTTPHandler()))
	defer s.ServeHTTP(listener, mux)()
	s.Log.Info("API open", "address", scheme+listener.Addr().String())
	rules := s.config.marketRules()
	rules.Advice = s.advice
	return leader.RunWhenElected(ctx, leader.Config{
		Bus: hub, Market: rules, SitePayload: cmp.Or(s.Access.SitePayload, natsbus.DefaultSitePayload), Judge: s.judge, Rule: func() auction.ClearingRule { return auction.New(auction.Config{}) },
		EventLog: eventlog.Config{Replicas: s.Access.Replicas, Lease: time.Duration(s.config.Lease), Keep: time.Duration(s.config.Keep), Log: s.Log},
		Notary:   s.notary,
		API:      d, Log: s.Log, Recorder: n, OnSent: tele.CountMessages, OnRestore: tele.RestoreWaiting, OnCounts: tele.SetRefusalCounts,
	})
}

// openBus connects to the NATS server, or runs one in this process if the
// configuration says so. The returned function stops that server.
func (s checkedSetup) openBus(ctx context.Context) (*natsbus.Bus, func(), error) {
	if s.config.Host == "" {
		hub, err := s.DialBus()
		return hub, func() {}, err
	}
	hosted, err := natsbus.ServeConfigFile(s.config.Host, s.Access.Access)
	if err != nil {
		return nil, nil, err
	}
	hosted.Log = s.Log
	go hosted.ReloadOnChange(ctx, 2*time.Second, s.Log, federation.WatchedFiles(s.config.Host)...)
	s.Log.Info("nats-server started", "url", hosted.ClientURL())
	return &hosted.Bus, hosted.Close, nil
}
