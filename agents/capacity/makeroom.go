package capacity

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/protocol"
)

// A JobStart is a job that is to run for so long on a model.
type JobStart struct {
	Job   protocol.Job
	Model string
	Run   time.Duration
}

// BothStartWithout reports whether two jobs would find capacity at once, the second beside the first, had a run
// ended: where StartRun would place them. Afterwards the fleet is as it was.
func (f *Fleet) BothStartWithout(now protocol.Time, first, second JobStart, gone protocol.JobID) bool {
	r := f.running[gone]
	if r == nil || slices.ContainsFunc(r.onNodes(), func(p *Run) bool { return f.nodes[p.placement.Node].leaving }) {
		return false
	}
	for _, p := range r.onNodes() {
		defer f.takeOff(now, p)()
	}
	defer f.CancelReservation(first.Job.ID)()
	placed, ok := f.quoteNodes(now, &first)
	if !ok {
		return false
	}
	for _, p := range placed {
		x := &Run{Job: first.Job, Start: now, End: now.Add(first.Run), placement: p.Placement}
		if first.Job.IsGang() {
			x.Job = first.Job.PodsOf(p.Set, p.Pods)
		}
		if f.cluster.TakePlacement(p.Placement) != nil {
			return false
		}
		n, since := &f.nodes[p.Node], f.nodes[p.Node].emptySince
		f.insertRun(n, x)
		defer func() {
			f.leaveNode(now, x)
			n.emptySince = since
		}()
	}
	_, ok = f.QuotePlacement(now, second.Job, second.Model, second.Run)
	return ok
}

// quoteNodes returns where StartRun would place a job now.
func (f *Fleet) quoteNodes(now protocol.Time, s *JobStart) ([]fgd.SetPlacement, bool) {
	if s.Job.IsGang() {
		q, ok := f.quoteGang(now, &s.Job, s.Model, s.Run)
		return q.Placements, ok
	}
	q, ok := f.quoteNode(now, s.Job, s.Model, s.Run)
	return []fgd.SetPlacement{{Placement: q.Placement, Pods: 1}}, ok
}

// takeOff takes a run off its node, and returns what puts it back, once all that came later is gone.
func (f *Fleet) takeOff(now protocol.Time, r *Run) (putBack func()) {
	n := &f.nodes[r.placement.Node]
	since, jobs := n.emptySince, slices.Clone(n.jobs)
	f.leaveNode(now, r)
	return func() {
		_ = f.cluster.TakePlacement(r.placement) // cannot fail: it was taken before
		n.emptySince, n.jobs = since, jobs
		f.noteChange(n)
		f.changes.appendChange(r.placement.Node)
	}
}
