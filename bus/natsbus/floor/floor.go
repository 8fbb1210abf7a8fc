// Package floor measures what NATS itself takes for a round of an auction, with
// nobody thinking: what a market over it cannot be faster than.
package floor

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

// A Round is what goes to and fro. Writes are entries of the coordinator's stream,
// of Entry bytes each, that are written one after the other, each acknowledged;
// the stream is there.
type Round struct {
	Sites       []string
	Call, Offer int // bytes
	Writes      int
	Entry       int // bytes
}

// Rounds has the coordinator's connection say a call to all sites, each on a
// connection of its own, and waits until each has answered; then it writes. It
// returns how long each of n rounds took.
func Rounds(ctx context.Context, hub *natsbus.Hub, r Round, n int) ([]time.Duration, error) {
	asked := natsbus.Subject(protocol.Coordinator, "")
	asked = asked[:len(asked)-1] + "call"
	answers := make(chan *nats.Msg, 2*len(r.Sites))
	chief, err := hub.Conn(protocol.Coordinator)
	if err != nil {
		return nil, err
	}
	defer chief.Close()
	for _, name := range r.Sites {
		who := protocol.Agent(name)
		conn, err := hub.Conn(who)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		to := natsbus.Subject(who, protocol.Coordinator)
		to = to[:len(to)-1] + "offer"
		data := make([]byte, r.Offer)
		if _, err := conn.Subscribe(asked, func(*nats.Msg) { _ = conn.Publish(to, data) }); err != nil {
			return nil, fmt.Errorf("floor: %w", err)
		}
		if err := conn.FlushTimeout(10 * time.Second); err != nil {
			return nil, fmt.Errorf("floor: %w", err)
		}
	}
	const heard = "gridbid.v1.*.coordinator.*"
	if _, err := chief.ChanSubscribe(heard, answers); err != nil {
		return nil, fmt.Errorf("floor: %w", err)
	}
	if err := chief.FlushTimeout(10 * time.Second); err != nil {
		return nil, fmt.Errorf("floor: %w", err)
	}
	took := make([]time.Duration, n)
	data, entry := make([]byte, r.Call), make([]byte, r.Entry)
	for i := range took {
		began := time.Now()
		if err := chief.Publish(asked, data); err != nil {
			return nil, fmt.Errorf("floor: %w", err)
		}
		for range r.Sites {
			select {
			case <-answers:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		for range r.Writes {
			if _, err := chief.RequestWithContext(ctx, natsbus.BooksSubject, entry); err != nil {
				return nil, fmt.Errorf("floor: write: %w", err)
			}
		}
		took[i] = time.Since(began)
	}
	return took, nil
}
