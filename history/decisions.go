package history

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A DecisionRef is one decision of the coordinator in the order of the stream,
// with what it takes to find its job and its round.
type DecisionRef struct {
	Number   uint64 // the coordinator's sequence number of the message, from 1
	At       protocol.Time
	Kind     string // "award", "hold", "refuse"
	Job      protocol.JobID
	Instance int    // which of the jobs that had this id, from 0
	Round    uint64 // 0 of a refusal
	Site     string // that is to run it, by an award or by the plan of a hold
	Start    protocol.Time
	Until    protocol.Time       // of a hold: called again then, at the latest
	Carbon   protocol.Milligrams // of an award
	Why      protocol.Reason
}

// Decisions returns all decisions in the order of the stream. The slice is the
// Book's own and must not be changed.
func (b *Book) Decisions() []DecisionRef { return b.decisions }

// Decision returns the decision of a number; false if there is none.
func (b *Book) Decision(number uint64) (DecisionRef, bool) {
	i, ok := b.byNumber[number]
	if !ok {
		return DecisionRef{}, false
	}
	return b.decisions[i], true
}

// listDecision adds a decision to the list, and to its job's own. The refusal of a
// duplicate decides nothing on the job whose id it repeats.
func (b *Book) listDecision(from Origin, d DecisionRef) {
	if b.cfg.Live {
		return
	}
	d.Number, d.At, d.Instance = max(from.Seq, 1), from.At, b.Before(d.Job)
	b.byNumber[d.Number] = len(b.decisions)
	b.decisions = append(b.decisions, d)
	if e := b.jobs[d.Job]; e != nil && !(d.Kind == "refuse" && d.Why.Code == protocol.Duplicate) {
		e.rec.Decisions = append(e.rec.Decisions, d.Number)
	}
}

// A JudgeQuestion is what the judge was asked of a job in a round.
type JudgeQuestion struct {
	Ask    protocol.JudgeRequest
	Answer *protocol.JudgeAnswer // nil: none in time
}

type jobInRound struct {
	round uint64
	job   protocol.JobID
}

// Judged returns what the judge was asked of a job in a round; nil if nothing.
func (b *Book) Judged(round uint64, job protocol.JobID) *JudgeQuestion {
	return b.judged[jobInRound{round, job}]
}

// JudgeQuestions returns how often the judge was asked.
func (b *Book) JudgeQuestions() int { return len(b.judged) }

func (b *Book) askJudge(m protocol.JudgeRequest) {
	b.decided(m.Round)
	if !b.cfg.Live {
		b.judged[jobInRound{m.Round, m.Job}] = &JudgeQuestion{Ask: m}
	}
}

func (b *Book) judgeAnswers(from Origin, m protocol.JudgeAnswer) {
	q := b.judged[jobInRound{m.Round, m.Job}]
	if q != nil && from.From == protocol.Judge && from.At < q.Ask.Until && q.Answer == nil {
		q.Answer = &m
	}
}

// A Rules is a policy of the operators from when it was announced on.
type Rules struct {
	At  protocol.Time
	Seq uint64 // the coordinator's sequence number of the announcement
	protocol.Policy
}

// Rules returns the announced policies, oldest first. The slice is the Book's own.
func (b *Book) Rules() []Rules { return b.rules }

// announce puts a policy in force. A live view needs the newest alone.
func (b *Book) announce(from Origin, p protocol.Policy) {
	if b.policy = p.Version; len(p.Rules) == 0 {
		b.policy = 0
	}
	if b.cfg.Live {
		b.rules = b.rules[:0]
	}
	b.rules = append(b.rules, Rules{from.At, from.Seq, p})
}

// Tenants returns the tenants of all submitted jobs, sorted.
func (b *Book) Tenants() []string { return slices.Clone(b.tenants) }

// noteTenant keeps tenants sorted, each once.
func (b *Book) noteTenant(name string) {
	if i, there := slices.BinarySearch(b.tenants, name); !there {
		b.tenants = slices.Insert(b.tenants, i, name)
	}
}
