// Package tail reads a run into a Timeline while others look at it: a ledger from
// its beginning to its end, or a federation for as long as it sends messages.
//
// A position in a run is how many messages came before. It means the same
// after a restart, because messages are never removed: a client that keeps the
// position of the last one it saw goes on from there.
package tail

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/ask/translate"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Source calls each with every message of a run from a position on, the first
// being 0. It returns nil after the last message of a run that is over; of one
// that goes on it waits for more until ctx ends. An error of each ends it.
type Source func(ctx context.Context, from uint64, each func(protocol.Message) error) error

// A Run is a Timeline that one goroutine writes while others read it, one at a time.
type Run struct {
	turn     chan struct{} // holds one token: whose turn it is to use what follows
	viewer   atomic.Pointer[context.Context]
	timeline *timeline.Timeline
	changed  chan struct{} // closed when something was added; nil while no one waits
	over     chan struct{} // closed at the end
	err      error         // why, once it is closed
}

// StartReading reads a source until it or ctx ends. Totals are the figures of all
// policies that were replayed over the same jobs; nil without.
func StartReading(ctx context.Context, from Source, totals []history.Totals) *Run {
	r := &Run{turn: make(chan struct{}, 1), timeline: timeline.New(totals), over: make(chan struct{})}
	r.turn <- struct{}{}
	// Each message takes its own turn, so that readers get turns between messages.
	go func() {
		err := from(ctx, 0, func(m protocol.Message) error {
			return r.ViewTimeline(ctx, func(d *timeline.Timeline) {
				d.AddMessage(m)
				r.notifyWatchers()
			})
		})
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		// err is set and over closed within one turn, so that no watcher misses the end.
		<-r.turn
		r.err = err
		close(r.over)
		r.notifyWatchers()
		r.turn <- struct{}{}
	}()
	return r
}

// notifyWatchers wakes everyone who waits for a change. Its caller must have the turn.
func (r *Run) notifyWatchers() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// ViewTimeline calls see with the Timeline, which no other goroutine uses meanwhile and which
// see must not keep. It returns the error of ctx if that ends before the turn comes or
// during see; the result of see may then be incomplete.
func (r *Run) ViewTimeline(ctx context.Context, see func(*timeline.Timeline)) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.turn:
	}
	r.viewer.Store(&ctx)
	defer func() { r.viewer.Store(nil); r.turn <- struct{}{} }()
	see(r.timeline)
	return ctx.Err()
}

// View returns what see returns, as ViewTimeline calls it.
func View[T any](ctx context.Context, r *Run, see func(*timeline.Timeline) (T, error)) (v T, err error) {
	var wrong error
	if err := r.ViewTimeline(ctx, func(d *timeline.Timeline) { v, wrong = see(d) }); err != nil {
		return v, err
	}
	return v, wrong
}

// ViewerContext returns a context that always behaves as that of the current call of
// ViewTimeline: long work for a client ends when the client goes away. It is of use only to
// what see calls; without a call it never ends.
func (r *Run) ViewerContext() context.Context { return viewerContext{r} }

// A viewerContext looks up the current context at each method call, as it is handed to the
// Timeline once and outlives many readers.
type viewerContext struct{ of *Run }

// currentContext returns the context of the current call of ViewTimeline, or one that never ends.
func (t viewerContext) currentContext() context.Context {
	if ctx := t.of.viewer.Load(); ctx != nil {
		return *ctx
	}
	return context.Background()
}

func (t viewerContext) Deadline() (time.Time, bool) { return t.currentContext().Deadline() }
func (t viewerContext) Done() <-chan struct{}       { return t.currentContext().Done() }
func (t viewerContext) Err() error                  { return t.currentContext().Err() }
func (t viewerContext) Value(key any) any           { return t.currentContext().Value(key) }

// ViewAndWatch calls see as ViewTimeline does, and returns a channel that is closed when a
// message is added after that, or when the run ends. Both happen in one turn, so no change
// between them is missed.
func (r *Run) ViewAndWatch(ctx context.Context, see func(*timeline.Timeline)) (<-chan struct{}, error) {
	var next chan struct{}
	err := r.ViewTimeline(ctx, func(d *timeline.Timeline) {
		see(d)
		if r.changed == nil {
			r.changed = make(chan struct{})
			if r.HasEnded() {
				close(r.changed)
			}
		}
		next = r.changed
	})
	return next, err
}

// ReadingDone is closed when the run has been read to its end.
func (r *Run) ReadingDone() <-chan struct{} { return r.over }

// HasEnded reports whether the run has been read to its end.
func (r *Run) HasEnded() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// Err returns why reading ended; nil before that, and after a good end.
func (r *Run) Err() error {
	if r.HasEnded() {
		return r.err
	}
	return nil
}

// MarketMessages returns the messages read so far that the market sent or received, in order.
func (r *Run) MarketMessages(ctx context.Context) ([]protocol.Message, error) {
	return View(ctx, r, func(d *timeline.Timeline) ([]protocol.Message, error) { return d.MarketMessages(), nil })
}

// AnswerQuestion answers a question in plain words; before is the question that it may refer to.
// It takes two turns: in between, the model of reads may be asked for the query, which takes
// seconds, and the run is free for others. Without a model reads is nil.
func (r *Run) AnswerQuestion(ctx context.Context, reads *translate.Translator, question, before string) (a query.Answer, err error) {
	var names ask.RunContext
	if err := r.ViewTimeline(ctx, func(d *timeline.Timeline) {
		a, names = d.AskQuestion(question, before), d.KnownNames()
	}); err != nil {
		return a, err
	}
	// The callback cannot return the error of its turn.
	a = reads.AnswerQuestion(ctx, question, a, names, func(q ask.Query, by string) (made query.Answer) {
		err = r.ViewTimeline(ctx, func(d *timeline.Timeline) { made = d.NewSession().AnswerModelQuery(q, by) })
		return made
	})
	return a, err
}
