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

// A Term is the time in which one process writes the event log as leader.
type Term struct {
	books   *Books
	life    uint32        // incarnation of the coordinator
	last    uint64        // sequence number of the stream's last entry
	ended   atomic.Uint64 // the same, for other goroutines
	summary uint64        // sequence number of the snapshot stream's last message, when it was read
	covered atomic.Uint64 // the latest snapshot covers entries up to this one
	buf     []byte

	once sync.Once
	over chan struct{} // closed when the term ends
	done chan struct{} // closed when renew has returned
	name []byte        // value of the lease while this term holds it
	held uint64        // revision of the lease
	quit chan struct{} // closed by End

	asks   context.Context // of requests that renew the lease
	giveUp context.CancelFunc
}

// Begin waits until no other process leads, passes all events to restore, in
// order, and begins a term. It returns an error when ctx ends, the connection
// closes, the server cannot store the lease, or restore fails.
func (b *Books) Begin(ctx context.Context, restore func(protocol.Message) error) (*Term, error) {
	t := &Term{books: b, name: name(), over: make(chan struct{}), done: make(chan struct{}), quit: make(chan struct{})}
	if err := t.lease(ctx); err != nil {
		return nil, fmt.Errorf("eventlog: wait for the lease: %w", err)
	}
	t.asks, t.giveUp = context.WithCancel(context.Background())
	go t.renew()
	if err := t.begin(ctx, restore); err != nil {
		t.End()
		return nil, err
	}
	if most := b.conn.MaxPayload(); most < protocol.MaxMessage {
		b.cfg.Log.Warn("eventlog: max_payload of the server is below the longest entry; raise it", "max_payload", most, "want", protocol.MaxMessage)
	}
	return t, nil
}

// begin reads the log and writes the first entry of the term. It gives up when the
// lease is lost, since a server that stopped answering may never complete a read.
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
			return fmt.Errorf("eventlog: read: %w", err)
		}
		err := t.open(ctx)
		if err == nil {
			return nil
		}
		// The former leader appended an entry meanwhile: read that too.
		if !behind(err) {
			return fmt.Errorf("eventlog: begin a term: %w", err)
		}
	}
}

// Life returns the incarnation of the coordinator: the number of this term, from 1.
func (t *Term) Life() uint32 { return t.life }

// Over is closed when the term has ended; another process may write from then on.
func (t *Term) Over() <-chan struct{} { return t.over }

// lease waits until the lease is free, and takes it.
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
			b.cfg.Log.Info("eventlog: standing by: another coordinator leads")
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

// renew keeps the lease until End, or ends the term when it cannot.
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
			b.cfg.Log.Warn("eventlog: the lease is lost; if the server is slow, configure a longer one", "lease", b.cfg.Lease, "err", err)
			t.stop()
			return
		default:
			pause = b.cfg.Lease / 8
		}
	}
}

// extend renews the lease once. If an earlier renewal was stored but its answer
// came too late, the lease is still this term's, at a revision that it does not
// know; extend then reads the revision and tries once more.
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
	case lease.Revision() <= t.held: // of several servers any answers, and one may lag
		return errors.New("eventlog: read an old copy of the lease")
	case !bytes.Equal(lease.Value(), t.name):
		return err
	}
	t.held = lease.Revision()
	return t.renewal()
}

// patience bounds one request about the lease to half of it, so that there is
// time for a second one.
func (t *Term) patience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.asks, t.books.cfg.Lease/2)
}

// renewal rewrites the lease. The bucket's Update would drop its time to live, so
// renewal publishes to the bucket's subject directly.
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

var errLost = errors.New("eventlog: the lease is lost")

func (t *Term) stop() { t.once.Do(func() { close(t.over) }) }

// behind reports whether a write failed because another process wrote first.
func behind(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// End ends the term and deletes the lease, so that a standby need not wait until
// it expires.
func (t *Term) End() {
	t.stop()
	select {
	case <-t.quit:
		return
	default:
		close(t.quit)
	}
	defer t.giveUp()
	late := time.AfterFunc(time.Second, t.giveUp) // let a pending renewal finish, so that held is the revision to delete
	<-t.done
	late.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = t.books.kv.Delete(ctx, leaseKey, jetstream.LastRevision(t.held)) // if it fails the lease expires by itself
}

// read passes the entries after t.last to restore. The first call begins with the
// snapshot and continues with the entries that it does not cover.
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
	return fmt.Errorf("entries %d to %d are missing and no snapshot covers them; restore the stream from a backup", from, before-1)
}

// regain moves the stream's end to where the snapshot ends, if the stream ends
// before: the server lost entries, for example in a power failure, and the
// snapshot has their content. Without it new entries would get numbers that
// count as covered, and the next restart would skip them.
func (t *Term) regain(ctx context.Context, last uint64) error {
	covered := t.covered.Load()
	if last >= covered {
		return nil
	}
	t.books.cfg.Log.Warn("eventlog: the stream has lost entries; the snapshot covers them", "from", last+1, "to", covered)
	return t.books.stream.Purge(ctx, jetstream.WithPurgeSequence(covered+1))
}

// each passes the messages of a stream with sequence numbers in (after, last] to do.
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

// entry decodes one entry and passes its events to restore.
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

// unpack decodes events as pack encoded them, and skips kinds that this version
// does not know.
func unpack(data []byte, restore func(protocol.Message) error) error {
	for len(data) > 0 {
		size, n := binary.Uvarint(data)
		if n <= 0 || size > uint64(len(data)-n) {
			return errors.New("an event is cut off")
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

// open writes the first entry of a term, which fences the former leader off.
func (t *Term) open(ctx context.Context) error {
	next := &nats.Msg{Subject: natsbus.BooksSubject, Header: nats.Header{lifeHeader: {strconv.FormatUint(uint64(t.life)+1, 10)}}}
	if err := t.write(ctx, next); err != nil {
		return err
	}
	t.life++
	return nil
}

// most is the size in bytes after which an entry is written. Events of one step
// may be split over several entries: each event is valid without the later ones.
const most = 1 << 20

// Append stores events in order. They are stored when it returns nil. An error
// ends the term; the next one finds out by reading whether they were stored.
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
				err = fmt.Errorf("%w: another coordinator has taken over", err)
			}
			return fmt.Errorf("eventlog: append: %w", err)
		}
		t.buf = t.buf[:0]
	}
	return nil
}

// full is the server's error code for a store that is full.
const full jetstream.ErrorCode = 10023

// explained adds what to do to an error of the server that does not say so.
func explained(err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == full {
		return fmt.Errorf("%w: the server's store is full: unless max_file_store is set, its size is three quarters of the disk space free at the server's start; free some space and restart the server", err)
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
