package natsbus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A Hub gives each party a connection of its own to one NATS server.
type Hub struct {
	// Log hears of messages that are dropped; nil is silence. Set it before
	// the first Join.
	Log *slog.Logger

	// Limits bound each speaker by itself; nil is no limit, but Pending for all
	// of them together. Set them before the first Join.
	Limits *Limits

	// Tracer is shown what is said and heard, with the headers that it travels
	// under; nil is none. Set it before the first Join.
	Tracer Tracer

	// Pending is how many messages may wait for one party before its port
	// fails; 0 is 65,536.
	Pending int

	url   string
	login func(protocol.Party) ([]nats.Option, error)
	count [faults]atomic.Uint64

	refused tally
	open    atomic.Int64 // ports
}

// A Tracer may mark a message as it leaves, and reads the mark where it
// arrives. It is asked from several goroutines, and trusts no header.
type Tracer interface {
	Said(m protocol.Message, set func(key, value string))
	Heard(m protocol.Message, get func(key string) string)
}

// Dial returns a hub over the server at url. Login returns how a party proves
// who it is, such as nats.UserInfo or nats.Nkey; nil is for a server that asks
// nobody. The server must take messages of 8 MiB (max_payload), and should hold
// each user to its party's subjects, as the package comment says. Dial itself
// connects to nothing.
func Dial(url string, login func(protocol.Party) ([]nats.Option, error)) *Hub {
	if login == nil {
		login = func(protocol.Party) ([]nats.Option, error) { return nil, nil }
	}
	return &Hub{url: url, login: login}
}

// Join implements [bus.Hub].
func (h *Hub) Join(ctx context.Context, who protocol.Party) (bus.Port, error) {
	if err := bus.CheckParty(who); err != nil {
		return nil, err
	}
	return h.join(ctx, who, hears(who))
}

// tap is a user's name that no party can have.
const tap protocol.Party = "TAP"

// Tap returns a port that hears everything that is said, to whomever, and can
// say nothing.
func (h *Hub) Tap(ctx context.Context) (bus.Port, error) {
	return h.join(ctx, tap, []string{everything})
}

// How long a server may take to answer.
const patience = 10 * time.Second

// ping is how often a port asks its server whether it is there; after a few
// questions without an answer the port fails. A hub takes a port that it does not
// hear for gone after 15 s: then who only listens, or stands by, would go on for
// minutes at a line that the hub has closed.
const (
	ping      = 5 * time.Second
	mostPings = 3
)

func (h *Hub) join(ctx context.Context, who protocol.Party, subjects []string) (*port, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	login, err := h.login(who)
	if err != nil {
		return nil, fmt.Errorf("natsbus: join as %s: %w", who, err)
	}
	pending := h.Pending
	if pending <= 0 {
		pending = 1 << 16
	}
	p := newPort(h, who, pending)
	options := append([]nats.Option{
		nats.Name("gridbid " + string(who)),
		nats.NoReconnect(), // what was said meanwhile would be missing in silence
		nats.Timeout(patience), nats.PingInterval(ping), nats.MaxPingsOutstanding(mostPings),
		nats.CustomInboxPrefix(Inbox(who)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if !harmless(err) {
				p.fail(err)
			}
		}),
		nats.ClosedHandler(func(c *nats.Conn) { p.fail(c.LastError()) }),
	}, login...)
	conn, err := nats.Connect(h.url, options...)
	if err != nil {
		return nil, fmt.Errorf("natsbus: join as %s: %w", who, refused(err))
	}
	p.conn = conn
	for _, s := range subjects {
		if _, err = conn.ChanSubscribe(s, p.raw); err != nil {
			break
		}
	}
	// The server has read our subscriptions when it answers, and has said so
	// before if it refused one.
	if err == nil {
		err = conn.FlushTimeout(patience)
	}
	if last := conn.LastError(); err == nil && !harmless(last) {
		err = last
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("natsbus: join as %s: %w", who, err)
	}
	p.live(ctx)
	return p, nil
}

// refused says what it means that a server within this process hung up: it has no
// time to say that it does not know a key.
func refused(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return fmt.Errorf("%w: the server hung up, as it does on a key that it does not let in", err)
	}
	return err
}

// harmless reports whether an error of a connection is about headers that cannot be
// read. Their message is heard without them, and whoever speaks may send such.
func harmless(err error) bool { return errors.Is(err, nats.ErrBadHeaderMsg) }

// MaxMessageBytes returns how long an encoded message may be for the hub's parties to
// hear it from speakers whose servers take messages of some sizes, in bytes: as long as
// the least of those and Limits.Size allow, with room for the headers of a trace. A size
// of 0 is not known.
func (h *Hub) MaxMessageBytes(payloads ...int) int {
	most := protocol.MaxMessage
	if h.Limits != nil {
		most = min(most, h.Limits.Size)
	}
	for _, n := range payloads {
		if n > 0 {
			most = min(most, n)
		}
	}
	return most - mostHeader
}

// Ready says that no party is joined, or nil.
func (h *Hub) Ready() error {
	if h.open.Load() == 0 {
		return errors.New("natsbus: not connected")
	}
	return nil
}

// Counts says what became of the messages that reached a hub's parties. One
// message to three parties counts three times.
type Counts struct {
	Heard        uint64 // delivered
	Forged       uint64 // said under a subject that names another speaker, listener or kind
	Unreadable   uint64
	UnknownKind  uint64 // said by a newer party
	OtherVersion uint64 // of a protocol version that this program does not read
	OverLimit    uint64 // beyond the Limits of their speaker
	Slow         uint64 // ports that failed because their party did not keep up
}

// Counts returns the counts of all the hub's ports until now.
func (h *Hub) Counts() Counts {
	return Counts{
		Heard: h.count[sound].Load(), Forged: h.count[forged].Load(), Unreadable: h.count[unreadable].Load(),
		UnknownKind: h.count[unknownKind].Load(), OtherVersion: h.count[tooOld].Load() + h.count[tooNew].Load(), Slow: h.count[slow].Load(),
		OverLimit: h.count[tooFast].Load() + h.count[tooMuch].Load() + h.count[tooLarge].Load() + h.count[tooMany].Load(),
	}
}
