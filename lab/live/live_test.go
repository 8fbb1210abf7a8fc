package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/archive"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/leader"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/coordinator/notary"
	"github.com/gridbid/gridbid/explain/counterfactual"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/sim"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A federation runs in this process over a real server, with a clock that runs
// fast.
type federation struct {
	t      *testing.T
	script spec.Scenario
	server *natsbus.Server
	clock  bus.Clock
	all    sync.WaitGroup
	// Over all incarnations: decisions, the rounds that they were of, and jobs that are done.
	decided, rounds, done atomic.Int64

	held map[string]string // by site, the folder of what it said and was told
}

// An insistent submitter repeats the submission of a job every minute until it is answered.
type insistent struct {
	*sim.Submitter
	open      map[protocol.JobID]protocol.Message
	submitted []protocol.JobID
	next      protocol.Time
	more      uint64
}

func (s *insistent) Due() protocol.Time {
	due := s.Submitter.Due()
	if len(s.open) > 0 && (due == 0 || s.next < due) {
		due = s.next
	}
	return due
}

func (s *insistent) Tick(now protocol.Time) []protocol.Message {
	out := s.Submitter.Tick(now)
	for _, m := range out {
		id := m.Body.(protocol.Submit).Job.ID
		s.open[id], s.submitted = m, append(s.submitted, id)
	}
	if now >= s.next {
		s.next = now.Add(time.Minute)
		for _, id := range s.submitted {
			if m, ok := s.open[id]; ok {
				out = append(out, m)
			}
		}
	}
	for i := range out {
		s.more++
		out[i].Seq = s.more
	}
	return out
}

func (s *insistent) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	if c, ok := m.Body.(protocol.Confirm); ok {
		delete(s.open, c.Job)
	}
	return nil
}

// newFederation starts all but the coordinators, with a clock that is so many
// times faster than the wall's, until the test or end ends it.
func newFederation(t *testing.T, s spec.Scenario, speed float64) (f *federation, end func()) {
	t.Helper()
	srv, err := natsbus.StartServer(natsbus.Config{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	f = &federation{t: t, script: s, server: srv, clock: bus.Clock{Start: s.Start, Began: time.Now(), Speed: speed}, held: make(map[string]string)}
	ctx, cancel := context.WithCancel(context.Background())
	end = sync.OnceFunc(func() { cancel(); f.all.Wait(); srv.Close() })
	t.Cleanup(end)
	for _, x := range s.Sites {
		site, err := scenarios.SimulateSite(s, x.Name, s.Start, scenarios.MeteredUntil(s).Add(scenarios.MaxReplayOverrun))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := site.Build(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		f.held[x.Name] = t.TempDir()
		cfg.FederationBus, cfg.SiteBus, cfg.Clock, cfg.HeldDir = &srv.Bus, &srv.Bus, f.clock, f.held[x.Name]
		f.all.Go(func() { _ = runtime.RunSite(ctx, cfg) }) // ends with the test
	}
	port, err := srv.Connect(ctx, protocol.Submitter)
	if err != nil {
		t.Fatal(err)
	}
	f.all.Go(func() {
		_ = (bus.Loop{Clock: f.clock}).Run(ctx, port, &insistent{Submitter: sim.NewSubmitter(s.Jobs), open: make(map[protocol.JobID]protocol.Message)})
	})
	return f, end
}

// lead runs a coordinator with its archive in a folder until end is called.
func (f *federation) lead(folder string) (d *api.Server, end func()) {
	f.t.Helper()
	log := slog.New(slog.DiscardHandler)
	n, err := archive.OpenArchive(folder, time.Now(), log)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d = api.New()
	done := make(chan error, 1)
	go func() {
		done <- leader.RunWhenElected(ctx, leader.Config{
			Bus: &f.server.Bus, Clock: f.clock, API: d, Log: log, Recorder: n, Notary: &notary.Config{Key: logKey, Salts: proof.SaltKey("secret")}, EventLog: eventlog.Config{Lease: time.Second},
			Market: market.Config{Terms: scenarios.MarketWeights(f.script), Pay: accounts.PaymentRule{Margin: 100}},
			Rule:   func() auction.ClearingRule { return auction.New(auction.Config{}) },
			OnSent: func(received, sent []protocol.Message) {
				for _, m := range received {
					if _, ok := m.Body.(protocol.UsageReport); ok {
						f.done.Add(1)
					}
				}
				before := f.decided.Load()
				for _, m := range sent {
					switch m.Body.(type) {
					case protocol.Award, protocol.Defer:
						f.decided.Add(1)
					}
				}
				if f.decided.Load() > before {
					f.rounds.Add(1)
				}
			},
		})
	}()
	return d, sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, n.Close()); err != nil {
			f.t.Errorf("the coordinator ended with %v", err)
		}
	})
}

