// Package bus carries messages between parties, and runs the parties' state machines.
//
// A party that decides has two parts. The pure part is a [Machine]: it processes one message, or a
// clock tick, and returns the messages that it sends. It starts no goroutine, reads no clock and
// does no I/O. The other part is a loop: [Loop] runs a machine in production, and the replay's
// loop (scenarios/sim/loop) runs it in simulated time. Nothing else differs between the two.
//
// The bus is for what takes time: requests, and events at another party. A party queries its own
// state by function call, because a caller that continues at once must not read a state that is
// still in transit.
//
// # Promises
//
// Every [Bus] keeps them; package bustest tests each implementation.
//
//   - The messages of one sender arrive at each receiver in the order in which they were sent,
//     whether they were sent to that receiver or broadcast.
//   - The messages of different senders arrive in any order, so no machine's outcome may depend on
//     it.
//   - A message may arrive twice, with the same From and Seq: see [protocol.Deduplicator].
//   - A party receives what is sent after its Connect returned, to it or to all, as
//     [protocol.Party.ShouldReceive] defines: no party receives its own broadcasts, and a site's private
//     parties receive only what is sent to them.
//   - A party can send only in its own name.
//   - A message is delivered exactly as its sender encoded it: the bus never edits a body
//     (decision 0220).
//   - Nothing is dropped silently. A connection that cannot keep up fails.
package bus

import (
	"context"
	"errors"

	"github.com/gridbid/gridbid/protocol"
)

// A Machine is the pure part of a party. Given the same messages and ticks in the same order, it
// sends the same messages, on any computer, forever.
type Machine interface {
	// Step processes one message and returns the messages that the machine sends in answer.
	Step(now protocol.Time, m protocol.Message) []protocol.Message

	// Tick passes the time to the machine, and returns the messages that it sends. Invariant:
	// after Tick(now), Due is 0 or after now.
	Tick(now protocol.Time) []protocol.Message

	// Due is when the machine next needs a Tick if no message arrives before; 0: never.
	Due() protocol.Time
}

// A Bus connects parties.
type Bus interface {
	// Connect connects who until ctx ends or the connection is closed. When it returns, whatever
	// is sent from then on will be received.
	Connect(ctx context.Context, who protocol.Party) (Conn, error)
}

// A Conn is one party's connection. Its methods may be called from several goroutines.
type Conn interface {
	// Send sends messages to their To, or to every other party if To is empty. Their order is
	// kept, and they are on their way when it returns. If one of them has another party's From, it
	// returns an error and sends none.
	Send(ctx context.Context, ms ...protocol.Message) error

	// Messages delivers what is sent to the party, and broadcasts. The channel closes when the
	// connection is closed, when its ctx ends, or when the connection fails: Close returns why.
	Messages() <-chan protocol.Message

	// Close closes the connection. It returns why the connection had failed before, or nil;
	// closing it once more returns the same.
	Close() error
}

// ErrClosed is the error of a Send on a closed connection.
var ErrClosed = errors.New("bus: connection is closed")
