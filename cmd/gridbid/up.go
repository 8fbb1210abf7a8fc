package main

import (
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
	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/advisor"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/archive"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/leader"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/explain/mcp"
	"github.com/gridbid/gridbid/explain/page"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/internal/loopback"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/sim"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// upFlags is what `gridbid up` was told.
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

func newUpCommand() *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up [SCENARIO]",
		Short: "start a whole live federation on this machine, to try it",
		Long: `Start a live federation in one process: an embedded NATS server, a coordinator
with its books, and an agent for each site of a scenario, over clusters and grids
that are played. It runs until ctrl-C. What is said is what separate processes say;
only machines, grids and the clock are played.

The clock begins where the scenario does and runs --speed times as fast as yours.
The scenario's own jobs are submitted as they arrive, unless --no-jobs; yours with
"gridbid submit". Without SCENARIO the embedded six-regions are played.

What can be seen of it, by HTTP at --listen (this machine alone):
  /                       the page
  /v1/                    the desk, in JSON
  /healthz, /readyz       the process answers; the coordinator leads
  /metrics                the coordinator, for Prometheus
  /agents/SITE/metrics    each agent; so /healthz and /readyz
  --traces URL            each job as one trace, by OTLP over HTTP

The coordinator hears each speaker within the limits of one in a process of its
own, per second of the clock that is played: 500 messages and 4 MiB, and 8 MiB at
most that wait. What is over is dropped, logged and counted
(gridbid_dropped_total).`,
		Example: `  gridbid up
  gridbid up --speed 1 --no-jobs --sites oslo,texas
  gridbid submit -f job.yaml; gridbid jobs --watch`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.runUp(cmd, args); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return nil // ctrl-C is how it ends
		},
	}
	f.scenarioFlags.registerFlags(cmd)
	f.adviceFlags.registerFlags(cmd, "verdicts")
	fl := cmd.Flags()
	fl.Float64Var(&f.speed, "speed", 60, "seconds that pass in one of yours, 1 to 600")
	fl.StringSliceVar(&f.sites, "sites", nil, "sites of the scenario to start (default: all)")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:7480", "loopback address of the desk and the page")
	fl.StringVar(&f.nats, "nats", "", "loopback address at which the NATS server takes who listens to all that is said, by the URL in FOLDER/tap.url (default: none)")
	fl.StringVar(&f.folder, "folder", ".gridbid/up", "folder for books and ledger; what an earlier up left there is removed")
	fl.BoolVar(&f.noJobs, "no-jobs", false, "submit none of the scenario's jobs")
	fl.StringVar(&f.traces, "traces", "", "send traces by OTLP over HTTP to this `URL`, as in http://127.0.0.1:4318 (default: none)")
	fl.StringVar(&f.level, "log-level", "warn", "debug, info, warn or error")
	return cmd
}

// liveFederation is what up has started.
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
	release, err := lockFolder(f.folder)
	if err != nil {
		return usageError{fmt.Errorf("%w; --folder names another", err)}
	}
	defer release()
	socket, err := net.Listen("tcp", f.listen)
	if err != nil {
		return usageError{fmt.Errorf("%w; --listen names another address", err)}
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
	ctx, fail := context.WithCancelCause(cmd.Context())
	defer fail(nil)
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

// checkReachable says which address up cannot be reached at, or cannot reach.
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
	socket, err := net.Listen("tcp", f.nats) // for the server
	if err != nil {
		return fmt.Errorf("--nats: %w", err)
	}
	return socket.Close()
}

// chooseScenario reads the scenario and keeps the sites that are wanted.
func (f *upFlags) chooseScenario(args []string) (spec.Scenario, error) {
	s, err := f.loadScenario(args)
	if err != nil {
		return s, err
	}
	if !(f.speed >= 1 && f.speed <= 600) {
		return s, usageError{fmt.Errorf("--speed %g: want 1 to 600: rounds take seconds of the clock that is played", f.speed)}
	}
	for _, name := range f.sites {
		if !slices.ContainsFunc(s.Sites, func(x spec.Site) bool { return x.Name == name }) {
			return s, usageError{fmt.Errorf("--sites: %s has no site %q", s.Name, name)}
		}
	}
	if len(f.sites) > 0 {
		s.Sites = slices.DeleteFunc(slices.Clone(s.Sites), func(x spec.Site) bool { return !slices.Contains(f.sites, x.Name) })
	}
	return s, nil
}

