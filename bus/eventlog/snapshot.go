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

	// maxPartBytes is the size in bytes after which the next part begins.
	maxPartBytes = 128 << 10
)

// A Compactor accumulates events into a snapshot. coordinator/snapshot has one.
type Compactor interface {
	AddEvent(protocol.Message)
	// SnapshotMessages returns the snapshot of the added events; last is the sequence
	// number of the last entry among them.
	SnapshotMessages(last uint64) []protocol.Message
}

// EntriesSinceSnapshot returns how many entries a restart would read after the latest snapshot.
func (t *Term) EntriesSinceSnapshot() uint64 { return t.lastAppended.Load() - t.covered.Load() }

// WriteSnapshot writes a snapshot of all entries so far, and then deletes entries that
// it covers and that are older than Config.Keep. It may be interrupted at any
// point, and any process with the log open may call it: the fold sees only
// stored entries, and the fenced write fails if a later snapshot exists.
func (t *Term) WriteSnapshot(ctx context.Context, fold Compactor) error {
	b := t.log
	from := &Term{log: b}
	if err := from.replayEntries(ctx, func(m protocol.Message) error { fold.AddEvent(m); return nil }); err != nil {
		return fmt.Errorf("eventlog: snapshot: %w", err)
	}
	parts, err := encodeSnapshotParts(fold.SnapshotMessages(from.last))
	if err != nil {
		return fmt.Errorf("eventlog: snapshot: %w", err)
	}
	last, first := from.snapshotSeq, uint64(0)
	for i, data := range parts {
		m := &nats.Msg{Subject: natsbus.SnapshotSubject, Data: data, Header: nats.Header{
			coversHeader: {strconv.FormatUint(from.last, 10)}, incarnationHeader: {strconv.FormatUint(uint64(from.incarnation), 10)},
			partHeader: {strconv.Itoa(i + 1)}, partsHeader: {strconv.Itoa(len(parts))},
		}}
		within, cancel := context.WithTimeout(ctx, serverTimeout)
		ack, err := b.js.PublishMsg(within, m, jetstream.WithExpectLastSequence(last), jetstream.WithRetryAttempts(0))
		cancel()
		if err != nil {
			return fmt.Errorf("eventlog: snapshot: %w", err)
		}
		if last = ack.Sequence; i == 0 {
			first = last
		}
	}
	t.covered.Store(from.last)
	if err := b.snapshots.Purge(ctx, jetstream.WithPurgeSequence(first)); err != nil {
		return fmt.Errorf("eventlog: snapshot: %w", err)
	}
	return b.purgeCoveredEntries(ctx, from.last)
}

// purgeCoveredEntries deletes entries that a snapshot covers and that are older than Config.Keep.
func (b *Log) purgeCoveredEntries(ctx context.Context, covered uint64) error {
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

// encodeSnapshotParts encodes events into parts, each event after its length as a uvarint.
func encodeSnapshotParts(ms []protocol.Message) (parts [][]byte, err error) {
	parts = [][]byte{nil}
	for _, m := range ms {
		body, err := protocol.Encode(m)
		if err != nil {
			return nil, err
		}
		i := len(parts) - 1
		if len(parts[i]) > 0 && len(parts[i])+len(body) > maxPartBytes {
			parts = append(parts, nil)
			i++
		}
		parts[i] = binary.AppendUvarint(parts[i], uint64(len(body)))
		parts[i] = append(parts[i], body...)
	}
	return parts, nil
}

// readSnapshot passes the last complete snapshot to restore, if there is one, and
// records what it covers.
func (t *Term) readSnapshot(ctx context.Context, restore func(protocol.Message) error) error {
	info, err := t.log.snapshots.Info(ctx)
	if err != nil {
		return err
	}
	t.snapshotSeq = info.State.LastSeq
	var parts, whole []jetstream.Msg
	err = forEachMessage(ctx, t.log.snapshots, max(info.State.FirstSeq, 1)-1, t.snapshotSeq, func(seq uint64, m jetstream.Msg) error {
		i, n := headerNumber(m, partHeader), headerNumber(m, partsHeader)
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
		if err := decodeEvents(m.Data(), restore); err != nil {
			return fmt.Errorf("snapshot: part %d: %w", i+1, err)
		}
	}
	if len(whole) > 0 {
		t.last, t.incarnation = headerNumber(whole[0], coversHeader), uint32(headerNumber(whole[0], incarnationHeader))
	}
	return nil
}

// headerNumber returns a number from a header; 0 if it is missing or invalid, which is
// no valid number of a part.
func headerNumber(m jetstream.Msg, header string) uint64 {
	n, _ := strconv.ParseUint(m.Headers().Get(header), 10, 64)
	return n
}
