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
	log          *Log
	incarnation  uint32        // incarnation of the coordinator
	last         uint64        // sequence number of the stream's last entry
	lastAppended atomic.Uint64 // the same, for other goroutines
	snapshotSeq  uint64        // sequence number of the snapshot stream's last message, when it was read
	covered      atomic.Uint64 // the latest snapshot covers entries up to this one
	buf          []byte

	once           sync.Once
	termEnded      chan struct{} // closed when the term ends
	renewalStopped chan struct{} // closed when keepLeaseRenewed has returned
	name           []byte        // value of the lease while this term holds it
	leaseRevision  uint64        // revision of the lease
	quit           chan struct{} // closed by EndTerm

	asks   context.Context // of requests that renew the lease
	giveUp context.CancelFunc
}

// BeginTerm waits until no other process leads, passes all events to restore, in
// order, and begins a term. It returns an error when ctx ends, the connection
// closes, the server cannot store the lease, or restore fails.
func (b *Log) BeginTerm(ctx context.Context, restore func(protocol.Message) error) (*Term, error) {
	t := &Term{log: b, name: newHolderName(), termEnded: make(chan struct{}), renewalStopped: make(chan struct{}), quit: make(chan struct{})}
	if err := t.acquireLease(ctx); err != nil {
		return nil, fmt.Errorf("eventlog: wait for the lease: %w", err)
	}
	t.asks, t.giveUp = context.WithCancel(context.Background())
	go t.keepLeaseRenewed()
	if err := t.readAndFence(ctx, restore); err != nil {
		t.EndTerm()
		return nil, err
	}
	if most := b.conn.MaxPayload(); most < protocol.MaxMessage {
		b.cfg.Log.Warn("eventlog: max_payload of the server is below the longest entry; raise it", "max_payload", most, "want", protocol.MaxMessage)
	}
	return t, nil
}

// readAndFence reads the log and writes the first entry of the term. It gives up when the
// lease is lost, since a server that stopped answering may never complete a read.
func (t *Term) readAndFence(ctx context.Context, restore func(protocol.Message) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-t.termEnded:
			cancel(errLeaseLost)
		case <-ctx.Done():
		}
	}()
	for {
		if err := t.replayEntries(ctx, restore); err != nil {
			return fmt.Errorf("eventlog: read: %w", err)
		}
		err := t.writeFenceEntry(ctx)
		if err == nil {
			return nil
		}
		// The former leader appended an entry meanwhile: read that too.
		if !isWrongSequence(err) {
			return fmt.Errorf("eventlog: begin a term: %w", err)
		}
	}
}

// Incarnation returns the incarnation of the coordinator: the number of this term, from 1.
func (t *Term) Incarnation() uint32 { return t.incarnation }

// Ended is closed when the term has ended; another process may write from then on.
func (t *Term) Ended() <-chan struct{} { return t.termEnded }

// acquireLease waits until the lease is free, and takes it.
func (t *Term) acquireLease(ctx context.Context) error {
	b := t.log
	logged := false
	for {
		at, err := b.kv.Create(ctx, leaseKey, t.name, jetstream.KeyTTL(b.cfg.Lease.Truncate(time.Second)))
		if err == nil {
			t.leaseRevision = at
			return nil
		}
		if !errors.Is(err, jetstream.ErrKeyExists) && !isWrongSequence(err) {
			return err
		}
		if !logged {
			logged = true
			b.cfg.Log.Info("eventlog: standing by: another coordinator leads")
			b.cfg.OnStandby()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.connClosed:
			return nats.ErrConnectionClosed
		case <-time.After(b.cfg.Lease / 8):
		}
	}
}

// keepLeaseRenewed keeps the lease until EndTerm, or ends the term when it cannot.
func (t *Term) keepLeaseRenewed() {
	defer close(t.renewalStopped)
	b := t.log
	alive, pause := time.Now(), b.cfg.Lease/4
	for {
		select {
		case <-t.quit:
			return
		case <-b.connClosed:
			t.markEnded()
			return
		case <-time.After(pause):
		}
		err := t.renewLease()
		switch {
		case err == nil:
			alive, pause = time.Now(), b.cfg.Lease/4
		case isWrongSequence(err) || time.Since(alive) > b.cfg.Lease:
			b.cfg.Log.Warn("eventlog: the lease is lost; if the server is slow, configure a longer one", "lease", b.cfg.Lease, "err", err)
			t.markEnded()
			return
		default:
			pause = b.cfg.Lease / 8
		}
	}
}

