package query

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/counterfactual"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Dataset is a run that questions are answered from: its history, and the messages from
// which its rounds can be cleared with a change.
type Dataset struct {
	history  *history.History
	totals   []history.Totals
	messages []protocol.Message // sent or received by the market, in ledger order
	setup    ReplaySetup

	rounds      *counterfactual.RoundReplay // the replay of messages[:fedMessages]
	fedMessages int
	unchanged   *DayReplay // the replay without a change; nil until replayUnchanged succeeds

	// Caches: built on first use, and dropped by AddMessage.
	parser    *ask.Parser
	instances map[protocol.JobID][]history.JobRecord
}

// NewDataset returns an empty Dataset. Totals are those of all policies that were replayed
// over the same jobs, for comparisons; nil if there are none.
func NewDataset(totals []history.Totals) *Dataset {
	return &Dataset{history: history.New(history.Config{All: true}), totals: totals}
}

// AddMessage reads the next message of the run. A duplicate is dropped.
func (l *Dataset) AddMessage(m protocol.Message) {
	live := l.history.Coverage().Live
	if !l.history.AddMessage(m) {
		return
	}
	l.parser, l.instances = nil, nil
	if counterfactual.IsNeeded(m) || m.From == protocol.LogWriter {
		l.messages = append(l.messages, m)
	}
	if !live && l.history.Coverage().Live {
		l.rounds = nil // a live ledger has its own order of receipt, so the replay starts over
	}
}

// MarketMessages returns the messages that the market sent or received, and the log of them, in ledger order. Later
// messages do not show in what was returned.
func (l *Dataset) MarketMessages() []protocol.Message {
	return l.messages[:len(l.messages):len(l.messages)]
}

// TimeSpan returns the first and the last instant of the record; zero if it is empty.
func (l *Dataset) TimeSpan() (first, last protocol.Time) { return l.firstTime(), l.lastTime() }

// firstTime and lastTime bound the record.
func (l *Dataset) firstTime() protocol.Time { return l.history.Coverage().First }
func (l *Dataset) lastTime() protocol.Time  { return l.history.Coverage().Last }

// stateOf returns how a job stands at the end of the record.
func (l *Dataset) stateOf(r history.JobRecord) history.State {
	return l.history.JobStateNow(&r, l.lastTime()).State
}

// completeSince returns the instant from which the record has all messages that the
// coordinator received. Of the time before, it may have the jobs that the coordinator restored.
func (l *Dataset) completeSince() protocol.Time {
	return max(l.firstTime(), l.history.Coverage().Since)
}

// todayMidnight returns the midnight before the last submission, as far as the record goes, for
// the jobs of a replay may run on for days; before the record's end if nothing was
// submitted, and of a federation that runs.
func (l *Dataset) todayMidnight() protocol.Time {
	c := l.history.Coverage()
	last := c.Last.Floor(24 * time.Hour)
	if c.LastArrivalDay == 0 || c.Live {
		return last
	}
	return min(c.LastArrivalDay, last)
}

// decisionOf returns the decision of a number; the zero one if there is none.
func (l *Dataset) decisionOf(number uint64) history.DecisionRef {
	d, _ := l.history.DecisionByNumber(number)
	return d
}

// jobInstances returns all jobs submitted under an id, oldest first.
func (l *Dataset) jobInstances(id protocol.JobID) []history.JobRecord {
	all, ok := l.instances[id]
	if !ok {
		if all = l.history.InstancesOf(id); l.instances == nil {
			l.instances = make(map[protocol.JobID][]history.JobRecord)
		}
		if len(all) > 0 {
			l.instances[id] = all
		}
	}
	return all
}

// allInstances returns all submitted jobs in the order of their ids, with every instance of
// an id.
func (l *Dataset) allInstances() (all []history.JobRecord) {
	for _, id := range l.history.JobIDs() {
		all = append(all, l.jobInstances(id)...)
	}
	return all
}

// jobsWhere returns the jobs of allInstances for which something holds.
func (l *Dataset) jobsWhere(holds func(history.JobRecord) bool) []history.JobRecord {
	return slices.DeleteFunc(l.allInstances(), func(r history.JobRecord) bool { return !holds(r) })
}

// jobOfDecision returns the job that a decision was about.
func (l *Dataset) jobOfDecision(d history.DecisionRef) (r history.JobRecord) {
	if all := l.jobInstances(d.Job); d.Instance < len(all) {
		r = all[d.Instance]
	}
	return r
}

// currentDecision returns the id of the decision in force for a job: its current award, or
// else its last decision; 0 if there is none.
func (l *Dataset) currentDecision(r history.JobRecord) uint64 {
	if a := r.CurrentAward(); a != nil {
		return decisionNumber(*a)
	}
	if n := len(r.Decisions); n > 0 {
		return r.Decisions[n-1]
	}
	return 0
}

// JobOfDecision returns the job that a decision was about; false if there is no decision of
// that number, or its job is not on record.
func (l *Dataset) JobOfDecision(id uint64) (history.JobRecord, bool) {
	r := l.jobOfDecision(l.decisionOf(id))
	return r, r.Job.ID != ""
}

// History returns the record of the run, with every round of every job in full.
// The Dataset owns it: callers only read it, and add messages by AddMessage.
func (l *Dataset) History() *history.History { return l.history }

// DecisionNumbers returns the numbers of all decisions, in the order of the messages.
func (l *Dataset) DecisionNumbers() (all []uint64) {
	for _, d := range l.history.AllDecisions() {
		all = append(all, d.Number)
	}
	return all
}

// DecisionDocument returns one decision as a document; false if there is none of that
// number.
func (l *Dataset) DecisionDocument(id uint64) (record.DecisionRecord, bool) {
	d, ok := l.history.DecisionByNumber(id)
	if !ok {
		return record.DecisionRecord{}, false
	}
	r := l.jobOfDecision(d)
	for _, h := range r.FullRounds {
		if decisionNumber(h.Decision) == id {
			out, ok := record.FromRound(r, h, r.Number, 0)
			if x := l.history.JudgeQuestionOf(h.Round, d.Job); x != nil {
				out = out.WithJudge(x.Ask, x.Answer, h.Decision)
			}
			return out.WithPolicy(l.policyAt(id), r, h), ok
		}
	}
	if r.Refusal == nil || decisionNumber(*r.Refusal) != id {
		return record.DecisionRecord{}, false
	}
	return record.FromRound(r, history.JobRound{Decision: *r.Refusal}, r.Number, 0)
}

// decisionNumber returns the number that identifies a decision: the coordinator's sequence
// number of its message, from 1.
func decisionNumber(d history.Decision) uint64 { return max(d.Message.Seq, 1) }

// decisionLabel returns an id as people see it; "" of no decision.
func decisionLabel(id uint64) string {
	if id == 0 {
		return ""
	}
	return record.DecisionID(id)
}
