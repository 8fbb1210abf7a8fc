package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Apart says how the coordinator of a live case, and each of its sites, run in a process of their own. Submitter
// and operator stay in the process that judges.
type Apart struct {
	// Start starts a process that runs some parties by RunParties. It returns when they are connected.
	Start func(ctx context.Context, parties []protocol.Party) (PartyProcess, error)
	// Tap hears all messages of all parties, each after those that its sender had heard.
	Tap bus.Conn
}

// A PartyProcess is a process whose parties are connected.
type PartyProcess interface {
	SetClock(clock bus.Clock) error // has them begin, or go on, by a clock
	AwaitStop() (Standstill, error) // returns when they stand where the clock stops
	Wait() error                    // waits for its end, and returns why it ended
	Stop()                          // ends it
}

// A Standstill is how parties stand where their clock stops.
type Standstill struct {
	Due   protocol.Time // when one of them is due next; 0: none
	Quiet bool          // none of them has sent anything since the clock before
}

// with returns how parties stand together with others.
func (s Standstill) with(x Standstill) Standstill {
	if s.Due == 0 || x.Due != 0 && x.Due < s.Due {
		s.Due = x.Due
	}
	s.Quiet = s.Quiet && x.Quiet
	return s
}

// processesOf returns which parties of a scenario run together in a process of their own: the coordinator; of
// each site the agent, the executor and the source of signals.
func processesOf(s spec.Scenario) (all [][]protocol.Party) {
	all = append(all, []protocol.Party{protocol.Coordinator})
	for _, site := range s.Sites {
		all = append(all, []protocol.Party{protocol.AgentParty(site.Name), protocol.ExecutorParty(site.Name), protocol.SignalParty(site.Name)})
	}
	return all
}

// RunParties runs some parties of a scenario on a bus, as a process of a case that runs apart does, by each clock
// that comes until it stops or the next one comes. It ends when no more will come or ctx ends, and with an error if
// a party fails. Connected is called when all are connected, and stopped when all stand where a clock stops.
func RunParties(ctx context.Context, s spec.Scenario, policy string, parties []protocol.Party, hub bus.Bus, connected func() (clocks <-chan bus.Clock, err error), stopped func(Standstill) error) error {
	st, err := buildLiveTestbed(s, policy)
	if err != nil {
		return err
	}
	for _, who := range parties {
		if st.Parties[who] == nil {
			return fmt.Errorf("scenarios: %s has no party %s", s.Name, who)
		}
	}
	maps.DeleteFunc(st.Parties, func(who protocol.Party, _ bus.Machine) bool { return !slices.Contains(parties, who) })
	loops, err := connectParties(ctx, hub, st.Parties)
	if err != nil {
		return err
	}
	defer loops.end()
	clocks, err := connected()
	if err != nil {
		return err
	}
	for {
		select {
		case <-loops.ctx.Done():
			if ctx.Err() != nil {
				return nil
			}
			return context.Cause(loops.ctx)
		case clock, more := <-clocks:
			if !more {
				return nil
			}
			loops.pause()
			loops.run(clock, parties)
			if clock.Until == 0 {
				continue
			}
			s, err := loops.awaitStop(clock)
			if err != nil {
				continue // it ends above
			}
			if err := stopped(s); err != nil {
				return err
			}
		}
	}
}

// partyLoops are parties with their connections, each in a loop of its own.
type partyLoops struct {
	ctx      context.Context // ends with a cause when a loop ends
	cancel   context.CancelCauseFunc
	machines map[protocol.Party]bus.Machine
	conns    map[protocol.Party]bus.Conn
	running  sync.WaitGroup
	paused   context.CancelFunc                       // of what runs
	requests map[protocol.Party]chan bus.LocalRequest // of what runs
	sent     atomic.Bool                              // something, since the clock before
}

// connectParties connects parties to a bus.
func connectParties(ctx context.Context, hub bus.Bus, machines map[protocol.Party]bus.Machine) (l *partyLoops, err error) {
	l = &partyLoops{machines: machines, conns: make(map[protocol.Party]bus.Conn, len(machines)), paused: func() {}}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	for who := range machines {
		if l.conns[who], err = hub.Connect(l.ctx, who); err != nil {
			l.end()
			return nil, fmt.Errorf("scenarios: %w", err)
		}
	}
	return l, nil
}

