package natsbus

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/protocol"
)

// Conn returns a plain connection by the key of who, for what is no conversation
// between parties: package books. It does not come back when it breaks. The
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

// BooksSubject is where the facts of the coordinator are kept, SummarySubject
// where what is left of older ones is, and BooksBucket where its lease is.
const (
	BooksSubject   = "gridbid.books"
	SummarySubject = "gridbid.summary"
	BooksBucket    = "GRIDBID"
)

// keeper is what a coordinator may publish beside its words, to keep books.
var keeper = []string{BooksSubject, SummarySubject, "$KV." + BooksBucket + ".>", "$JS.API.>"}
