// Package archive keeps the messages that a coordinator received and sent, for
// its page: in memory, and in ledger files of a folder if one is configured,
// where the next start finds them. Positions of messages stay the same across
// restarts.
//
// It also records the order in which the coordinator processed its inputs, and
// the time of its own clock: protocol.InputLog. A ledger begins with the events
// that the coordinator was restored from, so each file stands alone, and a
// market that replays it makes the same decisions: explain/counterfactual.
//
// The archive is not part of deciding. If it cannot be written it logs an error
// and the market goes on. Package bus/eventlog holds what must not be lost.
package archive

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// An Archive is the archive of one coordinator.
type Archive struct {
	log        *slog.Logger
	oldLedgers []string      // ledgers of earlier starts, oldest first
	ended      chan struct{} // closed by Close

	mu            sync.Mutex
	dedup         protocol.Deduplicator
	inputs        inputLogger
	lastAt        protocol.Time      // of the newest message
	restored      []protocol.Message // restored events of the incarnation that is about to begin
	fresh         []protocol.Message // not yet passed to the reader
	readerStopped bool               // the reader has returned; keep nothing for it
	more          chan struct{}      // closed, and replaced, when fresh grows
	ledger        *wal.Writer        // nil: no folder, or writing has failed
}

// OpenArchive opens an archive. If folder is not "" it makes the folder if necessary,
// continues after the ledgers in it, and begins a new ledger.
func OpenArchive(folder string, now time.Time, log *slog.Logger) (*Archive, error) {
	n := &Archive{log: log, more: make(chan struct{}), ended: make(chan struct{})}
	if folder == "" {
		close(n.ended)
		return n, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	files, err := os.ReadDir(folder) // by name
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	last := 0
	for _, file := range files {
		if strings.HasSuffix(file.Name(), ".ledger") {
			n.oldLedgers = append(n.oldLedgers, filepath.Join(folder, file.Name()))
			number := 0
			_, _ = fmt.Sscanf(file.Name(), "%d-", &number) // no number: a file with another origin
			last = max(last, number)
		}
	}
	// The number determines the order of the files, even if the clock was set
	// back between two starts or older ledgers were moved away.
	name := fmt.Sprintf("%05d-%s.ledger", max(last, len(n.oldLedgers))+1, now.UTC().Format("20060102T150405"))
	n.ledger, err = wal.CreateFile(filepath.Join(folder, name), map[string]string{"policy": "auction", "live": "coordinator", "protocol": fmt.Sprint(protocol.Current)})
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	go n.flushPeriodically()
	return n, nil
}

// RecordRestored records an event from the event log that the next incarnation restores.
func (n *Archive) RecordRestored(m protocol.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.restored = append(n.restored, m)
}

// orderBySender sorts restored events into an order in which they can have been sent: the
// order of the log, in which the coordinator acted on them, whatever the clocks
// of their senders; but the messages of each sender by sequence number. A
// snapshot begins with the last registration of each site, out of that order.
func orderBySender(events []protocol.Message) (all []protocol.Message) {
	early := make(map[protocol.Party][]protocol.Message) // those that stand before messages with lower numbers of the same sender
	least := make(map[protocol.Party]uint64)
	var rest []protocol.Message
	for _, m := range slices.Backward(events) {
		if n, ok := least[m.From]; ok && m.Seq > n {
			early[m.From] = append(early[m.From], m)
			continue
		}
		least[m.From] = m.Seq
		rest = append(rest, m)
	}
	for _, some := range early {
		slices.SortFunc(some, func(x, y protocol.Message) int { return cmp.Compare(x.Seq, y.Seq) })
	}
	for _, m := range slices.Backward(rest) {
		for some := early[m.From]; len(some) > 0 && some[0].Seq < m.Seq; some = early[m.From] {
			all, early[m.From] = append(all, some[0]), some[1:]
		}
		all = append(all, m)
	}
	for _, who := range slices.Sorted(maps.Keys(early)) {
		all = append(all, early[who]...)
	}
	return all
}

// BeginIncarnation starts an incarnation of the coordinator from the restored events, under
// a market configuration. The error says that the configuration cannot be
// encoded as JSON.
func (n *Archive) BeginIncarnation(now protocol.Time, incarnation uint32, restored []protocol.Input, rules market.Config) error {
	text, err := json.Marshal(rules)
	if err != nil {
		return fmt.Errorf("archive: encode the market's configuration: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.appendNew(orderBySender(n.restored))
	n.restored = nil
	n.inputs.beginIncarnation(now, incarnation, restored, string(text))
	n.appendNew(n.inputs.takeMessages())
	return nil
}

// RecordInput records an input of the coordinator. It is bus.Loop.Persisted.
func (n *Archive) RecordInput(now protocol.Time, received *protocol.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.inputs.logInput(now, received)
}

// flushPeriodically writes buffered messages to the file every second, for other readers of it.
func (n *Archive) flushPeriodically() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-n.ended:
			return
		case <-tick.C:
			n.mu.Lock()
			n.writeOrStop(func(b *wal.Writer) error { return b.Flush() })
			n.mu.Unlock()
		}
	}
}

