package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/telemetry"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/coordinator/advisor"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/archive"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/leader"
	"github.com/gridbid/gridbid/explain/mcp"
	"github.com/gridbid/gridbid/explain/page"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/internal/loopback"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/sim"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// upFlags are the flags of `gridbid up`.
type upFlags struct {
	scenarioFlags
	adviceFlags
	speed  float64
	sites  []string
	listen string
	nats   string
	folder string
	noJobs bool
	level  string
	traces string
}

// newUpCommand is `gridbid up`: a whole live federation in one process.
func newUpCommand() *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up [SCENARIO]",
		Short: "run a whole live federation on this machine, to try it",
		Long: `Run a live federation in one process until ctrl-C: an embedded NATS server, a
coordinator with its event log, and an agent for each site of a scenario. Machines,
grids and the clock are simulated; the messages are those of separate processes.

The simulated clock starts with the scenario and runs --speed times as fast as the
wall clock. The jobs of the scenario are submitted as they arrive, unless --no-jobs is
set; submit your own with "gridbid submit". Without SCENARIO the embedded six-regions
runs.

Served over HTTP at --listen (loopback only):
  /                       the page
  /v1/                    the API of the coordinator, in JSON
  /healthz, /readyz       200 if the process is up; if the coordinator leads
  /metrics                metrics of the coordinator, for Prometheus
  /agents/SITE/metrics    metrics of each agent; also /healthz and /readyz
  --traces URL            sends each job as one trace, by OTLP over HTTP

The coordinator limits each sender as a coordinator in its own process does, per
second of the simulated clock: 500 messages and 4 MiB, with a backlog of at most
8 MiB. It drops, logs and counts (gridbid_dropped_total) messages above the limits.`,
		Example: `  gridbid up
  gridbid up --speed 1 --no-jobs --sites hydro-north,wind-coast
  gridbid submit -f job.yaml; gridbid jobs --watch`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.runUp(cmd, args); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return nil // ctrl-C ends the command, and is no failure
		},
	}
	f.scenarioFlags.registerFlags(cmd)
	f.adviceFlags.registerFlags(cmd, "verdicts")
	fl := cmd.Flags()
	fl.Float64Var(&f.speed, "speed", 60, "simulated seconds per second, 1 to 600")
	fl.StringSliceVar(&f.sites, "sites", nil, "sites of the scenario to start (default: all)")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:7480", "loopback `ADDRESS` (HOST:PORT) of the API and the page")
	fl.StringVar(&f.nats, "nats", "", "loopback `ADDRESS` at which NATS clients can read all messages, with the URL in FOLDER/tap.url (default: none)")
	fl.StringVar(&f.folder, "folder", ".gridbid/up", "`FOLDER` for event log and ledger; files of an earlier up are removed")
	fl.BoolVar(&f.noJobs, "no-jobs", false, "do not submit the jobs of the scenario")
	fl.StringVar(&f.traces, "traces", "", "send traces by OTLP over HTTP to this `URL`, such as http://127.0.0.1:4318 (default: none)")
	fl.StringVar(&f.level, "log-level", "warn", "log `LEVEL`: debug, info, warn or error")
	return cmd
}

// A liveFederation is the running parts of `gridbid up`. If one part fails, fail ends all;
// parties is done when all have returned.
type liveFederation struct {
	flags    *upFlags
	scenario spec.Scenario
	clock    bus.Clock
	socket   net.Listener
	server   *natsbus.Server
	api      *api.Server
	mux      *http.ServeMux
	log      *slog.Logger

	parties sync.WaitGroup
	fail    context.CancelCauseFunc
}

