package eventlog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

// A Term is the time in which one party writes the books.
type Term struct {
	books   *Books
	life    uint32
	last    uint64        // sequence of the stream's last entry
	ended   atomic.Uint64 // the same, for others to read
	summary uint64        // sequence of the last message of a summary, as it was read
	covered atomic.Uint64 // up to there a summary is written
	buf     []byte

	once sync.Once
	over chan struct{} // closed when the term ends
	done chan struct{} // closed when the lease is no longer renewed
	name []byte        // what the lease says while it is this term's
	held uint64        // revision of the lease
	quit chan struct{}

	asks   context.Context // of what is asked to renew the lease
	giveUp context.CancelFunc
}

// Begin waits until nobody else writes, hands all facts to restore, in order,
// and begins a term. It returns when ctx ends, or the connection breaks, or the
// server keeps no lease, or restore fails.
func (b *Books) Begin(ctx context.Context, restore func(protocol.Message) error) (*Term, error) {
	t := &Term{books: b, name: name(), over: make(chan struct{}), done: make(chan struct{}), quit: make(chan struct{})}
	if err := t.lease(ctx); err != nil {
		return nil, fmt.Errorf("books: wait for the lease: %w", err)
	}
	t.asks, t.giveUp = context.WithCancel(context.Background())
	go t.renew()
	if err := t.begin(ctx, restore); err != nil {
		t.End()
		return nil, err
	}
	if most := b.conn.MaxPayload(); most < protocol.MaxMessage {
		b.cfg.Log.Warn("the server takes no message as long as one of the books may be; raise its max_payload", "takes", most, "want", protocol.MaxMessage)
	}
	return t, nil
}

// begin reads the books and writes the first entry of the term, or gives up when
// the lease is lost: what it waits for may never come then.
func (t *Term) begin(ctx context.Context, restore func(protocol.Message) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-t.over:
			cancel(errLost)
		case <-ctx.Done():
		}
	}()
	for {
		if err := t.read(ctx, restore); err != nil {
			return fmt.Errorf("books: read: %w", err)
		}
		err := t.open(ctx)
		if err == nil {
			return nil
		}
		// The former writer was quicker by an entry: read that too.
		if !behind(err) {
			return fmt.Errorf("books: begin a term: %w", err)
		}
	}
}

// Life counts the terms, from 1.
func (t *Term) Life() uint32 { return t.life }

// Over is closed when the term has ended: somebody else may write.
func (t *Term) Over() <-chan struct{} { return t.over }

// lease takes the lease when it is free.
func (t *Term) lease(ctx context.Context) error {
	b := t.books
	told := false
	for {
		at, err := b.kv.Create(ctx, leaseKey, t.name, jetstream.KeyTTL(b.cfg.Lease.Truncate(time.Second)))
		if err == nil {
			t.held = at
			return nil
		}
		if !errors.Is(err, jetstream.ErrKeyExists) && !behind(err) {
			return err
		}
		if !told {
			told = true
			b.cfg.Log.Info("standing by: somebody else coordinates")
			b.cfg.Waits()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.broken:
			return nats.ErrConnectionClosed
		case <-time.After(b.cfg.Lease / 8):
		}
	}
}

// renew keeps the lease until the term ends, or ends the term when it cannot.
func (t *Term) renew() {
	defer close(t.done)
	b := t.books
	alive, pause := time.Now(), b.cfg.Lease/4
	for {
		select {
		case <-t.quit:
			return
		case <-b.broken:
			t.stop()
			return
		case <-time.After(pause):
		}
		err := t.extend()
		switch {
		case err == nil:
			alive, pause = time.Now(), b.cfg.Lease/4
		case behind(err) || time.Since(alive) > b.cfg.Lease:
			b.cfg.Log.Warn("the lease is lost; where the server is slow, make it longer", "lease", b.cfg.Lease, "err", err)
			t.stop()
			return
		default:
			pause = b.cfg.Lease / 8
		}
	}
}

// extend renews the lease once. A renewal before it may have been written and
// its answer have come too late: then the lease is still this term's, in a
// revision that it does not know of.
func (t *Term) extend() error {
	err := t.renewal()
	if !behind(err) {
		return err
	}
	ctx, cancel := t.patience()
	defer cancel()
	lease, unread := t.books.kv.Get(ctx, leaseKey)
	switch {
	case errors.Is(unread, jetstream.ErrKeyNotFound):
		return err
	case unread != nil:
		return unread
	case lease.Revision() <= t.held: // any of several servers answers, and one may be behind
		return errors.New("an old copy of the lease was read")
	case !bytes.Equal(lease.Value(), t.name):
		return err
	}
	t.held = lease.Revision()
	return t.renewal()
}

// patience bounds one question about the lease: half of it, so that there is time
// to ask again what was not answered.
func (t *Term) patience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.asks, t.books.cfg.Lease/2)
}

// renewal writes the lease anew. A bucket's own update would let the time to live
// go, so it publishes as a bucket does.
func (t *Term) renewal() error {
	b := t.books
	ctx, cancel := t.patience()
	defer cancel()
	ack, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: "$KV." + natsbus.BooksBucket + "." + leaseKey, Data: t.name},
		jetstream.WithMsgTTL(b.cfg.Lease.Truncate(time.Second)), jetstream.WithExpectLastSequencePerSubject(t.held), jetstream.WithRetryAttempts(0))
	if err != nil {
		return err
	}
	t.held = ack.Sequence
	return nil
}

var errLost = errors.New("the lease is lost")

func (t *Term) stop() { t.once.Do(func() { close(t.over) }) }

