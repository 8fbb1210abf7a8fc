package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/acceptance"
	"github.com/gridbid/gridbid/scenarios/sim/executor"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// The clock of a live case goes in turns of simulated time, and waits for all parties after each: a machine that is
// busy with other work is late by as much, and not by what it lacks of the wall's time.
const (
	shortTurn  = time.Second // while parties talk: half of the time that a round waits for bids
	longTurn   = time.Minute // while none is due
	quietTurns = 3           // after so many turns in which nobody said anything, no message is on its way
)

// JudgeLive runs a scenario as a live federation does: each party has a loop of its own on the bus, and all
// follow a clock that runs speed times as fast as the wall's, and waits for all parties after each turn. So
// messages take time, cross each other, and come in any order. It ends when all jobs are over, and judges the run
// like JudgeReplay, but for what the messages of this run took. An error says what the
// parties did that no federation may do, such as to start half a gang. Apart has coordinator and sites run in
// processes of their own; nil: all parties run in this one.
func JudgeLive(ctx context.Context, s spec.Scenario, policy string, hub bus.Bus, speed float64, apart *Apart) ([]acceptance.Verdict, *history.History, error) {
	if len(s.Services) > 0 {
		return nil, nil, fmt.Errorf("scenarios: %s lists services, which have no end: test it without --live", s.Name)
	}
	st, err := buildLiveTestbed(s, policy)
	if err != nil {
		return nil, nil, err
	}
	run := liveCase{history: history.New(history.Config{}), awaited: make(map[protocol.Party]bool), joined: make(chan struct{})}
	for _, j := range s.Jobs {
		if j.IsDivided() {
			run.jobs = append(run.jobs, j.PartJobs()...)
		} else {
			run.jobs = append(run.jobs, j)
		}
	}
	for _, site := range s.Sites {
		run.awaited[protocol.AgentParty(site.Name)] = true
	}
	if apart == nil {
		err = run.play(ctx, hub, st, speed, latestEnd(s))
	} else {
		err = run.playApart(ctx, hub, st, speed, latestEnd(s), apart)
	}
	if err != nil {
		return nil, nil, err
	}
	var wrong []error
	for _, p := range run.history.CheckInvariants(NodesOf(s)) {
		// The meters of the last hours are not read, and a party repeats what crosses its answer.
		if p.Code != "meter" && p.Code != "done-twice" && p.Code != "exited-twice" {
			wrong = append(wrong, fmt.Errorf("scenarios: %s: the messages are inconsistent: %v", policy, p))
		}
	}
	return acceptance.Judge(s, run.history, hopsToEnd*run.slowest), run.history, errors.Join(wrong...)
}

// buildLiveTestbed builds the testbed of a scenario that runs live.
func buildLiveTestbed(s spec.Scenario, policy string) (*Testbed, error) {
	st, err := buildTestbed(s, policy, Options{})
	if err != nil {
		return nil, err
	}
	for i, site := range s.Sites { // a loop may be late, and a plain executor must never be
		st.Parties[protocol.ExecutorParty(site.Name)] = executor.NewDurableSimExecutor(site.Name, st.executors[i])
	}
	return st, nil
}

// latestEnd returns when a run is given up: an hour after the latest deadline and the scenario's end.
func latestEnd(s spec.Scenario) protocol.Time {
	end := s.End
	for i := range s.Jobs {
		end = max(end, s.Jobs[i].Deadline)
	}
	return end.Add(time.Hour)
}

// hopsToEnd is what may be late between what is decided of several runs at one instant and the end of one: Confirm,
// Launch, and the tick that ends it.
const hopsToEnd = 3

// A liveCase is a scenario that runs live, and what its parties have said so far.
type liveCase struct {
	jobs []protocol.Job // of a job in parts, its parts

	mu      sync.Mutex
	clock   bus.Clock     // the current one; zero until all sites have joined
	slowest time.Duration // of all messages, by the clock
	history *history.History
	awaited map[protocol.Party]bool // agents that the coordinator has not answered yet
	joined  chan struct{}           // closed when it has answered all
}

// A heardMachine is a machine whose messages are read before they are sent.
type heardMachine struct {
	bus.Machine
	heard func([]protocol.Message)
	took  func(time.Duration) // is told what each message took to come
}

