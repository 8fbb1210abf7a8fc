// Package timeline is a run that can be opened at any instant: who was doing what,
// what it had cost until then, what was decided last and why, and the charts of
// it. The page, the command line and MCP show the same Timeline; it is filled from
// the messages of a run, read from a ledger or from a federation that runs.
//
// Promises: the Timeline at an instant holds what was sent until then, and of the
// past nothing that was only sent later, except when a job ended; its figures
// are copied from messages or are sums of theirs; a decision has the id that
// explain/query cites it by.
package timeline

import (
	"slices"
	"sort"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Timeline is one run. It is for one goroutine at a time.
type Timeline struct {
	log     *query.Dataset
	history *history.History // the log's
	totals  []history.Totals
	read    uint64

	entries []Entry        // of history.AllDecisions, each with the position at which it was read
	byID    map[uint64]int // into entries
	ofJob   map[protocol.JobID][]int
}

// New returns an empty Timeline. Totals are the figures of all policies that were
// replayed over the same jobs; nil without.
func New(totals []history.Totals) *Timeline {
	d := &Timeline{log: query.NewDataset(totals), totals: totals, byID: make(map[uint64]int), ofJob: make(map[protocol.JobID][]int)}
	d.history = d.log.History()
	return d
}

// AddMessage reads the next message of the run. One that its sender may not send has no effect,
// but counts as a position.
func (d *Timeline) AddMessage(m protocol.Message) {
	d.read++
	d.log.AddMessage(m)
	for _, x := range d.history.AllDecisions()[len(d.entries):] {
		d.listDecision(x)
	}
}

// An Entry is one decision.
type Entry struct {
	N      uint64 // how many messages of the run were read with it; rises from entry to entry
	ID     string // "D-14"
	At     protocol.Time
	Kind   string // "award", "hold", "refuse"
	Job    protocol.JobID
	Round  uint64              // 0 of a refusal
	Site   string              // that is to run it, by an award or a plan
	Start  protocol.Time       // planned; 0 without
	Until  protocol.Time       // of a hold: called again then
	Carbon protocol.Milligrams // of an award
	Why    string
}

// listDecision lists a decision that was read with the newest message, under its position: a
// client that knows the position gets only what came after.
func (d *Timeline) listDecision(x history.DecisionRef) {
	d.byID[x.Number] = len(d.entries)
	d.ofJob[x.Job] = append(d.ofJob[x.Job], len(d.entries))
	d.entries = append(d.entries, Entry{
		N: d.read, ID: record.DecisionID(x.Number), At: x.At, Kind: x.Kind, Job: x.Job, Round: x.Round,
		Site: x.Site, Start: x.Start, Until: x.Until, Carbon: x.Carbon, Why: narrate.ReasonWithNote(x.Why),
	})
}

// MessageCount returns how many messages have been added.
func (d *Timeline) MessageCount() uint64 { return d.read }

// TimeSpan returns when the first and the last message were said; zero without any.
func (d *Timeline) TimeSpan() (first, last protocol.Time) { return d.log.TimeSpan() }

// DecisionsSince returns up to n decisions that were read after the first so many
// messages, oldest first.
func (d *Timeline) DecisionsSince(read uint64, n int) []Entry {
	i := sort.Search(len(d.entries), func(i int) bool { return d.entries[i].N > read })
	return slices.Clone(d.entries[i:min(i+n, len(d.entries))])
}

// DecisionsUntil returns the last n decisions until an instant, newest first, of those that were
// read before position before; 0 is no limit.
func (d *Timeline) DecisionsUntil(at protocol.Time, before uint64, n int) []Entry {
	end := sort.Search(len(d.entries), func(i int) bool { return d.entries[i].At > at })
	if before > 0 {
		end = min(end, sort.Search(len(d.entries), func(i int) bool { return d.entries[i].N >= before }))
	}
	all := slices.Clone(d.entries[max(0, end-n):end])
	slices.Reverse(all)
	return all
}

// DecisionRecord returns a decision as a document.
func (d *Timeline) DecisionRecord(id string) (record.DecisionRecord, bool) {
	n, ok := d.decisionNumber(id)
	if !ok {
		return record.DecisionRecord{}, false
	}
	return d.log.DecisionDocument(n)
}

// AskQuestion answers a question in plain words. It may lean on one that was answered
// before ("and on wednesday?"); "" without.
func (d *Timeline) AskQuestion(text, before string) query.Answer {
	talk := d.log.NewSession()
	if q, back := d.log.ParseQuestion(before); before != "" && back == nil {
		talk.ContinueFrom(q)
	}
	return talk.AnswerQuestion(text)
}

// KnownNames returns the names that a question about the run may hold.
func (d *Timeline) KnownNames() ask.RunContext { return d.log.KnownNames() }

// AnswerTranslated answers a query that a model made of a question; by names the model.
func (d *Timeline) AnswerTranslated(q ask.Query, by string) query.Answer {
	return d.log.NewSession().AnswerModelQuery(q, by)
}

// SetReplay says on what stage the run was played, for what-if questions.
func (d *Timeline) SetReplay(s query.ReplaySetup) { d.log.SetReplay(s) }

// AnswerQuery answers a typed query.
func (d *Timeline) AnswerQuery(q ask.Query) query.Answer { return d.log.AnswerQuery(q) }

// PolicyTotals returns the figures of all policies that were replayed over the same
// jobs.
func (d *Timeline) PolicyTotals() []history.Totals { return d.totals }
