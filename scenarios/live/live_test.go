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
	"github.com/gridbid/gridbid/bus/journal"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/natsbus/books"
	"github.com/gridbid/gridbid/cluster-agent/hands"
	"github.com/gridbid/gridbid/cluster-agent/site"
	"github.com/gridbid/gridbid/coordinator/again"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/desk"
	"github.com/gridbid/gridbid/coordinator/lead"
	"github.com/gridbid/gridbid/coordinator/ledger"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/coordinator/notebook"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/script"
	"github.com/gridbid/gridbid/scenarios/world"
)

// A federation lives in this process over a real server, with a clock that runs
// fast.
type federation struct {
	t      *testing.T
	script script.Scenario
	server *natsbus.Server
	clock  bus.Clock
	all    sync.WaitGroup
	// Over all lives: decisions, the rounds that they were of, and jobs that are done.
	decided, rounds, done atomic.Int64
}

// An insistent submitter says a job again every minute until it is heard.
type insistent struct {
	*world.Submitter
	open map[protocol.JobID]protocol.Message
	said []protocol.JobID
	next protocol.Time
	more uint64
}

func (s *insistent) Due() protocol.Time {
	due := s.Submitter.Due()
	if len(s.open) > 0 && (due == 0 || s.next < due) {
		due = s.next
	}
	return due
}

func (s *insistent) Tick(now protocol.Time) []protocol.Message {
	said := s.Submitter.Tick(now)
	for _, m := range said {
		id := m.Body.(protocol.Submit).Job.ID
		s.open[id], s.said = m, append(s.said, id)
	}
	if now >= s.next {
		s.next = now.Add(time.Minute)
		for _, id := range s.said {
			if m, ok := s.open[id]; ok {
				said = append(said, m)
			}
		}
	}
	for i := range said {
		s.more++
		said[i].Seq = s.more
	}
	return said
}

func (s *insistent) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	if c, ok := m.Body.(protocol.Confirm); ok {
		delete(s.open, c.Job)
	}
	return nil
}

// speed is how fast the clock runs: the window of a round is over in 20 ms, so
// that many offers come too late.
const speed = 100

func newFederation(t *testing.T, s script.Scenario) *federation {
	t.Helper()
	srv, err := natsbus.Serve(natsbus.Config{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	f := &federation{t: t, script: s, server: srv, clock: bus.Clock{Start: s.Start, Began: time.Now(), Speed: speed}}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); f.all.Wait(); srv.Close() })
	for _, x := range s.Sites {
		place, agent, err := scenarios.Settle(s, x.Name, s.Start, scenarios.Metered(s).Add(scenarios.Longest))
		if err != nil {
			t.Fatal(err)
		}
		cfg := site.Config{
			Site: x.Name, Folder: t.TempDir(), Agent: agent, Far: &srv.Hub, Near: &srv.Hub, Clock: f.clock, Log: slog.New(slog.DiscardHandler),
			Beside: map[protocol.Party]site.Party{protocol.Hands(x.Name): hands.Simulate(x.Name, place.Hands), protocol.Feed(x.Name): place.Feed},
		}
		f.all.Go(func() { _ = site.Run(ctx, cfg) }) // ends with the test
	}
	port, err := srv.Join(ctx, protocol.Submitter)
	if err != nil {
		t.Fatal(err)
	}
	f.all.Go(func() {
		_ = (bus.Loop{Clock: f.clock}).Run(ctx, port, &insistent{Submitter: world.NewSubmitter(s.Jobs), open: make(map[protocol.JobID]protocol.Message)})
	})
	return f
}