// Step implements bus.Machine.
func (m heardMachine) Step(now protocol.Time, in protocol.Message) []protocol.Message {
	m.took(now.Sub(in.At))
	said := m.Machine.Step(now, in)
	m.heard(said)
	return said
}

// Tick implements bus.Machine.
func (m heardMachine) Tick(now protocol.Time) []protocol.Message {
	said := m.Machine.Tick(now)
	m.heard(said)
	return said
}

// play runs the parties until all jobs are over, or until a time.
func (c *liveCase) play(ctx context.Context, hub bus.Bus, st *Testbed, speed float64, until protocol.Time) error {
	for who, m := range st.Parties {
		st.Parties[who] = heardMachine{m, c.add, c.noteDelay}
	}
	loops, err := connectParties(ctx, hub, st.Parties)
	if err != nil {
		return err
	}
	defer loops.end()
	loops.run(standingClock(st.Start), slices.Concat(processesOf(st.scenario)...))
	if err := c.awaitJoined(loops.ctx); err != nil {
		return err
	}
	loops.pause()
	return c.playTurns(st.Start, speed, until, func(clock bus.Clock) (Standstill, error) {
		loops.run(clock, slices.Collect(maps.Keys(st.Parties)))
		return loops.awaitStop(clock)
	})
}

// standingClock returns the clock by which the sites join, before the first job comes and the first event happens.
// It goes so slowly that time practically stands, since a clock of speed 0 is the wall's.
func standingClock(start protocol.Time) bus.Clock {
	return bus.Clock{Start: start, Began: time.Now(), Speed: 0.001}
}

// joinLimit is how long sites may take to join; a process that starts on a busy machine takes seconds.
const joinLimit = 2 * time.Minute

// awaitJoined waits until all sites have joined: a job that comes before them is refused if those that are there
// could never run it.
func (c *liveCase) awaitJoined(ctx context.Context) error {
	select {
	case <-c.joined:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(joinLimit):
		c.mu.Lock()
		defer c.mu.Unlock()
		return fmt.Errorf("scenarios: %v did not join within %v: play fewer cases at a time (--parallel)", slices.Sorted(maps.Keys(c.awaited)), joinLimit)
	}
}

// playTurns has all parties follow a clock from start on, turn by turn, until all jobs are over, or until a time.
func (c *liveCase) playTurns(start protocol.Time, speed float64, until protocol.Time, play func(bus.Clock) (Standstill, error)) error {
	quiet, turn := 0, shortTurn
	for clock := (bus.Clock{Start: start, Speed: speed}); !c.isOver() && clock.Start < until; clock.Start = clock.Until {
		clock.Began, clock.Until = time.Now(), clock.Start.Add(turn)
		c.mu.Lock()
		c.clock = clock
		c.mu.Unlock()
		s, err := play(clock)
		if err != nil {
			return err
		}
		quiet++
		if !s.Quiet {
			quiet = 0
		}
		if turn = shortTurn; quiet >= quietTurns {
			turn = longTurn
			if s.Due != 0 {
				turn = min(max(s.Due.Sub(clock.Until), shortTurn), longTurn)
			}
		}
	}
	return nil
}

// noteDelay notes what a message took to come.
func (c *liveCase) noteDelay(took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slowest = max(c.slowest, took)
}

// hear adds a message that a tap heard.
func (c *liveCase) hear(m protocol.Message) {
	c.add([]protocol.Message{m})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clock.Start != 0 {
		c.slowest = max(c.slowest, c.clock.Now().Sub(m.At))
	}
}

// add adds messages to the history.
func (c *liveCase) add(said []protocol.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range said {
		c.history.AddMessage(m)
		if m.From == protocol.Coordinator && c.awaited[m.To] {
			if delete(c.awaited, m.To); len(c.awaited) == 0 {
				close(c.joined)
			}
		}
	}
}

// isOver reports whether no job can change any more.
func (c *liveCase) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !slices.ContainsFunc(c.jobs, func(j protocol.Job) bool {
		r, submitted := c.history.LatestJob(j.ID)
		return !submitted || !r.IsOver()
	})
}
