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

// AllDecisions returns all decisions in the order of the stream. The slice is the
// History's own and must not be changed.
func (b *History) AllDecisions() []DecisionRef { return b.decisions }

// DecisionByNumber returns the decision of a number; false if there is none.
func (b *History) DecisionByNumber(number uint64) (DecisionRef, bool) {
	i, ok := b.byNumber[number]
	if !ok {
		return DecisionRef{}, false
	}
	return b.decisions[i], true
}

// listDecision adds a decision to the list, and to its job's own. The refusal of a
// duplicate decides nothing on the job whose id it repeats.
func (b *History) listDecision(from MessageRef, d DecisionRef) {
	if b.cfg.Live {
		return
	}
	// Numbers are sequence numbers of the coordinator, so that the id of a decision is the same
	// in every reading of the ledger.
	d.Number, d.At, d.Instance = max(from.Seq, 1), from.At, b.EarlierInstances(d.Job)
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

// A jobInRound keys what the judge was asked: at most one question per job and round.
type jobInRound struct {
	round uint64
	job   protocol.JobID
}

// JudgeQuestionOf returns what the judge was asked of a job in a round; nil if nothing.
func (b *History) JudgeQuestionOf(round uint64, job protocol.JobID) *JudgeQuestion {
	return b.judged[jobInRound{round, job}]
}

// JudgeQuestions returns how often the judge was asked.
func (b *History) JudgeQuestions() int { return len(b.judged) }

// foldJudgeRequest records a question to the judge. It is asked after bidding has closed.
func (b *History) foldJudgeRequest(from MessageRef, m protocol.JudgeRequest) {
	b.markDecided(m.Round, from.At)
	if !b.cfg.Live {
		b.judged[jobInRound{m.Round, m.Job}] = &JudgeQuestion{Ask: m}
	}
}

// foldJudgeAnswer records the first answer that came in time from the judge itself: the market
// uses no other.
func (b *History) foldJudgeAnswer(from MessageRef, m protocol.JudgeAnswer) {
	q := b.judged[jobInRound{m.Round, m.Job}]
	if q != nil && from.From == protocol.Judge && from.At < q.Ask.Until && q.Answer == nil {
		q.Answer = &m
	}
}

// A PolicyVersion is a policy of the operators from when it was announced on.
type PolicyVersion struct {
	At  protocol.Time
	Seq uint64 // the coordinator's sequence number of the announcement
	protocol.Policy
}

// PolicyVersions returns the announced policies, oldest first. The slice is the History's own.
func (b *History) PolicyVersions() []PolicyVersion { return b.rules }

// foldPolicy puts a policy in force for the decisions that follow. One without rules counts as
// none (version 0). A live view keeps the newest alone.
func (b *History) foldPolicy(from MessageRef, p protocol.Policy) {
	if b.policy = p.Version; len(p.Rules) == 0 {
		b.policy = 0
	}
	since := make(map[string]protocol.Time, len(p.Rules))
	for _, r := range p.Rules {
		if since[r.ID] = from.At; b.ruleSince[r.ID] != 0 {
			since[r.ID] = b.ruleSince[r.ID]
		}
	}
	b.ruleSince = since
	b.addEvent(SiteEvent{At: from.At, Kind: EventPolicy, Policy: p.Version, SiteCondition: SiteCondition{By: p.By, Why: protocol.Reason{Note: p.Sentence}}})
	if b.cfg.Live {
		b.rules = b.rules[:0]
	}
	b.rules = append(b.rules, PolicyVersion{from.At, from.Seq, p})
}

// TenantNames returns the tenants of all submitted jobs, sorted.
func (b *History) TenantNames() []string { return slices.Clone(b.tenants) }

// noteTenant keeps tenants sorted, each once.
func (b *History) noteTenant(name string) {
	if i, there := slices.BinarySearch(b.tenants, name); !there {
		b.tenants = slices.Insert(b.tenants, i, name)
	}
}
