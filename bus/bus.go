// Package bus carries messages between parties, and lets them live.
//
// A party that decides has two halves. The pure half is a [Machine]: it reads
// one message, or is told the time, and says what it has to say. It starts no
// goroutine, reads no clock and does no I/O. The other half is a loop. [Loop]
// is the only one that runs a machine for real; a replay has the only one that
// runs it in simulated time. Nothing else differs between the two.
//
// The bus carries what takes time: requests, and facts about another party.
// What a party asks of its own state it asks by a function call, because a
// caller that goes on at once must not read a state that is still on its way.
//
// # Promises
//
// Every [Bus] keeps them, and package bustest holds every Hub to them.
//
//   - What one party says arrives at each listener in the order it was said,
//     whether it was said to that listener or to everyone.
//   - What different parties say arrives in any order, so no machine's outcome
//     may depend on it.
//   - A message may arrive twice. It has the same From and Seq: see
//     [protocol.Deduplicator].
//   - A party hears what is said after its Join returned, to it or to everyone
//     as [protocol.Party.Hears] has it: no party hears what it says to everyone
//     itself, and what belongs to one site hears only what is said to it.
//   - A party can speak only in its own name.
//   - Nothing is dropped in silence. A port that cannot keep up fails.
package bus

import (
	"context"
	"errors"

	"github.com/gridbid/gridbid/protocol"
)

// A Machine is the pure half of a party. Given the same messages and ticks in
// the same order, it says the same things, on any computer, for ever.
type Machine interface {
	// Step reads one message and returns what the machine says to it.
	Step(now protocol.Time, m protocol.Message) []protocol.Message

	// Tick tells the machine the time, and returns what it says to that.
	// Invariant: after Tick(now), Due is 0 or after now.
	Tick(now protocol.Time) []protocol.Message

	// Due is when the machine next wants a Tick if nothing is said to it
	// before. 0 means that it is content to wait.
	Due() protocol.Time
}

// A Bus is where parties meet.
type Bus interface {
	// Connect lets who speak and hear until ctx ends or the port is closed. It
	// returns when whatever is said from now on will be heard.
	Connect(ctx context.Context, who protocol.Party) (Conn, error)
}

// A Conn is one party's own connection. Its methods may be called from several
// goroutines.
type Conn interface {
	// Send sends messages to their To, or to everyone but their speaker if To
	// is empty. Their order is kept, and they are on their way when it
	// returns. It refuses a message whose From is another party, and then
	// sends none of them.
	Send(ctx context.Context, ms ...protocol.Message) error

	// Messages is what is said to the party and to everyone. It closes when the
	// port closes, when its ctx ends, or when the port fails: Close tells
	// which.
	Messages() <-chan protocol.Message

	// Close ends the port. It returns why the port had failed before, or nil;
	// closing it again returns the same.
	Close() error
}

// ErrClosed says that a port was closed while somebody used it.
var ErrClosed = errors.New("bus: port is closed")
