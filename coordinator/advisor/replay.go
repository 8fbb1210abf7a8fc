package advisor

import (
	"context"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A ReplayJudge is a judge in simulated time. The replay waits for the model in real
// time, at most as long as the market would have waited, but in simulated time the
// answer comes at the instant of the question: so a replay does not depend on how
// fast the model is.
type ReplayJudge struct {
	ctx    context.Context
	judge  *Judge
	sender protocol.Sender
}

var _ bus.Machine = (*ReplayJudge)(nil)

// ForReplay returns j as a machine of a replay that ends with ctx.
func (j *Judge) ForReplay(ctx context.Context) *ReplayJudge {
	return &ReplayJudge{ctx: ctx, judge: j, sender: protocol.Sender{Party: protocol.Judge}}
}

// Step implements bus.Machine.
func (s *ReplayJudge) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	ask, ok := m.Body.(protocol.JudgeRequest)
	if !ok || m.From != protocol.Coordinator {
		return nil
	}
	return []protocol.Message{s.sender.NewMessage(now, protocol.Coordinator, s.judge.AnswerRequest(s.ctx, ask, ask.Until.Sub(now)))}
}

// Tick implements bus.Machine.
func (s *ReplayJudge) Tick(protocol.Time) []protocol.Message { return nil }

// Due implements bus.Machine.
func (s *ReplayJudge) Due() protocol.Time { return 0 }

// RecordedAnswers replays the recorded answers of an earlier run as inputs, without a model.
// A question without an answer then gets none now. A question that was not asked
// then, because the run is replayed with a change, gets the answer Late, so that
// the market's rule decides.
type RecordedAnswers struct {
	answers map[questionKey]recordedAnswer
	sender  protocol.Sender
	due     []delayedAnswer
}

var _ bus.Machine = (*RecordedAnswers)(nil)

type questionKey struct {
	round uint64
	job   protocol.JobID
}

type recordedAnswer struct {
	askedAt, answeredAt protocol.Time // zero: not asked, not answered
	answer              protocol.JudgeAnswer
}

type delayedAnswer struct {
	at     protocol.Time
	answer protocol.JudgeAnswer
}

// NewRecordedAnswers returns a RecordedAnswers without answers. Add all messages of a
// ledger to it.
func NewRecordedAnswers() *RecordedAnswers {
	return &RecordedAnswers{answers: make(map[questionKey]recordedAnswer), sender: protocol.Sender{Party: protocol.Judge}}
}

// AddMessage records questions and answers; it ignores other messages.
func (k *RecordedAnswers) AddMessage(m protocol.Message) {
	switch b := m.Body.(type) {
	case protocol.JudgeRequest:
		if m.From == protocol.Coordinator {
			k.answers[questionKey{b.Round, b.Job}] = recordedAnswer{askedAt: m.At}
		}
	case protocol.JudgeAnswer:
		at := questionKey{b.Round, b.Job}
		if e, ok := k.answers[at]; ok && m.From == protocol.Judge && e.answeredAt == 0 {
			e.answeredAt, e.answer = m.At, b
			k.answers[at] = e
		}
	}
}

// ForNewRun returns the same recorded answers for another run.
func (k *RecordedAnswers) ForNewRun() *RecordedAnswers {
	return &RecordedAnswers{answers: k.answers, sender: protocol.Sender{Party: protocol.Judge}}
}

// AnswerCount returns the number of recorded answers.
func (k *RecordedAnswers) AnswerCount() (n int) {
	for _, e := range k.answers {
		if e.answeredAt != 0 {
			n++
		}
	}
	return n
}

// Step implements bus.Machine.
func (k *RecordedAnswers) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	ask, ok := m.Body.(protocol.JudgeRequest)
	if !ok || m.From != protocol.Coordinator {
		return nil
	}
	e, ok := k.answers[questionKey{ask.Round, ask.Job}]
	if !ok {
		return []protocol.Message{k.sender.NewMessage(now, protocol.Coordinator, protocol.JudgeAnswer{Round: ask.Round, Job: ask.Job, Fault: protocol.AnswerLate})}
	}
	if e.answeredAt == 0 {
		return nil
	}
	took := max(0, e.answeredAt.Sub(e.askedAt))
	if took < time.Millisecond {
		return []protocol.Message{k.sender.NewMessage(now, protocol.Coordinator, e.answer)}
	}
	k.due = append(k.due, delayedAnswer{now.Add(took), e.answer})
	return nil
}

// Due implements bus.Machine.
func (k *RecordedAnswers) Due() (first protocol.Time) {
	for _, d := range k.due {
		if first == 0 || d.at < first {
			first = d.at
		}
	}
	return first
}

// Tick implements bus.Machine.
func (k *RecordedAnswers) Tick(now protocol.Time) (out []protocol.Message) {
	var left []delayedAnswer
	for _, d := range k.due {
		if d.at > now {
			left = append(left, d)
			continue
		}
		out = append(out, k.sender.NewMessage(now, protocol.Coordinator, d.answer))
	}
	k.due = left
	return out
}
