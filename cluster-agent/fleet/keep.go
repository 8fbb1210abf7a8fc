package fleet

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A keep is a node set aside for one job. Until then jobs that end in time may
// run there.
type keep struct {
	job   protocol.JobID
	from  protocol.Time
	until protocol.Time // when the job will have run
	gpu   protocol.Milli
}

// gap returns the first time from t on at which n is kept for nobody else for
// so long. Invariant: keeps are in order of time and do not overlap.
func (n *node) gap(id protocol.JobID, t protocol.Time, run time.Duration) protocol.Time {
	for _, k := range n.keeps {
		if k.job != id && t < k.until && k.from < t.Add(run) {
			t = k.until
		}
	}
	return t
}

// Opening returns the first time, not before at, at which a job finds room to
// run for so long on a model, or on any that will do, if what runs ends as
// planned and what is kept is used. Of the nodes that have room by then it is
// the one that is busy longest. False if the job never finds room.
func (f *Fleet) Opening(now protocol.Time, j protocol.Job, model string, at protocol.Time, run time.Duration) (start protocol.Time, ok bool) {
	start, best := f.opening(now, j, model, at, run)
	return start, best >= 0
}

func (f *Fleet) opening(now protocol.Time, j protocol.Job, model string, at protocol.Time, run time.Duration) (start protocol.Time, best int) {
	best = -1
	var busy protocol.Time
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.gone || n.closed || !n.serves(j, model) {
			continue
		}
		fits := f.firstFit(now, i, j)
		if t := n.gap(j.ID, max(fits, at), run); best < 0 || t < start || t == start && fits > busy {
			start, best, busy = t, i, fits
		}
	}
	return start, best
}

// Keep sets a node aside for a job from its opening on, and returns when that
// is. A job has at most one node set aside.
func (f *Fleet) Keep(now protocol.Time, j protocol.Job, model string, at protocol.Time, run time.Duration) (from protocol.Time, ok bool) {
	f.Free(j.ID)
	from, best := f.opening(now, j, model, at, run)
	if best < 0 {
		return 0, false
	}
	n := &f.nodes[best]
	k := keep{job: j.ID, from: from, until: from.Add(run), gpu: j.GPU()}
	place, _ := slices.BinarySearchFunc(n.keeps, k, func(x, y keep) int { return cmp.Compare(x.from, y.from) })
	n.keeps = slices.Insert(slices.Clone(n.keeps), place, k)
	f.kept[j.ID] = best
	return from, true
}

// Kept returns from when on a node is set aside for a job, if one is.
func (f *Fleet) Kept(id protocol.JobID) (from protocol.Time, ok bool) {
	i, ok := f.kept[id]
	if !ok {
		return 0, false
	}
	n := &f.nodes[i]
	return n.keeps[slices.IndexFunc(n.keeps, func(k keep) bool { return k.job == id })].from, true
}

// Free gives back the node that is set aside for a job, if there is one. What it
// returns sets it aside again as it was, as long as nothing else has been since.
func (f *Fleet) Free(id protocol.JobID) (again func()) {
	i, ok := f.kept[id]
	if !ok {
		return func() {}
	}
	delete(f.kept, id)
	n := &f.nodes[i]
	before := n.keeps
	n.keeps = slices.DeleteFunc(slices.Clone(before), func(k keep) bool { return k.job == id })
	return func() { f.kept[id], n.keeps = i, before }
}

// without closes the nodes that are kept from before a time on, for a job that
// would run from now until then, and returns what opens them again.
func (f *Fleet) without(until protocol.Time) (open func()) {
	return f.closed(func(k keep) bool { return k.from < until })
}

// closed closes the nodes with a keep that holds, and returns what opens them.
func (f *Fleet) closed(holds func(keep) bool) (open func()) {
	if len(f.kept) == 0 {
		return func() {}
	}
	var shut []int
	for i := range f.nodes {
		if !f.nodes[i].closed && slices.ContainsFunc(f.nodes[i].keeps, holds) {
			f.cluster.Cordon(i, true)
			shut = append(shut, i)
		}
	}
	return func() {
		for _, i := range shut {
			f.cluster.Cordon(i, false)
		}
	}
}

// yield takes away the keeps of a node that a run now stands in the way of.
func (f *Fleet) yield(n *node, until protocol.Time) {
	n.keeps = slices.DeleteFunc(slices.Clone(n.keeps), func(k keep) bool {
		if k.from < until {
			delete(f.kept, k.job)
		}
		return k.from < until
	})
}

// serves reports whether an empty n could run j on a model, or on any that will
// do.
func (n *node) serves(j protocol.Job, model string) bool {
	if j.GPUs > 0 && (model != "" && n.Model != model || len(j.Models) > 0 && !slices.Contains(j.Models, n.Model)) {
		return false
	}
	return n.holds(j)
}
