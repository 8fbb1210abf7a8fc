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

// A Hub delivers at once and in order. The zero Hub is ready to use.
type Hub struct {
	mu    sync.Mutex
	ports []*port
}

// Join implements [bus.Hub].
func (h *Hub) Join(ctx context.Context, who protocol.Party) (bus.Port, error) {
	if err := bus.CheckParty(who); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &port{
		hub: h, who: who,
		some: make(chan struct{}, 1), shut: make(chan struct{}), heard: make(chan protocol.Message, outbound),
	}
	h.mu.Lock()
	h.ports = append(h.ports, p)
	p.forget = context.AfterFunc(ctx, func() { _ = p.Close() })
	h.mu.Unlock()
	go p.deliver()
	return p, nil
}

// outbound is the buffer of a party's channel, so that one wake-up serves many messages.
const outbound = 64

type port struct {
	hub    *Hub
	who    protocol.Party
	heard  chan protocol.Message
	forget func() bool // stops the callback on the end of ctx

	mu   sync.Mutex
	mail []protocol.Message
	some chan struct{} // has an element when there is mail

	once sync.Once
	shut chan struct{} // closed by Close
}

// Say implements [bus.Port].
func (p *port) Say(ctx context.Context, ms ...protocol.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := bus.CheckSay(p.who, ms); err != nil {
		return err
	}
	// One lock for the whole bus, so that all receivers get messages in the same order.
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	select {
	case <-p.shut:
		return bus.ErrClosed
	default:
	}
	for _, listener := range p.hub.ports {
		listener.put(ms)
	}
	return nil
}

func (p *port) put(ms []protocol.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.mail)
	for _, m := range ms {
		if p.who.Hears(m) {
			p.mail = append(p.mail, m)
		}
	}
	if before == 0 && len(p.mail) > 0 {
		select {
		case p.some <- struct{}{}:
		default:
		}
	}
}

// Heard implements [bus.Port].
func (p *port) Heard() <-chan protocol.Message { return p.heard }

// deliver moves mail to heard until the connection is closed.
func (p *port) deliver() {
	defer close(p.heard)
	var batch []protocol.Message
	for {
		select {
		case <-p.shut:
			return
		case <-p.some:
		}
		p.mu.Lock()
		batch, p.mail = p.mail, batch[:0]
		p.mu.Unlock()
		for _, m := range batch {
			select {
			case <-p.shut:
				return
			case p.heard <- m:
			}
		}
		clear(batch) // release the messages for the garbage collector
	}
}

// Close implements [bus.Port].
func (p *port) Close() error {
	p.once.Do(func() {
		p.hub.mu.Lock()
		defer p.hub.mu.Unlock()
		p.forget()
		for i, q := range p.hub.ports {
			if q == p {
				p.hub.ports = append(p.hub.ports[:i:i], p.hub.ports[i+1:]...)
				break
			}
		}
		close(p.shut)
	})
	return nil
}
