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
	Begin(clock bus.Clock) error // has them begin by a clock
	Wait() error                 // waits for its end, and returns why it ended
	Stop()                       // ends it
}

// ProcessesOf returns which parties of a scenario run together in a process of their own: the coordinator; of
// each site the agent, the executor and the source of signals.
func ProcessesOf(s spec.Scenario) (all [][]protocol.Party) {
	all = append(all, []protocol.Party{protocol.Coordinator})
	for _, site := range s.Sites {
		all = append(all, []protocol.Party{protocol.AgentParty(site.Name), protocol.ExecutorParty(site.Name), protocol.SignalParty(site.Name)})
	}
	return all
}

// RunParties runs some parties of a scenario on a bus, as a process of a case that runs apart does, until ctx
// ends or one of them fails. Begin is called when they are connected, and returns their clock.
func RunParties(ctx context.Context, s spec.Scenario, policy string, parties []protocol.Party, hub bus.Bus, begin func() (bus.Clock, error)) error {
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
	clock, err := begin()
	if err != nil {
		return err
	}
	loops.run(clock, func(_ protocol.Party, m bus.Machine) bus.Machine { return m })
	<-loops.ctx.Done()
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(loops.ctx)
}

// partyLoops are parties with their connections, each in a loop of its own.
type partyLoops struct {
	ctx      context.Context // ends with a cause when a loop ends
	cancel   context.CancelCauseFunc
	machines map[protocol.Party]bus.Machine
	conns    map[protocol.Party]bus.Conn
	running  sync.WaitGroup
}

// connectParties connects parties to a bus.
func connectParties(ctx context.Context, hub bus.Bus, machines map[protocol.Party]bus.Machine) (l *partyLoops, err error) {
	l = &partyLoops{machines: machines, conns: make(map[protocol.Party]bus.Conn, len(machines))}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	for who := range machines {
		if l.conns[who], err = hub.Connect(l.ctx, who); err != nil {
			l.end()
			return nil, fmt.Errorf("scenarios: %w", err)
		}
	}
	return l, nil
}

// run runs each party by a clock, as what wrap returns.
func (l *partyLoops) run(clock bus.Clock, wrap func(protocol.Party, bus.Machine) bus.Machine) {
	for who, m := range l.machines {
		l.running.Go(func() {
			err := bus.Loop{Clock: clock}.Run(l.ctx, l.conns[who], wrap(who, m))
			l.cancel(fmt.Errorf("scenarios: %s stopped: %w", who, err))
		})
	}
}

// end ends all loops.
func (l *partyLoops) end() {
	l.cancel(nil)
	l.running.Wait()
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
	for _, parties := range ProcessesOf(st.scenario) {
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
			c.add([]protocol.Message{m})
		}
		loops.cancel(fmt.Errorf("scenarios: the tap failed: %w", apart.Tap.Close()))
	}()
	clock := bus.Clock{Start: st.Start, Began: time.Now(), Speed: speed}
	for i, p := range processes {
		ended := func(err error) error {
			return fmt.Errorf("scenarios: the process of %s ended: %w", ProcessesOf(st.scenario)[i][0], errors.Join(err, p.Wait()))
		}
		if err := p.Begin(clock); err != nil {
			return ended(err)
		}
		go func() { loops.cancel(ended(nil)) }()
	}
	loops.run(clock, func(who protocol.Party, m bus.Machine) bus.Machine { return c.afterJoin(loops.ctx, who, m) })
	return c.awaitEnd(loops.ctx, clock, until)
}
