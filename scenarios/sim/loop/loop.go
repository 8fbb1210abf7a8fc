// Package loop runs parties in simulated time over a real bus.
//
// It owns the clock and nothing else. At each instant it ticks the machines that are
// due, sends their messages over the bus, each on its sender's own connection, steps
// the receivers, and repeats with their answers until no message is left. Machines
// that receive messages at the same instant run in parallel, but their answers are
// ordered by sender and sequence number. So the recorded ledger does not depend on
// the bus, on the number of processors or on their speed.
package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// Config says how to replay. Functions that are nil are not called.
type Config struct {
	Start  protocol.Time
	Latest protocol.Time                // a replay that is not done by then fails with ErrNotDoneInTime
	Done   func(now protocol.Time) bool // called after each instant; true ends the replay. It may end a machine's work, and not begin any
	Record func(protocol.Message) error // called for each message, in order, before it is sent
	Pace   func(now protocol.Time)      // called before each instant
	Wait   time.Duration                // for each round of messages on the bus; default 30s

	// Sequential has parties step one after the other. The outcome is the same; it saves processor time
	// where several replays run side by side.
	Sequential bool
}

// ErrNotDoneInTime is returned if a replay is not done by Config.Latest.
var ErrNotDoneInTime = errors.New("not done")

// maxMessageWaves bounds the rounds of answers within one instant; parties that exceed it
// answer one another without end.
const maxMessageWaves = 100_000

// Run replays the machines of stage on hub until cfg.Done returns true or no machine
// is due. It returns the number of messages sent.
func Run(outer context.Context, hub bus.Bus, stage map[protocol.Party]bus.Machine, cfg Config) (said int, err error) {
	if cfg.Wait == 0 {
		cfg.Wait = 30 * time.Second
	}
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	r := &replayRun{
		cfg: cfg, parties: slices.Sorted(maps.Keys(stage)), machines: stage,
		timerOf: make(map[protocol.Party]*dueTimer, len(stage)),
		conns:   make(map[protocol.Party]bus.Conn), dedups: make(map[protocol.Party]*protocol.Deduplicator),
	}
	defer func() {
		// If ctx ended, several errors may follow from it; report the cause.
		if cause := context.Cause(outer); err != nil && cause != nil {
			err = fmt.Errorf("loop: stopped: %w", cause)
		}
		for _, who := range r.parties {
			if p := r.conns[who]; p != nil {
				_ = p.Close() // the replay has ended; a failed close changes nothing
			}
		}
	}()
	for _, who := range r.parties {
		if r.conns[who], err = hub.Connect(ctx, who); err != nil {
			return 0, fmt.Errorf("loop: %w", err)
		}
		r.timers = append(r.timers, &dueTimer{machine: stage[who]})
		r.timerOf[who] = r.timers[len(r.timers)-1]
		r.dedups[who] = new(protocol.Deduplicator)
		if !who.IsPrivate() {
			r.listeners = append(r.listeners, who)
		}
	}
	err = r.runUntilDone(ctx)
	return r.messageCount, err
}

// A replayRun is one replay in progress.
type replayRun struct {
	cfg          Config
	parties      []protocol.Party
	machines     map[protocol.Party]bus.Machine
	timers       []*dueTimer // of the parties, in their order
	timerOf      map[protocol.Party]*dueTimer
	listeners    []protocol.Party // those that receive broadcasts
	conns        map[protocol.Party]bus.Conn
	dedups       map[protocol.Party]*protocol.Deduplicator // drop duplicates: a bus may deliver a message twice
	messageCount int
}

// runUntilDone advances the clock from instant to instant until the replay is done.
func (r *replayRun) runUntilDone(ctx context.Context) error {
	for now := r.cfg.Start; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.cfg.Pace != nil {
			r.cfg.Pace(now)
		}
		if err := r.processInstant(ctx, now); err != nil {
			return err
		}
		if r.cfg.Done != nil && r.cfg.Done(now) {
			return nil
		}
		next := r.earliestDue()
		switch {
		case next == 0:
			return nil
		case next > r.cfg.Latest && r.cfg.Latest != 0:
			return fmt.Errorf("loop: %w by %v; the next party is due at %v", ErrNotDoneInTime, r.cfg.Latest, next)
		}
		now = max(next, now+1) // at least a millisecond, so that time moves forward
	}
}

// A dueTimer keeps when a machine is due, so that a machine is asked only after it stepped or
// ticked: with many sites most have nothing to do at most instants, and some look through their
// queues to answer.
type dueTimer struct {
	machine bus.Machine
	known   bool          // whether due is that of the machine's state
	due     protocol.Time // 0: never
}

// dueAt returns when the machine is due.
func (d *dueTimer) dueAt() protocol.Time {
	if !d.known {
		d.due, d.known = d.machine.Due(), true
	}
	return d.due
}

// confirmDue asks a machine anew, and reports whether it is due when it was known to be. What ends a
// replay may have ended its work since: see Config.Done.
func (d *dueTimer) confirmDue() bool {
	was := d.due
	d.known = false
	return d.dueAt() == was
}

// isDue reports whether a machine is due at now.
func (d *dueTimer) isDue(now protocol.Time) bool {
	at := d.dueAt()
	return at != 0 && at <= now && d.confirmDue()
}

