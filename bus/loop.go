package bus

import (
	"context"
	"errors"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An EventSourced machine can be restored from its events. Events returns what the last Step or
// Tick changed that must not be lost; the slice belongs to the machine, which reuses it.
type EventSourced interface {
	Machine
	Events() []protocol.Message
}

// A Clock is the time of a running party. The zero Clock is the computer's own; others run
// simulated time at any speed.
type Clock struct {
	Start protocol.Time // the time at Began; 0: the computer's own clock
	Began time.Time
	Speed float64 // simulated seconds per second; 0 means 1
	// Until is where the clock stops; 0: nowhere. A party that is late then does what is due by it, and no more.
	Until protocol.Time
}

// Now returns the current time.
func (c Clock) Now() protocol.Time {
	if c.Start == 0 {
		return protocol.FromStdTime(time.Now())
	}
	now := c.Start.Add(time.Duration(float64(time.Since(c.Began)) * c.speedOrDefault()))
	if c.Until != 0 {
		now = min(now, c.Until)
	}
	return now
}

// DurationUntil returns the real duration until t.
func (c Clock) DurationUntil(t protocol.Time) time.Duration {
	return time.Duration(float64(t.Sub(c.Now())) / c.speedOrDefault())
}

// Simulated returns how long a real duration is by the clock.
func (c Clock) Simulated(real time.Duration) time.Duration {
	return time.Duration(float64(real) * c.speedOrDefault())
}

func (c Clock) speedOrDefault() float64 {
	if c.Speed == 0 {
		return 1
	}
	return c.Speed
}

// A Loop runs a machine. A nil field switches its feature off. All functions but Persist are
// called on the goroutine of Run.
type Loop struct {
	Clock Clock
	// Persist makes the events of an EventSourced machine durable before the messages of the same
	// steps are sent, while the machine goes on. Events that are messages of the machine carry the
	// sequence numbers under which those are sent. It is called on a goroutine of its own, one
	// call at a time, with a context that does not end: batches that wait when the loop ends are
	// persisted and, if the connection still works, sent. An error of it ends the loop.
	Persist func(context.Context, []protocol.Message) error
	// NonBinding reports messages that may be sent before their step's events are durable (bids,
	// for example). They overtake the messages that wait for persistence. Nil: all messages are
	// binding.
	NonBinding func(protocol.Message) bool
	// Intercept is called with each received message before the machine takes it. A message for
	// which it returns true is not for the machine: nothing else of the loop sees it.
	Intercept func(now protocol.Time, received protocol.Message) bool
	// LocalRequests are served between steps.
	LocalRequests <-chan LocalRequest
	// OnSent is called with messages that the machine received and sent, once the sent ones are
	// out; these have the sequence numbers under which they were sent. If all messages are binding,
	// received messages come with those that the machine sent in answer, in the order of the steps.
	OnSent func(received, sent []protocol.Message)
	// OnInput is called before each step: with the time by the clock, and with the received message
	// or nil for a tick. A machine that repeats the same steps sends the same messages.
	OnInput func(now protocol.Time, received *protocol.Message)
	// Persisted is called for each step as OnInput was, when the step's events are durable and its
	// messages are sent, and before OnSent is called with those. A step for which it is not called
	// may be lost in a crash.
	Persisted func(now protocol.Time, received *protocol.Message)
}

// A LocalRequest is how code in the same process accesses a running machine. A nil field is left
// out.
type LocalRequest struct {
	Inspect func(now protocol.Time)                  // may read the machine; not change it
	Deliver func(now protocol.Time) protocol.Message // returns a message that the machine processes like a received one
	Done    func(error)                              // called when its outcome and everything before it is durable and sent; or with ErrClosed when the loop ends first
}

// maxBatchInputs bounds how many waiting messages are processed in one turn, and how many turns
// are persisted together: one write to disk serves them all.
const maxBatchInputs = 256

// RunMachine runs m on conn by the computer's clock: see [Loop.Run].
func RunMachine(ctx context.Context, conn Conn, m Machine) error { return Loop{}.Run(ctx, conn, m) }

// Run runs m on conn until ctx ends or the connection does, and returns why. It closes the
// connection.
func (l Loop) Run(ctx context.Context, conn Conn, m Machine) error {
	defer conn.Close()
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	t := &stepBatch{loop: &l, machine: m}
	if k, ok := m.(EventSourced); ok && l.Persist != nil {
		t.source, t.persister = k, newAsyncPersister(ctx, &l, conn)
	}
	err := l.runSteps(ctx, conn, m, t, alarm)
	switch failed := t.completeRequests(); {
	case failed == nil || ctx.Err() != nil:
		return err
	case err != errStopped && errors.Is(failed, ErrClosed): // the connection ended first, and the persister failed for that
		return err
	default:
		return failed
	}
}

// errStopped is the error of a loop whose persister ended before it.
var errStopped = errors.New("bus: persister has stopped")

// runSteps takes turns until the loop ends: each processes waiting inputs, then hands the outcome
// on.
func (l Loop) runSteps(ctx context.Context, conn Conn, m Machine, t *stepBatch, alarm *time.Timer) error {
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
		case msg, ok := <-conn.Messages():
			if !ok {
				return closeReason(ctx, conn)
			}
			t.stepMessage(msg)
			t.stepPendingMessages(conn)
			// What the messages make due at once is of the same turn: it waits for no timer, and for one write
			// in place of two.
			if due := m.Due(); due != 0 && due <= l.Clock.Now() {
				t.tickMachine()
			}
		case <-alarm.C:
			t.tickMachine()
		}
		if err := t.persistAndSend(ctx, conn); err != nil {
			return err
		}
	}
}

