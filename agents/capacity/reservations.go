package capacity

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/protocol"
)

// A reservation is room of a node set aside for one job. Until then other jobs may use
// it, if they end in time.
type reservation struct {
	job   protocol.Job
	from  protocol.Time
	until protocol.Time // when the job will have run
}

// EarliestStart returns the first time, not before at, at which a job finds room to
// run for so long on a model, or on any that will do, if what runs ends as
// planned and what is kept is used. Of the nodes that have room by then it is
// the one that is busy longest. Where that is too late, room counts that is kept
// for jobs which have more time. False if the job never finds room.
func (f *Fleet) EarliestStart(now protocol.Time, j protocol.Job, model string, at protocol.Time, run time.Duration) (start protocol.Time, ok bool) {
	start, best := f.earliestStartAndNode(now, j, model, at, run, false)
	return start, best >= 0
}

// earliestStartAndNode returns the opening and its node; where it does not matter which, any of those
// that have room at once.
func (f *Fleet) earliestStartAndNode(now protocol.Time, j protocol.Job, model string, at protocol.Time, run time.Duration, which bool) (start protocol.Time, best int) {
	start, best = f.findEarliestNode(now, j, model, at, run, which, nil)
	if best >= 0 && start > at && len(f.reservedOn) > 0 && (!j.Deferrable || start > LatestStart(j, run)) {
		if t, i := f.findEarliestNode(now, j, model, at, run, which, atLeastAsUrgent(now, j, run)); t < start {
			return t, i
		}
	}
	return start, best
}

// reservationFilter says which of what is kept counts; nil: all.
type reservationFilter func(*reservation) bool

// atLeastAsUrgent is what counts for a job that is short of time: what is kept for jobs
// that have no more time than it. So two jobs never take each other's place.
func atLeastAsUrgent(now protocol.Time, j protocol.Job, run time.Duration) reservationFilter {
	last := startDeadline(now, j, run)
	return func(k *reservation) bool { return k.startDeadline(now) <= last }
}

func (k *reservation) startDeadline(now protocol.Time) protocol.Time {
	return startDeadline(now, k.job, k.until.Sub(k.from))
}

// startDeadline is when a job had better start: at once, if it cannot wait, has waited for as
// long as it could, or has nowhere else to turn.
func startDeadline(now protocol.Time, j protocol.Job, run time.Duration) protocol.Time {
	if !hasTimeToWait(now, j, run) || j.IsTiedToOneSite() {
		return 0
	}
	return LatestStart(j, run)
}

