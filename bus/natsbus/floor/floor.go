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

// Rounds has the coordinator's connection say call bytes to all sites, each on
// a connection of its own, and waits until each has answered with offer bytes.
// It returns how long each of n rounds took.
func Rounds(ctx context.Context, hub *natsbus.Hub, sites []string, call, offer, n int) ([]time.Duration, error) {
	asked := natsbus.Subject(protocol.Coordinator, "")
	asked = asked[:len(asked)-1] + "call"
	answers := make(chan *nats.Msg, 2*len(sites))
	chief, err := hub.Conn(protocol.Coordinator)
	if err != nil {
		return nil, err
	}
	defer chief.Close()
	for _, name := range sites {
		who := protocol.Agent(name)
		conn, err := hub.Conn(who)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		to := natsbus.Subject(who, protocol.Coordinator)
		to = to[:len(to)-1] + "offer"
		data := make([]byte, offer)
		if _, err := conn.Subscribe(asked, func(*nats.Msg) { _ = conn.Publish(to, data) }); err != nil {
			return nil, fmt.Errorf("floor: %w", err)
		}
		if err := conn.FlushTimeout(10 * time.Second); err != nil {
			return nil, fmt.Errorf("floor: %w", err)
		}
	}
	heard := "gridbid.v1.*.coordinator.*"
	if _, err := chief.ChanSubscribe(heard, answers); err != nil {
		return nil, fmt.Errorf("floor: %w", err)
	}
	if err := chief.FlushTimeout(10 * time.Second); err != nil {
		return nil, fmt.Errorf("floor: %w", err)
	}
	took := make([]time.Duration, n)
	data := make([]byte, call)
	for i := range took {
		began := time.Now()
		if err := chief.Publish(asked, data); err != nil {
			return nil, fmt.Errorf("floor: %w", err)
		}
		for range sites {
			select {
			case <-answers:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		took[i] = time.Since(began)
	}
	return took, nil
}
