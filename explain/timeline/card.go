package timeline

import (
	"slices"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Card is one decision with all that is known of it.
type Card struct {
	Entry
	Record   history.JobRecord
	JobRound *history.JobRound // of its round; nil of what no round decided
	Answer   query.Answer      // why, in words and figures
	Others   []Entry           // all decisions on the same job, oldest first
}

// DecisionCard returns the decision of an id such as "D-14".
func (d *Timeline) DecisionCard(id string) (Card, bool) {
	n := d.decisionNumber(id)
	i, ok := d.byID[n]
	if !ok {
		return Card{}, false
	}
	e := d.entries[i]
	c := Card{Entry: e, Answer: d.AnswerQuery(ask.Query{Ask: "why", Decision: n})}
	for _, k := range d.ofJob[e.Job] {
		c.Others = append(c.Others, d.entries[k])
	}
	c.Record, _ = d.JobOfDecision(n)
	// Round 0 is that of a refusal without a round.
	k := slices.IndexFunc(c.Record.FullRounds, func(h history.JobRound) bool { return h.Round == e.Round && e.Round != 0 })
	if k >= 0 {
		c.JobRound = &c.Record.FullRounds[k]
	}
	return c, true
}

// LastDecision returns the last decision on a job.
func (d *Timeline) LastDecision(job protocol.JobID) (Entry, bool) {
	all := d.ofJob[job]
	if len(all) == 0 {
		return Entry{}, false
	}
	return d.entries[all[len(all)-1]], true
}

// decisionNumber returns the coordinator's sequence number of a decision, by its id; 0 if the text
// is no id.
func (d *Timeline) decisionNumber(id string) uint64 {
	n, _ := record.ParseDecisionID(id, func(seq uint64) bool { _, ok := d.byID[seq]; return ok })
	return n
}
