package advisor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/protocol"
)

// A Judge forwards the market's questions to a model.
type Judge struct {
	model Model
	now   func() time.Time
	log   *slog.Logger // nil: no log

	mu         sync.Mutex
	last       string    // the latest logged failure
	lastLogged time.Time // when it was logged
}

// NewJudge returns a judge that asks model; now is the clock that measures how long
// the model takes.
func NewJudge(model Model, now func() time.Time) *Judge { return &Judge{model: model, now: now} }

// LogTo sets the log for failures of the model: each change of the reason, and once a minute.
func (j *Judge) LogTo(to *slog.Logger) *Judge {
	j.log = to
	return j
}

// logNoVerdict logs why there is no verdict. It omits the text of the model's server, which
// is untrusted and may repeat the prompt.
func (j *Judge) logNoVerdict(fault protocol.Code, err error) {
	if j.log == nil {
		return
	}
	why := ""
	if e := (*llm.Error)(nil); errors.As(err, &e) {
		why = string(e.Fault)
		if e.Status != 0 {
			why += fmt.Sprintf(" %d", e.Status)
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if text := string(fault) + why; text != j.last || j.now().Sub(j.lastLogged) >= time.Minute {
		j.last, j.lastLogged = text, j.now()
		j.log.Warn("advisor: the model gives no verdict; the market's rule decides", "fault", string(fault), "why", why)
	}
}

// AnswerRequest asks the model twice at the same time, with the options in opposite orders,
// so that a preference for a position shows. It returns within wait, whatever the
// model does.
func (j *Judge) AnswerRequest(ctx context.Context, ask protocol.JudgeRequest, wait time.Duration) protocol.JudgeAnswer {
	a := protocol.JudgeAnswer{Round: ask.Round, Job: ask.Job, Model: j.model.Name()}
	if len(ask.Choices) < 2 {
		a.Fault = protocol.AnswerInvalid
		return a
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	first, second := judgePrompt(ask, false), judgePrompt(ask, true)
	sum := sha256.Sum256(fmt.Append(nil, first.System, "\n", first.User, "\n", string(first.Schema)))
	a.Prompt = hex.EncodeToString(sum[:])
	began := j.now()
	one, two := j.askModel(ctx, first), j.askModel(ctx, second)
	for _, c := range []chan modelResult{one, two} {
		s := modelResult{err: context.DeadlineExceeded}
		select {
		case s = <-c:
			if end, _ := ctx.Deadline(); !time.Now().Before(end) { // select picks at random when both are ready; late is late
				s.err = context.DeadlineExceeded
			}
		case <-ctx.Done():
		}
		pick, fault := s.readVerdict(ask)
		a.Tokens += s.reply.In + s.reply.Out
		if fault != "" {
			a.Fault, a.Picks = fault, nil
			j.logNoVerdict(fault, s.err)
			break
		}
		a.Picks = append(a.Picks, pick)
	}
	a.Elapsed = j.now().Sub(began).Truncate(time.Millisecond)
	return a
}

// modelResult is the outcome of one call of the model.
type modelResult struct {
	reply llm.Reply
	err   error
}

func (j *Judge) askModel(ctx context.Context, p llm.Prompt) chan modelResult {
	c := make(chan modelResult, 1) // buffered, so that a late model does not block its goroutine for ever
	go func() {
		defer func() {
			if v := recover(); v != nil {
				c <- modelResult{err: fmt.Errorf("advisor: the model panicked: %v", v)}
			}
		}()
		r, err := j.model.Ask(ctx, p)
		c <- modelResult{r, err}
	}()
	return c
}

func (s modelResult) readVerdict(ask protocol.JudgeRequest) (protocol.JudgePick, protocol.Code) {
	switch {
	case s.err == nil:
		return parseVerdict(s.reply.Text, ask)
	case errors.Is(s.err, context.DeadlineExceeded), errors.Is(s.err, context.Canceled), errors.Is(s.err, &llm.Error{Fault: llm.Late}):
		return protocol.JudgePick{}, protocol.AnswerLate
	case errors.Is(s.err, &llm.Error{Fault: llm.OverBudget}):
		return protocol.JudgePick{}, protocol.OverBudget
	}
	return protocol.JudgePick{}, protocol.AnswerFailed
}

// ServeRequests answers questions that arrive on a connection, concurrently, until ctx or the
// connection ends; it returns the reason and closes the connection. The incarnation is the
// judge's in this federation.
func (j *Judge) ServeRequests(ctx context.Context, conn bus.Conn, clock bus.Clock, incarnation uint32) error {
	ctx, cancel := context.WithCancel(ctx)
	var open sync.WaitGroup
	defer func() {
		cancel()
		open.Wait()
		_ = conn.Close() // the reason is known already
	}()
	var mu sync.Mutex // messages must be sent in the order of their numbers
	sender := protocol.Sender{Party: protocol.Judge, Incarnation: incarnation}
	dedup := new(protocol.Deduplicator)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case m, ok := <-conn.Messages():
			if !ok {
				if err := conn.Close(); err != nil {
					return err
				}
				return bus.ErrClosed
			}
			ask, is := m.Body.(protocol.JudgeRequest)
			if !is || m.From != protocol.Coordinator || !dedup.AdmitOnce(m) {
				continue
			}
			open.Go(func() {
				a := j.AnswerRequest(ctx, ask, clock.DurationUntil(ask.Until))
				mu.Lock()
				defer mu.Unlock()
				_ = conn.Send(ctx, sender.NewMessage(clock.Now(), protocol.Coordinator, a)) // if it fails, conn closes its channel of messages
			})
		}
	}
}