// lead runs a coordinator with a notebook in a folder until end is called.
func (f *federation) lead(folder string) (d *desk.Desk, end func()) {
	f.t.Helper()
	log := slog.New(slog.DiscardHandler)
	n, err := notebook.Open(folder, time.Now(), log)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d = desk.New()
	done := make(chan error, 1)
	go func() {
		done <- lead.Run(ctx, lead.Config{
			Hub: &f.server.Hub, Clock: f.clock, Desk: d, Log: log, Scribe: n, Books: books.Config{Lease: time.Second},
			Market: market.Config{Terms: scenarios.Weights(f.script), Pay: ledger.Rule{Margin: 100}},
			Rule:   func() auction.Rule { return auction.New(auction.Config{}) },
			Told: func(heard, said []protocol.Message) {
				for _, m := range heard {
					if _, ok := m.Body.(protocol.Done); ok {
						f.done.Add(1)
					}
				}
				before := f.decided.Load()
				for _, m := range said {
					switch m.Body.(type) {
					case protocol.Award, protocol.Hold:
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

// life waits until much was decided, in rounds enough, and jobs were done, all
// since it was called.
func (f *federation) life(what string) {
	f.t.Helper()
	decided, rounds, done := f.decided.Load()+120, f.rounds.Load()+25, f.done.Load()+20
	until(f.t, what, func() bool {
		return f.decided.Load() >= decided && f.rounds.Load() >= rounds && f.done.Load() >= done
	})
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("in two minutes not: %s", what)
		}
	}
}

// hurried returns the first n jobs of a scenario, coming within a span, of up to
// three minutes each.
func hurried(s script.Scenario, n int, within time.Duration) script.Scenario {
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
	var ears protocol.Ears
	for _, path := range paths {
		r, err := journal.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for {
			m, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if ears.New(m) {
				all = append(all, m)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// reproduced counts the rounds with a decision in the given lives of a
// coordinator, and returns an error for each that cannot be cleared again.
func reproduced(all []protocol.Message, lives ...uint64) (rounds, jobs int, faults []error) {
	run := again.New(market.Config{})
	if slices.ContainsFunc(all, func(m protocol.Message) bool { return m.From == protocol.Clerk }) {
		run = again.NewLive()
	}
	decided := make(map[uint64]map[protocol.JobID]bool)
	for _, m := range all {
		run.Add(m)
		if m.From != protocol.Coordinator || !slices.Contains(lives, m.Seq>>40) {
			continue
		}
		round, job := uint64(0), protocol.JobID("")
		switch b := m.Body.(type) {
		case protocol.Award:
			round, job = b.Round, b.Job
		case protocol.Hold:
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
		out, err := run.Clear(round, again.Change{})
		if err == nil && out.Moves() != 0 {
			err = fmt.Errorf("round %d moves %d jobs when nothing is changed", round, out.Moves())
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

// A federation lives for some twenty seconds, with two coordinators that take over
// from each other, and then answers for it.
// Carbon is cheap, so that some jobs start and end within that time.
func TestALiveFederationAnswersForItself(t *testing.T) {
	kappa := 50.0
	s, err := script.Load("six-regions", script.Options{Kappa: &kappa})
	if err != nil {
		t.Fatal(err)
	}
	s = hurried(s, 700, 56*time.Minute)
	f := newFederation(t, s)
	one, two := t.TempDir(), t.TempDir()
	first, endFirst := f.lead(one)
	defer endFirst()
	until(t, "the first leads", first.Leading)
	second, endSecond := f.lead(two)
	defer endSecond()
	f.life("the first has decided much")
	endFirst()
	until(t, "the second leads", second.Leading)
	third, endThird := f.lead(one)
	defer endThird()
	f.life("so has the second")
	endSecond()
	until(t, "the first leads again", third.Leading)
	f.life("so has the first again")
	endThird()

	t.Run("every round is reproduced", func(t *testing.T) { everyRound(t, one, two) })
	t.Run("questions are answered as in a replay", func(t *testing.T) { questions(t, s, one, two) })
}

// Every round of a live federation is cleared again from what its coordinators
// wrote: offers came while rounds closed, and too late; coordinators took over
// from each other. The order of the ledgers alone does not lead there.
func everyRound(t *testing.T, one, two string) {
	tried := false // whether anything came in another order than it was written
	for _, side := range []struct {
		folder string
		lives  []uint64
	}{{one, []uint64{1, 3}}, {two, []uint64{2}}} {
		all := written(t, side.folder)
		rounds, jobs, faults := reproduced(all, side.lives...)
		t.Logf("lives %v: %d rounds with %d decisions on %d messages", side.lives, rounds, jobs, len(all))
		if rounds < 20 || jobs < 100 {
			t.Errorf("lives %v: %d rounds with %d decisions: too few to show anything", side.lives, rounds, jobs)
		}
		for _, err := range faults[:min(len(faults), 5)] {
			t.Errorf("lives %v: %d of %d rounds fail: %v", side.lives, len(faults), rounds, err)
		}
		bare := slices.DeleteFunc(slices.Clone(all), func(m protocol.Message) bool { return m.From == protocol.Clerk })
		_, _, lost := reproduced(bare, side.lives...)
		tried = tried || len(lost) > 0
	}
	if !tried {
		t.Error("without the clerk's account all rounds are reproduced: nothing came in another order, so nothing was tried")
	}
}