// runUp starts the federation and waits until ctrl-C or until a part fails. All that a wrong flag
// can spoil is checked before files of an earlier up are removed.
func (f *upFlags) runUp(cmd *cobra.Command, args []string) error {
	s, err := f.chooseScenario(args)
	if err != nil {
		return err
	}
	log, err := daemon.NewLogger(cmd.ErrOrStderr(), f.level, "text")
	if err == nil {
		err = f.checkReachable()
	}
	if err != nil {
		return usageError{err}
	}
	if err := f.openAdvisor(s, cmd.ErrOrStderr()); err != nil {
		return err
	}
	if err := advisor.CheckNotesSize(f.advice.Notes); err != nil {
		return usageError{fmt.Errorf("%s: %w", f.notes, err)}
	}
	daemon.RelaxGarbageCollector()
	if err := os.MkdirAll(f.folder, 0o700); err != nil {
		return usageError{fmt.Errorf("--folder: %w", err)}
	}
	// From here on no other up may use the folder.
	release, err := lockFolder(f.folder)
	if err != nil {
		return usageError{fmt.Errorf("%w: choose another with --folder", err)}
	}
	defer release()
	socket, err := net.Listen("tcp", f.listen)
	if err != nil {
		return usageError{fmt.Errorf("%w: choose another address with --listen", err)}
	}
	defer socket.Close()
	if err := f.clearFolder(); err != nil {
		return err
	}
	server, err := natsbus.StartServer(natsbus.Config{Listen: f.nats, Store: filepath.Join(f.folder, "nats")})
	if err != nil {
		return err
	}
	defer server.Close()
	if err := f.writeTapAccess(server); err != nil {
		return err
	}
	server.Log = log
	// The first part that fails is the cause with which all others end.
	ctx, fail := context.WithCancelCause(cmd.Context())
	defer fail(nil)
	// Rounds, leases and jobs all follow this one clock.
	u := &liveFederation{
		flags: f, scenario: s, socket: socket, server: server, api: api.New(), mux: http.NewServeMux(), log: log, fail: fail,
		clock: bus.Clock{Start: s.Start, Began: time.Now(), Speed: f.speed},
	}
	err = u.startParties(ctx)
	if err == nil {
		u.printStarted(cmd)
		<-ctx.Done()
		err = context.Cause(ctx)
	}
	fail(err)
	u.parties.Wait()
	return err
}

// checkReachable checks --traces, --listen and --nats: addresses to listen on must be
// loopback, and that of --nats must be free.
func (f *upFlags) checkReachable() error {
	if _, err := telemetry.TracesEndpoint(f.traces); err != nil {
		return fmt.Errorf("--traces: %w", err)
	}
	if err := daemon.RequireLoopback(f.listen); err != nil || f.nats == "" {
		return err
	}
	if err := daemon.RequireLoopback(f.nats); err != nil {
		return fmt.Errorf("--nats: %w", err)
	}
	socket, err := net.Listen("tcp", f.nats) // tries the address; the server opens it later
	if err != nil {
		return fmt.Errorf("--nats: %w", err)
	}
	return socket.Close()
}

// chooseScenario loads the scenario and keeps the sites of --sites.
func (f *upFlags) chooseScenario(args []string) (spec.Scenario, error) {
	s, err := f.loadScenario(args)
	if err != nil {
		return s, err
	}
	if err := scenarios.CheckLiveEvents(s); err != nil {
		return s, usageError{err}
	}
	if !(f.speed >= 1 && f.speed <= 600) {
		return s, usageError{fmt.Errorf("--speed %g: want 1 to 600, as rounds take seconds of the simulated clock", f.speed)}
	}
	var all []string
	for _, x := range s.Sites {
		all = append(all, x.Name)
	}
	for _, name := range f.sites {
		if !slices.ContainsFunc(s.Sites, func(x spec.Site) bool { return x.Name == name }) {
			return s, usageError{fmt.Errorf("--sites: scenario %s has no site %q%s", s.Name, name, nearest.WhatThereIs(name, all))}
		}
	}
	if len(f.sites) > 0 {
		s.Sites = slices.DeleteFunc(slices.Clone(s.Sites), func(x spec.Site) bool { return !slices.Contains(f.sites, x.Name) })
	}
	return s, nil
}

// upFolder marks a folder whose files an earlier up wrote, so that the next may remove them.
// tapAccessFile holds the URL, credentials included, with which other processes read all
// messages.
const (
	upFolder      = "up.folder"
	tapAccessFile = "tap.url"
)

// clearFolder removes the files of an earlier up, and nothing else. It refuses a folder that
// up did not mark: that of a federation, for example, has a folder sites with secret keys.
func (f *upFlags) clearFolder() error {
	at := func(name string) string { return filepath.Join(f.folder, name) }
	there := func(name string) bool { _, err := os.Lstat(at(name)); return err == nil }
	own := there(upFolder)
	if r, err := wal.OpenReader(at("auction.ledger")); err == nil { // older builds wrote no mark
		own = own || r.Header()["live"] == "up"
		_ = r.Close()
	}
	for _, name := range []string{"nats", "sites", "auction.ledger", tapAccessFile, notesFile} {
		if !own && there(name) {
			return usageError{fmt.Errorf("--folder: %s exists, and not from an earlier `gridbid up`: choose another folder", at(name))}
		}
		if err := os.RemoveAll(at(name)); err != nil {
			return err
		}
	}
	return os.WriteFile(at(upFolder), nil, 0o600)
}

// writeTapAccess writes the URL for readers of all messages, if --nats is set. Invariant: the
// file is readable by its owner only, as it holds a password.
func (f *upFlags) writeTapAccess(server *natsbus.Server) error {
	if f.nats == "" {
		return nil
	}
	at, err := url.Parse(server.ClientURL())
	if err != nil {
		return err
	}
	at.User = url.UserPassword(server.TapCredentials())
	return os.WriteFile(filepath.Join(f.folder, tapAccessFile), []byte(at.String()+"\n"), 0o600)
}

