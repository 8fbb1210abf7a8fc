package capacity

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// StartsWithout reports whether a job would find capacity at once, to run for so long on a model, had some
// runs ended and some reservations been given up. Afterwards the fleet is as it was. Unlike EarliestStart it
// does not hope that a run past its planned end ends now.
func (f *Fleet) StartsWithout(now protocol.Time, j protocol.Job, model string, run time.Duration, gone []protocol.JobID) bool {
	at := now.Add(time.Second) // by when runs that are to end now have ended
	var ends []plannedEnd
	for _, id := range slices.Sorted(maps.Keys(f.running)) {
		for _, p := range f.running[id].onNodes() {
			switch {
			case slices.Contains(gone, id):
				ends = append(ends, plannedEnd{p, now})
			case p.End <= at:
				ends = append(ends, plannedEnd{p, at.Add(time.Minute)})
			}
		}
	}
	before := f.setEnds(ends)
	var undo []func()
	for _, id := range gone {
		undo = append(undo, f.CancelReservation(id))
	}
	start, ok := f.EarliestStart(now, j, model, at, run)
	for _, restore := range slices.Backward(undo) {
		restore()
	}
	f.setEnds(before)
	return ok && start <= at
}

// PlanEnd plans that a run ends at an instant, as it does when it is being stopped.
func (f *Fleet) PlanEnd(id protocol.JobID, end protocol.Time) {
	r := f.running[id]
	if r == nil {
		return
	}
	var ends []plannedEnd
	for _, p := range r.onNodes() {
		ends = append(ends, plannedEnd{p, end})
	}
	r.End = end
	f.setEnds(ends)
}

// A plannedEnd is when a run, or the part of one on a node, is to end.
type plannedEnd struct {
	run *Run
	at  protocol.Time
}

// setEnds sets planned ends, and returns those that were before.
func (f *Fleet) setEnds(ends []plannedEnd) (before []plannedEnd) {
	var nodes []int
	for _, e := range ends {
		before = append(before, plannedEnd{e.run, e.run.End})
		e.run.End = e.at
		nodes = append(nodes, e.run.placement.Node)
	}
	slices.Sort(nodes)
	for _, i := range slices.Compact(nodes) {
		n := &f.nodes[i]
		slices.SortFunc(n.jobs, func(x, y *Run) int {
			return cmp.Or(cmp.Compare(x.End, y.End), strings.Compare(string(x.Job.ID), string(y.Job.ID)))
		})
		f.noteChange(n)
		f.changes.appendChange(i)
	}
	return before
}