// awaitDecisions waits until many jobs were decided, in enough rounds, and enough were done,
// since it was called; it reports whether that happened before there were no more
// jobs to come.
func (f *federation) awaitDecisions() bool {
	decided, rounds, done := f.decided.Load()+120, f.rounds.Load()+25, f.done.Load()+20
	last := f.script.Jobs[len(f.script.Jobs)-1].Arrival
	for f.clock.Now() < last {
		if f.decided.Load() >= decided && f.rounds.Load() >= rounds && f.done.Load() >= done {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("in two minutes not: %s", what)
		}
	}
}

// shortened returns the first n jobs of a scenario, coming within a span, of up to
// three minutes each.
func shortened(s spec.Scenario, n int, within time.Duration) spec.Scenario {
	s.Jobs = slices.Clone(s.Jobs[:n])
	for i := range s.Jobs {
		j := &s.Jobs[i]
		slack := j.Deadline.Sub(j.Arrival)
		j.Arrival = s.Start.Add(time.Minute + time.Duration(i)*within/time.Duration(n))
		j.Run = min(j.Run, 3*time.Minute)
		j.Deadline = j.Arrival.Add(slack)
	}
	return s
}

// written returns what a folder's ledgers hold, each message once.
func written(t *testing.T, folder string) (all []protocol.Message) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.ledger"))
	if err != nil {
		t.Fatal(err)
	}
	var dedup protocol.Deduplicator
	for _, path := range paths {
		r, err := wal.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		for {
			m, err := r.ReadMessage()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if dedup.AdmitOnce(m) {
				all = append(all, m)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// reproduced counts the rounds with a decision in the given incarnations of a
// coordinator, and returns an error for each that cannot be cleared again.
func reproduced(all []protocol.Message, incarnations ...uint64) (rounds, jobs int, faults []error) {
	run := counterfactual.NewReplay(market.Config{})
	if slices.ContainsFunc(all, func(m protocol.Message) bool { return m.From == protocol.InputRecorder }) {
		run = counterfactual.NewLiveReplay()
	}
	decided := make(map[uint64]map[protocol.JobID]bool)
	for _, m := range all {
		run.AddMessage(m)
		if m.From != protocol.Coordinator || !slices.Contains(incarnations, m.Seq>>40) {
			continue
		}
		round, job := uint64(0), protocol.JobID("")
		switch b := m.Body.(type) {
		case protocol.Award:
			round, job = b.Round, b.Job
		case protocol.Defer:
			round, job = b.Round, b.Job
		default:
			continue
		}
		if decided[round] == nil {
			decided[round] = make(map[protocol.JobID]bool)
		}
		decided[round][job] = true
	}
	for round, mine := range decided {
		out, err := run.ClearWithChange(round, counterfactual.RoundChange{})
		if err == nil && out.CountMoves() != 0 {
			err = fmt.Errorf("round %d moves %d jobs when nothing is changed", round, out.CountMoves())
		}
		if err == nil && len(out.Jobs) < len(mine) {
			err = fmt.Errorf("round %d had %d jobs; %d are cleared again", round, len(mine), len(out.Jobs))
		}
		if err != nil {
			faults = append(faults, err)
		}
		jobs += len(mine)
	}
	return len(decided), jobs, faults
}

// A side is a folder of ledgers, and the incarnations of a coordinator that wrote them.
type side struct {
	folder       string
	incarnations []uint64
}

// runTakeovers lets two coordinators take over from each other while a federation runs,
// each with much to decide, and reports whether they had the time for it.
func runTakeovers(t *testing.T, s spec.Scenario, speed float64) (sides []side, enough bool) {
	f, end := newFederation(t, s, speed)
	defer end()
	one, two := side{t.TempDir(), []uint64{1, 3}}, side{t.TempDir(), []uint64{2}}
	first, endFirst := f.lead(one.folder)
	defer endFirst()
	until(t, "the first leads", first.IsLeading)
	second, endSecond := f.lead(two.folder)
	defer endSecond()
	enough = f.awaitDecisions()
	endFirst()
	until(t, "the second leads", second.IsLeading)
	third, endThird := f.lead(one.folder)
	defer endThird()
	enough = enough && f.awaitDecisions()
	endSecond()
	until(t, "the first leads again", third.IsLeading)
	enough = enough && f.awaitDecisions()
	endThird()
	end()
	verifyAll(t, f.held, one.folder, two.folder)
	return []side{one, two}, enough
}

// A federation runs for some twenty seconds, with two coordinators that take over
// from each other, and then answers for it. Its clock runs so fast that the window
// of a round is over in 20 ms and many offers come too late; on a machine that is
// too busy for that to leave anything to ask about, it runs once more, slower.
// Carbon is cheap, so that some jobs start and end within that time.
func TestALiveFederationAnswersForItself(t *testing.T) {
	kappa := 50.0
	s, err := spec.LoadScenario("six-regions", spec.Options{Kappa: &kappa})
	if err != nil {
		t.Fatal(err)
	}
	s = shortened(s, 700, 56*time.Minute)
	homes := make(map[protocol.JobID]string)
	for _, j := range s.Jobs {
		homes[j.ID] = j.Home
	}
	for speed := 100.0; ; speed /= 3 {
		sides, enough := runTakeovers(t, s, speed)
		disorder := false
		for _, x := range sides {
			all := written(t, x.folder)
			disorder = disorder || disordered(all, x.incarnations)
			_, away := ask(all, all[len(all)-1].At, homes, false)
			_, home := ask(all, all[len(all)-1].At, homes, true)
			enough = enough && (away || home)
		}
		if enough && disorder || speed < 10 {
			t.Run("every round is reproduced", func(t *testing.T) { everyRound(t, sides, disorder) })
			t.Run("a policy decides in shadow", func(t *testing.T) { shadowed(t, sides) })
			t.Run("questions are answered as in a replay", func(t *testing.T) { questions(t, s, sides, homes) })
			return
		}
		t.Logf("at %.0f times the wall's clock: much was decided and can be asked about: %v; something came in another order: %v", speed, enough, disorder)
	}
}

// disordered reports whether the order of a ledger alone does not lead to what was
// decided: offers came while rounds closed, and too late.
func disordered(all []protocol.Message, incarnations []uint64) bool {
	bare := slices.DeleteFunc(slices.Clone(all), func(m protocol.Message) bool { return m.From == protocol.InputRecorder })
	_, _, lost := reproduced(bare, incarnations...)
	return len(lost) > 0
}

// Every round of a live federation is cleared again from what its coordinators
// wrote, though they took over from each other, and things came in another order
// than they were written.
func everyRound(t *testing.T, sides []side, disorder bool) {
	for _, x := range sides {
		all := written(t, x.folder)
		rounds, jobs, faults := reproduced(all, x.incarnations...)
		t.Logf("incarnations %v: %d rounds with %d decisions on %d messages", x.incarnations, rounds, jobs, len(all))
		if rounds < 20 || jobs < 100 {
			t.Errorf("incarnations %v: %d rounds with %d decisions: too few to show anything", x.incarnations, rounds, jobs)
		}
		for _, err := range faults[:min(len(faults), 5)] {
			t.Errorf("incarnations %v: %d of %d rounds fail: %v", x.incarnations, len(faults), rounds, err)
		}
	}
	if !disorder {
		t.Error("without the clerk's account all rounds are reproduced: nothing came in another order, so nothing was tried")
	}
}
