package bus

import (
	"context"
	"errors"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A EventSourced is a machine that can be begun anew where it stood. Facts returns
// what the last Step or Tick changed that must not be lost; the slice is the
// machine's own, and is used again.
type EventSourced interface {
	Machine
	Events() []protocol.Message
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
		return protocol.FromStdTime(time.Now())
	}
	return c.Start.Add(time.Duration(float64(time.Since(c.Began)) * c.speedOrDefault()))
}

// DurationUntil returns how long it really is until t.
func (c Clock) DurationUntil(t protocol.Time) time.Duration {
	return time.Duration(float64(t.Sub(c.Now())) / c.speedOrDefault())
}

func (c Clock) speedOrDefault() float64 {
	if c.Speed == 0 {
		return 1
	}
	return c.Speed
}

// A Loop lets a machine live. The zero of a field leaves it out. All functions but
// Keep are called on the goroutine of Run.
type Loop struct {
	Clock Clock
	// Persist writes down the facts of a Keeper, before what was said with them is sent,
	// while the machine goes on. Facts that are messages of the machine's own bear the
	// numbers under which those are sent. It is called on a goroutine of its own, once
	// at a time, with a context that does not end: what waits when the loop ends is kept
	// and, if the port still takes it, sent. Its error ends the loop.
	Persist func(context.Context, []protocol.Message) error
	// NonBinding says of a message that it binds nobody. Such messages of a machine whose
	// facts are kept are sent at once, past those that wait for facts to be written
	// down. Nil: all bind.
	NonBinding func(protocol.Message) bool
	// LocalRequests are run between steps.
	LocalRequests <-chan LocalRequest
	// OnSent is shown what was heard, and what was said once that is sent, under the
	// numbers under which it was. Where all messages bind, what was heard is shown with
	// what was said to it, in the order of the steps.
	OnSent func(received, sent []protocol.Message)
	// OnInput is shown each step before the machine takes it: the time by the clock, and
	// what was heard, or nil for the clock alone. A machine that takes the same steps
	// says the same.
	OnInput func(now protocol.Time, received *protocol.Message)
	// Persisted is shown each step, as OnInput was, when what it led to is kept and sent,
	// before OnSent is shown that. A step that is not shown may be lost.
	Persisted func(now protocol.Time, received *protocol.Message)
}

// An LocalRequest is for who has to do with a machine beside the bus. The zero of a
// field leaves it out.
type LocalRequest struct {
	Inspect func(now protocol.Time) // may read the machine
	Deliver func(now protocol.Time) protocol.Message
	Done    func(error) // called when what came of it is kept and sent, and all before it; or when the loop ends before
}

// maxBatchInputs bounds how many messages that wait are read together, and how many batches are
// persisted together: one write serves them all.
const maxBatchInputs = 256

// RunMachine runs m at port by the computer's clock: see [Loop.Run].
func RunMachine(ctx context.Context, port Conn, m Machine) error { return Loop{}.Run(ctx, port, m) }

