package natsbus

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A natsConn is the connection of one party to a NATS server. It ends once, with shutDown: then
// deliverMessages flushes what was sent and closes the connection.
type natsConn struct {
	bus             *Bus
	who             protocol.Party
	conn            *nats.Conn
	raw             chan *nats.Msg // one channel for all subjects, so that their order is kept
	messages        chan protocol.Message
	sign            signFunc    // nil: nothing is signed
	stopContextHook func() bool // stops the callback on the end of ctx

	sendMu   sync.Mutex
	buf      []byte // encoding buffer of Send
	subjects subjectCache

	mu     sync.Mutex
	why    error         // first failure
	over   bool          // the connection has failed or was closed
	shut   chan struct{} // closed when over
	finish chan struct{} // closed when the connection is closed
}

// newNatsConn returns a connection for a party, not yet connected; pending messages may wait
// undecoded.
func newNatsConn(h *Bus, who protocol.Party, pending int) *natsConn {
	return &natsConn{
		bus: h, who: who, subjects: make(subjectCache),
		raw: make(chan *nats.Msg, pending), messages: make(chan protocol.Message, decodedAhead),
		shut: make(chan struct{}), finish: make(chan struct{}),
	}
}

// decodedAhead is the number of decoded messages that may wait, so that decoding and
// the party's work overlap.
const decodedAhead = 64

// startReceiving starts the goroutines that deliver messages until ctx ends or the connection
// closes. With Limits, messages pass a fair queue first.
func (p *natsConn) startReceiving(ctx context.Context) {
	p.bus.openConns.Add(1)
	p.stopContextHook = context.AfterFunc(ctx, func() { p.shutDown(nil) })
	var t *fairQueue
	if l := p.bus.Limits; l != nil {
		t = newFairQueue(*l)
		go p.admitMessages(t)
	}
	go p.deliverMessages(t)
}

// shutDown closes the connection; err is the reason, nil for a call of Close.
func (p *natsConn) shutDown(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.over, p.why = true, err
		close(p.shut)
		// The whole connection fails, and not one message: the drop counts once, without a subject.
		if errors.Is(err, nats.ErrSlowConsumer) {
			p.bus.recordDelivery(p.who, slowConsumer, "", err)
		}
	}
}

// failConn is the error handler of the connection.
func (p *natsConn) failConn(err error) {
	switch {
	case err == nil:
		err = fmt.Errorf("natsbus: %s: connection closed by the server", p.who)
	case errors.Is(err, nats.ErrSlowConsumer):
		err = fmt.Errorf("natsbus: %s: more than %d messages wait for the party: %w", p.who, cap(p.raw), err)
	default:
		err = fmt.Errorf("natsbus: %s: %w", p.who, err)
	}
	p.shutDown(err)
}

// deliverMessages decodes incoming messages until the connection is shut down, and then closes it.
func (p *natsConn) deliverMessages(t *fairQueue) {
	// Deferred calls run in reverse: flush and close first, then end the channel, and last
	// release Close.
	defer close(p.finish)
	defer close(p.messages)
	defer p.bus.openConns.Add(-1)
	defer p.flushAndClose()
	for {
		msg, ok := p.nextRawMessage(t)
		if !ok {
			return
		}
		m, f, err := decodeMessage(msg.Subject, msg.Data)
		if f == delivered && !p.isFor(m, msg.Subject) {
			continue
		}
		p.bus.recordDelivery(p.who, f, msg.Subject, err)
		if f != delivered {
			continue
		}
		if tr := p.bus.Tracer; tr != nil {
			tr.OnReceive(m, msg.Header.Get)
		}
		// A party that does not read must not keep the connection from closing.
		select {
		case <-p.shut:
			return
		case p.messages <- m:
		}
	}
}

// isFor reports whether the party of the connection receives a message, which is not so of its own echo. A tap
// receives all, each once.
func (p *natsConn) isFor(m protocol.Message, subj string) bool {
	if p.who != tap {
		return p.who.ShouldReceive(m)
	}
	return copyNumber(m, subj) <= 0
}

// flushAndClose closes the connection after all sent messages have reached the server.
func (p *natsConn) flushAndClose() {
	p.stopContextHook()
	p.sendMu.Lock() // let a Send finish
	defer p.sendMu.Unlock()
	if err := p.conn.FlushTimeout(serverTimeout); err != nil {
		p.mu.Lock()
		if p.why == nil {
			p.why = fmt.Errorf("natsbus: %s: last messages may be lost: %w", p.who, err)
		}
		p.mu.Unlock()
	}
	p.conn.Close()
}

// Send implements [bus.Conn].
func (p *natsConn) Send(ctx context.Context, ms ...protocol.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.who == tap {
		return errors.New("natsbus: a tap only listens")
	}
	if err := bus.ValidateSend(p.who, ms); err != nil {
		return err
	}
	// The lock keeps the order of messages, and guards the buffer.
	p.sendMu.Lock()
	defer p.sendMu.Unlock()
	for _, m := range ms {
		select {
		case <-p.shut:
			return p.closedError()
		default:
		}
		var err error
		var sign signFunc
		if m.To == protocol.Coordinator && m.IsBinding() {
			sign = p.sign
		}
		if p.buf, err = protocol.AppendSigned(p.buf[:0], m, sign); err != nil {
			return err
		}
		msg := &nats.Msg{Data: p.buf}
		if tr := p.bus.Tracer; tr != nil {
			msg.Header = make(nats.Header)
			tr.OnSend(m, msg.Header.Set)
		}
		for _, to := range receiversOf(m, len(p.buf)) {
			msg.Subject = p.subjects.subjectTo(to, m)
			if err := p.conn.PublishMsg(msg); err != nil {
				if errors.Is(err, nats.ErrMaxPayload) {
					err = fmt.Errorf("%w: it has %d bytes with its headers, and is not sent: the server takes %d; raise its max_payload, or send less (for bids: lower MaxBytes of the call)", err, messageBytes(msg), p.conn.MaxPayload())
				}
				return fmt.Errorf("natsbus: %s sends %s to %q: %w", p.who, m.KindName(), m.To, err)
			}
		}
	}
	// One large message must not hold its memory for good.
	if cap(p.buf) > maxKeptBuffer {
		p.buf = nil
	}
	return nil // the connection flushes by itself
}

// maxKeptBuffer is the size up to which the buffer is reused for the next message.
const maxKeptBuffer = 1 << 20

// closedError returns the error of Send on a connection that has ended.
func (p *natsConn) closedError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why != nil {
		return fmt.Errorf("%w: %w", bus.ErrClosed, p.why)
	}
	return bus.ErrClosed
}

// Messages implements [bus.Conn].
func (p *natsConn) Messages() <-chan protocol.Message { return p.messages }

// Close implements [bus.Conn]. It waits until all sent messages have reached the
// server.
func (p *natsConn) Close() error {
	p.shutDown(nil)
	<-p.finish
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}
