package eventlog

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

// A snapshot is a sequence of messages on a stream of its own. Each states which
// entries the snapshot covers, its number, and the number of parts; the snapshot
// counts only when its last part is there. Writes to this stream are fenced too,
// so no snapshot overwrites a later one or mixes with the parts of another.
const (
	coversHeader = "Gridbid-Covers"
	partHeader   = "Gridbid-Part"
	partsHeader  = "Gridbid-Parts"

	// part is the size in bytes after which the next part begins.
	part = 128 << 10
)

// A Fold accumulates events into a snapshot. coordinator/snapshot has one.
type Fold interface {
	Add(protocol.Message)
	// Messages returns the snapshot of the added events; last is the sequence
	// number of the last entry among them.
	Messages(last uint64) []protocol.Message
}

// Tail returns how many entries a restart would read after the latest snapshot.
func (t *Term) Tail() uint64 { return t.ended.Load() - t.covered.Load() }

// Condense writes a snapshot of all entries so far, and then deletes entries that
// it covers and that are older than Config.Keep. It may be interrupted at any
// point, and any process with the log open may call it: the fold sees only
// stored entries, and the fenced write fails if a later snapshot exists.
func (t *Term) Condense(ctx context.Context, fold Fold) error {
	b := t.books
	from := &Term{books: b}
	if err := from.read(ctx, func(m protocol.Message) error { fold.Add(m); return nil }); err != nil {
		return fmt.Errorf("eventlog: condense: %w", err)
	}
	parts, err := pack(fold.Messages(from.last))
	if err != nil {
		return fmt.Errorf("eventlog: condense: %w", err)
	}
	last, first := from.summary, uint64(0)
	for i, data := range parts {
		m := &nats.Msg{Subject: natsbus.SummarySubject, Data: data, Header: nats.Header{
			coversHeader: {strconv.FormatUint(from.last, 10)}, lifeHeader: {strconv.FormatUint(uint64(from.life), 10)},
			partHeader: {strconv.Itoa(i + 1)}, partsHeader: {strconv.Itoa(len(parts))},
		}}
		within, cancel := context.WithTimeout(ctx, patience)
		ack, err := b.js.PublishMsg(within, m, jetstream.WithExpectLastSequence(last), jetstream.WithRetryAttempts(0))
		cancel()
		if err != nil {
			return fmt.Errorf("eventlog: condense: %w", err)
		}
		if last = ack.Sequence; i == 0 {
			first = last
		}
	}
	t.covered.Store(from.last)
	if err := b.sums.Purge(ctx, jetstream.WithPurgeSequence(first)); err != nil {
		return fmt.Errorf("eventlog: condense: %w", err)
	}
	return b.letGo(ctx, from.last)
}

// letGo deletes entries that a snapshot covers and that are older than Config.Keep.
func (b *Books) letGo(ctx context.Context, covered uint64) error {
	info, err := b.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("eventlog: delete covered entries: %w", err)
	}
	old := time.Now().Add(-b.cfg.Keep)
	low, high := info.State.FirstSeq, covered+1 // Invariant: the first entry to keep is in low..high
	for low < high {
		mid := low + (high-low)/2
		m, err := b.stream.GetMsg(ctx, mid)
		if err != nil {
			return fmt.Errorf("eventlog: delete covered entries: entry %d: %w", mid, err)
		}
		if m.Time.Before(old) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low <= info.State.FirstSeq {
		return nil
	}
	if err := b.stream.Purge(ctx, jetstream.WithPurgeSequence(low)); err != nil {
		return fmt.Errorf("eventlog: delete covered entries: %w", err)
	}
	b.cfg.Log.Info("eventlog: deleted old entries that a snapshot covers", "before", low)
	return nil
}

// pack encodes events into parts, each event after its length as a uvarint.
func pack(ms []protocol.Message) (parts [][]byte, err error) {
	parts = [][]byte{nil}
	for _, m := range ms {
		body, err := protocol.Encode(m)
		if err != nil {
			return nil, err
		}
		i := len(parts) - 1
		if len(parts[i]) > 0 && len(parts[i])+len(body) > part {
			parts = append(parts, nil)
			i++
		}
		parts[i] = binary.AppendUvarint(parts[i], uint64(len(body)))
		parts[i] = append(parts[i], body...)
	}
	return parts, nil
}

// readSummary passes the last complete snapshot to restore, if there is one, and
// records what it covers.
func (t *Term) readSummary(ctx context.Context, restore func(protocol.Message) error) error {
	info, err := t.books.sums.Info(ctx)
	if err != nil {
		return err
	}
	t.summary = info.State.LastSeq
	var parts, whole []jetstream.Msg
	err = each(ctx, t.books.sums, max(info.State.FirstSeq, 1)-1, t.summary, func(seq uint64, m jetstream.Msg) error {
		i, n := number(m, partHeader), number(m, partsHeader)
		if i == 1 {
			parts = nil
		}
		parts = append(parts, m)
		if i == n && len(parts) == int(n) {
			whole = parts
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	for i, m := range whole {
		if err := unpack(m.Data(), restore); err != nil {
			return fmt.Errorf("snapshot: part %d: %w", i+1, err)
		}
	}
	if len(whole) > 0 {
		t.last, t.life = number(whole[0], coversHeader), uint32(number(whole[0], lifeHeader))
	}
	return nil
}

// number returns a number from a header; 0 if it is missing or invalid, which is
// no valid number of a part.
func number(m jetstream.Msg, header string) uint64 {
	n, _ := strconv.ParseUint(m.Headers().Get(header), 10, 64)
	return n
}