// writeOrStop writes to the ledger until a write fails; from then on the archive is in
// memory only.
func (n *Archive) writeOrStop(do func(*wal.Writer) error) {
	if n.ledger == nil {
		return
	}
	if err := do(n.ledger); err != nil {
		n.log.Error("archive: cannot write the ledger; the page continues from memory until the next start", "err", err)
		n.ledger = nil
	}
}

// RecordSent records the messages that the coordinator received and sent, and before
// the sent ones the inputs that led to them.
func (n *Archive) RecordSent(received, sent []protocol.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.appendNew(received)
	if len(sent) > 0 || len(n.inputs.pending.Steps) >= maxInputsPerMessage {
		n.appendNew(n.inputs.takeMessages())
	}
	n.appendNew(sent)
}

// RecordTime records what time it is if the last message is older than timeMarkEvery: what stands at the end of a live
// record is what is so now, also when nothing happens.
func (n *Archive) RecordTime(now protocol.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.inputs.at != 0 && now >= n.lastAt.Add(timeMarkEvery) {
		n.appendNew([]protocol.Message{n.inputs.timeMark(now)})
	}
}

// appendNew writes the messages that were not written before, and passes them to the reader.
func (n *Archive) appendNew(all []protocol.Message) {
	for _, m := range all {
		if !n.dedup.AdmitOnce(m) {
			continue
		}
		n.lastAt = max(n.lastAt, m.At)
		n.writeOrStop(func(b *wal.Writer) error { return b.AppendMessage(m) })
		if !n.readerStopped {
			n.fresh = append(n.fresh, m)
		}
	}
	close(n.more)
	n.more = make(chan struct{})
}

// Read is a tail.Source: it passes all messages to each from the first one on.
// It serves one reader and returns at the end of ctx or at an error of each.
func (n *Archive) Read(ctx context.Context, _ uint64, each func(protocol.Message) error) error {
	defer n.stopRetaining()
	for _, path := range n.oldLedgers {
		if err := readLedger(path, each); err != nil {
			return err
		}
	}
	for {
		n.mu.Lock()
		fresh, more := n.fresh, n.more
		n.fresh = nil
		n.mu.Unlock()
		for _, m := range fresh {
			if err := each(m); err != nil {
				return err
			}
		}
		if len(fresh) > 0 {
			continue
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stopRetaining frees the memory of the reader's queue, for good: a page that stopped
// does not continue.
func (n *Archive) stopRetaining() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fresh, n.readerStopped = nil, true
}

// readLedger passes the messages of an earlier ledger to each, up to the first that
// is incomplete.
func readLedger(path string, each func(protocol.Message) error) (err error) {
	r, err := wal.OpenReader(path)
	if errors.Is(err, wal.ErrTorn) || err != nil && onlyZeros(path) {
		return nil // the coordinator was killed before it wrote the first message
	}
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		m, err := r.ReadMessage()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, wal.ErrTorn):
			return nil
		case errors.As(err, new(*protocol.UnknownKindError)):
			continue
		case err != nil:
			return fmt.Errorf("archive: %w", err)
		}
		if err := each(m); err != nil {
			return err
		}
	}
}

// onlyZeros reports whether a file is empty or has only zero bytes: the process was
// killed before it wrote, the disk was full, or the power failed.
func onlyZeros(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	for in := bufio.NewReader(file); ; {
		if c, err := in.ReadByte(); err != nil || c != 0 {
			return err == io.EOF
		}
	}
}

// Close writes the remaining inputs and closes the ledger.
func (n *Archive) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.ended:
	default:
		close(n.ended)
	}
	if len(n.inputs.pending.Steps) > 0 {
		n.appendNew(n.inputs.takeMessages())
	}
	if n.ledger == nil {
		return nil
	}
	err := n.ledger.Close()
	n.ledger = nil
	return err
}
