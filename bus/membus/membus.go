// Package membus is a bus within one process.
//
// It passes messages on without encoding them, so senders and receivers must not
// change a message.
//
// Inboxes are unbounded: a slow receiver delays no other party, and a connection
// never fails. Package bus/natsbus is the bus between processes.
package membus

import (
	"context"
	"sync"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A Bus delivers at once and in order. The zero Hub is ready to use.
type Bus struct {
	mu    sync.Mutex
	conns []*memConn
}

// Connect implements [bus.Bus].
func (h *Bus) Connect(ctx context.Context, who protocol.Party) (bus.Conn, error) {
	if err := bus.ValidateParty(who); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &memConn{
		bus: h, who: who,
		mailReady: make(chan struct{}, 1), shut: make(chan struct{}), messages: make(chan protocol.Message, messageBuffer),
	}
	h.mu.Lock()
	h.conns = append(h.conns, p)
	p.stopContextHook = context.AfterFunc(ctx, func() { _ = p.Close() })
	h.mu.Unlock()
	go p.deliverMailbox()
	return p, nil
}

// messageBuffer is the buffer of a party's channel, so that one wake-up serves many messages.
const messageBuffer = 64

type memConn struct {
	bus             *Bus
	who             protocol.Party
	messages        chan protocol.Message
	stopContextHook func() bool // stops the callback on the end of ctx

	mu        sync.Mutex
	mail      []protocol.Message
	mailReady chan struct{} // has an element when there is mail

	once sync.Once
	shut chan struct{} // closed by Close
}

// Send implements [bus.Conn].
func (p *memConn) Send(ctx context.Context, ms ...protocol.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := bus.ValidateSend(p.who, ms); err != nil {
		return err
	}
	// One lock for the whole bus, so that all receivers get messages in the same order.
	p.bus.mu.Lock()
	defer p.bus.mu.Unlock()
	select {
	case <-p.shut:
		return bus.ErrClosed
	default:
	}
	for _, listener := range p.bus.conns {
		listener.enqueueMessages(ms)
	}
	return nil
}

func (p *memConn) enqueueMessages(ms []protocol.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.mail)
	for _, m := range ms {
		if p.who.ShouldReceive(m) {
			p.mail = append(p.mail, m)
		}
	}
	if before == 0 && len(p.mail) > 0 {
		select {
		case p.mailReady <- struct{}{}:
		default:
		}
	}
}

// Messages implements [bus.Conn].
func (p *memConn) Messages() <-chan protocol.Message { return p.messages }

// deliverMailbox moves mail to heard until the connection is closed.
func (p *memConn) deliverMailbox() {
	defer close(p.messages)
	var batch []protocol.Message
	for {
		select {
		case <-p.shut:
			return
		case <-p.mailReady:
		}
		p.mu.Lock()
		batch, p.mail = p.mail, batch[:0]
		p.mu.Unlock()
		for _, m := range batch {
			select {
			case <-p.shut:
				return
			case p.messages <- m:
			}
		}
		clear(batch) // release the messages for the garbage collector
	}
}

// Close implements [bus.Conn].
func (p *memConn) Close() error {
	p.once.Do(func() {
		p.bus.mu.Lock()
		defer p.bus.mu.Unlock()
		p.stopContextHook()
		for i, q := range p.bus.conns {
			if q == p {
				p.bus.conns = append(p.bus.conns[:i:i], p.bus.conns[i+1:]...)
				break
			}
		}
		close(p.shut)
	})
	return nil
}
