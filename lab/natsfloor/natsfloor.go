// Package natsfloor measures the time that NATS itself needs for the message exchange
// of an auction round, without any computation: a lower bound for a market over NATS.
package natsfloor

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

// A RoundSizes has the sizes of a round's messages, in bytes.
type RoundSizes struct {
	Call, Offer int
	Entry       int // of the coordinator's event log
}

// A LatencyFloor has a connection for the coordinator and one for each site, over which
// rounds are measured. Call Close at the end.
type LatencyFloor struct {
	sites           int
	round           RoundSizes
	coordinatorConn *nats.Conn
	answers         chan *nats.Msg
	all             []*nats.Conn
}

// OpenFloor connects the coordinator and sites to the server of natsBus. No other party may be
// subscribed there, and the coordinator's stream must exist.
func OpenFloor(natsBus *natsbus.Bus, sites []string, r RoundSizes) (f *LatencyFloor, err error) {
	f = &LatencyFloor{sites: len(sites), round: r, answers: make(chan *nats.Msg, 2*len(sites))}
	defer func() {
		if err != nil {
			f.Close()
			err = fmt.Errorf("natsfloor: %w", err)
		}
	}()
	if f.coordinatorConn, err = f.dialParty(natsBus, protocol.Coordinator); err != nil {
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
		conn, err := f.dialParty(natsBus, who)
		if err != nil {
			return nil, err
		}
		// Each site answers a call at once, with bids of the measured length.
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

// roundTimeout bounds the wait for a subscription to take effect.
const roundTimeout = 10 * time.Second

var callSubject = subjectOfKind(natsbus.SubjectBetween(protocol.Coordinator, ""), "call")

// subjectOfKind replaces the wildcard at the end of a subject by a kind of message.
func subjectOfKind(subject, is string) string { return subject[:len(subject)-1] + is }

// dialParty opens the connection of a party and registers it for Close.
func (f *LatencyFloor) dialParty(natsBus *natsbus.Bus, who protocol.Party) (*nats.Conn, error) {
	conn, err := natsBus.RawConn(who)
	if err == nil {
		f.all = append(f.all, conn)
	}
	return conn, err
}

// Close closes all connections.
func (f *LatencyFloor) Close() {
	for _, c := range f.all {
		c.Close()
	}
}

// MeasureRounds measures n rounds: the coordinator publishes a call to all sites, waits for
// an answer of each, and then writes some entries to the stream, one after the other,
// each acknowledged. It returns the time of each round.
func (f *LatencyFloor) MeasureRounds(ctx context.Context, writes, n int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	call, entry := make([]byte, f.round.Call), make([]byte, f.round.Entry)
	for i := range took {
		began := time.Now()
		if err := f.coordinatorConn.Publish(callSubject, call); err != nil {
			return nil, fmt.Errorf("natsfloor: %w", err)
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
				return nil, fmt.Errorf("natsfloor: write: %w", err)
			}
		}
		took[i] = time.Since(began)
	}
	return took, nil
}
