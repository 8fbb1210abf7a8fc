package bus

import (
	"context"
	"sync"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An asyncPersister persists what came of a loop's turns while the machine goes on. It
// has two queues. Binding messages are sent when the facts before them are persisted,
// in the order in which the machine said them; non-binding ones go past them at once.
//
// A message gets its number here, in the order in which messages leave, because
// listeners take a lower number than the last they heard for old. The number is given
// before the facts of its batch are persisted, so that the facts, and those who are shown
// what was sent, hold the number that was sent. For messages that go past while a batch
// is being persisted, numbers below those of the batch are set aside.
type asyncPersister struct {
	loop    *Loop
	port    Conn
	binding chan batch    // to be persisted, then sent
	sent    chan batch    // persisted and sent, for the loop to report
	done    chan struct{} // closed when nothing more is sent
	err     error         // why, then
	failed  batch         // that which was not sent, then

	sending   sync.Mutex // held while messages are numbered and sent
	passable  sync.Cond  // there are numbers below nextBatch, or no batch is under way
	last      uint64     // highest number that was sent, or is below all that will be
	nextBatch uint64     // first number of the batch that is being persisted; 0: none is
}

// A batch is what came of one or several turns of a loop.
type batch struct {
	steps                      []step
	received, outgoing, events []protocol.Message
	done                       []func(error)
}

// A step is one that the machine took.
type step struct {
	now   protocol.Time
	input *protocol.Message // nil: a tick
}

const (
	// maxBatchDelay is how long facts from which nothing follows wait for others, to be
	// persisted with them.
	maxBatchDelay = 100 * time.Millisecond
	// maxPassing is how many non-binding messages may go past a batch that is being
	// persisted; others wait until that is sent. A party has 2^20 numbers for each
	// second of its life, and writes far fewer batches than 2^14 in one.
	maxPassing = 64
)

func newAsyncPersister(ctx context.Context, l *Loop, port Conn) *asyncPersister {
	p := &asyncPersister{
		loop: l, port: port,
		binding: make(chan batch, maxBatchInputs), sent: make(chan batch, maxBatchInputs), done: make(chan struct{}),
	}
	p.passable.L = &p.sending
	go p.persistUntilClosed(context.WithoutCancel(ctx)) // a loop that ends in order leaves nothing half done
	return p
}

func (p *asyncPersister) persistUntilClosed(ctx context.Context) {
	defer close(p.done)
	for b := range p.binding {
		b = p.joinWaiting(b)
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

// joinWaiting adds the batches that wait to one: one write serves them all.
func (p *asyncPersister) joinWaiting(b batch) batch {
	over := time.NewTimer(maxBatchDelay)
	defer over.Stop()
	for n := 1; n < maxBatchInputs; n++ {
		var more batch
		open := true
		if b.isAwaited() {
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

// isAwaited reports whether a party or an errand waits for what comes of b.
func (b *batch) isAwaited() bool { return len(b.outgoing)+len(b.done) > 0 || len(b.events) == 0 }

// persistAndSend numbers the messages of b, persists its facts and sends the messages.
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
	return p.port.Send(ctx, b.outgoing...)
}

// numberBatch numbers the messages of b, and the facts that are the same messages. A
// machine all of whose messages are binding sends them under its own numbers.
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

// setFirstNumber tells the persister the first number that the machine gives.
func (p *asyncPersister) setFirstNumber(first uint64) {
	p.sending.Lock()
	defer p.sending.Unlock()
	if p.last == 0 && first > 0 {
		p.last = first - 1
	}
}

// sendNonBinding numbers messages that do not bind, and sends them past those that wait.
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
		if err := p.port.Send(ctx, ms[i]); err != nil {
			return err
		}
	}
	return nil
}

// flushAndClose persists and sends what waits, unless that fails, and returns why it failed.
// What was sent is reported, and what was not is returned.
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
