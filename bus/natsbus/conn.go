package natsbus

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/protocol"
)

// Conn returns a plain connection with the key of who, for uses other than
// messages between parties: package bus/eventlog. It does not reconnect. The
// caller closes it.
func (h *Hub) Conn(who protocol.Party, more ...nats.Option) (*nats.Conn, error) {
	login, err := h.login(who)
	if err != nil {
		return nil, fmt.Errorf("natsbus: connect as %s: %w", who, err)
	}
	options := append([]nats.Option{
		nats.Name("gridbid books of " + string(who)), nats.NoReconnect(), nats.Timeout(patience),
		nats.PingInterval(ping), nats.MaxPingsOutstanding(mostPings), nats.CustomInboxPrefix(Inbox(who)),
	}, login...)
	conn, err := nats.Connect(h.url, append(options, more...)...)
	if err != nil {
		return nil, fmt.Errorf("natsbus: connect as %s: %w", who, refused(err))
	}
	return conn, nil
}

// BooksSubject is the subject of the coordinator's events, SummarySubject that of
// its snapshots, and BooksBucket the bucket of its lease.
const (
	BooksSubject   = "gridbid.books"
	SummarySubject = "gridbid.summary"
	BooksBucket    = "GRIDBID"
)

// keeper lists what a coordinator may publish besides messages, for its event log.
var keeper = []string{BooksSubject, SummarySubject, "$KV." + BooksBucket + ".>", "$JS.API.>"}
