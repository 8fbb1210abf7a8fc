// Package eventlog stores the events of a coordinator on a JetStream stream and
// makes sure that one coordinator at a time writes there.
//
// An entry of the stream holds the events of one step. The server accepts it only
// if the stream ends where its writer expects (a fenced write). So of two writers
// one fails, however long it was paused, before it sends a message that the
// other does not know of. A lease in a KV bucket keeps standbys from trying
// while the leader lives: it lasts for [Config.Lease], and the leader renews it
// four times in that time. When it expires, a standby takes over: it reads all
// entries, and its own first entry fences the former leader off.
//
// Snapshots bound what a restart must read: see [Term.WriteSnapshot].
//
// When [Term.AppendEvents] returns, the server has the entries, as durably as it flushes its
// files. By default a server process that is killed loses none, but one that
// loses power can lose the last minutes, unless the stream has replicas or the
// server's configuration has sync_interval: always.
//
// Package coordinator/leader runs a market on it, coordinator/snapshot makes the
// snapshots.
package eventlog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

// Config configures an event log. The zero of a field means its default.
type Config struct {
	Replicas  int           // servers that hold a copy; default: as many as there are, or 1 for a new stream
	Lease     time.Duration // a leader silent for so long loses its lease; at least 1s; default 2s
	Keep      time.Duration // how long entries stay after a snapshot covers them; default 2160h
	Log       *slog.Logger  // nil: no log
	OnStandby func()        // called when another coordinator leads and this one stands by; nil: nothing is called
}

// A Log is an open event log. Several processes may have it open; one at a time
// writes, in a [Term].
type Log struct {
	cfg        Config
	conn       *nats.Conn
	js         jetstream.JetStream
	stream     jetstream.Stream // of events
	snapshots  jetstream.Stream // of snapshots
	kv         jetstream.KeyValue
	connClosed chan struct{} // closed when the connection closes
}

const (
	streamName         = "GRIDBID"
	snapshotStreamName = "GRIDBID_SUMMARY"
	leaseKey           = "coordinator"
	incarnationHeader  = "Gridbid-Life"
	// serverTimeout bounds the wait for the server to store a message.
	serverTimeout = 5 * time.Second
)

// Open opens the event log of who on the server of natsBus, and makes its streams if
// there are none. The server needs JetStream; an error says what to configure.
func Open(ctx context.Context, natsBus *natsbus.Bus, who protocol.Party, cfg Config) (*Log, error) {
	if cfg.Lease == 0 {
		cfg.Lease = 2 * time.Second
	}
	if cfg.Keep == 0 {
		cfg.Keep = 90 * 24 * time.Hour
	}
	if cfg.Lease < time.Second {
		return nil, fmt.Errorf("eventlog: lease %v: want 1s or more", cfg.Lease)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.OnStandby == nil {
		cfg.OnStandby = func() {}
	}
	b := &Log{cfg: cfg, connClosed: make(chan struct{})}
	conn, err := natsBus.RawConn(who, nats.ClosedHandler(func(*nats.Conn) { close(b.connClosed) }))
	if err != nil {
		return nil, err
	}
	b.conn = conn
	if err := b.openStreams(ctx); err != nil {
		conn.Close()
		if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) || errors.Is(err, nats.ErrNoResponders) {
			err = fmt.Errorf("%w; configure a jetstream section with a store_dir on the server, or, if it has one, read in its log why JetStream is off: after its disk was full it must be restarted", err)
		}
		return nil, fmt.Errorf("eventlog: open: %w", err)
	}
	return b, nil
}

// MaxPayload returns how many bytes of one message the server takes.
func (b *Log) MaxPayload() int { return int(b.conn.MaxPayload()) }

// openStreams makes or updates the two streams and the bucket of the lease. The streams
// deny the deletion of single entries; the bucket is in memory.
func (b *Log) openStreams(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*serverTimeout)
	defer cancel()
	if b.js, err = jetstream.New(b.conn); err != nil {
		return err
	}
	replicas := b.cfg.Replicas
	if replicas == 0 {
		if replicas, err = existingReplicas(ctx, b.js); err != nil {
			return err
		}
	}
	b.stream, err = b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: streamName, Subjects: []string{natsbus.EventLogSubject}, Storage: jetstream.FileStorage, Replicas: replicas,
		DenyDelete: true, Description: "facts of the Gridbid coordinator",
	})
	if err != nil {
		return err
	}
	b.snapshots, err = b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: snapshotStreamName, Subjects: []string{natsbus.SnapshotSubject}, Storage: jetstream.FileStorage, Replicas: replicas,
		DenyDelete: true, Description: "what is left of older facts of the Gridbid coordinator",
	})
	if err != nil {
		return err
	}
	b.kv, err = b.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: natsbus.LeaseBucket, History: 1, Replicas: replicas, Storage: jetstream.MemoryStorage,
		LimitMarkerTTL: time.Second, Description: "who coordinates",
	})
	return err
}

// existingReplicas returns the number of copies of an existing event log, or 1 if there is
// none. An error other than "not found" must not count as "none", for example
// while the servers of a cluster elect a leader: Open would then reduce the
// stream to one copy and delete the others.
func existingReplicas(ctx context.Context, js jetstream.JetStream) (int, error) {
	n := 1
	for _, name := range []string{streamName, snapshotStreamName} {
		was, err := js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		n = max(n, was.CachedInfo().Config.Replicas)
	}
	return n, nil
}

// Close closes the connection; an open term ends.
func (b *Log) Close() {
	b.conn.Close()
	<-b.connClosed
}

// newHolderName returns a value that distinguishes holders of the lease: host and process
// for operators, and a random part that no other term has.
func newHolderName() []byte {
	host, _ := os.Hostname()
	return fmt.Appendf(nil, "%s %d %s", host, os.Getpid(), rand.Text())
}