func (f *Fleet) findEarliestNode(now protocol.Time, j protocol.Job, model string, at protocol.Time, run time.Duration, which bool, counts reservationFilter) (start protocol.Time, best int) {
	best = -1
	own, waits, late := f.reservedNode(j.ID), canWait(j), max(at, LatestStart(j, run))
	f.headroomNodes()
	busy, by := protocol.Time(0), protocol.Time(math.MaxInt64) // from by on it is no better
	for i := range f.nodes {
		if by <= at {
			break
		}
		n, from := &f.nodes[i], at
		if n.isHeadroom && waits && own != i {
			from = late
		}
		if from >= by || n.removed || n.unschedulable || !n.canServe(j, model) {
			continue
		}
		until := n.busyUntil()
		if best >= 0 && start == at && until <= busy {
			continue // no better
		}
		t, ok := f.earliestStartOn(now, i, j, max(from, now), by, run, counts)
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

// busyUntil returns when the last job of n will have ended.
func (n *node) busyUntil() protocol.Time {
	if len(n.jobs) == 0 {
		return 0
	}
	return n.jobs[len(n.jobs)-1].End
}

// earliestStartOn returns the first time, not before at, from which on node i has room for
// a job for so long; false if that is not before by. A job past its planned end is
// expected to end any moment. When others end what they hold nobody knows: false if
// there is no room beside that.
func (f *Fleet) earliestStartOn(now protocol.Time, i int, j protocol.Job, at, by protocol.Time, run time.Duration, counts reservationFilter) (start protocol.Time, ok bool) {
	if at < by && f.hasRoomThroughout(now, i, j, at, run, counts) {
		return at, true
	}
	n := &f.nodes[i]
	var times []protocol.Time
	for _, r := range n.jobs {
		if t := max(r.End, now.Add(time.Second)); t > at && t < by {
			times = append(times, t)
		}
	}
	for x := range n.reservations {
		if t := n.reservations[x].until; t > at && t < by {
			times = append(times, t)
		}
	}
	slices.Sort(times)
	for _, t := range times {
		if f.hasRoomThroughout(now, i, j, t, run, counts) {
			return t, true
		}
	}
	return 0, false
}

// hasRoomThroughout reports whether node i has room for a job from t on for so long, next to
// what runs and what is kept for others.
func (f *Fleet) hasRoomThroughout(now protocol.Time, i int, j protocol.Job, t protocol.Time, run time.Duration, counts reservationFilter) bool {
	if !f.fitsAt(now, i, j, t, counts) {
		return false
	}
	keeps, seen := f.nodes[i].reservations, t
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
func (f *Fleet) fitsAt(now protocol.Time, i int, j protocol.Job, t protocol.Time, counts reservationFilter) bool {
	cpu, mem, gpus, _ := f.cluster.FreeResources(i)
	n := &f.nodes[i]
	var held [fgd.MaxGPUs]int64
	if n.GPUMemory > 0 && j.GPUMemory > 0 {
		held = n.heldGPUMemory()
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
	for x := range n.reservations {
		k := &n.reservations[x]
		if k.from <= t && t < k.until && k.job.ID != j.ID && (counts == nil || counts(k)) {
			cpu -= int64(k.job.CPU)
			mem -= int64(k.job.Memory)
			room -= k.job.GPUs
		}
	}
	return cpu >= int64(j.CPU) && mem >= int64(j.Memory) && room >= j.GPUs
}

// ReserveNode sets room of a node aside for a job from its opening on, and returns when
// that is. A job has at most one place set aside.
func (f *Fleet) ReserveNode(now protocol.Time, j protocol.Job, model string, at protocol.Time, run time.Duration) (from protocol.Time, ok bool) {
	f.CancelReservation(j.ID)
	from, best := f.earliestStartAndNode(now, j, model, at, run, true)
	if best < 0 {
		return 0, false
	}
	n := &f.nodes[best]
	k := reservation{job: j, from: from, until: from.Add(run)}
	place, _ := slices.BinarySearchFunc(n.reservations, k, func(x, y reservation) int { return cmp.Compare(x.from, y.from) })
	n.reservations = slices.Insert(slices.Clone(n.reservations), place, k)
	f.reservedOn[j.ID] = best
	f.dropInfeasible(now, best, j.ID)
	return from, true
}

// ReservedFrom returns from when on a node is set aside for a job, if one is.
func (f *Fleet) ReservedFrom(id protocol.JobID) (from protocol.Time, ok bool) {
	i, ok := f.reservedOn[id]
	if !ok {
		return 0, false
	}
	n := &f.nodes[i]
	return n.reservations[slices.IndexFunc(n.reservations, func(k reservation) bool { return k.job.ID == id })].from, true
}

// CancelReservation gives back the node that is set aside for a job, if there is one. What it
// returns sets it aside again as it was, as long as nothing else has been since.
func (f *Fleet) CancelReservation(id protocol.JobID) (again func()) {
	i, ok := f.reservedOn[id]
	if !ok {
		return func() {}
	}
	delete(f.reservedOn, id)
	f.headroom = nil
	n := &f.nodes[i]
	before := n.reservations
	n.reservations = slices.DeleteFunc(slices.Clone(before), func(k reservation) bool { return k.job.ID == id })
	return func() { f.reservedOn[id], n.reservations, f.headroom = i, before, nil }
}

// reservedNode returns the node that is set aside for a job, or -1.
func (f *Fleet) reservedNode(id protocol.JobID) int {
	if i, ok := f.reservedOn[id]; ok {
		return i
	}
	return -1
}

// tryWithReservations has try look for a place for a job that would run for so long from now.
// Nodes with too little beside what is kept for others are passed over, and those
// on standby but for its own. If it has no time to wait and finds nothing else,
// those on standby count, and then what is kept for jobs that have more. The nodes
// themselves are left as they are: asking changes nothing.
func (f *Fleet) tryWithReservations(now protocol.Time, j protocol.Job, run time.Duration, own int, try func(skip fgd.NodeSet) bool) bool {
	others := slices.ContainsFunc(f.headroomNodes(), func(i int) bool { return i != own })
	shut := func(counts reservationFilter, aside bool) bool {
		return try(f.nodesWithoutRoom(now, j, run, counts, own, aside))
	}
	if shut(nil, true) {
		return true
	}
	return f.cfg.HeadroomOneIn > 0 && !hasTimeToWait(now, j, run) && (others && shut(nil, false) || len(f.reservedOn) > 0 && shut(atLeastAsUrgent(now, j, run), false))
}

// nodesWithoutRoom returns the nodes with too little room for a job from now on beside what
// is kept, and, where those are to be passed over, the nodes on standby but its own.
// What it returns holds until it is called once more.
func (f *Fleet) nodesWithoutRoom(now protocol.Time, j protocol.Job, run time.Duration, counts reservationFilter, own int, aside bool) fgd.NodeSet {
	f.skip = f.skip[:0]
	for i := range f.nodes {
		n := &f.nodes[i]
		if !n.unschedulable && !n.removed && (aside && n.isHeadroom && i != own || len(n.reservations) > 0 && !f.hasRoomThroughout(now, i, j, now, run, counts)) {
			f.skip = f.skip.Add(i)
		}
	}
	return f.skip
}

// dropInfeasible takes away what is kept on node i and has no room any more, but not what
// is kept for one job; first from those that have most time.
func (f *Fleet) dropInfeasible(now protocol.Time, i int, but protocol.JobID) {
	f.headroom = nil
	n := &f.nodes[i]
	for {
		worst := -1
		for at := range n.reservations {
			k := &n.reservations[at]
			if k.job.ID == but || f.hasRoomThroughout(now, i, k.job, k.from, k.until.Sub(k.from), nil) {
				continue
			}
			if worst < 0 || k.startDeadline(now) > n.reservations[worst].startDeadline(now) {
				worst = at
			}
		}
		if worst < 0 {
			return
		}
		delete(f.reservedOn, n.reservations[worst].job.ID)
		n.reservations = slices.Delete(slices.Clone(n.reservations), worst, worst+1)
	}
}

// canServe reports whether an empty n could run j on a model, or on any that will
// do.
func (n *node) canServe(j protocol.Job, model string) bool {
	if j.GPUs > 0 && (model != "" && n.Model != model || len(j.Models) > 0 && !slices.Contains(j.Models, n.Model)) {
		return false
	}
	return n.fitsWhenEmpty(j)
}
