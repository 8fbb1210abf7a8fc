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
	Record  history.JobRecord
	Hearing *history.Hearing // of its round; nil of what no round decided
	Answer  query.Answer     // why, in words and figures
	Others  []Entry          // all decisions on the same job, oldest first
}

// Card returns the decision of an id such as "D-14".
func (d *Diary) Card(id string) (Card, bool) {
	n, ok := d.number(id)
	i, there := d.byID[n]
	if !ok || !there {
		return Card{}, false
	}
	e := d.entries[i]
	c := Card{Entry: e, Answer: d.log.Answer(ask.Query{Ask: "why", Decision: n})}
	for _, k := range d.ofJob[e.Job] {
		c.Others = append(c.Others, d.entries[k])
	}
	var known bool
	if c.Record, known = d.log.About(n); !known {
		return c, true
	}
	k := slices.IndexFunc(c.Record.Hearings, func(h history.Hearing) bool { return h.Round == e.Round && e.Round != 0 })
	if k >= 0 {
		c.Hearing = &c.Record.Hearings[k]
	}
	return c, true
}

// Last returns the last decision on a job.
func (d *Diary) Last(job protocol.JobID) (Entry, bool) {
	all := d.ofJob[job]
	if len(all) == 0 {
		return Entry{}, false
	}
	return d.entries[all[len(all)-1]], true
}

// number returns the number of a decision of an id.
func (d *Diary) number(id string) (uint64, bool) {
	return record.ParseDecisionID(id, func(seq uint64) bool { _, ok := d.byID[seq]; return ok })
}
