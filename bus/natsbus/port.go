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

type port struct {
	hub    *Hub
	who    protocol.Party
	conn   *nats.Conn
	raw    chan *nats.Msg // one channel for all subjects, so that their order is kept
	heard  chan protocol.Message
	forget func() bool // stops the callback on the end of ctx

	saying sync.Mutex
	buf    []byte // encoding buffer of Say

	mu     sync.Mutex
	why    error         // first failure
	over   bool          // the port has failed or was closed
	shut   chan struct{} // closed when over
	finish chan struct{} // closed when the connection is closed
}

func newPort(h *Hub, who protocol.Party, pending int) *port {
	return &port{
		hub: h, who: who,
		raw: make(chan *nats.Msg, pending), heard: make(chan protocol.Message, outbound),
		shut: make(chan struct{}), finish: make(chan struct{}),
	}
}

// outbound is the number of decoded messages that may wait, so that decoding and
// the party's work overlap.
const outbound = 64

func (p *port) live(ctx context.Context) {
	p.hub.open.Add(1)
	p.forget = context.AfterFunc(ctx, func() { p.end(nil) })
	var t *turnstile
	if l := p.hub.Limits; l != nil {
		t = newTurnstile(*l)
		go p.sort(t)
	}
	go p.listen(t)
}

// end closes the port; err is the reason, nil for a call of Close.
func (p *port) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.over, p.why = true, err
		close(p.shut)
		if errors.Is(err, nats.ErrSlowConsumer) {
			p.hub.note(p.who, slow, "", err)
		}
	}
}

// fail is the error handler of the connection.
func (p *port) fail(err error) {
	switch {
	case err == nil:
		err = fmt.Errorf("natsbus: %s: connection closed by the server", p.who)
	case errors.Is(err, nats.ErrSlowConsumer):
		err = fmt.Errorf("natsbus: %s: more than %d messages wait for the party: %w", p.who, cap(p.raw), err)
	default:
		err = fmt.Errorf("natsbus: %s: %w", p.who, err)
	}
	p.end(err)
}

// listen decodes incoming messages until the port ends, and then closes the connection.
func (p *port) listen(t *turnstile) {
	defer close(p.finish)
	defer close(p.heard)
	defer p.hub.open.Add(-1)
	defer p.hangUp()
	for {
		msg, ok := p.next(t)
		if !ok {
			return
		}
		m, f, err := read(msg.Subject, msg.Data)
		if f == sound && p.who != tap && !p.who.Hears(m) {
			continue // its own echo
		}
		p.hub.note(p.who, f, msg.Subject, err)
		if f != sound {
			continue
		}
		if tr := p.hub.Tracer; tr != nil {
			tr.Heard(m, msg.Header.Get)
		}
		select {
		case <-p.shut:
			return
		case p.heard <- m:
		}
	}
}

// hangUp closes the connection after all sent messages have reached the server.
func (p *port) hangUp() {
	p.forget()
	p.saying.Lock() // let a Say finish
	defer p.saying.Unlock()
	if err := p.conn.FlushTimeout(patience); err != nil {
		p.mu.Lock()
		if p.why == nil {
			p.why = fmt.Errorf("natsbus: %s: last messages may be lost: %w", p.who, err)
		}
		p.mu.Unlock()
	}
	p.conn.Close()
}

// Say implements [bus.Port].
func (p *port) Say(ctx context.Context, ms ...protocol.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.who == tap {
		return errors.New("natsbus: a tap only listens")
	}
	if err := bus.CheckSay(p.who, ms); err != nil {
		return err
	}
	p.saying.Lock()
	defer p.saying.Unlock()
	for _, m := range ms {
		select {
		case <-p.shut:
			return p.closed()
		default:
		}
		var err error
		if p.buf, err = protocol.AppendEncode(p.buf[:0], m); err != nil {
			return err
		}
		msg := &nats.Msg{Subject: subject(m), Data: p.buf}
		if tr := p.hub.Tracer; tr != nil {
			msg.Header = make(nats.Header)
			tr.Said(m, msg.Header.Set)
		}
		if err := p.conn.PublishMsg(msg); err != nil {
			if errors.Is(err, nats.ErrMaxPayload) {
				err = fmt.Errorf("%w: it has %d bytes with its headers, and is not sent: the server takes %d; raise its max_payload, or say less (an offer: by a lower MaxBytes of the call)", err, weight(msg), p.conn.MaxPayload())
			}
			return fmt.Errorf("natsbus: %s says %s to %q: %w", p.who, m.Kind(), m.To, err)
		}
	}
	if cap(p.buf) > keep {
		p.buf = nil
	}
	return nil // the connection flushes by itself
}

// keep is the size up to which the buffer is reused for the next message.
const keep = 1 << 20

// closed returns the error of Say at a port that has ended.
func (p *port) closed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why != nil {
		return fmt.Errorf("%w: %w", bus.ErrClosed, p.why)
	}
	return bus.ErrClosed
}

// Heard implements [bus.Port].
func (p *port) Heard() <-chan protocol.Message { return p.heard }

// Close implements [bus.Port]. It waits until all sent messages have reached the
// server.
func (p *port) Close() error {
	p.end(nil)
	<-p.finish
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}
