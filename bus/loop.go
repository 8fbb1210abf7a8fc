package bus

import (
	"context"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Keeper is a machine that can be begun anew where it stood. Facts returns
// what the last Step or Tick changed that must not be lost; the slice is the
// machine's own, and is used again.
type Keeper interface {
	Machine
	Facts() []protocol.Message
}

// A Clock tells the time of a party that lives. The zero Clock is the
// computer's own; others play a day of their own, faster or not.
type Clock struct {
	Start protocol.Time // what it said at Began; 0 with the computer's own
	Began time.Time
	Speed float64 // seconds that pass in a second; 0 is 1
}

// Now returns the time.
func (c Clock) Now() protocol.Time {
	if c.Start == 0 {
		return protocol.At(time.Now())
	}
	return c.Start.Add(time.Duration(float64(time.Since(c.Began)) * c.speed()))
}

// Until returns how long it really is until t.
func (c Clock) Until(t protocol.Time) time.Duration {
	return time.Duration(float64(t.Sub(c.Now())) / c.speed())
}

func (c Clock) speed() float64 {
	if c.Speed == 0 {
		return 1
	}
	return c.Speed
}

// A Loop lets a machine live. The zero of a field leaves it out.
type Loop struct {
	Clock Clock
	// Keep writes down the facts of a Keeper, before what was said with them
	// is sent. Its error ends the loop.
	Keep func(context.Context, []protocol.Message) error
	// Unbound says of a word that it binds nobody. With it the machine goes on
	// while facts are written down: what follows from them is said when they are
	// kept, and such words at once. A loop with Errands has none.
	Unbound func(protocol.Message) bool
	// Errands are run between steps, on the loop's goroutine.
	Errands <-chan Errand
	// Told is shown what was heard and what was said to it, once that is sent.
	Told func(heard, said []protocol.Message)
	// Took is shown each step before what it led to is kept: the time by the
	// clock, and what was heard, or nil for the clock alone. A machine that
	// takes the same steps says the same.
	Took func(now protocol.Time, heard *protocol.Message)
}

// An Errand is for who has to do with a machine beside the bus. The zero of a
// field leaves it out.
type Errand struct {
	Do   func(now protocol.Time) // may read the machine
	Hear func(now protocol.Time) protocol.Message
	Done func(error) // called when what was heard is kept and what was said to it sent, or when the loop ends before
}

// atOnce bounds how many messages that wait are read before what they led to is
// kept and said: one write serves them all.
const atOnce = 256

// Live runs m at port by the computer's clock: see [Loop.Run].
func Live(ctx context.Context, port Port, m Machine) error { return Loop{}.Run(ctx, port, m) }

// Run runs m at port until ctx ends or the port does, and returns why. It
// closes the port.
func (l Loop) Run(ctx context.Context, port Port, m Machine) error {
	defer port.Close()
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	t := &turn{loop: &l, machine: m}
	t.keeper, _ = m.(Keeper)
	defer func() { t.finish(ErrClosed) }()
	if t.keeper == nil || l.Keep == nil || l.Unbound == nil || l.Errands != nil {
		return l.live(ctx, port, m, t, alarm)
	}
	t.out = newOutbox(ctx, &l, port)
	inner, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		<-t.out.done
		stop()
	}()
	err := l.live(inner, port, m, t, alarm)
	if failed := t.out.close(); failed != nil && ctx.Err() == nil {
		return failed
	}
	return err
}

func (l Loop) live(ctx context.Context, port Port, m Machine, t *turn, alarm *time.Timer) error {
	for {
		alarm.Stop()
		if due := m.Due(); due != 0 {
			alarm.Reset(l.Clock.Until(due))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e := <-l.Errands:
			t.run(e)
		case msg, ok := <-port.Heard():
			if !ok {
				return whyClosed(ctx, port)
			}
			t.step(msg)
			t.more(port)
		case <-alarm.C:
			t.tick()
		}
		if err := t.end(ctx, port); err != nil {
			return err
		}
	}
}

// A turn is what came of the messages that are read together.
type turn struct {
	loop               *Loop
	machine            Machine
	keeper             Keeper
	heard, said, facts []protocol.Message
	done               []func(error)
	out                *outbox // nil: facts are kept before the machine goes on
}

func (t *turn) run(e Errand) {
	now := t.loop.Clock.Now()
	if e.Do != nil {
		e.Do(now)
	}
	if e.Done != nil {
		t.done = append(t.done, e.Done)
	}
	if e.Hear != nil {
		t.step(e.Hear(now))
	}
}

func (t *turn) finish(err error) {
	for _, done := range t.done {
		done(err)
	}
	t.done = t.done[:0]
}

func (t *turn) step(msg protocol.Message) {
	if t.loop.Told != nil {
		t.heard = append(t.heard, msg)
	}
	now := t.loop.Clock.Now()
	if t.loop.Took != nil {
		t.loop.Took(now, &msg)
	}
	t.note(t.machine.Step(now, msg))
}

func (t *turn) tick() {
	now := t.loop.Clock.Now()
	if t.loop.Took != nil {
		t.loop.Took(now, nil)
	}
	t.note(t.machine.Tick(now))
}

func (t *turn) note(said []protocol.Message) {
	t.said = append(t.said, said...)
	if t.keeper != nil && t.loop.Keep != nil {
		t.facts = append(t.facts, t.keeper.Facts()...)
	}
}

// more reads what waits already. A port that ends meanwhile is noticed by the
// loop.
func (t *turn) more(port Port) {
	for range atOnce {
		select {
		case msg, ok := <-port.Heard():
			if !ok {
				return
			}
			t.step(msg)
		default:
			return
		}
	}
}

// end keeps the facts, then says what was said.
func (t *turn) end(ctx context.Context, port Port) error {
	if t.out != nil {
		return t.pass(ctx)
	}
	if len(t.facts) > 0 {
		if err := t.loop.Keep(ctx, t.facts); err != nil {
			return err
		}
	}
	if len(t.said) > 0 {
		if err := port.Say(ctx, t.said...); err != nil {
			return err
		}
	}
	if t.loop.Told != nil && len(t.heard)+len(t.said) > 0 {
		t.loop.Told(t.heard, t.said)
	}
	t.finish(nil)
	t.clear()
	return nil
}

// clear lets go of what came of the turn, and keeps the room that it took.
func (t *turn) clear() {
	clear(t.heard)
	clear(t.said)
	clear(t.facts)
	t.heard, t.said, t.facts = t.heard[:0], t.said[:0], t.facts[:0]
}

// pass hands on what came of the turn, and says at once what binds nobody.
func (t *turn) pass(ctx context.Context) error {
	p := parcel{facts: slices.Clone(t.facts)}
	free := t.said[:0]
	for _, m := range t.said {
		if t.loop.Unbound(m) {
			free = append(free, m)
		} else {
			p.said = append(p.said, m)
		}
	}
	err := t.out.say(ctx, t.heard, free)
	if len(p.facts)+len(p.said) > 0 {
		t.out.put(p)
	}
	t.clear()
	return err
}

func whyClosed(ctx context.Context, port Port) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := port.Close(); err != nil {
		return err
	}
	return ErrClosed
}