// A stepBatch collects the outcome of one turn of the loop.
type stepBatch struct {
	loop      *Loop
	machine   Machine
	batch                  // of this turn
	source    EventSourced // nil: nothing is persisted
	persister *asyncPersister
}

// persisterDone is closed when the persister has ended; nil without a persister.
func (t *stepBatch) persisterDone() <-chan struct{} {
	if t.persister == nil {
		return nil
	}
	return t.persister.done
}

// sentBatches delivers batches that the persister has sent.
func (t *stepBatch) sentBatches() <-chan batch {
	if t.persister == nil {
		return nil
	}
	return t.persister.sent
}

// runLocalRequest serves a local request. Its Done is called with the outcome of the turn.
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

// completeRequests waits until the persister has sent what waits, and returns why it ended before.
// Requests whose outcome was not sent get ErrClosed.
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

// stepMessage has the machine process one message.
func (t *stepBatch) stepMessage(msg protocol.Message) {
	now := t.loop.Clock.Now()
	if t.loop.Intercept != nil && t.loop.Intercept(now, msg) {
		return
	}
	if t.loop.OnSent != nil {
		t.received = append(t.received, msg)
	}
	t.recordInput(now, &msg)
	t.collectOutput(t.machine.Step(now, msg))
}

// tickMachine has the machine process a tick.
func (t *stepBatch) tickMachine() {
	now := t.loop.Clock.Now()
	t.recordInput(now, nil)
	t.collectOutput(t.machine.Tick(now))
}

// recordInput reports the inputs of a step before the machine takes it.
func (t *stepBatch) recordInput(now protocol.Time, received *protocol.Message) {
	if t.loop.OnInput != nil {
		t.loop.OnInput(now, received)
	}
	if t.loop.Persisted != nil {
		t.steps = append(t.steps, step{now, received})
	}
}

// collectOutput adds a step's messages and events to the turn.
func (t *stepBatch) collectOutput(sent []protocol.Message) {
	t.outgoing = append(t.outgoing, sent...)
	if t.source != nil {
		t.events = append(t.events, t.source.Events()...)
	}
}

// stepPendingMessages processes messages that wait already. If the connection ends meanwhile, the
// next turn notices it.
func (t *stepBatch) stepPendingMessages(conn Conn) {
	for range maxBatchInputs {
		select {
		case msg, ok := <-conn.Messages():
			if !ok {
				return
			}
			t.stepMessage(msg)
		default:
			return
		}
	}
}

// persistAndSend sends the turn's messages, through the persister if there is one.
func (t *stepBatch) persistAndSend(ctx context.Context, conn Conn) error {
	if t.persister != nil {
		return t.enqueueTurn(ctx)
	}
	if len(t.outgoing) > 0 {
		if err := conn.Send(ctx, t.outgoing...); err != nil {
			return err
		}
	}
	t.reportSent(t.batch)
	// The slices are reused; clearing them frees what the messages point to.
	clear(t.steps)
	clear(t.received)
	clear(t.outgoing)
	t.batch = batch{steps: t.steps[:0], received: t.received[:0], outgoing: t.outgoing[:0]}
	return nil
}

// reportSent calls the observers of a batch that was sent.
func (t *stepBatch) reportSent(b batch) {
	if t.loop.Persisted != nil {
		for _, s := range b.steps {
			t.loop.Persisted(s.now, s.received)
		}
	}
	if t.loop.OnSent != nil && len(b.received)+len(b.outgoing) > 0 {
		t.loop.OnSent(b.received, b.outgoing)
	}
	for _, done := range b.done {
		done(nil)
	}
}

// enqueueTurn passes the turn to the persister. Non-binding messages are sent at once.
func (t *stepBatch) enqueueTurn(ctx context.Context) error {
	b := t.batch
	t.batch = batch{}
	if len(b.outgoing) > 0 {
		t.persister.startNumbering(b.outgoing[0].Seq)
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
			t.done = b.done // the turn is not sent: completeRequests reports that
			return err
		}
		t.reportSent(passing)
	}
	if len(b.steps)+len(b.received)+len(b.outgoing)+len(b.events)+len(b.done) > 0 {
		t.enqueueBatch(b)
	}
	return nil
}

// enqueueBatch passes a batch to the persister's queue. While the queue is full it reports batches
// that were sent: if it only waited, persister and loop would wait for each other.
func (t *stepBatch) enqueueBatch(b batch) {
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

// closeReason returns why a connection's channel of messages closed.
func closeReason(ctx context.Context, conn Conn) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := conn.Close(); err != nil {
		return err
	}
	return ErrClosed
}