// renewLease renews the lease once. If an earlier renewal was stored but its answer
// came too late, the lease is still this term's, at a revision that it does not
// know; renewLease then reads the revision and tries once more.
func (t *Term) renewLease() error {
	err := t.writeLease()
	if !isWrongSequence(err) {
		return err
	}
	ctx, cancel := t.leaseRequestContext()
	defer cancel()
	lease, unread := t.log.kv.Get(ctx, leaseKey)
	switch {
	case errors.Is(unread, jetstream.ErrKeyNotFound):
		return err
	case unread != nil:
		return unread
	case lease.Revision() <= t.leaseRevision: // of several servers any answers, and one may lag
		return errors.New("eventlog: read an old copy of the lease")
	case !bytes.Equal(lease.Value(), t.name):
		return err
	}
	t.leaseRevision = lease.Revision()
	return t.writeLease()
}

// leaseRequestContext bounds one request about the lease to half of it, so that there is
// time for a second one.
func (t *Term) leaseRequestContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.asks, t.log.cfg.Lease/2)
}

// writeLease rewrites the lease. The bucket's Update would drop its time to live, so
// renewal publishes to the bucket's subject directly.
func (t *Term) writeLease() error {
	b := t.log
	ctx, cancel := t.leaseRequestContext()
	defer cancel()
	ack, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: "$KV." + natsbus.LeaseBucket + "." + leaseKey, Data: t.name},
		jetstream.WithMsgTTL(b.cfg.Lease.Truncate(time.Second)), jetstream.WithExpectLastSequencePerSubject(t.leaseRevision), jetstream.WithRetryAttempts(0))
	if err != nil {
		return err
	}
	t.leaseRevision = ack.Sequence
	return nil
}

var errLeaseLost = errors.New("eventlog: the lease is lost")

func (t *Term) markEnded() { t.once.Do(func() { close(t.termEnded) }) }

// isWrongSequence reports whether a write failed because another process wrote first.
func isWrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// EndTerm ends the term and deletes the lease, so that a standby need not wait until
// it expires.
func (t *Term) EndTerm() {
	t.markEnded()
	select {
	case <-t.quit:
		return
	default:
		close(t.quit)
	}
	defer t.giveUp()
	late := time.AfterFunc(time.Second, t.giveUp) // let a pending renewal finish, so that leaseRevision is current
	<-t.renewalStopped
	late.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = t.log.kv.Delete(ctx, leaseKey, jetstream.LastRevision(t.leaseRevision)) // if it fails the lease expires by itself
}

// replayEntries passes the entries after t.last to restore. The first call begins with the
// snapshot and continues with the entries that it does not cover.
func (t *Term) replayEntries(ctx context.Context, restore func(protocol.Message) error) error {
	b := t.log
	if t.last == 0 {
		if err := t.readSnapshot(ctx, restore); err != nil {
			return err
		}
		t.covered.Store(t.last)
	}
	info, err := b.stream.Info(ctx)
	if err != nil {
		return err
	}
	if err := t.skipLostEntries(ctx, info.State.LastSeq); err != nil {
		return err
	}
	if info.State.FirstSeq > t.last+1 {
		return missingEntriesError(t.last+1, info.State.FirstSeq)
	}
	return forEachMessage(ctx, b.stream, t.last, info.State.LastSeq, func(seq uint64, m jetstream.Msg) error {
		if seq > t.last+1 {
			return missingEntriesError(t.last+1, seq)
		}
		if err := t.decodeEntry(m.Headers(), m.Data(), restore); err != nil {
			return fmt.Errorf("entry %d of the stream: %w", seq, err)
		}
		t.last = seq
		return nil
	})
}

