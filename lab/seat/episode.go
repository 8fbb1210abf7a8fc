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
type episode struct {
	account   account
	questions chan *learned.Question
	answers   chan int
	ended     chan struct{} // closed when result and err are set
	result    scenarios.ReplayResult
	err       error
	stop      context.CancelFunc
}

// startEpisode starts a day, whose learner is asked about planned jobs anew if it wants to replan, and
// which leaves processors to other days if several run side by side.
func startEpisode(ctx context.Context, s spec.Scenario, replan, sideBySide bool) *episode {
	e := &episode{questions: make(chan *learned.Question), answers: make(chan int), ended: make(chan struct{})}
	e.account = account{history: history.New(history.Config{NoBids: true}), meta: scenarios.RunMetadata(s, scenarios.PolicyOutside)}
	ctx, e.stop = context.WithCancel(ctx)
	go func() {
		defer close(e.ended)
		e.result, e.err = scenarios.Replay(ctx, s, scenarios.PolicyOutside, new(membus.Bus), scenarios.Options{
			History: e.account.history, Sequential: sideBySide,
			Rule: func() auction.ClearingRule {
				return learned.NewRule(func(q *learned.Question) (int, string) { return e.askLearner(ctx, q), "" }, replan)
			},
			Record: func(m protocol.Message) error {
				e.account.addMessage(m)
				return nil
			},
		})
	}()
	return e
}

// askLearner hands a question over and waits for its answer. Once the episode is stopped it holds
// every job, until the replay notices.
func (e *episode) askLearner(ctx context.Context, q *learned.Question) int {
	select {
	case e.questions <- q:
	case <-ctx.Done():
		return learned.Hold
	}
	select {
	case action := <-e.answers:
		return action
	case <-ctx.Done():
		return learned.Hold
	}
}

// next returns the next question, or nil when the day is over.
func (e *episode) next() (*learned.Question, error) {
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
func (e *episode) decide(action int) (*learned.Question, error) {
	select {
	case e.answers <- action:
	case <-e.ended:
	}
	return e.next()
}

// abandon ends an episode before its day is over.
func (e *episode) abandon() {
	e.stop()
	<-e.ended
}
