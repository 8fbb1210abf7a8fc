package capacity

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/protocol"
)

// A keep is room of a node set aside for one job. Until then other jobs may use
// it, if they end in time.
type keep struct {
	job   protocol.Job
	from  protocol.Time
	until protocol.Time // when the job will have run
}

// Opening returns the first time, not before at, at which a job finds room to
// run for so long on a model, or on any that will do, if what runs ends as
// planned and what is kept is used. Of the nodes that have room by then it is
// the one that is busy longest. Where that is too late, room counts that is kept
// for jobs which have more time. False if the job never finds room.
func (f *Fleet) Opening(now protocol.Time, j protocol.Job, model string, at protocol.Time, run time.Duration) (start protocol.Time, ok bool) {
	start, best := f.opening(now, j, model, at, run, false)
	return start, best >= 0
}

// opening returns the opening and its node; where it does not matter which, any of those
// that have room at once.
func (f *Fleet) opening(now protocol.Time, j protocol.Job, model string, at protocol.Time, run time.Duration, which bool) (start protocol.Time, best int) {
	start, best = f.first(now, j, model, at, run, which, nil)
	if best >= 0 && start > at && len(f.kept) > 0 && (!j.Deferrable || start > Latest(j, run)) {
		if t, i := f.first(now, j, model, at, run, which, firmer(now, j, run)); t < start {
			return t, i
		}
	}
	return start, best
}

// firm says which of what is kept counts; nil: all.
type firm func(*keep) bool

// firmer is what counts for a job that is short of time: what is kept for jobs
// that have no more time than it. So two jobs never take each other's place.
func firmer(now protocol.Time, j protocol.Job, run time.Duration) firm {
	last := due(now, j, run)
	return func(k *keep) bool { return k.due(now) <= last }
}

func (k *keep) due(now protocol.Time) protocol.Time { return due(now, k.job, k.until.Sub(k.from)) }

// due is when a job had better start: at once, if it cannot wait, has waited for as
// long as it could, or has nowhere else to turn.
func due(now protocol.Time, j protocol.Job, run time.Duration) protocol.Time {
	if !waits(now, j, run) || j.Tied() {
		return 0
	}
	return Latest(j, run)
}

func (f *Fleet) first(now protocol.Time, j protocol.Job, model string, at protocol.Time, run time.Duration, which bool, counts firm) (start protocol.Time, best int) {
	best = -1
	own, waits, late := f.keptOn(j.ID), patient(j), max(at, Latest(j, run))
	f.standby()
	busy, by := protocol.Time(0), protocol.Time(math.MaxInt64) // from by on it is no better
	for i := range f.nodes {
		if by <= at {
			break
		}
		n, from := &f.nodes[i], at
		if n.aside && waits && own != i {
			from = late
		}
		if from >= by || n.gone || n.closed || !n.serves(j, model) {
			continue
		}
		until := n.busy()
		if best >= 0 && start == at && until <= busy {
			continue // no better
		}
		t, ok := f.opens(now, i, j, max(from, now), by, run, counts)
		if !ok {
			continue
		}
		if best < 0 || t < start || t == start && until > busy {
			start, best, busy, by = t, i, until, t
			if which {
				by++
			}
		}
	}
	return start, best
}

// busy returns when the last job of n will have ended.
func (n *node) busy() protocol.Time {
	if len(n.jobs) == 0 {
		return 0
	}
	return n.jobs[len(n.jobs)-1].End
}

// opens returns the first time, not before at, from which on node i has room for
// a job for so long; false if that is not before by. A job past its planned end is
// expected to end any moment. When others end what they hold nobody knows: false if
// there is no room beside that.
func (f *Fleet) opens(now protocol.Time, i int, j protocol.Job, at, by protocol.Time, run time.Duration, counts firm) (start protocol.Time, ok bool) {
	if at < by && f.clear(now, i, j, at, run, counts) {
		return at, true
	}
	n := &f.nodes[i]
	var times []protocol.Time
	for _, r := range n.jobs {
		if t := max(r.End, now.Add(time.Second)); t > at && t < by {
			times = append(times, t)
		}
	}
	for x := range n.keeps {
		if t := n.keeps[x].until; t > at && t < by {
			times = append(times, t)
		}
	}
	slices.Sort(times)
	for _, t := range times {
		if f.clear(now, i, j, t, run, counts) {
			return t, true
		}
	}
	return 0, false
}

// clear reports whether node i has room for a job from t on for so long, next to
// what runs and what is kept for others.
func (f *Fleet) clear(now protocol.Time, i int, j protocol.Job, t protocol.Time, run time.Duration, counts firm) bool {
	if !f.fitsAt(now, i, j, t, counts) {
		return false
	}
	keeps, seen := f.nodes[i].keeps, t
	for x := range keeps {
		k := &keeps[x]
		if k.from >= t.Add(run) {
			break // and so do the rest
		}
		if k.from > seen && k.job.ID != j.ID {
			if !f.fitsAt(now, i, j, k.from, counts) {
				return false
			}
			seen = k.from
		}
	}
	return true
}

