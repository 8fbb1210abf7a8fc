// Package notebook keeps what a coordinator heard and said, so that its page can
// show it: in memory, and in ledgers of a folder if there is one, where the next
// start finds it again. Positions in a run mean the same after a restart.
//
// It is no part of deciding: a notebook that cannot be written says so in the
// log, and the market goes on.
package notebook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gridbid/gridbid/bus/journal"
	"github.com/gridbid/gridbid/protocol"
)

// A Notebook is what one coordinator heard and said.
type Notebook struct {
	log   *slog.Logger
	old   []string // ledgers of earlier starts, oldest first
	ended chan struct{}

	mu    sync.Mutex
	fresh []protocol.Message // not handed on yet
	more  chan struct{}      // closed when there is more
	book  *journal.Writer    // nil: nothing is written
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
	var err error
	if n.old, err = filepath.Glob(filepath.Join(folder, "*.ledger")); err != nil {
		return nil, fmt.Errorf("notebook: %w", err)
	}
	slices.Sort(n.old)
	// The number keeps the order, whatever the clock does between two starts.
	name := fmt.Sprintf("%05d-%s.ledger", len(n.old)+1, now.UTC().Format("20060102T150405"))
	n.book, err = journal.Create(filepath.Join(folder, name), map[string]string{"policy": "auction", "live": "coordinator", "protocol": fmt.Sprint(protocol.Current)})
	if err != nil {
		return nil, fmt.Errorf("notebook: %w", err)
	}
	go n.flush()
	return n, nil
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
			n.write(func(b *journal.Writer) error { return b.Flush() })
		}
	}
}

// write writes until it fails; from then on only memory is kept.
func (n *Notebook) write(do func(*journal.Writer) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.book == nil {
		return
	}
	if err := do(n.book); err != nil {
		n.log.Error("the notebook is written no more; the page goes on from memory", "err", err)
		n.book = nil
	}
}

// Told takes down what the coordinator heard and said.
func (n *Notebook) Told(heard, said []protocol.Message) {
	for _, all := range [][]protocol.Message{heard, said} {
		n.write(func(b *journal.Writer) error {
			for _, m := range all {
				if err := b.Append(m); err != nil {
					return err
				}
			}
			return nil
		})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fresh = append(append(n.fresh, heard...), said...)
	close(n.more)
	n.more = make(chan struct{})
}

// Read is a follow.Source, from the beginning and for one reader.
func (n *Notebook) Read(ctx context.Context, _ uint64, each func(protocol.Message) error) error {
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

// again reads an earlier ledger as far as it is whole.
func again(path string, each func(protocol.Message) error) (err error) {
	r, err := journal.Open(path)
	if errors.Is(err, journal.ErrTorn) {
		return nil // it was cut off before its first message
	}
	if err != nil {
		return fmt.Errorf("notebook: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		m, err := r.Read()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, journal.ErrTorn):
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

// Close writes the end.
func (n *Notebook) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.ended:
	default:
		close(n.ended)
	}
	if n.book == nil {
		return nil
	}
	err := n.book.Close()
	n.book = nil
	return err
}