// runPart runs one part of the federation in a goroutine; if it fails, all parts end.
func (u *liveFederation) runPart(ctx context.Context, name string, run func() error) {
	u.parties.Go(func() {
		if err := run(); err != nil && ctx.Err() == nil {
			u.fail(fmt.Errorf("up: %s: %w", name, err))
		}
	})
}

// startParties starts recorder, API and coordinator and, once the coordinator leads, sites
// and submitter.
func (u *liveFederation) startParties(ctx context.Context) error {
	// Open the tap before any other party connects: the ledger must have the first message.
	tap, err := u.server.OpenTap(ctx)
	if err != nil {
		return err
	}
	notes, err := archive.OpenArchive("", time.Now(), u.log)
	if err != nil {
		return err
	}
	// The recorder starts before any party sends; the page shows the same Timeline as it grows.
	now := tail.StartReading(ctx, u.recordMessages(tap, notes), nil)
	hub, tele, err := u.instrumentedBus(ctx, protocol.Coordinator)
	if err != nil {
		return err
	}
	hub.Limits = u.flags.siteLimits()
	tele.RegisterSites(api.SiteStateNames(), u.api.SiteStatuses)
	// One listener serves the API, metrics and the page of all parts.
	front := u.withSimulatedDate(u.api.HTTPHandler())
	for _, path := range []string{"/v1/", "/healthz", "/readyz"} {
		u.mux.Handle(path, front)
	}
	u.mux.Handle("GET "+recordPath, loopback.AllowLocalOnly(archive.RecordHandler(now.MarketMessages, u.api.IsLeading)))
	u.mux.Handle("GET /metrics", loopback.AllowLocalOnly(tele.HTTPHandler()))
	u.mux.Handle("/", page.NewPageHandler(now, page.Options{Title: u.scenario.Name + " · live", Policy: scenarios.PolicyAuction, Live: true, MCP: mcp.HTTPHandler(mcp.New(now, buildVersion(), nil))}))
	u.runPart(ctx, "api", func() error { return serveHTTP(ctx, u.socket, u.mux) })
	u.runPart(ctx, "record", func() error { <-now.ReadingDone(); return now.Err() })

	u.runPart(ctx, "coordinator", func() error {
		return leader.RunWhenElected(ctx, leader.Config{
			Bus: hub, Clock: u.clock, API: u.api, Log: u.log, Judge: u.flags.liveJudge(u.clock, u.log), Recorder: notes,
			OnSent: tele.CountMessages, OnRestore: tele.RestoreWaiting, OnCounts: tele.SetRefusalCounts, EventLog: eventlog.Config{Lease: upLease},
			Market: u.flags.marketRules(scenarios.MarketWeights(u.scenario)),
			Rule:   func() auction.ClearingRule { return auction.New(auction.Config{}) },
		})
	})
	for !u.api.IsLeading() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
	for _, s := range u.scenario.Sites {
		if err := u.startSite(ctx, s.Name); err != nil {
			return err
		}
	}
	return u.submitJobs(ctx)
}

// withSimulatedDate sets the Date header of answers to the simulated clock, from which clients
// compute times such as "until 18:00".
func (u *liveFederation) withSimulatedDate(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", u.clock.Now().StdTime().Format(http.TimeFormat))
		h.ServeHTTP(w, r)
	})
}

// recordMessages writes all messages to a ledger and passes them to each. Besides those of
// the bus it takes from the archive the messages that no bus carries: those of the API to
// the coordinator, and the coordinator's records of its inputs.
func (u *liveFederation) recordMessages(tap bus.Conn, notes *archive.Archive) tail.Source {
	archived := make(chan protocol.Message)
	return func(ctx context.Context, _ uint64, each func(protocol.Message) error) (err error) {
		ledger, err := wal.CreateFile(filepath.Join(u.flags.folder, "auction.ledger"), addAdviceToHeader(map[string]string{
			"scenario": u.scenario.Name, "policy": scenarios.PolicyAuction, "live": "up", "protocol": fmt.Sprint(protocol.Current),
		}, u.flags.scaledAdvice(u.flags.speed)))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, ledger.Close()) }()
		u.runPart(ctx, "archive", func() error {
			return notes.Read(ctx, 0, func(m protocol.Message) error {
				if m.From != protocol.OperatorAPI && m.From != protocol.InputRecorder && m.From != protocol.SiteMonitor {
					return nil
				}
				select {
				case archived <- m:
				case <-ctx.Done():
				}
				return nil
			})
		})
		write := func(m protocol.Message) error {
			if m.IsOffRecord() {
				return nil
			}
			return errors.Join(ledger.AppendMessage(m), each(m))
		}
		flush := time.NewTicker(time.Second)
		defer flush.Stop()
		for {
			select {
			case m, ok := <-tap.Messages():
				if !ok && ctx.Err() != nil {
					return nil
				}
				if !ok {
					return tap.Close()
				}
				err = write(m)
			case m := <-archived:
				err = write(m)
			case <-flush.C: // for commands that read the ledger of a live run
				err = ledger.Flush()
			}
			if err != nil {
				return err
			}
		}
	}
}

