package bus

import (
	"context"
	"sync"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An asyncPersister makes the events of a loop's turns durable while the machine goes on (decision
// 0221). It has two queues. Binding messages are sent when the events before them are durable, in
// the order in which the machine produced them; non-binding ones overtake them.
//
// A message gets its sequence number here, in the order in which messages leave, because receivers
// treat a number lower than the last as a duplicate. It gets the number before the batch's events
// are persisted, so that the events and the observers have the number that was sent. For messages
// that overtake a batch while it is being persisted, numbers below those of the batch are
// reserved.
//
// Invariant: numbers leave in increasing order, and an event that is a sent message has its
// number.
type asyncPersister struct {
	loop    *Loop
	conn    Conn
	binding chan batch    // to be persisted, then sent
	sent    chan batch    // durable and sent, for the loop to report
	done    chan struct{} // closed when nothing more will be sent
	err     error         // why it ended
	failed  batch         // the batch that was not sent then

	sending   sync.Mutex // held while messages are numbered and sent; guards the fields below, err and failed
	passable  sync.Cond  // signals that a number below nextBatch is free, or that no batch is under way
	last      uint64     // highest number sent, or below all that will be sent
	nextBatch uint64     // first number of the batch that is being persisted; 0: none is
}

// A batch is the outcome of one or several turns of a loop.
type batch struct {
	steps                      []step
	received, outgoing, events []protocol.Message
	done                       []func(error)
}

// A step is the input of one Step or Tick.
type step struct {
	now      protocol.Time
	received *protocol.Message // nil: a tick
}

const (
	// maxBatchDelay is how long events that no message and no request waits for are held back, to
	// be persisted with later ones.
	maxBatchDelay = 100 * time.Millisecond
	// maxPassing is how many non-binding messages may overtake a batch that is being persisted;
	// more wait until it is sent. A party has 2^20 numbers for each second of its incarnation, and
	// persists far fewer batches than 2^14 per second.
	maxPassing = 64
)

// newAsyncPersister starts a persister, which runs until flushAndClose.
func newAsyncPersister(ctx context.Context, l *Loop, conn Conn) *asyncPersister {
	p := &asyncPersister{
		loop: l, conn: conn,
		binding: make(chan batch, maxBatchInputs), sent: make(chan batch, maxBatchInputs), done: make(chan struct{}),
	}
	p.passable.L = &p.sending
	go p.persistUntilClosed(context.WithoutCancel(ctx)) // a loop that ends still persists what it has queued
	return p
}

// persistUntilClosed persists and sends batches until flushAndClose, or until one fails.
func (p *asyncPersister) persistUntilClosed(ctx context.Context) {
	defer close(p.done)
	for b := range p.binding {
		b = p.coalesceWaiting(b)
		if err := p.persistAndSend(ctx, b); err != nil {
			p.sending.Lock()
			p.err, p.failed = err, b
			p.passable.Broadcast()
			p.sending.Unlock()
			return
		}
		p.sent <- b
	}
}

// coalesceWaiting appends the batches that wait to b: one write to disk serves them all. If
// something waits for b it takes only what is queued already; otherwise it waits up to
// maxBatchDelay for more.
func (p *asyncPersister) coalesceWaiting(b batch) batch {
	over := time.NewTimer(maxBatchDelay)
	defer over.Stop()
	for n := 1; n < maxBatchInputs; n++ {
		var more batch
		open := true
		if b.hasWaiters() {
			select {
			case more, open = <-p.binding:
			default:
				return b
			}
		} else {
			select {
			case more, open = <-p.binding:
			case <-over.C:
				return b
			}
		}
		if !open {
			return b
		}
		b.steps, b.done = append(b.steps, more.steps...), append(b.done, more.done...)
		b.received, b.outgoing, b.events = append(b.received, more.received...), append(b.outgoing, more.outgoing...), append(b.events, more.events...)
	}
	return b
}

// hasWaiters reports whether a party or a local request waits for the outcome of b, or there is
// nothing to persist.
func (b *batch) hasWaiters() bool { return len(b.outgoing)+len(b.done) > 0 || len(b.events) == 0 }

// persistAndSend numbers the messages of b, persists its events and sends the messages.
func (p *asyncPersister) persistAndSend(ctx context.Context, b batch) error {
	p.numberBatch(b)
	if len(b.events) > 0 {
		if err := p.loop.Persist(ctx, b.events); err != nil {
			return err
		}
	}
	if len(b.outgoing) == 0 {
		return nil
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	defer p.passable.Broadcast()
	p.last, p.nextBatch = b.outgoing[len(b.outgoing)-1].Seq, 0
	return p.conn.Send(ctx, b.outgoing...)
}

// numberBatch numbers the messages of b, and the events that are the same messages. Without
// non-binding messages a machine's own numbers stay.
func (p *asyncPersister) numberBatch(b batch) {
	if len(b.outgoing) == 0 {
		return
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	n := p.last
	if p.loop.NonBinding != nil && len(b.events) > 0 {
		n += maxPassing
	}
	type identity struct {
		seq  uint64
		kind string
	}
	sentAs := make(map[identity]uint64)
	for i := range b.outgoing {
		m := &b.outgoing[i]
		n = max(n+1, m.Seq)
		if n != m.Seq {
			sentAs[identity{m.Seq, m.KindName()}] = n
			m.Seq = n
		}
	}
	p.nextBatch = b.outgoing[0].Seq
	if len(sentAs) == 0 {
		return
	}
	for i := range b.events {
		f := &b.events[i]
		if n := sentAs[identity{f.Seq, f.KindName()}]; n != 0 && f.From == b.outgoing[0].From {
			f.Seq = n
		}
	}
}

// startNumbering sets the number before the first that the machine gives; only the first call
// counts.
func (p *asyncPersister) startNumbering(first uint64) {
	p.sending.Lock()
	defer p.sending.Unlock()
	if p.last == 0 && first > 0 {
		p.last = first - 1
	}
}

// sendNonBinding numbers non-binding messages and sends them at once. It waits if all numbers
// reserved below the current batch are used.
func (p *asyncPersister) sendNonBinding(ctx context.Context, ms []protocol.Message) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	for i := range ms {
		for p.nextBatch != 0 && p.last+1 >= p.nextBatch && p.err == nil {
			p.passable.Wait()
		}
		if p.err != nil {
			return p.err
		}
		p.last++
		ms[i].Seq = p.last
		if err := p.conn.Send(ctx, ms[i]); err != nil {
			return err
		}
	}
	return nil
}

// flushAndClose persists and sends what waits, unless that fails, and returns why it failed. It reports
// what was sent, and returns what was not.
func (p *asyncPersister) flushAndClose(report func(batch)) (unsent []batch, err error) {
	close(p.binding)
	for open := true; open; {
		select {
		case b := <-p.sent:
			report(b)
		case <-p.done:
			open = false
		}
	}
	for len(p.sent) > 0 {
		report(<-p.sent)
	}
	unsent = append(unsent, p.failed)
	for b := range p.binding {
		unsent = append(unsent, b)
	}
	return unsent, p.err
}
