// Package tail reads a run into a Diary while others look at it: a ledger from
// its beginning to its end, or a federation for as long as it speaks.
//
// A position in a run is how many messages came before. It means the same
// after a restart, because what was said stays said: whoever keeps the position
// of what he saw last goes on from there.
package tail

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Source calls each with every message of a run from a position on, the first
// being 0. It returns nil after the last message of a run that is over; of one
// that goes on it waits for more until ctx ends. An error of each ends it.
type Source func(ctx context.Context, from uint64, each func(protocol.Message) error) error

// A Run is a Diary that is being written.
type Run struct {
	turn    chan struct{} // holds one token: whose turn it is to use what follows
	whose   atomic.Pointer[context.Context]
	diary   *timeline.Diary
	changed chan struct{} // closed when something was added; nil while nobody waits
	over    chan struct{} // closed at the end
	err     error         // why, once it is closed
}

// Start reads a source until it or ctx ends. Totals are the figures of all
// policies that were replayed over the same jobs; nil without.
func Start(ctx context.Context, from Source, totals []history.Totals) *Run {
	r := &Run{turn: make(chan struct{}, 1), diary: timeline.New(totals), over: make(chan struct{})}
	r.turn <- struct{}{}
	go func() {
		err := from(ctx, 0, func(m protocol.Message) error {
			return r.Look(ctx, func(d *timeline.Diary) {
				d.Add(m)
				r.tell()
			})
		})
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		<-r.turn
		r.err = err
		close(r.over)
		r.tell()
		r.turn <- struct{}{}
	}()
	return r
}

func (r *Run) tell() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// Look calls see with the Diary, which nobody else uses meanwhile and which must
// not be kept. The error is that of ctx, if it ends before there is a turn or
// meanwhile; then what was seen may be cut short.
func (r *Run) Look(ctx context.Context, see func(*timeline.Diary)) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.turn:
	}
	r.whose.Store(&ctx)
	defer func() { r.whose.Store(nil); r.turn <- struct{}{} }()
	see(r.diary)
	return ctx.Err()
}

// Turn returns a context that is, at any time, that of whoever is looking: what
// takes long on his behalf ends when he goes away. It is of use only to what a
// look calls.
func (r *Run) Turn() context.Context { return turn{r} }

type turn struct{ of *Run }

func (t turn) now() context.Context {
	if ctx := t.of.whose.Load(); ctx != nil {
		return *ctx
	}
	return context.Background()
}

func (t turn) Deadline() (time.Time, bool) { return t.now().Deadline() }
func (t turn) Done() <-chan struct{}       { return t.now().Done() }
func (t turn) Err() error                  { return t.now().Err() }
func (t turn) Value(key any) any           { return t.now().Value(key) }

// Changed calls see as Look does, and returns what is closed when something is
// added after that, or when the run ends.
func (r *Run) Changed(ctx context.Context, see func(*timeline.Diary)) (<-chan struct{}, error) {
	var next chan struct{}
	err := r.Look(ctx, func(d *timeline.Diary) {
		see(d)
		if r.changed == nil {
			r.changed = make(chan struct{})
			select {
			case <-r.over:
				close(r.changed)
			default:
			}
		}
		next = r.changed
	})
	return next, err
}

// Over is closed when the run has been read to its end.
func (r *Run) Over() <-chan struct{} { return r.over }

// Err returns why reading ended; nil before that, and after a good end.
func (r *Run) Err() error {
	select {
	case <-r.over:
		return r.err
	default:
		return nil
	}
}
