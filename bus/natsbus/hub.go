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
	// Log receives a warning for messages that are dropped; nil: no log. Set it
	// before the first Join.
	Log *slog.Logger

	// Limits bound the messages of each sender; nil: only Pending bounds those of
	// all senders together. Set them before the first Join.
	Limits *Limits

	// Tracer is called for sent and received messages, with their headers; nil:
	// none. Set it before the first Join.
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

// A Tracer may set headers of a message that is sent, and reads them where it is
// received. It must be safe for concurrent use, and must not trust headers.
type Tracer interface {
	Said(m protocol.Message, set func(key, value string))
	Heard(m protocol.Message, get func(key string) string)
}

// Dial returns a hub over the server at url. Login returns the credentials of a
// party, such as nats.UserInfo or nats.Nkey; nil is for a server without
// authentication. The server must accept messages of 8 MiB (max_payload), and should hold
// each user to its party's subjects, as the package comment says. Dial itself
// does not connect.
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

// tap is the name of the tap's user; no party can have it.
const tap protocol.Party = "TAP"

// Tap returns a port that receives all messages of all parties, and cannot send.
func (h *Hub) Tap(ctx context.Context) (bus.Port, error) {
	return h.join(ctx, tap, []string{everything})
}

// patience bounds the wait for an answer of the server.
const patience = 10 * time.Second

// ping is the interval at which a port pings its server; after mostPings pings
// without an answer the port fails. A server drops a silent client after 15 s; with
// the library's default a party that only receives would notice minutes later.
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
		nats.NoReconnect(), // messages sent meanwhile would be lost without notice
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
	// When the server answers it has processed our subscriptions, and has reported
	// any that it refused.
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

// refused explains why a server within this process closed the connection: it does
// so on an unknown key, before it can report the reason.
func refused(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return fmt.Errorf("%w: the server closed the connection, as it does on a key that it does not admit", err)
	}
	return err
}

// harmless reports whether an error of a connection is about unreadable headers. Any
// party can send such headers; the message is delivered without them.
func harmless(err error) bool { return errors.Is(err, nats.ErrBadHeaderMsg) }

// MaxMessageBytes returns the largest encoded message, in bytes, that reaches the
// hub's parties from senders whose servers have the given payload limits: the
// least of these limits and Limits.Size, minus room for the headers of a trace.
// A payload of 0 is not known and does not count.
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

// Ready returns an error while no party is connected.
func (h *Hub) Ready() error {
	if h.open.Load() == 0 {
		return errors.New("natsbus: not connected")
	}
	return nil
}

// Counts holds what became of the messages that reached a hub's parties. One
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

// Counts returns the counts of all ports of the hub so far.
func (h *Hub) Counts() Counts {
	return Counts{
		Heard: h.count[sound].Load(), Forged: h.count[forged].Load(), Unreadable: h.count[unreadable].Load(),
		UnknownKind: h.count[unknownKind].Load(), OtherVersion: h.count[tooOld].Load() + h.count[tooNew].Load(), Slow: h.count[slow].Load(),
		OverLimit: h.count[tooFast].Load() + h.count[tooMuch].Load() + h.count[tooLarge].Load() + h.count[tooMany].Load(),
	}
}
