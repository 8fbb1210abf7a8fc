// Package natsfloor measures what NATS itself takes for a round of an auction, with
// nobody thinking: what a market over it cannot be faster than.
package natsfloor

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

// A Round is what goes to and fro, in bytes.
type Round struct {
	Call, Offer int
	Entry       int // of the coordinator's stream
}

// A Floor is a coordinator's connection and one of each site, over which rounds
// are measured. The caller closes it.
type Floor struct {
	sites   int
	round   Round
	chief   *nats.Conn
	answers chan *nats.Msg
	all     []*nats.Conn
}

// Open connects the coordinator and sites to the server of hub. Nobody else may
// listen to them there, and the coordinator's stream is there.
func Open(hub *natsbus.Hub, sites []string, r Round) (f *Floor, err error) {
	f = &Floor{sites: len(sites), round: r, answers: make(chan *nats.Msg, 2*len(sites))}
	defer func() {
		if err != nil {
			f.Close()
			err = fmt.Errorf("floor: %w", err)
		}
	}()
	if f.chief, err = f.dial(hub, protocol.Coordinator); err != nil {
		return nil, err
	}
	if _, err := f.chief.ChanSubscribe("gridbid.v1.*.coordinator.*", f.answers); err != nil {
		return nil, err
	}
	if err := f.chief.FlushTimeout(patience); err != nil {
		return nil, err
	}
	for _, name := range sites {
		who := protocol.Agent(name)
		conn, err := f.dial(hub, who)
		if err != nil {
			return nil, err
		}
		offer, to := make([]byte, r.Offer), kind(natsbus.Subject(who, protocol.Coordinator), "offer")
		if _, err := conn.Subscribe(asked, func(*nats.Msg) { _ = conn.Publish(to, offer) }); err != nil {
			return nil, err
		}
		if err := conn.FlushTimeout(patience); err != nil {
			return nil, err
		}
	}
	return f, nil
}

const patience = 10 * time.Second

var asked = kind(natsbus.Subject(protocol.Coordinator, ""), "call")

// kind puts a kind of message where a subject to listen to has a star.
func kind(subject, is string) string { return subject[:len(subject)-1] + is }

func (f *Floor) dial(hub *natsbus.Hub, who protocol.Party) (*nats.Conn, error) {
	conn, err := hub.Conn(who)
	if err == nil {
		f.all = append(f.all, conn)
	}
	return conn, err
}

// Close ends all connections.
func (f *Floor) Close() {
	for _, c := range f.all {
		c.Close()
	}
}

// Rounds has the coordinator say a call to all sites and wait until each has
// answered; then it has so many entries written, one after the other, each
// acknowledged. It returns how long each of n rounds took.
func (f *Floor) Rounds(ctx context.Context, writes, n int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	call, entry := make([]byte, f.round.Call), make([]byte, f.round.Entry)
	for i := range took {
		began := time.Now()
		if err := f.chief.Publish(asked, call); err != nil {
			return nil, fmt.Errorf("floor: %w", err)
		}
		for range f.sites {
			select {
			case <-f.answers:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		for range writes {
			if _, err := f.chief.RequestWithContext(ctx, natsbus.BooksSubject, entry); err != nil {
				return nil, fmt.Errorf("floor: write: %w", err)
			}
		}
		took[i] = time.Since(began)
	}
	return took, nil
}