// upFolder is a file in a folder whose contents are up's to remove, tapAccessFile one that
// says where and by what others listen.
const (
	upFolder      = "up.folder"
	tapAccessFile = "tap.url"
)

// clearFolder empties the folder of what an earlier up left, and of nothing else: a
// federation, say, has sites there with their keys.
func (f *upFlags) clearFolder() error {
	at := func(name string) string { return filepath.Join(f.folder, name) }
	there := func(name string) bool { _, err := os.Lstat(at(name)); return err == nil }
	own := there(upFolder)
	if r, err := wal.OpenReader(at("auction.ledger")); err == nil { // earlier versions left no more
		own = own || r.Header()["live"] == "up"
		_ = r.Close()
	}
	for _, name := range []string{"nats", "sites", "auction.ledger", tapAccessFile} {
		if !own && there(name) {
			return usageError{fmt.Errorf("--folder: %s was left by no up: name another folder", at(name))}
		}
		if err := os.RemoveAll(at(name)); err != nil {
			return err
		}
	}
	return os.WriteFile(at(upFolder), nil, 0o600)
}

// writeTapAccess writes down by what others listen, if they may.
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

// runPart has part of the federation live; if it fails, all ends.
func (u *liveFederation) runPart(ctx context.Context, what string, live func() error) {
	u.parties.Go(func() {
		if err := live(); err != nil && ctx.Err() == nil {
			u.fail(fmt.Errorf("up: %s: %w", what, err))
		}
	})
}

func (u *liveFederation) startParties(ctx context.Context) error {
	tap, err := u.server.OpenTap(ctx)
	if err != nil {
		return err
	}
	notes, err := archive.OpenArchive("", time.Now(), u.log)
	if err != nil {
		return err
	}
	now := tail.StartReading(ctx, u.recordMessages(tap, notes), nil)
	hub, tele, err := u.instrumentedBus(ctx, protocol.Coordinator)
	if err != nil {
		return err
	}
	hub.Limits = u.flags.siteLimits()
	api := u.withSimulatedDate(u.api.HTTPHandler())
	for _, path := range []string{"/v1/", "/healthz", "/readyz"} {
		u.mux.Handle(path, api)
	}
	u.mux.Handle("GET /metrics", loopback.AllowLocalOnly(tele.HTTPHandler()))
	u.mux.Handle("/", page.NewPageHandler(now, page.Options{Title: u.scenario.Name + " · live", Policy: scenarios.PolicyAuction, Live: true, MCP: mcp.HTTPHandler(mcp.New(now, buildVersion(), nil))}))
	u.runPart(ctx, "desk", func() error { return serveHTTP(ctx, u.socket, u.mux) })
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

// withSimulatedDate has answers bear the time of the clock that is played, from which whoever
// asks reckons.
func (u *liveFederation) withSimulatedDate(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", u.clock.Now().StdTime().Format(http.TimeFormat))
		h.ServeHTTP(w, r)
	})
}

