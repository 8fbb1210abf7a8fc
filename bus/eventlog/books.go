// Package eventlog keeps the facts of a coordinator on a JetStream stream, and
// settles who may write there.
//
// An entry of the stream holds what one step changed. It is accepted only if the
// stream ends where its writer thinks; so of two writers one fails, however long
// it was paused, before it says anything that the other does not know of. A
// lease in a KV bucket keeps others from trying as long as its holder lives: it
// lasts for [Config.Lease] and is renewed four times in that time. When it ends,
// whoever waits takes over: it reads all entries, and its first own entry shuts
// the former writer out.
//
// What a restart has to read is bounded by summaries: see [Books.Condense].
//
// Entries are on the server's disk when Append returns, to the extent that the
// server flushes its files: by default a killed server loses none, and one that
// loses power may lose those of its last minutes unless it has replicas, or
// sync_interval: always in its configuration.
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

// Config says how books are kept. The zero of a field is its default.
type Config struct {
	Replicas int           // servers that hold a copy; default as many as do, or 1
	Lease    time.Duration // a writer silent for so long is taken to be gone; at least 1s; default 2s
	Keep     time.Duration // for how long entries stay that a summary covers; default 2160h
	Log      *slog.Logger  // nil is silence
	Waits    func()        // called when somebody else writes, and is waited for; nil is nobody
}

// Books are open. Several may have them open; one at a time writes.
type Books struct {
	cfg    Config
	conn   *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream // of facts
	sums   jetstream.Stream // of summaries
	kv     jetstream.KeyValue
	broken chan struct{} // closed when the connection is
}

const (
	streamName  = "GRIDBID"
	summaryName = "GRIDBID_SUMMARY"
	leaseKey    = "coordinator"
	lifeHeader  = "Gridbid-Life"
	// patience is how long the server may take to write something down.
	patience = 5 * time.Second
)

// Open opens the books of who on the server of hub, and makes them if there are
// none. The server needs JetStream.
func Open(ctx context.Context, hub *natsbus.Hub, who protocol.Party, cfg Config) (*Books, error) {
	if cfg.Lease == 0 {
		cfg.Lease = 2 * time.Second
	}
	if cfg.Keep == 0 {
		cfg.Keep = 90 * 24 * time.Hour
	}
	if cfg.Lease < time.Second {
		return nil, fmt.Errorf("books: a lease of %v: want 1s or more", cfg.Lease)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Waits == nil {
		cfg.Waits = func() {}
	}
	b := &Books{cfg: cfg, broken: make(chan struct{})}
	conn, err := hub.Conn(who, nats.ClosedHandler(func(*nats.Conn) { close(b.broken) }))
	if err != nil {
		return nil, err
	}
	b.conn = conn
	if err := b.open(ctx); err != nil {
		conn.Close()
		if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) || errors.Is(err, nats.ErrNoResponders) {
			err = fmt.Errorf("%w; give the server a jetstream section with a store_dir, or, where it has one, see in its log why it keeps nothing: after a disk that was full it has to be started again", err)
		}
		return nil, fmt.Errorf("books: open: %w", err)
	}
	return b, nil
}

// MaxPayload returns how many bytes of one message the server takes.
func (b *Books) MaxPayload() int { return int(b.conn.MaxPayload()) }

func (b *Books) open(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*patience)
	defer cancel()
	if b.js, err = jetstream.New(b.conn); err != nil {
		return err
	}
	replicas := b.cfg.Replicas
	if replicas == 0 {
		if replicas, err = copies(ctx, b.js); err != nil {
			return err
		}
	}
	b.stream, err = b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: streamName, Subjects: []string{natsbus.BooksSubject}, Storage: jetstream.FileStorage, Replicas: replicas,
		DenyDelete: true, Description: "facts of the Gridbid coordinator",
	})
	if err != nil {
		return err
	}
	b.sums, err = b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: summaryName, Subjects: []string{natsbus.SummarySubject}, Storage: jetstream.FileStorage, Replicas: replicas,
		DenyDelete: true, Description: "what is left of older facts of the Gridbid coordinator",
	})
	if err != nil {
		return err
	}
	b.kv, err = b.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: natsbus.BooksBucket, History: 1, Replicas: replicas, Storage: jetstream.MemoryStorage,
		LimitMarkerTTL: time.Second, Description: "who coordinates",
	})
	return err
}

// copies returns how many copies there are of books, or 1 where there are none. That
// nobody answers for a stream, as while its servers choose a leader, is not to say that
// there is none: by one copy then the others would be deleted.
func copies(ctx context.Context, js jetstream.JetStream) (int, error) {
	n := 1
	for _, name := range []string{streamName, summaryName} {
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

// Close closes the books. A term that is open ends.
func (b *Books) Close() {
	b.conn.Close()
	<-b.broken
}

// name tells holders of the lease apart: host and process for people, and what no
// other term draws.
func name() []byte {
	host, _ := os.Hostname()
	return fmt.Appendf(nil, "%s %d %s", host, os.Getpid(), rand.Text())
}
