package seat

import (
	"context"
	"fmt"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/learned"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// An episode is one day under way, decided by whoever answers its questions. The replay runs in a
// goroutine of its own and stands still while a question is open, so its state may be read then.
type episode[Q, A any] struct {
	account   account
	questions chan *Q
	answers   chan A
	idle      A             // answers for a learner that has left
	ended     chan struct{} // closed when result and err are set
	result    scenarios.ReplayResult
	err       error
	stop      context.CancelFunc
}

// A ruleEpisode is a day at the seat of the clearing.
type ruleEpisode = episode[learned.Question, int]

// startEpisode starts a day, whose learner is asked about planned jobs anew if it wants to replan, and
// which leaves processors to other days if several run side by side.
func startEpisode(ctx context.Context, s spec.Scenario, replan, sideBySide bool) *ruleEpisode {
	return startDay(ctx, s, sideBySide, learned.Hold, func(ask func(*learned.Question) int) scenarios.Options {
		return scenarios.Options{Rule: func() auction.ClearingRule {
			return learned.NewRule(func(q *learned.Question) (int, string) { return ask(q), "" }, replan)
		}}
	})
}

// startDay starts a day with a learner at the seat that some options make of a function that asks it.
func startDay[Q, A any](ctx context.Context, s spec.Scenario, sideBySide bool, idle A, seat func(ask func(*Q) A) scenarios.Options) *episode[Q, A] {
	e := &episode[Q, A]{questions: make(chan *Q), answers: make(chan A), idle: idle, ended: make(chan struct{})}
	e.account = newAccount(history.New(history.Config{NoBids: true}), s, scenarios.PolicyOutside)
	ctx, e.stop = context.WithCancel(ctx)
	o := seat(func(q *Q) A { return e.askLearner(ctx, q) })
	o.History, o.Sequential = e.account.history, sideBySide
	o.Record = func(m protocol.Message) error {
		e.account.addMessage(m)
		return nil
	}
	go func() {
		defer close(e.ended)
		e.result, e.err = scenarios.Replay(ctx, s, scenarios.PolicyOutside, new(membus.Bus), o)
	}()
	return e
}

// askLearner hands a question over and waits for its answer. Once the episode is stopped it answers by
// itself, until the replay notices.
func (e *episode[Q, A]) askLearner(ctx context.Context, q *Q) A {
	select {
	case e.questions <- q:
	case <-ctx.Done():
		return e.idle
	}
	select {
	case action := <-e.answers:
		return action
	case <-ctx.Done():
		return e.idle
	}
}

// next returns the next question, or nil when the day is over.
func (e *episode[Q, A]) next() (*Q, error) {
	select {
	case q := <-e.questions:
		return q, nil
	case <-e.ended:
	}
	if e.err != nil {
		return nil, fmt.Errorf("seat: the day did not end: %w", e.err)
	}
	return nil, nil
}

// decide answers the open question, and returns the next one as next does.
func (e *episode[Q, A]) decide(action A) (*Q, error) {
	select {
	case e.answers <- action:
	case <-e.ended:
	}
	return e.next()
}

// abandon ends an episode before its day is over.
func (e *episode[Q, A]) abandon() {
	e.stop()
	<-e.ended
}