// instrumentedBus returns a bus for one party, and its telemetry, which closes when ctx ends.
func (u *liveFederation) instrumentedBus(ctx context.Context, who protocol.Party) (*natsbus.Bus, *telemetry.Telemetry, error) {
	tele, err := telemetry.New(ctx, telemetry.Config{Who: who, Endpoint: u.flags.traces, Log: u.log})
	if err != nil {
		return nil, nil, usageError{err}
	}
	hub := u.server.NewBus()
	tele.WatchBus(hub)
	u.parties.Go(func() {
		<-ctx.Done()
		tele.CloseAndLog(u.log)
	})
	return hub, tele, nil
}

// upLease is the lease of up's coordinator. It is long, as there is no standby to take over
// and a busy machine must not lose it; after a kill the next up waits for its end.
const upLease = 10 * time.Second

// startSite starts one simulated site of the scenario.
func (u *liveFederation) startSite(ctx context.Context, name string) error {
	x, err := scenarios.SimulateSite(u.scenario, name, u.scenario.Start, scenarios.MeteredUntil(u.scenario).Add(scenarios.MaxReplayOverrun))
	if err != nil {
		return err
	}
	cfg, err := x.Build(filepath.Join(u.flags.folder, "sites", name))
	if err != nil {
		return err
	}
	hub, tele, err := u.instrumentedBus(ctx, protocol.AgentParty(name))
	if err != nil {
		return err
	}
	// Each agent has metrics and readiness of its own, as if it ran in a process of its own.
	tele.AddReadinessCheck(hub.CheckConnected)
	u.mux.Handle("/agents/"+name+"/", loopback.AllowLocalOnly(http.StripPrefix("/agents/"+name, tele.HTTPHandler())))
	cfg.FederationBus, cfg.SiteBus, cfg.Clock, cfg.Log, cfg.OnSent = hub, hub, u.clock, u.log.With("site", name), tele.CountMessages
	u.runPart(ctx, name, func() error { return runtime.RunSite(ctx, cfg) })
	return nil
}

// submitJobs starts the submitter, which submits the scenario's jobs and services as they arrive, unless
// --no-jobs is set.
func (u *liveFederation) submitJobs(ctx context.Context) error {
	if u.flags.noJobs {
		return nil
	}
	port, err := u.server.Connect(ctx, protocol.Submitter)
	if err != nil {
		return err
	}
	u.runPart(ctx, "submitter", func() error {
		submitter := sim.NewSubmitter(u.scenario.Jobs)
		for _, x := range slices.SortedStableFunc(slices.Values(u.scenario.Services), func(a, b spec.ListedService) int { return cmp.Compare(a.At, b.At) }) {
			submitter.AddService(x.At, x.Service)
		}
		return bus.Loop{Clock: u.clock}.Run(ctx, port, submitter)
	})
	return nil
}

// printStarted prints the addresses of what runs, and commands that are useful next.
func (u *liveFederation) printStarted(cmd *cobra.Command) {
	var names []string
	for _, s := range u.scenario.Sites {
		names = append(names, s.Name)
	}
	stderr := notesOf(cmd)
	fmt.Fprintf(stderr, "%s is up, from %s at %gx: %s\n", u.scenario.Name, u.scenario.Start, u.flags.speed, strings.Join(names, ", "))
	if err := writeNotes(stderr, u.flags.folder, u.scenario, u.flags.usesOwnData()); err != nil {
		u.log.Warn("the notes on the scenario could not be written", "err", err)
	}
	fmt.Fprintf(stderr, "page: http://%s\n", u.socket.Addr())
	if u.flags.nats != "" {
		fmt.Fprintf(stderr, "nats: %s, to read all messages with the URL in %s\n", u.server.ClientURL(), filepath.Join(u.flags.folder, tapAccessFile))
	}
	at := ""
	if own := u.socket.Addr().String(); own != defaultAPIAddress {
		at = " --api " + own
	}
	fmt.Fprintf(stderr, "\nNext, in another terminal:\n  gridbid top%s\n  gridbid submit%s -f job.yaml\n  gridbid sites%s\n  gridbid why JOB%s\n", at, at, at, cmp.Or(at, " --live"))
}