// Run runs m at port until ctx ends or the port does, and returns why. It
// closes the port.
func (l Loop) Run(ctx context.Context, port Conn, m Machine) error {
	defer port.Close()
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	t := &stepBatch{loop: &l, machine: m}
	if k, ok := m.(EventSourced); ok && l.Persist != nil {
		t.source, t.persister = k, newAsyncPersister(ctx, &l, port)
	}
	err := l.runSteps(ctx, port, m, t, alarm)
	switch failed := t.completeRequests(); {
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

func (l Loop) runSteps(ctx context.Context, port Conn, m Machine, t *stepBatch, alarm *time.Timer) error {
	for {
		alarm.Stop()
		if due := m.Due(); due != 0 {
			alarm.Reset(l.Clock.DurationUntil(due))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.persisterDone():
			return errStopped
		case b := <-t.sentBatches():
			t.reportSent(b)
			continue
		case e := <-l.LocalRequests:
			t.runLocalRequest(e)
		case msg, ok := <-port.Messages():
			if !ok {
				return closeReason(ctx, port)
			}
			t.stepMessage(msg)
			t.stepPendingMessages(port)
		case <-alarm.C:
			t.tickMachine()
		}
		if err := t.persistAndSend(ctx, port); err != nil {
			return err
		}
	}
}

// A stepBatch is what came of the messages that are read together.
type stepBatch struct {
	loop      *Loop
	machine   Machine
	batch                  // of this turn
	source    EventSourced // nil: nothing is persisted
	persister *asyncPersister
}

// persisterDone is closed when the persister sends nothing more.
func (t *stepBatch) persisterDone() <-chan struct{} {
	if t.persister == nil {
		return nil
	}
	return t.persister.done
}

// sentBatches holds what the persister has sent.
func (t *stepBatch) sentBatches() <-chan batch {
	if t.persister == nil {
		return nil
	}
	return t.persister.sent
}

func (t *stepBatch) runLocalRequest(e LocalRequest) {
	now := t.loop.Clock.Now()
	if e.Inspect != nil {
		e.Inspect(now)
	}
	if e.Done != nil {
		t.done = append(t.done, e.Done)
	}
	if e.Deliver != nil {
		t.stepMessage(e.Deliver(now))
	}
}

// completeRequests ends the persister when all is sent, and returns why it ended before. Errands
// whose outcome was not sent are told so.
func (t *stepBatch) completeRequests() (err error) {
	unsent := []batch{t.batch}
	if t.persister != nil {
		var more []batch
		more, err = t.persister.flushAndClose(t.reportSent)
		unsent = append(more, unsent...)
	}
	for _, b := range unsent {
		for _, done := range b.done {
			done(ErrClosed)
		}
	}
	return err
}

func (t *stepBatch) stepMessage(msg protocol.Message) {
	if t.loop.OnSent != nil {
		t.received = append(t.received, msg)
	}
	now := t.loop.Clock.Now()
	t.takeStep(now, &msg)
	t.collectOutput(t.machine.Step(now, msg))
}

func (t *stepBatch) tickMachine() {
	now := t.loop.Clock.Now()
	t.takeStep(now, nil)
	t.collectOutput(t.machine.Tick(now))
}

func (t *stepBatch) takeStep(now protocol.Time, heard *protocol.Message) {
	if t.loop.OnInput != nil {
		t.loop.OnInput(now, heard)
	}
	if t.loop.Persisted != nil {
		t.steps = append(t.steps, step{now, heard})
	}
}

func (t *stepBatch) collectOutput(said []protocol.Message) {
	t.outgoing = append(t.outgoing, said...)
	if t.source != nil {
		t.events = append(t.events, t.source.Events()...)
	}
}

// stepPendingMessages reads what waits already. A port that ends meanwhile is noticed by the
// loop.
func (t *stepBatch) stepPendingMessages(port Conn) {
	for range maxBatchInputs {
		select {
		case msg, ok := <-port.Messages():
			if !ok {
				return
			}
			t.stepMessage(msg)
		default:
			return
		}
	}
}

// persistAndSend sends what was said, by the persister if there is one.
func (t *stepBatch) persistAndSend(ctx context.Context, port Conn) error {
	if t.persister != nil {
		return t.handOn(ctx)
	}
	if len(t.outgoing) > 0 {
		if err := port.Send(ctx, t.outgoing...); err != nil {
			return err
		}
	}
	t.reportSent(t.batch)
	clear(t.steps)
	clear(t.received)
	clear(t.outgoing)
	t.batch = batch{steps: t.steps[:0], received: t.received[:0], outgoing: t.outgoing[:0]}
	return nil
}

// reportSent shows what became of a batch that was sent.
func (t *stepBatch) reportSent(b batch) {
	if t.loop.Persisted != nil {
		for _, s := range b.steps {
			t.loop.Persisted(s.now, s.input)
		}
	}
	if t.loop.OnSent != nil && len(b.received)+len(b.outgoing) > 0 {
		t.loop.OnSent(b.received, b.outgoing)
	}
	for _, done := range b.done {
		done(nil)
	}
}

// handOn hands what came of the turn to the persister. Non-binding messages are
// sent at once.
func (t *stepBatch) handOn(ctx context.Context) error {
	b := t.batch
	t.batch = batch{}
	if len(b.outgoing) > 0 {
		t.persister.setFirstNumber(b.outgoing[0].Seq)
	}
	if t.loop.NonBinding != nil {
		passing := batch{received: b.received}
		b.received = nil
		all := b.outgoing
		b.outgoing = nil
		for _, m := range all {
			if t.loop.NonBinding(m) {
				passing.outgoing = append(passing.outgoing, m)
			} else {
				b.outgoing = append(b.outgoing, m)
			}
		}
		if err := t.persister.sendNonBinding(ctx, passing.outgoing); err != nil {
			t.done = b.done // it is not sent
			return err
		}
		t.reportSent(passing)
	}
	if len(b.steps)+len(b.received)+len(b.outgoing)+len(b.events)+len(b.done) > 0 {
		t.handToPersister(b)
	}
	return nil
}

// handToPersister hands a batch to the persister. It reports meanwhile what that has sent, so that
// neither waits for the other.
func (t *stepBatch) handToPersister(b batch) {
	for {
		select {
		case t.persister.binding <- b:
			return
		case sent := <-t.persister.sent:
			t.reportSent(sent)
		case <-t.persister.done:
			t.done = append(t.done, b.done...)
			return
		}
	}
}

func closeReason(ctx context.Context, port Conn) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := port.Close(); err != nil {
		return err
	}
	return ErrClosed
}