// run runs some of the parties by a clock.
func (l *partyLoops) run(clock bus.Clock, parties []protocol.Party) {
	var ctx context.Context
	ctx, l.paused = context.WithCancel(l.ctx)
	l.sent.Store(false)
	l.requests = make(map[protocol.Party]chan bus.LocalRequest, len(parties))
	for _, who := range parties {
		requests := make(chan bus.LocalRequest)
		l.requests[who] = requests
		l.running.Go(func() {
			if err := (bus.Loop{Clock: clock, LocalRequests: requests}).Run(ctx, openConn{l.conns[who], &l.sent}, l.machines[who]); ctx.Err() == nil {
				l.cancel(fmt.Errorf("scenarios: %s stopped: %w", who, errors.Join(err, l.conns[who].Close())))
			}
		})
	}
}

// An openConn is a connection that outlives the loop of a party, which sends what its last step said.
type openConn struct {
	bus.Conn
	sent *atomic.Bool
}

// Send implements bus.Conn.
func (c openConn) Send(ctx context.Context, ms ...protocol.Message) error {
	c.sent.Store(true)
	return c.Conn.Send(context.WithoutCancel(ctx), ms...)
}

// Close implements bus.Conn.
func (openConn) Close() error { return nil }

// pause has all parties end the step that they are at, and do nothing until run is called.
func (l *partyLoops) pause() {
	l.paused()
	l.running.Wait()
}

// awaitStop returns when the parties that run by a clock stand where it stops. Each has had its turn then: one that
// waited for a processor does what is due, and takes what has come, while the time of all stands.
func (l *partyLoops) awaitStop(clock bus.Clock) (s Standstill, err error) {
	select {
	case <-l.ctx.Done():
		return s, context.Cause(l.ctx)
	case <-time.After(time.Duration(float64(clock.Until.Sub(clock.Start))/clock.Speed) - time.Since(clock.Began)):
	}
	for range lastTurns {
		for _, requests := range l.requests {
			done := make(chan error, 1)
			select {
			case <-l.ctx.Done():
				return s, context.Cause(l.ctx)
			case requests <- bus.LocalRequest{Done: func(err error) { done <- err }}:
				<-done
			}
		}
	}
	l.pause()
	s.Quiet = !l.sent.Load()
	for who := range l.requests {
		s = s.with(Standstill{Due: l.machines[who].Due(), Quiet: true})
	}
	return s, nil
}

// lastTurns is how many turns a party gets at least where its clock stops: which of several things that wait a loop
// takes first is by chance.
const lastTurns = 3

// end ends all loops.
func (l *partyLoops) end() {
	l.cancel(nil)
	l.pause()
	for _, conn := range l.conns {
		_ = conn.Close() // what failed was returned by its loop
	}
}

// playApart is play with coordinator and sites in processes of their own.
func (c *liveCase) playApart(ctx context.Context, hub bus.Bus, st *Testbed, speed float64, until protocol.Time, apart *Apart) (err error) {
	here := maps.Clone(st.Parties)
	var processes []PartyProcess
	defer func() {
		for _, p := range processes {
			p.Stop()
		}
	}()
	all := processesOf(st.scenario)
	for _, parties := range all {
		p, err := apart.Start(ctx, parties)
		if err != nil {
			return err
		}
		processes = append(processes, p)
		maps.DeleteFunc(here, func(who protocol.Party, _ bus.Machine) bool { return slices.Contains(parties, who) })
	}
	loops, err := connectParties(ctx, hub, here)
	if err != nil {
		return err
	}
	defer loops.end()
	go func() {
		for m := range apart.Tap.Messages() {
			c.hear(m)
		}
		loops.cancel(fmt.Errorf("scenarios: the tap failed: %w", apart.Tap.Close()))
	}()
	ended := func(i int, err error) error {
		return fmt.Errorf("scenarios: the process of %s ended: %w", all[i][0], errors.Join(err, processes[i].Wait()))
	}
	setClock := func(clock bus.Clock) error {
		for i, p := range processes {
			if err := p.SetClock(clock); err != nil {
				return ended(i, err)
			}
		}
		return nil
	}
	if err := setClock(standingClock(st.Start)); err != nil {
		return err
	}
	for i := range processes {
		go func() { loops.cancel(ended(i, nil)) }()
	}
	if err := c.awaitJoined(loops.ctx); err != nil {
		return err
	}
	return c.playTurns(st.Start, speed, until, func(clock bus.Clock) (Standstill, error) {
		if err := setClock(clock); err != nil {
			return Standstill{}, err
		}
		loops.run(clock, slices.Collect(maps.Keys(here)))
		all, err := loops.awaitStop(clock)
		for i, p := range processes {
			s, failed := p.AwaitStop()
			if failed != nil && err == nil {
				err = ended(i, failed)
			}
			all = all.with(s)
		}
		return all, err
	})
}
