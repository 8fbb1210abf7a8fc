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
	"slices"
	"sync"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A Bus delivers at once and in order. The zero Bus is ready to use.
type Bus struct {
	mu        sync.Mutex
	conns     map[protocol.Party][]*memConn
	listeners []*memConn // of parties that receive broadcasts, as they connected
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
	if h.conns == nil {
		h.conns = make(map[protocol.Party][]*memConn)
	}
	h.conns[who] = append(h.conns[who], p)
	if !who.IsPrivate() {
		h.listeners = append(h.listeners, p)
	}
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
	mail      []protocol.Message // that found messages full, or follows such
	moving    bool               // deliverMailbox is moving mail to messages
	closed    bool               // messages is closed
	mailReady chan struct{}      // has an element when there is mail

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
	for _, m := range ms {
		if only := m.OnlyTo(); only != nil {
			for _, who := range only {
				for _, conn := range p.bus.conns[who] {
					conn.enqueueMessage(m)
				}
			}
			continue
		}
		to := p.bus.conns[m.To]
		if m.To == "" {
			to = p.bus.listeners
		}
		for _, conn := range to {
			if conn.who.ShouldReceive(m) { // a broadcast does not come back to its sender
				conn.enqueueMessage(m)
			}
		}
	}
	return nil
}

// enqueueMessage hands a message to its receiver: at once where nothing waits before it and there is
// room, which spares a switch to another goroutine, and by the mailbox otherwise.
func (p *memConn) enqueueMessage(m protocol.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if len(p.mail) == 0 && !p.moving {
		select {
		case p.messages <- m:
			return
		default:
		}
	}
	if p.mail = append(p.mail, m); len(p.mail) == 1 {
		select {
		case p.mailReady <- struct{}{}:
		default:
		}
	}
}

// Messages implements [bus.Conn].
func (p *memConn) Messages() <-chan protocol.Message { return p.messages }

// deliverMailbox moves mail to messages until the connection is closed.
func (p *memConn) deliverMailbox() {
	defer p.closeMessages()
	var batch []protocol.Message
	for {
		select {
		case <-p.shut:
			return
		case <-p.mailReady:
		}
		p.mu.Lock()
		batch, p.mail, p.moving = p.mail, batch[:0], true
		p.mu.Unlock()
		for _, m := range batch {
			select {
			case <-p.shut:
				return
			case p.messages <- m:
			}
		}
		clear(batch) // release the messages for the garbage collector
		p.mu.Lock()
		p.moving = false
		p.mu.Unlock()
	}
}

// closeMessages ends what the receiver reads.
func (p *memConn) closeMessages() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	close(p.messages)
}

// Close implements [bus.Conn].
func (p *memConn) Close() error {
	p.once.Do(func() {
		p.bus.mu.Lock()
		defer p.bus.mu.Unlock()
		p.stopContextHook()
		isThis := func(q *memConn) bool { return q == p }
		p.bus.conns[p.who] = slices.DeleteFunc(p.bus.conns[p.who], isThis)
		p.bus.listeners = slices.DeleteFunc(p.bus.listeners, isThis)
		close(p.shut)
	})
	return nil
}
