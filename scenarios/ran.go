package scenarios

import (
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Ran is a job that ran to its end, and what that cost: energy and carbon as
// measured, and moving its input.
type Ran struct {
	Job            protocol.JobID
	Site, Node     string
	Model          string // of GPUs
	Started, Ended protocol.Time
	Cost           protocol.Microdollars
	Parts          []Ran // that ended in a pause before it, each with its own cost
}

// RanOf returns the jobs of a record that ran to their ends, by id.
func RanOf(b *history.Book, w protocol.Weights) (out []Ran) {
	for _, id := range b.Jobs() {
		r, _ := b.Job(id)
		if r.Run == nil || r.State != history.Ended {
			continue
		}
		x := ranOf(id, *r.Run, w)
		if a := r.Award(); a != nil {
			x.Cost += a.Option.Transfer
		}
		for _, p := range r.Parts {
			part := ranOf(id, p, w)
			part.Cost += p.Transfer
			x.Parts = append(x.Parts, part)
		}
		out = append(out, x)
	}
	return out
}

func ranOf(id protocol.JobID, r history.Run, w protocol.Weights) Ran {
	return Ran{
		Job: id, Site: r.Site, Node: r.Node, Model: r.Model, Started: r.Started, Ended: r.Ended,
		Cost: r.Cost.Money + w.CarbonCost(r.Cost.Carbon),
	}
}
