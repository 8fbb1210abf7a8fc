package scenarios

import (
	"github.com/gridbid/gridbid/coordinator/record"
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
}

// RanOf returns the jobs of a record that ran to their ends, by id.
func RanOf(b *record.Book, w protocol.Weights) (out []Ran) {
	for _, id := range b.Jobs() {
		r, _ := b.Job(id)
		if r.Run == nil || r.State != record.Ended {
			continue
		}
		x := Ran{
			Job: id, Site: r.Run.Site, Node: r.Run.Node, Model: r.Run.Model, Started: r.Run.Started, Ended: r.Run.Ended,
			Cost: r.Run.Cost.Money + w.CarbonCost(r.Run.Cost.Carbon),
		}
		if a := r.Award(); a != nil {
			x.Cost += a.Option.Transfer
		}
		out = append(out, x)
	}
	return out
}
