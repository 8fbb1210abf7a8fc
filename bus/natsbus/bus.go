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

// A Bus gives each party a connection of its own to one NATS server.
type Bus struct {
	// Log receives a warning for messages that are dropped; nil: no log. Set it
	// before the first Connect.
	Log *slog.Logger

	// Limits bound the messages of each sender; nil: only MaxPending bounds those of
	// all senders together. Set them before the first Connect.
	Limits *Limits

	// Tracer is called for sent and received messages, with their headers; nil:
	// none. Set it before the first Connect.
	Tracer Tracer

	// MaxPending is how many messages may wait for one party before its connection
	// fails; 0 is 65,536.
	MaxPending int

	url   string
	login func(protocol.Party) ([]nats.Option, error)
	key   func() (signFunc, error) // with which a connection signs what binds; nil: it signs nothing
	count [numDropReasons]atomic.Uint64

	drops     dropCounter
	openConns atomic.Int64 // open connections
}

// A Tracer may set headers of a message that is sent, and reads them where it is
// received. It must be safe for concurrent use, and must not trust headers.
type Tracer interface {
	OnSend(m protocol.Message, set func(key, value string))
	OnReceive(m protocol.Message, get func(key string) string)
}

// Dial returns a Bus over the server at url. Login returns the credentials of a
// party, such as nats.UserInfo or nats.Nkey; nil is for a server without
// authentication. The server must accept messages of 8 MiB (max_payload), and should hold
// each user to its party's subjects, as the package comment says. Dial itself
// does not connect.
func Dial(url string, login func(protocol.Party) ([]nats.Option, error)) *Bus {
	if login == nil {
		login = func(protocol.Party) ([]nats.Option, error) { return nil, nil }
	}
	return &Bus{url: url, login: login}
}

// Connect implements [bus.Bus].
func (h *Bus) Connect(ctx context.Context, who protocol.Party) (bus.Conn, error) {
	if err := bus.ValidateParty(who); err != nil {
		return nil, err
	}
	return h.connect(ctx, who, subscribedSubjects(who))
}

// tap is the name of the tap's user; no party can have it.
const tap protocol.Party = "TAP"

// OpenTap returns a connection that receives all messages of all parties, and cannot send.
func (h *Bus) OpenTap(ctx context.Context) (bus.Conn, error) {
	return h.connect(ctx, tap, []string{allSubjects})
}

// serverTimeout bounds the wait for an answer of the server.
const serverTimeout = 10 * time.Second

// pingInterval is the interval at which a connection pings its server; after maxMissedPings pings
// without an answer the connection fails. A server drops a silent client after 15 s; with
// the library's default a party that only receives would notice minutes later.
const (
	pingInterval   = 5 * time.Second
	maxMissedPings = 3
)

// connect opens the connection of who, and returns it when the server has accepted its
// subscriptions. A tap connects like a party.
func (h *Bus) connect(ctx context.Context, who protocol.Party, subjects []string) (*natsConn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	login, err := h.login(who)
	if err != nil {
		return nil, fmt.Errorf("natsbus: connect as %s: %w", who, err)
	}
	pending := h.MaxPending
	if pending <= 0 {
		pending = 1 << 16
	}
	p := newNatsConn(h, who, pending)
	if h.key != nil {
		if p.sign, err = h.key(); err != nil {
			return nil, fmt.Errorf("natsbus: connect as %s: %w", who, err)
		}
	}
	options := append([]nats.Option{
		nats.Name("gridbid " + string(who)),
		nats.NoReconnect(), // messages sent meanwhile would be lost without notice
		nats.Timeout(serverTimeout), nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(maxMissedPings),
		nats.CustomInboxPrefix(InboxPrefix(who)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if !isHarmlessError(err) {
				p.failConn(err)
			}
		}),
		nats.ClosedHandler(func(c *nats.Conn) { p.failConn(c.LastError()) }),
	}, login...)
	conn, err := nats.Connect(h.url, options...)
	if err != nil {
		return nil, fmt.Errorf("natsbus: connect as %s: %w", who, explainHangup(err))
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
		err = conn.FlushTimeout(serverTimeout)
	}
	if last := conn.LastError(); err == nil && !isHarmlessError(last) {
		err = last
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("natsbus: connect as %s: %w", who, err)
	}
	p.startReceiving(ctx)
	return p, nil
}

// explainHangup explains why a server within this process closed the connection: it does
// so on an unknown key, before it can report the reason.
func explainHangup(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return fmt.Errorf("%w: the server closed the connection, as it does on a key that it does not admit", err)
	}
	return err
}

// isHarmlessError reports whether an error of a connection is about unreadable headers. Any
// party can send such headers; the message is delivered without them.
func isHarmlessError(err error) bool { return errors.Is(err, nats.ErrBadHeaderMsg) }

// MaxMessageBytes returns the largest encoded message, in bytes, that reaches the
// Bus's parties from senders whose servers have the given payload limits: the
// least of these limits and Limits.Size, minus room for the headers of a trace and a signature.
// A payload of 0 is not known and does not count.
func (h *Bus) MaxMessageBytes(payloads ...int) int {
	most := protocol.MaxMessage
	if h.Limits != nil {
		most = min(most, h.Limits.Size)
	}
	for _, n := range payloads {
		if n > 0 {
			most = min(most, n)
		}
	}
	return most - maxHeaderBytes - protocol.SignatureSize
}

// CheckConnected returns an error while no party is connected.
func (h *Bus) CheckConnected() error {
	if h.openConns.Load() == 0 {
		return errors.New("natsbus: not connected")
	}
	return nil
}

// DeliveryCounts holds what became of the messages that reached a Bus's parties. One
// message to three parties counts three times.
type DeliveryCounts struct {
	Delivered    uint64 // delivered
	Forged       uint64 // sent under a subject that names another sender, receiver or kind
	Unreadable   uint64
	UnknownKind  uint64 // sent by a newer party
	OtherVersion uint64 // of a protocol version that this program does not read
	OverLimit    uint64 // beyond the Limits of their sender
	Slow         uint64 // connections that failed because their party did not keep up
}

// DeliveryCounts returns the counts of all connections of the Bus so far.
func (h *Bus) DeliveryCounts() DeliveryCounts {
	return DeliveryCounts{
		Delivered: h.count[delivered].Load(), Forged: h.count[forgedSender].Load(), Unreadable: h.count[undecodable].Load(),
		UnknownKind: h.count[unknownMessageKind].Load(), OtherVersion: h.count[oldVersion].Load() + h.count[tooNew].Load(), Slow: h.count[slowConsumer].Load(),
		OverLimit: h.count[rateExceeded].Load() + h.count[queueFull].Load() + h.count[messageTooLarge].Load() + h.count[tooManySenders].Load(),
	}
}
