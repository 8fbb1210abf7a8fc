package bus

import (
	"context"
	"errors"
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

// A Loop lets a machine live. The zero of a field leaves it out. All functions but
// Keep are called on the goroutine of Run.
type Loop struct {
	Clock Clock
	// Keep writes down the facts of a Keeper, before what was said with them is sent,
	// while the machine goes on. Facts that are messages of the machine's own bear the
	// numbers under which those are sent. It is called on a goroutine of its own, once
	// at a time, with a context that does not end: what waits when the loop ends is kept
	// and, if the port still takes it, sent. Its error ends the loop.
	Keep func(context.Context, []protocol.Message) error
	// Unbound says of a message that it binds nobody. Such messages of a machine whose
	// facts are kept are sent at once, past those that wait for facts to be written
	// down. Nil: all bind.
	Unbound func(protocol.Message) bool
	// Errands are run between steps.
	Errands <-chan Errand
	// Told is shown what was heard, and what was said once that is sent, under the
	// numbers under which it was. Where all messages bind, what was heard is shown with
	// what was said to it, in the order of the steps.
	Told func(heard, said []protocol.Message)
	// Took is shown each step before the machine takes it: the time by the clock, and
	// what was heard, or nil for the clock alone. A machine that takes the same steps
	// says the same.
	Took func(now protocol.Time, heard *protocol.Message)
	// Persisted is shown each step, as Took was, when what it led to is kept and sent,
	// before Told is shown that. A step that is not shown may be lost.
	Persisted func(now protocol.Time, heard *protocol.Message)
}

// An Errand is for who has to do with a machine beside the bus. The zero of a
// field leaves it out.
type Errand struct {
	Do   func(now protocol.Time) // may read the machine
	Hear func(now protocol.Time) protocol.Message
	Done func(error) // called when what came of it is kept and sent, and all before it; or when the loop ends before
}

// atOnce bounds how many messages that wait are read together, and how many batches are
// persisted together: one write serves them all.
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
	if k, ok := m.(Keeper); ok && l.Keep != nil {
		t.keeper, t.persister = k, newAsyncPersister(ctx, &l, port)
	}
	err := l.live(ctx, port, m, t, alarm)
	switch failed := t.finish(); {
	case failed == nil || ctx.Err() != nil:
		return err
	case err != errStopped && errors.Is(failed, ErrClosed): // as the port did before
		return err
	default:
		return failed
	}
}

// errStopped says that the persister ended before the loop.
var errStopped = errors.New("bus: nothing more is kept")

func (l Loop) live(ctx context.Context, port Port, m Machine, t *turn, alarm *time.Timer) error {
	for {
		alarm.Stop()
		if due := m.Due(); due != 0 {
			alarm.Reset(l.Clock.Until(due))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.stopped():
			return errStopped
		case b := <-t.sent():
			t.report(b)
			continue
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
	loop      *Loop
	machine   Machine
	batch            // of this turn
	keeper    Keeper // nil: nothing is persisted
	persister *asyncPersister
}

// stopped is closed when the persister sends nothing more.
func (t *turn) stopped() <-chan struct{} {
	if t.persister == nil {
		return nil
	}
	return t.persister.done
}

// sent holds what the persister has sent.
func (t *turn) sent() <-chan batch {
	if t.persister == nil {
		return nil
	}
	return t.persister.sent
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

// finish ends the persister when all is sent, and returns why it ended before. Errands
// whose outcome was not sent are told so.
func (t *turn) finish() (err error) {
	unsent := []batch{t.batch}
	if t.persister != nil {
		var more []batch
		more, err = t.persister.close(t.report)
		unsent = append(more, unsent...)
	}
	for _, b := range unsent {
		for _, done := range b.done {
			done(ErrClosed)
		}
	}
	return err
}

func (t *turn) step(msg protocol.Message) {
	if t.loop.Told != nil {
		t.heard = append(t.heard, msg)
	}
	now := t.loop.Clock.Now()
	t.take(now, &msg)
	t.note(t.machine.Step(now, msg))
}

func (t *turn) tick() {
	now := t.loop.Clock.Now()
	t.take(now, nil)
	t.note(t.machine.Tick(now))
}

func (t *turn) take(now protocol.Time, heard *protocol.Message) {
	if t.loop.Took != nil {
		t.loop.Took(now, heard)
	}
	if t.loop.Persisted != nil {
		t.steps = append(t.steps, step{now, heard})
	}
}

func (t *turn) note(said []protocol.Message) {
	t.said = append(t.said, said...)
	if t.keeper != nil {
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

// end sends what was said, by the persister if there is one.
func (t *turn) end(ctx context.Context, port Port) error {
	if t.persister != nil {
		return t.handOn(ctx)
	}
	if len(t.said) > 0 {
		if err := port.Say(ctx, t.said...); err != nil {
			return err
		}
	}
	t.report(t.batch)
	clear(t.steps)
	clear(t.heard)
	clear(t.said)
	t.batch = batch{steps: t.steps[:0], heard: t.heard[:0], said: t.said[:0]}
	return nil
}

// report shows what became of a batch that was sent.
func (t *turn) report(b batch) {
	if t.loop.Persisted != nil {
		for _, s := range b.steps {
			t.loop.Persisted(s.now, s.heard)
		}
	}
	if t.loop.Told != nil && len(b.heard)+len(b.said) > 0 {
		t.loop.Told(b.heard, b.said)
	}
	for _, done := range b.done {
		done(nil)
	}
}

// handOn hands what came of the turn to the persister. Non-binding messages are
// sent at once.
func (t *turn) handOn(ctx context.Context) error {
	b := t.batch
	t.batch = batch{}
	if len(b.said) > 0 {
		t.persister.begin(b.said[0].Seq)
	}
	if t.loop.Unbound != nil {
		passing := batch{heard: b.heard}
		b.heard = nil
		all := b.said
		b.said = nil
		for _, m := range all {
			if t.loop.Unbound(m) {
				passing.said = append(passing.said, m)
			} else {
				b.said = append(b.said, m)
			}
		}
		if err := t.persister.sendNonBinding(ctx, passing.said); err != nil {
			t.done = b.done // it is not sent
			return err
		}
		t.report(passing)
	}
	if len(b.steps)+len(b.heard)+len(b.said)+len(b.facts)+len(b.done) > 0 {
		t.put(b)
	}
	return nil
}

// put hands a batch to the persister. It reports meanwhile what that has sent, so that
// neither waits for the other.
func (t *turn) put(b batch) {
	for {
		select {
		case t.persister.binding <- b:
			return
		case sent := <-t.persister.sent:
			t.report(sent)
		case <-t.persister.done:
			t.done = append(t.done, b.done...)
			return
		}
	}
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
