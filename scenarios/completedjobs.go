package scenarios

import (
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A CompletedJob is a job that ran to its end, and what that cost: energy and carbon as
// measured, and moving its input.
type CompletedJob struct {
	Job            protocol.JobID
	Site, Node     string
	Model          string // of GPUs
	Started, Ended protocol.Time
	Cost           protocol.Microdollars
	Places         []protocol.Place // of a gang
	PausedSegments []CompletedJob   // that ended in a pause before it, each with its own cost
}

// CompletedJobs returns the jobs of a record that ran to their ends, by id.
func CompletedJobs(b *history.History, w protocol.Weights) (out []CompletedJob) {
	for _, id := range b.JobIDs() {
		r, _ := b.LatestJob(id)
		if r.Run == nil || !r.HasEnded() {
			continue
		}
		x := completedJobOf(id, *r.Run, w)
		// The transfer is not measured: it counts as the award states it.
		if a := r.CurrentAward(); a != nil {
			x.Cost += a.Option.Transfer
		}
		for _, p := range r.Parts {
			part := completedJobOf(id, p, w)
			part.Cost += p.Transfer
			x.PausedSegments = append(x.PausedSegments, part)
		}
		out = append(out, x)
	}
	return out
}

// completedJobOf returns one run with its measured money and the weighted cost of its carbon,
// without transfers.
func completedJobOf(id protocol.JobID, r history.Run, w protocol.Weights) CompletedJob {
	return CompletedJob{
		Job: id, Site: r.Site, Node: r.Node, Model: r.Model, Started: r.Started, Ended: r.Ended, Places: r.Places,
		Cost: r.Cost.Money + w.CarbonCost(r.Cost.Carbon),
	}
}