// fitsAt reports whether node i has room for a job at an instant. What is kept
// takes whole devices.
func (f *Fleet) fitsAt(now protocol.Time, i int, j protocol.Job, t protocol.Time, counts firm) bool {
	cpu, mem, gpus, _ := f.cluster.Free(i)
	n := &f.nodes[i]
	var held [fgd.MaxGPUs]int64
	if n.GPUMemory > 0 && j.GPUMemory > 0 {
		held = n.held()
	}
	for _, r := range n.jobs {
		if max(r.End, now.Add(time.Second)) > t {
			break // and so do those that end later
		}
		cpu += r.placement.Request.CPU
		mem += r.placement.Request.Memory
		for d := range n.GPUs {
			if r.placement.Devices.Has(d) {
				gpus[d] += int16(r.placement.Request.Milli)
				held[d] -= r.placement.Request.GPUMemory
			}
		}
	}
	room := 0
	for d := range n.GPUs {
		if int64(gpus[d]) >= int64(j.Share) && (n.GPUMemory == 0 || held[d]+int64(j.GPUMemory) <= n.GPUMemory) {
			room++
		}
	}
	for x := range n.keeps {
		k := &n.keeps[x]
		if k.from <= t && t < k.until && k.job.ID != j.ID && (counts == nil || counts(k)) {
			cpu -= int64(k.job.CPU)
			mem -= int64(k.job.Memory)
			room -= k.job.GPUs
		}
	}
	return cpu >= int64(j.CPU) && mem >= int64(j.Memory) && room >= j.GPUs
}

// Keep sets room of a node aside for a job from its opening on, and returns when
// that is. A job has at most one place set aside.
func (f *Fleet) Keep(now protocol.Time, j protocol.Job, model string, at protocol.Time, run time.Duration) (from protocol.Time, ok bool) {
	f.Free(j.ID)
	from, best := f.opening(now, j, model, at, run, true)
	if best < 0 {
		return 0, false
	}
	n := &f.nodes[best]
	k := keep{job: j, from: from, until: from.Add(run)}
	place, _ := slices.BinarySearchFunc(n.keeps, k, func(x, y keep) int { return cmp.Compare(x.from, y.from) })
	n.keeps = slices.Insert(slices.Clone(n.keeps), place, k)
	f.kept[j.ID] = best
	f.yield(now, best, j.ID)
	return from, true
}

// Kept returns from when on a node is set aside for a job, if one is.
func (f *Fleet) Kept(id protocol.JobID) (from protocol.Time, ok bool) {
	i, ok := f.kept[id]
	if !ok {
		return 0, false
	}
	n := &f.nodes[i]
	return n.keeps[slices.IndexFunc(n.keeps, func(k keep) bool { return k.job.ID == id })].from, true
}

// Free gives back the node that is set aside for a job, if there is one. What it
// returns sets it aside again as it was, as long as nothing else has been since.
func (f *Fleet) Free(id protocol.JobID) (again func()) {
	i, ok := f.kept[id]
	if !ok {
		return func() {}
	}
	delete(f.kept, id)
	f.aside = nil
	n := &f.nodes[i]
	before := n.keeps
	n.keeps = slices.DeleteFunc(slices.Clone(before), func(k keep) bool { return k.job.ID == id })
	return func() { f.kept[id], n.keeps, f.aside = i, before, nil }
}

// keptOn returns the node that is set aside for a job, or -1.
func (f *Fleet) keptOn(id protocol.JobID) int {
	if i, ok := f.kept[id]; ok {
		return i
	}
	return -1
}

// looking has try look for a place for a job that would run for so long from now.
// Nodes with too little beside what is kept for others are passed over, and those
// on standby but for its own. If it has no time to wait and finds nothing else,
// those on standby count, and then what is kept for jobs that have more. The nodes
// themselves are left as they are: asking changes nothing.
func (f *Fleet) looking(now protocol.Time, j protocol.Job, run time.Duration, own int, try func(skip fgd.NodeSet) bool) bool {
	others := slices.ContainsFunc(f.standby(), func(i int) bool { return i != own })
	shut := func(counts firm, aside bool) bool { return try(f.full(now, j, run, counts, own, aside)) }
	if shut(nil, true) {
		return true
	}
	return f.cfg.Standby > 0 && !waits(now, j, run) && (others && shut(nil, false) || len(f.kept) > 0 && shut(firmer(now, j, run), false))
}

// full returns the nodes with too little room for a job from now on beside what
// is kept, and, where those are to be passed over, the nodes on standby but its own.
// What it returns holds until it is called once more.
func (f *Fleet) full(now protocol.Time, j protocol.Job, run time.Duration, counts firm, own int, aside bool) fgd.NodeSet {
	f.skip = f.skip[:0]
	for i := range f.nodes {
		n := &f.nodes[i]
		if !n.closed && !n.gone && (aside && n.aside && i != own || len(n.keeps) > 0 && !f.clear(now, i, j, now, run, counts)) {
			f.skip = f.skip.Add(i)
		}
	}
	return f.skip
}

// yield takes away what is kept on node i and has no room any more, but not what
// is kept for one job; first from those that have most time.
func (f *Fleet) yield(now protocol.Time, i int, but protocol.JobID) {
	f.aside = nil
	n := &f.nodes[i]
	for {
		worst := -1
		for at := range n.keeps {
			k := &n.keeps[at]
			if k.job.ID == but || f.clear(now, i, k.job, k.from, k.until.Sub(k.from), nil) {
				continue
			}
			if worst < 0 || k.due(now) > n.keeps[worst].due(now) {
				worst = at
			}
		}
		if worst < 0 {
			return
		}
		delete(f.kept, n.keeps[worst].job.ID)
		n.keeps = slices.Delete(slices.Clone(n.keeps), worst, worst+1)
	}
}

// serves reports whether an empty n could run j on a model, or on any that will
// do.
func (n *node) serves(j protocol.Job, model string) bool {
	if j.GPUs > 0 && (model != "" && n.Model != model || len(j.Models) > 0 && !slices.Contains(j.Models, n.Model)) {
		return false
	}
	return n.holds(j)
}
