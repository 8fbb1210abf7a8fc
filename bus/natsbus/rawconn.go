package natsbus

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/protocol"
)

// RawConn returns a plain connection with the key of who, for uses other than
// messages between parties: package bus/eventlog. It does not reconnect. The
// caller closes it.
func (h *Bus) RawConn(who protocol.Party, more ...nats.Option) (*nats.Conn, error) {
	login, err := h.login(who)
	if err != nil {
		return nil, fmt.Errorf("natsbus: connect as %s: %w", who, err)
	}
	options := append([]nats.Option{
		nats.Name("gridbid event log of " + string(who)), nats.NoReconnect(), nats.Timeout(serverTimeout),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(maxMissedPings), nats.CustomInboxPrefix(InboxPrefix(who)),
	}, login...)
	conn, err := nats.Connect(h.url, append(options, more...)...)
	if err != nil {
		return nil, fmt.Errorf("natsbus: connect as %s: %w", who, explainHangup(err))
	}
	return conn, nil
}

// EventLogSubject is the subject of the coordinator's events, SnapshotSubject that of
// its snapshots, and LeaseBucket the bucket of its lease.
const (
	EventLogSubject = "gridbid.books"
	SnapshotSubject = "gridbid.summary"
	LeaseBucket     = "GRIDBID"
)

// eventLogSubjects lists what a coordinator may publish besides messages, for its event log.
var eventLogSubjects = []string{EventLogSubject, SnapshotSubject, "$KV." + LeaseBucket + ".>", "$JS.API.>"}