// recordMessages writes all that is said into a ledger, and hands it on; with it what no
// bus carries: what the desk said to the coordinator, and what that took in when.
func (u *liveFederation) recordMessages(tap bus.Conn, notes *archive.Archive) tail.Source {
	beside := make(chan protocol.Message)
	return func(ctx context.Context, _ uint64, each func(protocol.Message) error) (err error) {
		book, err := wal.CreateFile(filepath.Join(u.flags.folder, "auction.ledger"), addAdviceToHeader(map[string]string{
			"scenario": u.scenario.Name, "policy": scenarios.PolicyAuction, "live": "up", "protocol": fmt.Sprint(protocol.Current),
		}, u.flags.scaledAdvice(u.flags.speed)))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, book.Close()) }()
		u.runPart(ctx, "notebook", func() error {
			return notes.Read(ctx, 0, func(m protocol.Message) error {
				if m.From != protocol.OperatorAPI && m.From != protocol.InputRecorder {
					return nil
				}
				select {
				case beside <- m:
				case <-ctx.Done():
				}
				return nil
			})
		})
		write := func(m protocol.Message) error { return errors.Join(book.AppendMessage(m), each(m)) }
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
			case m := <-beside:
				err = write(m)
			case <-flush.C: // for those who read meanwhile
				err = book.Flush()
			}
			if err != nil {
				return err
			}
		}
	}
}

// instrumentedBus returns a hub of a party, and what can be seen of it.
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

// upLease is the lease of up's coordinator: nobody else waits for it, so it is not
// lost because the machine is busy with other things. After a kill the next waits for
// its end.
const upLease = 10 * time.Second

// siteLimits are those of a coordinator, with rates by the clock that is played.
func (f *upFlags) siteLimits() *natsbus.Limits {
	l := natsbus.DefaultSiteLimits()
	l.Rate *= f.speed
	l.Burst, l.Bytes = int(float64(l.Burst)*f.speed), int(float64(l.Bytes)*f.speed)
	return l
}

// marketRules are those of the market. Like a coordinator in a process of its own it calls as
// many jobs at a time as an offer holds that is heard.
func (f *upFlags) marketRules(w protocol.Weights) market.Config {
	return market.Config{Terms: w, Pay: accounts.PaymentRule{Margin: 100}, Most: 512, Advice: f.scaledAdvice(f.speed)}
}

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
	tele.AddReadinessCheck(hub.CheckConnected)
	u.mux.Handle("/agents/"+name+"/", loopback.AllowLocalOnly(http.StripPrefix("/agents/"+name, tele.HTTPHandler())))
	cfg.FederationBus, cfg.SiteBus, cfg.Clock, cfg.Log, cfg.OnSent = hub, hub, u.clock, u.log.With("site", name), tele.CountMessages
	u.runPart(ctx, name, func() error { return runtime.RunSite(ctx, cfg) })
	return nil
}

// submitJobs has the scenario's jobs arrive.
func (u *liveFederation) submitJobs(ctx context.Context) error {
	if u.flags.noJobs {
		return nil
	}
	port, err := u.server.Connect(ctx, protocol.Submitter)
	if err != nil {
		return err
	}
	u.runPart(ctx, "submitter", func() error {
		return bus.Loop{Clock: u.clock}.Run(ctx, port, sim.NewSubmitter(u.scenario.Jobs))
	})
	return nil
}

// printStarted says what there is to see.
func (u *liveFederation) printStarted(cmd *cobra.Command) {
	var names []string
	for _, s := range u.scenario.Sites {
		names = append(names, s.Name)
	}
	talk := cmd.ErrOrStderr()
	fmt.Fprintf(talk, "%s is up, from %s at %gx: %s\n", u.scenario.Name, u.scenario.Start, u.flags.speed, strings.Join(names, ", "))
	printNotes(talk, u.scenario)
	fmt.Fprintf(talk, "page: http://%s\n", u.socket.Addr())
	if u.flags.nats != "" {
		fmt.Fprintf(talk, "nats: %s, for who listens: the URL is in %s\n", u.server.ClientURL(), filepath.Join(u.flags.folder, tapAccessFile))
	}
	at := ""
	if own := u.socket.Addr().String(); own != defaultAPIAddress {
		at = " --at " + own
	}
	fmt.Fprintf(talk, "\nNext, in another terminal:\n  gridbid top%s\n  gridbid submit%s -f job.yaml\n  gridbid sites%s\n  gridbid why JOB --run %s\n", at, at, at, shellWord(u.flags.folder))
}
