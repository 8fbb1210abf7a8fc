package query

import (
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/counterfactual"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Log is a run that can be asked about: a view of its history, and the messages by
// which its rounds can be cleared again.
type Log struct {
	book   *history.History
	totals []history.Totals
	said   []protocol.Message // that the market sent or received
	stage  Stage

	run *counterfactual.RoundReplay // said[:fed], stepped over
	fed int
	as  *Rehearsal // the run as it was, if it was replayed

	// Made when first asked for, and again after a message was added.
	listener *ask.Listener
	kept     map[protocol.JobID][]history.JobRecord
}

// New returns an empty Log. Totals are the figures of all policies that were
// replayed over the same jobs, for comparisons; nil without.
func New(totals []history.Totals) *Log {
	return &Log{book: history.New(history.Config{All: true}), totals: totals}
}

// Add reads the next message of the run. A message heard before is dropped.
func (l *Log) Add(m protocol.Message) {
	live := l.book.Coverage().Live
	if !l.book.AddMessage(m) {
		return
	}
	l.listener, l.kept = nil, nil
	if counterfactual.IsNeeded(m) {
		l.said = append(l.said, m)
	}
	if !live && l.book.Coverage().Live {
		l.run = nil // the ledger says in which order it was heard
	}
}

// Span returns from when to when the record goes; zero without any.
func (l *Log) Span() (first, last protocol.Time) { return l.first(), l.last() }

func (l *Log) first() protocol.Time { return l.book.Coverage().First }
func (l *Log) last() protocol.Time  { return l.book.Coverage().Last }

// begins returns from when on the record has all messages that a coordinator received.
// Of the time before it may have the jobs that the coordinator restored.
func (l *Log) begins() protocol.Time { return max(l.first(), l.book.Coverage().Since) }

// today returns the midnight before the last submission, as far as the record goes, for
// the jobs of a replay may run on for days; before the record's end if nothing was
// submitted, and of a federation that runs.
func (l *Log) today() protocol.Time {
	c := l.book.Coverage()
	last := c.Last.Floor(24 * time.Hour)
	if c.LastArrivalDay == 0 || c.Live {
		return last
	}
	return min(c.LastArrivalDay, last)
}

// decisionOf returns the decision of a number; the zero one if there is none.
func (l *Log) decisionOf(number uint64) history.DecisionRef {
	d, _ := l.book.DecisionByNumber(number)
	return d
}

// known returns the record of a job that was submitted: the last of its id.
func (l *Log) known(id protocol.JobID) (r history.JobRecord) {
	if all := l.namesakes(id); len(all) > 0 {
		r = all[len(all)-1]
	}
	return r
}

// namesakes returns all jobs of an id, oldest first.
func (l *Log) namesakes(id protocol.JobID) []history.JobRecord {
	all, ok := l.kept[id]
	if !ok {
		if all = l.book.InstancesOf(id); l.kept == nil {
			l.kept = make(map[protocol.JobID][]history.JobRecord)
		}
		if len(all) > 0 {
			l.kept[id] = all
		}
	}
	return all
}

// records returns all submitted jobs, by id; of an id that was given to several, all.
func (l *Log) records() (all []history.JobRecord) {
	for _, id := range l.book.JobIDs() {
		all = append(all, l.namesakes(id)...)
	}
	return all
}

// decidedOn returns the job that a decision was about.
func (l *Log) decidedOn(d history.DecisionRef) (r history.JobRecord) {
	if all := l.namesakes(d.Job); d.Instance < len(all) {
		r = all[d.Instance]
	}
	return r
}

// deciding returns the id of the decision that a job stands by: its award, or else its
// last; 0 if there is none.
func (l *Log) deciding(r history.JobRecord) uint64 {
	if a := r.CurrentAward(); a != nil {
		return number(*a)
	}
	if n := len(r.Decisions); n > 0 {
		return r.Decisions[n-1]
	}
	return 0
}

// About returns the job that a decision was about; false if there is no decision of
// that number, or nobody knows of its job.
func (l *Log) About(id uint64) (history.JobRecord, bool) {
	r := l.decidedOn(l.decisionOf(id))
	return r, r.Job.ID != ""
}

// Book returns the record of the run, with every round of every job in full.
// It is the Log's own: read it, and add to the Log.
func (l *Log) Book() *history.History { return l.book }

// Decisions returns the numbers of all decisions, as they were said.
func (l *Log) Decisions() (all []uint64) {
	for _, d := range l.book.AllDecisions() {
		all = append(all, d.Number)
	}
	return all
}

// Decision returns one decision as a document; false if there is none of that
// number.
func (l *Log) Decision(id uint64) (record.DecisionRecord, bool) {
	d, ok := l.book.DecisionByNumber(id)
	if !ok {
		return record.DecisionRecord{}, false
	}
	r := l.decidedOn(d)
	for _, h := range r.FullRounds {
		if number(h.Decision) == id {
			out, ok := record.FromRound(r, h, r.Number, 0)
			if x := l.book.JudgeQuestionOf(h.Round, d.Job); x != nil {
				out = out.WithJudge(x.Ask, x.Answer, h.Decision)
			}
			return out.WithPolicy(l.policyAt(id), r, h), ok
		}
	}
	if r.Refusal == nil || number(*r.Refusal) != id {
		return record.DecisionRecord{}, false
	}
	return record.FromRejection(r, r.Number, 0)
}

// number is what a decision is known by: how the coordinator numbered what it said,
// from 1.
func number(d history.Decision) uint64 { return max(d.Message.Seq, 1) }

// cite returns an id as people see it; "" of no decision.
func cite(id uint64) string {
	if id == 0 {
		return ""
	}
	return record.DecisionID(id)
}
