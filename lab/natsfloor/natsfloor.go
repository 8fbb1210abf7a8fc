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

// A RoundSizes is what goes to and fro, in bytes.
type RoundSizes struct {
	Call, Offer int
	Entry       int // of the coordinator's stream
}

// A LatencyFloor is a coordinator's connection and one of each site, over which rounds
// are measured. The caller closes it.
type LatencyFloor struct {
	sites           int
	round           RoundSizes
	coordinatorConn *nats.Conn
	answers         chan *nats.Msg
	all             []*nats.Conn
}

// OpenFloor connects the coordinator and sites to the server of hub. Nobody else may
// listen to them there, and the coordinator's stream is there.
func OpenFloor(hub *natsbus.Bus, sites []string, r RoundSizes) (f *LatencyFloor, err error) {
	f = &LatencyFloor{sites: len(sites), round: r, answers: make(chan *nats.Msg, 2*len(sites))}
	defer func() {
		if err != nil {
			f.Close()
			err = fmt.Errorf("floor: %w", err)
		}
	}()
	if f.coordinatorConn, err = f.dialParty(hub, protocol.Coordinator); err != nil {
		return nil, err
	}
	if _, err := f.coordinatorConn.ChanSubscribe("gridbid.v1.*.coordinator.*", f.answers); err != nil {
		return nil, err
	}
	if err := f.coordinatorConn.FlushTimeout(roundTimeout); err != nil {
		return nil, err
	}
	for _, name := range sites {
		who := protocol.AgentParty(name)
		conn, err := f.dialParty(hub, who)
		if err != nil {
			return nil, err
		}
		offer, to := make([]byte, r.Offer), subjectOfKind(natsbus.SubjectBetween(who, protocol.Coordinator), "offer")
		if _, err := conn.Subscribe(callSubject, func(*nats.Msg) { _ = conn.Publish(to, offer) }); err != nil {
			return nil, err
		}
		if err := conn.FlushTimeout(roundTimeout); err != nil {
			return nil, err
		}
	}
	return f, nil
}

const roundTimeout = 10 * time.Second

var callSubject = subjectOfKind(natsbus.SubjectBetween(protocol.Coordinator, ""), "call")

// subjectOfKind puts a kind of message where a subject to listen to has a star.
func subjectOfKind(subject, is string) string { return subject[:len(subject)-1] + is }

func (f *LatencyFloor) dialParty(hub *natsbus.Bus, who protocol.Party) (*nats.Conn, error) {
	conn, err := hub.RawConn(who)
	if err == nil {
		f.all = append(f.all, conn)
	}
	return conn, err
}

// Close ends all connections.
func (f *LatencyFloor) Close() {
	for _, c := range f.all {
		c.Close()
	}
}

// MeasureRounds has the coordinator say a call to all sites and wait until each has
// answered; then it has so many entries written, one after the other, each
// acknowledged. It returns how long each of n rounds took.
func (f *LatencyFloor) MeasureRounds(ctx context.Context, writes, n int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	call, entry := make([]byte, f.round.Call), make([]byte, f.round.Entry)
	for i := range took {
		began := time.Now()
		if err := f.coordinatorConn.Publish(callSubject, call); err != nil {
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
			if _, err := f.coordinatorConn.RequestWithContext(ctx, natsbus.EventLogSubject, entry); err != nil {
				return nil, fmt.Errorf("floor: write: %w", err)
			}
		}
		took[i] = time.Since(began)
	}
	return took, nil
}
