// Package archive keeps what a coordinator heard and said, so that its page can
// show it: in memory, and in ledgers of a folder if there is one, where the next
// start finds it again. Positions in a run mean the same after a restart.
//
// It keeps, too, in which order the coordinator took in what it heard, and when
// by its own clock: protocol.Heard. A ledger begins with the facts off the books
// from which its coordinator began, so each stands alone, and leads whoever
// steps a market over it to the same decisions: explain/counterfactual.
//
// It is no part of deciding: a notebook that cannot be written says so in the
// log, and the market goes on.
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

// A Notebook is what one coordinator heard and said.
type Notebook struct {
	log   *slog.Logger
	old   []string // ledgers of earlier starts, oldest first
	ended chan struct{}

	mu    sync.Mutex
	ears  protocol.Ears
	clerk clerk
	facts []protocol.Message // restored, of a life that has not begun
	fresh []protocol.Message // not handed on yet
	left  bool               // the reader is gone, and nothing is kept for him
	more  chan struct{}      // closed when there is more
	book  *wal.Writer        // nil: nothing is written
}

// Open begins a notebook. With a folder, which is made if need be, it goes on
// after the ledgers that are there, and begins a new one.
func Open(folder string, now time.Time, log *slog.Logger) (*Notebook, error) {
	n := &Notebook{log: log, more: make(chan struct{}), ended: make(chan struct{})}
	if folder == "" {
		close(n.ended)
		return n, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("notebook: %w", err)
	}
	files, err := os.ReadDir(folder) // by name
	if err != nil {
		return nil, fmt.Errorf("notebook: %w", err)
	}
	last := 0
	for _, file := range files {
		if strings.HasSuffix(file.Name(), ".ledger") {
			n.old = append(n.old, filepath.Join(folder, file.Name()))
			number := 0
			_, _ = fmt.Sscanf(file.Name(), "%d-", &number) // or it is a stranger's
			last = max(last, number)
		}
	}
	// The number keeps the order, whatever the clock does between two starts and
	// whichever older ledgers were moved away.
	name := fmt.Sprintf("%05d-%s.ledger", max(last, len(n.old))+1, now.UTC().Format("20060102T150405"))
	n.book, err = wal.Create(filepath.Join(folder, name), map[string]string{"policy": "auction", "live": "coordinator", "protocol": fmt.Sprint(protocol.Current)})
	if err != nil {
		return nil, fmt.Errorf("notebook: %w", err)
	}
	go n.flush()
	return n, nil
}

// Restored takes down a fact off the books, from which a life will begin.
func (n *Notebook) Restored(m protocol.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.facts = append(n.facts, m)
}

// told puts facts in an order in which they may have been said: that of the books, in
// which a coordinator acted on them, whatever the clocks of who said them; but each
// speaker's by their numbers. A summary of the books begins with the last of each site.
func told(facts []protocol.Message) (all []protocol.Message) {
	early := make(map[protocol.Party][]protocol.Message) // those that stand before what was said earlier
	least := make(map[protocol.Party]uint64)
	var rest []protocol.Message
	for _, m := range slices.Backward(facts) {
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

// Begin begins a life of the coordinator from facts that were restored, under
// settings. The error is one of the settings.
func (n *Notebook) Begin(now protocol.Time, life uint32, books []protocol.Step, rules market.Config) error {
	text, err := json.Marshal(rules)
	if err != nil {
		return fmt.Errorf("notebook: settings of the market: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.add(told(n.facts))
	n.facts = nil
	n.clerk.begin(now, life, books, string(text))
	n.add(n.clerk.notes())
	return nil
}

// Took notes a step of the coordinator. It is bus.Loop.Took.
func (n *Notebook) Took(now protocol.Time, heard *protocol.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clerk.took(now, heard)
}

// flush hands what was written to the file, for those who read meanwhile.
func (n *Notebook) flush() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-n.ended:
			return
		case <-tick.C:
			n.mu.Lock()
			n.write(func(b *wal.Writer) error { return b.Flush() })
			n.mu.Unlock()
		}
	}
}

// write writes until it fails; from then on only memory is kept.
func (n *Notebook) write(do func(*wal.Writer) error) {
	if n.book == nil {
		return
	}
	if err := do(n.book); err != nil {
		n.log.Error("the notebook is written no more; the page goes on from memory", "err", err)
		n.book = nil
	}
}

// Told takes down what the coordinator heard and said, and before what it said
// in which order it took in what led to that.
func (n *Notebook) Told(heard, said []protocol.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.add(heard)
	if len(said) > 0 || len(n.clerk.is.Steps) >= atOnce {
		n.add(n.clerk.notes())
	}
	n.add(said)
}

// add writes what was not written before, and hands it on.
func (n *Notebook) add(all []protocol.Message) {
	for _, m := range all {
		if !n.ears.New(m) {
			continue
		}
		n.write(func(b *wal.Writer) error { return b.Append(m) })
		if !n.left {
			n.fresh = append(n.fresh, m)
		}
	}
	close(n.more)
	n.more = make(chan struct{})
}

// Read is a follow.Source, from the beginning and for one reader.
func (n *Notebook) Read(ctx context.Context, _ uint64, each func(protocol.Message) error) error {
	defer n.leave()
	for _, path := range n.old {
		if err := again(path, each); err != nil {
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

// leave notes that nobody reads any more: a page that stands still stands for good.
func (n *Notebook) leave() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fresh, n.left = nil, true
}

// again reads an earlier ledger as far as it is whole.
func again(path string, each func(protocol.Message) error) (err error) {
	r, err := wal.Open(path)
	if errors.Is(err, wal.ErrTorn) || err != nil && blank(path) {
		return nil // it was cut off before its first message
	}
	if err != nil {
		return fmt.Errorf("notebook: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		m, err := r.Read()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, wal.ErrTorn):
			return nil
		case errors.As(err, new(*protocol.UnknownKindError)):
			continue
		case err != nil:
			return fmt.Errorf("notebook: %w", err)
		}
		if err := each(m); err != nil {
			return err
		}
	}
}

// blank reports whether nothing stands in a file but zeros: who began it was killed
// before he wrote, or had no room, or the power failed.
func blank(path string) bool {
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

// Close writes the end.
func (n *Notebook) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.ended:
	default:
		close(n.ended)
	}
	if len(n.clerk.is.Steps) > 0 {
		n.add(n.clerk.notes())
	}
	if n.book == nil {
		return nil
	}
	err := n.book.Close()
	n.book = nil
	return err
}