// earliestDue returns when the next machine is due, or 0 if none is.
func (r *replayRun) earliestDue() protocol.Time {
	for {
		var first *dueTimer
		for _, d := range r.timers {
			if at := d.dueAt(); at != 0 && (first == nil || at < first.due) {
				first = d
			}
		}
		if first == nil {
			return 0
		}
		if first.confirmDue() {
			return first.due
		}
	}
}

// processInstant processes everything that happens at now.
func (r *replayRun) processInstant(ctx context.Context, now protocol.Time) error {
	var mail []protocol.Message
	for range maxMessageWaves {
		// Due machines tick when all messages are delivered, so each tick sees the
		// state after the messages of its instant.
		if len(mail) == 0 {
			for _, d := range r.timers {
				if d.isDue(now) {
					mail = append(mail, d.machine.Tick(now)...)
					d.known = false
				}
			}
		}
		if len(mail) == 0 {
			return nil
		}
		heard, err := r.deliverMessages(ctx, mail)
		if err != nil {
			return err
		}
		mail = r.stepParties(now, heard)
	}
	return fmt.Errorf("loop: at %v the parties still answer one another after %d rounds of messages", now, maxMessageWaves)
}

// A delivery is what a party received at once, ordered by sender and sequence number.
type delivery struct {
	to       protocol.Party
	messages []protocol.Message
}

// deliverMessages records messages, sends them on the bus, and returns what each party received, in the
// order of the parties' names.
func (r *replayRun) deliverMessages(ctx context.Context, mail []protocol.Message) ([]delivery, error) {
	expect := make(map[protocol.Party]int)
	for i, m := range mail {
		if r.cfg.Record != nil {
			if err := r.cfg.Record(m); err != nil {
				return nil, fmt.Errorf("loop: record: %w", err)
			}
		}
		r.messageCount++
		r.expectMessage(m, expect)
		// Consecutive messages of one sender are sent in one call.
		if i+1 == len(mail) || mail[i+1].From != m.From {
			first := i
			for first > 0 && mail[first-1].From == m.From {
				first--
			}
			port := r.conns[m.From]
			if port == nil {
				return nil, fmt.Errorf("loop: a message has the sender %q, which is no party of this replay", m.From)
			}
			if err := port.Send(ctx, mail[first:i+1]...); err != nil {
				return nil, fmt.Errorf("loop: send as %s: %w", m.From, err)
			}
		}
	}
	heard := make([]delivery, 0, len(expect))
	var late <-chan time.Time // nil until a message is not there yet
	for _, who := range slices.Sorted(maps.Keys(expect)) {
		in, messages := make([]protocol.Message, 0, expect[who]), r.conns[who].Messages()
		for len(in) < expect[who] {
			var m protocol.Message
			var ok bool
			select {
			case m, ok = <-messages:
			default:
				if late == nil {
					late = time.After(r.cfg.Wait)
				}
				select {
				case m, ok = <-messages:
				case <-late:
					return nil, fmt.Errorf("loop: %s received %d of %d messages within %v: check the bus", who, len(in), expect[who], r.cfg.Wait)
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			if !ok {
				return nil, fmt.Errorf("loop: the bus closed the connection of %s", who)
			}
			if r.dedups[who].AdmitOnce(m) {
				in = append(in, m)
			}
		}
		// The bus orders messages of one sender only; the order among senders must
		// not depend on it.
		slices.SortStableFunc(in, func(x, y protocol.Message) int {
			return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.Seq, y.Seq))
		})
		heard = append(heard, delivery{who, in})
	}
	return heard, nil
}

// expectMessage counts a message for the parties that will receive it. It looks at no others: with a
// thousand sites there are three thousand.
func (r *replayRun) expectMessage(m protocol.Message, expect map[protocol.Party]int) {
	if m.To != "" {
		if r.machines[m.To] != nil {
			expect[m.To]++
		}
		return
	}
	if only := m.OnlyTo(); only != nil {
		for _, who := range only {
			if r.machines[who] != nil {
				expect[who]++
			}
		}
		return
	}
	for _, who := range r.listeners {
		if who.ShouldReceive(m) {
			expect[who]++
		}
	}
}

// stepParties runs every party that received messages, in parallel, and returns their
// answers in the order of what they received.
func (r *replayRun) stepParties(now protocol.Time, heard []delivery) []protocol.Message {
	for _, d := range heard {
		r.timerOf[d.to].known = false
	}
	answers := make([][]protocol.Message, len(heard))
	live := func(i int) {
		machine := r.machines[heard[i].to]
		for _, m := range heard[i].messages {
			answers[i] = append(answers[i], machine.Step(now, m)...)
		}
	}
	if len(heard) < 2 || r.cfg.Sequential || runtime.GOMAXPROCS(0) == 1 {
		for i := range heard {
			live(i)
		}
		return slices.Concat(answers...)
	}
	// As many goroutines as can run at once: one for each of a thousand parties would spend more on its stack than
	// on the step.
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), len(heard)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(heard); i = int(next.Add(1)) - 1 {
				live(i)
			}
		})
	}
	wg.Wait()
	return slices.Concat(answers...)
}
