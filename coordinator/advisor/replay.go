package advisor

import (
	"context"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A Sitting is a judge in simulated time. The replay waits for the model in real
// time, at most as long as the market would have waited, but in simulated time the
// answer comes at the instant of the question: so a replay does not depend on how
// fast the model is.
type Sitting struct {
	ctx   context.Context
	judge *Judge
	mouth protocol.Mouth
}

var _ bus.Machine = (*Sitting)(nil)

// Sit returns j as a machine of a replay that ends with ctx.
func (j *Judge) Sit(ctx context.Context) *Sitting {
	return &Sitting{ctx: ctx, judge: j, mouth: protocol.Mouth{Who: protocol.Judge}}
}

// Step implements bus.Machine.
func (s *Sitting) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	ask, ok := m.Body.(protocol.Ask)
	if !ok || m.From != protocol.Coordinator {
		return nil
	}
	return []protocol.Message{s.mouth.Say(now, protocol.Coordinator, s.judge.Answer(s.ctx, ask, ask.Until.Sub(now)))}
}

// Tick implements bus.Machine.
func (s *Sitting) Tick(protocol.Time) []protocol.Message { return nil }

// Due implements bus.Machine.
func (s *Sitting) Due() protocol.Time { return 0 }

// Minutes replays the recorded answers of an earlier run as inputs, without a model.
// A question without an answer then gets none now. A question that was not asked
// then, because the run is replayed with a change, gets the answer Late, so that
// the market's rule decides.
type Minutes struct {
	answers map[matter]entry
	mouth   protocol.Mouth
	due     []delayed
}

var _ bus.Machine = (*Minutes)(nil)

type matter struct {
	round uint64
	job   protocol.JobID
}

type entry struct {
	asked, said protocol.Time // zero: not asked, not answered
	answer      protocol.Answer
}

type delayed struct {
	at     protocol.Time
	answer protocol.Answer
}

// NewMinutes returns empty minutes. Add all messages of a ledger to it.
func NewMinutes() *Minutes {
	return &Minutes{answers: make(map[matter]entry), mouth: protocol.Mouth{Who: protocol.Judge}}
}

// Add records questions and answers; it ignores other messages.
func (k *Minutes) Add(m protocol.Message) {
	switch b := m.Body.(type) {
	case protocol.Ask:
		if m.From == protocol.Coordinator {
			k.answers[matter{b.Round, b.Job}] = entry{asked: m.At}
		}
	case protocol.Answer:
		at := matter{b.Round, b.Job}
		if e, ok := k.answers[at]; ok && m.From == protocol.Judge && e.said == 0 {
			e.said, e.answer = m.At, b
			k.answers[at] = e
		}
	}
}

// Again returns minutes with the same answers for another run.
func (k *Minutes) Again() *Minutes {
	return &Minutes{answers: k.answers, mouth: protocol.Mouth{Who: protocol.Judge}}
}

// Answers returns the number of recorded answers.
func (k *Minutes) Answers() (n int) {
	for _, e := range k.answers {
		if e.said != 0 {
			n++
		}
	}
	return n
}

// Step implements bus.Machine.
func (k *Minutes) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	ask, ok := m.Body.(protocol.Ask)
	if !ok || m.From != protocol.Coordinator {
		return nil
	}
	e, ok := k.answers[matter{ask.Round, ask.Job}]
	if !ok {
		return []protocol.Message{k.mouth.Say(now, protocol.Coordinator, protocol.Answer{Round: ask.Round, Job: ask.Job, Fault: protocol.Late})}
	}
	if e.said == 0 {
		return nil
	}
	took := max(0, e.said.Sub(e.asked))
	if took < time.Millisecond {
		return []protocol.Message{k.mouth.Say(now, protocol.Coordinator, e.answer)}
	}
	k.due = append(k.due, delayed{now.Add(took), e.answer})
	return nil
}

// Due implements bus.Machine.
func (k *Minutes) Due() (first protocol.Time) {
	for _, d := range k.due {
		if first == 0 || d.at < first {
			first = d.at
		}
	}
	return first
}

// Tick implements bus.Machine.
func (k *Minutes) Tick(now protocol.Time) (out []protocol.Message) {
	var left []delayed
	for _, d := range k.due {
		if d.at > now {
			left = append(left, d)
			continue
		}
		out = append(out, k.mouth.Say(now, protocol.Coordinator, d.answer))
	}
	k.due = left
	return out
}
