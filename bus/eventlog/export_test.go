package eventlog

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/gridbid/gridbid/protocol"
)

// Steal takes away whatever lease there is, as its end would.
func Steal(t *testing.T, b *Log) {
	t.Helper()
	if err := b.kv.Delete(t.Context(), leaseKey); err != nil {
		t.Fatal(err)
	}
}

// AppendUnawares appends as a writer does that has not noticed the end of its
// term.
func AppendUnawares(t *Term, ctx context.Context, ms []protocol.Message) error {
	blind := &Term{log: t.log, incarnation: t.incarnation, last: t.last, termEnded: make(chan struct{})}
	return blind.AppendEvents(ctx, ms)
}

// Entries returns how many entries there are.
func Entries(t *testing.T, b *Log) uint64 {
	t.Helper()
	info, err := b.stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}

// Purge loses entries before one.
func Purge(t *testing.T, b *Log, before uint64) {
	t.Helper()
	if err := b.stream.Purge(t.Context(), jetstream.WithPurgeSequence(before)); err != nil {
		t.Fatal(err)
	}
}

// RenewUnheard renews the lease of t as t does, but t hears no answer.
func RenewUnheard(t *testing.T, term *Term) {
	t.Helper()
	if _, err := term.log.kv.Put(t.Context(), leaseKey, term.name); err != nil {
		t.Fatal(err)
	}
}

// AskOldCopy has the lease of b read first from a copy that is behind by one.
func AskOldCopy(b *Log) { b.kv = &oldCopy{KeyValue: b.kv} }

type oldCopy struct {
	jetstream.KeyValue
	asked bool
}

func (c *oldCopy) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	e, err := c.KeyValue.Get(ctx, key)
	if err == nil && !c.asked {
		c.asked, e = true, before{e}
	}
	return e, err
}

type before struct{ jetstream.KeyValueEntry }

func (b before) Revision() uint64 { return b.KeyValueEntry.Revision() - 1 }

// Slow has the server of b answer what is written after a while.
func Slow(b *Log, after time.Duration) { b.js = slow{b.js, after} }

type slow struct {
	jetstream.JetStream
	after time.Duration
}

func (s slow) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := s.JetStream.PublishMsg(ctx, m, opts...)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(s.after):
		return ack, err
	}
}

// KeepNone has the server of b keep no lease.
func KeepNone(b *Log) { b.kv = none{b.kv} }

type none struct{ jetstream.KeyValue }

func (none) Create(context.Context, string, []byte, ...jetstream.KVCreateOpt) (uint64, error) {
	return 0, jetstream.ErrNoStreamResponse
}