// behind reports whether somebody else wrote first.
func behind(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// End ends the term and frees the lease, so that who stands by need not wait for
// its end.
func (t *Term) End() {
	t.stop()
	select {
	case <-t.quit:
		return
	default:
		close(t.quit)
	}
	defer t.giveUp()
	late := time.AfterFunc(time.Second, t.giveUp) // what is asked now may be answered, so that it is known what to free
	<-t.done
	late.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = t.books.kv.Delete(ctx, leaseKey, jetstream.LastRevision(t.held)) // or it ends by itself
}

// read hands the entries after the last to restore. The first time that is what
// the summary says, and the entries after those that it covers.
func (t *Term) read(ctx context.Context, restore func(protocol.Message) error) error {
	b := t.books
	if t.last == 0 {
		if err := t.readSummary(ctx, restore); err != nil {
			return err
		}
		t.covered.Store(t.last)
	}
	info, err := b.stream.Info(ctx)
	if err != nil {
		return err
	}
	if err := t.regain(ctx, info.State.LastSeq); err != nil {
		return err
	}
	if info.State.FirstSeq > t.last+1 {
		return gone(t.last+1, info.State.FirstSeq)
	}
	return each(ctx, b.stream, t.last, info.State.LastSeq, func(seq uint64, m jetstream.Msg) error {
		if seq > t.last+1 {
			return gone(t.last+1, seq)
		}
		if err := t.entry(m.Headers(), m.Data(), restore); err != nil {
			return fmt.Errorf("entry %d of the stream: %w", seq, err)
		}
		t.last = seq
		return nil
	})
}

func gone(from, before uint64) error {
	return fmt.Errorf("entries %d to %d are gone, and no summary covers them", from, before-1)
}

// regain sets the stream to where the summary ends, if it ends before that: it has
// lost entries, as one may when the power fails, and the summary has what is left
// of them. What is written next would otherwise be taken for covered.
func (t *Term) regain(ctx context.Context, last uint64) error {
	covered := t.covered.Load()
	if last >= covered {
		return nil
	}
	t.books.cfg.Log.Warn("the stream has lost entries, which the summary covers", "from", last+1, "to", covered)
	return t.books.stream.Purge(ctx, jetstream.WithPurgeSequence(covered+1))
}

// each hands over the messages of a stream after one up to another.
func each(ctx context.Context, s jetstream.Stream, after, last uint64, do func(seq uint64, m jetstream.Msg) error) error {
	if last <= after {
		return nil
	}
	c, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1})
	if err != nil {
		return err
	}
	all, err := c.Messages(jetstream.PullMaxMessages(512))
	if err != nil {
		return err
	}
	defer all.Stop()
	forget := context.AfterFunc(ctx, all.Stop)
	defer forget()
	for after < last {
		m, err := all.Next()
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		if err := do(meta.Sequence.Stream, m); err != nil {
			return err
		}
		after = meta.Sequence.Stream
	}
	return nil
}

// entry reads one entry.
func (t *Term) entry(header nats.Header, data []byte, restore func(protocol.Message) error) error {
	if text := header.Get(lifeHeader); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return fmt.Errorf("%s: %w", lifeHeader, err)
		}
		t.life = max(t.life, uint32(n))
	}
	return unpack(data, restore)
}

// unpack reads facts, each behind its length.
func unpack(data []byte, restore func(protocol.Message) error) error {
	for len(data) > 0 {
		size, n := binary.Uvarint(data)
		if n <= 0 || size > uint64(len(data)-n) {
			return errors.New("a fact is cut off")
		}
		m, err := protocol.Decode(data[n : n+int(size)])
		if err != nil && !errors.As(err, new(*protocol.UnknownKindError)) {
			return err
		}
		if err == nil {
			if err := restore(m); err != nil {
				return err
			}
		}
		data = data[n+int(size):]
	}
	return nil
}

// open writes the first entry of a life, which shuts out who wrote before.
func (t *Term) open(ctx context.Context) error {
	next := &nats.Msg{Subject: natsbus.BooksSubject, Header: nats.Header{lifeHeader: {strconv.FormatUint(uint64(t.life)+1, 10)}}}
	if err := t.write(ctx, next); err != nil {
		return err
	}
	t.life++
	return nil
}

// most bounds an entry. Facts that need several are whole in any first part: each
// is a truth of its own.
const most = 1 << 20

// Append writes facts down, in order. When it returns nil they are kept. An
// error ends the term: whether they were kept is then for the next one to read.
func (t *Term) Append(ctx context.Context, ms []protocol.Message) error {
	t.buf = t.buf[:0]
	for i, m := range ms {
		body, err := protocol.Encode(m)
		if err != nil {
			return err
		}
		t.buf = binary.AppendUvarint(t.buf, uint64(len(body)))
		t.buf = append(t.buf, body...)
		if len(t.buf) < most && i < len(ms)-1 {
			continue
		}
		if err := t.write(ctx, &nats.Msg{Subject: natsbus.BooksSubject, Data: t.buf}); err != nil {
			t.stop()
			if behind(err) {
				err = fmt.Errorf("%w: somebody else has taken over", err)
			}
			return fmt.Errorf("books: append: %w", err)
		}
		t.buf = t.buf[:0]
	}
	return nil
}

// full is how a server says that its store holds as much as it may.
const full jetstream.ErrorCode = 10023

// explained says what to do about an error that does not say so itself.
func explained(err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == full {
		return fmt.Errorf("%w: the server's store is full: unless max_file_store says more, it takes three quarters of what its disk had free when it was started; make room there, and start it again", err)
	}
	return err
}

func (t *Term) write(ctx context.Context, m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-t.over:
		return errLost
	default:
	}
	ack, err := t.books.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequence(t.last), jetstream.WithRetryAttempts(0))
	if err != nil {
		return explained(err)
	}
	t.last = ack.Sequence
	t.ended.Store(t.last)
	return nil
}