func missingEntriesError(from, before uint64) error {
	return fmt.Errorf("entries %d to %d are missing and no snapshot covers them; restore the stream from a backup", from, before-1)
}

// skipLostEntries moves the stream's end to where the snapshot ends, if the stream ends
// before: the server lost entries, for example in a power failure, and the
// snapshot has their content. Without it new entries would get numbers that
// count as covered, and the next restart would skip them.
func (t *Term) skipLostEntries(ctx context.Context, last uint64) error {
	covered := t.covered.Load()
	if last >= covered {
		return nil
	}
	t.log.cfg.Log.Warn("eventlog: the stream has lost entries; the snapshot covers them", "from", last+1, "to", covered)
	return t.log.stream.Purge(ctx, jetstream.WithPurgeSequence(covered+1))
}

// forEachMessage passes the messages of a stream with sequence numbers in (after, last] to do.
func forEachMessage(ctx context.Context, s jetstream.Stream, after, last uint64, do func(seq uint64, m jetstream.Msg) error) error {
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

// decodeEntry decodes one entry and passes its events to restore.
func (t *Term) decodeEntry(header nats.Header, data []byte, restore func(protocol.Message) error) error {
	if text := header.Get(incarnationHeader); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return fmt.Errorf("%s: %w", incarnationHeader, err)
		}
		t.incarnation = max(t.incarnation, uint32(n))
	}
	return decodeEvents(data, restore)
}

// decodeEvents decodes events as encodeSnapshotParts and AppendEvents encode them, and skips kinds that this version
// does not know.
func decodeEvents(data []byte, restore func(protocol.Message) error) error {
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

// writeFenceEntry writes the first entry of a term, which fences the former leader off.
func (t *Term) writeFenceEntry(ctx context.Context) error {
	next := &nats.Msg{Subject: natsbus.EventLogSubject, Header: nats.Header{incarnationHeader: {strconv.FormatUint(uint64(t.incarnation)+1, 10)}}}
	if err := t.appendEntry(ctx, next); err != nil {
		return err
	}
	t.incarnation++
	return nil
}

// maxEntryBytes is the size in bytes after which an entry is written. Events of one step
// may be split over several entries: each event is valid without the later ones.
const maxEntryBytes = 1 << 20

// AppendEvents stores events in order. They are stored when it returns nil. An error
// ends the term; the next one finds out by reading whether they were stored.
func (t *Term) AppendEvents(ctx context.Context, ms []protocol.Message) error {
	t.buf = t.buf[:0]
	for i, m := range ms {
		body, err := protocol.Encode(m)
		if err != nil {
			return err
		}
		t.buf = binary.AppendUvarint(t.buf, uint64(len(body)))
		t.buf = append(t.buf, body...)
		if len(t.buf) < maxEntryBytes && i < len(ms)-1 {
			continue
		}
		if err := t.appendEntry(ctx, &nats.Msg{Subject: natsbus.EventLogSubject, Data: t.buf}); err != nil {
			t.markEnded()
			if isWrongSequence(err) {
				err = fmt.Errorf("%w: another coordinator has taken over", err)
			}
			return fmt.Errorf("eventlog: append: %w", err)
		}
		t.buf = t.buf[:0]
	}
	return nil
}

// errCodeStoreFull is the server's error code for a store that is full.
const errCodeStoreFull jetstream.ErrorCode = 10023

// explainStoreError adds what to do to an error of the server that does not say so.
func explainStoreError(err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == errCodeStoreFull {
		return fmt.Errorf("%w: the server's store is full: unless max_file_store is set, its size is three quarters of the disk space free at the server's start; free some space and restart the server", err)
	}
	return err
}

// appendEntry appends one entry. The server refuses it unless the stream ends at t.last, which
// is the fence against other writers. It does not retry: after an error without an
// answer the entry may have been stored.
func (t *Term) appendEntry(ctx context.Context, m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	select {
	case <-t.termEnded:
		return errLeaseLost
	default:
	}
	ack, err := t.log.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequence(t.last), jetstream.WithRetryAttempts(0))
	if err != nil {
		return explainStoreError(err)
	}
	t.last = ack.Sequence
	t.lastAppended.Store(t.last)
	return nil
}
