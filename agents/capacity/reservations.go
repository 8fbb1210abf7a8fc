package capacity

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/protocol"
)

// A reservation is capacity of a node that is kept for one job. Until it begins other jobs may use
// it, if they end in time.
type reservation struct {
	job   protocol.Job
	from  protocol.Time
	until protocol.Time // planned end of the job; of a gang with the time in which its nodes wake
	wake  time.Duration // how much later a job of one pod ends if it has to wake its node: gangs wait for that
}

// EarliestStart returns the first time, at or after at, at which a job finds capacity to run for
// so long on a model, or on any that it allows, if running jobs end as planned and reservations
// are used. If that is too late for the job, reservations of jobs with more time are ignored.
// False if the job never finds capacity.
func (f *Fleet) EarliestStart(now protocol.Time, j protocol.Job, model string, at protocol.Time, run time.Duration) (start protocol.Time, ok bool) {
	if j.IsGang() {
		start, _, ok = f.earliestGang(now, &j, model, at, run)
		return start, ok
	}
	start, best := f.earliestStartAndNode(now, &j, model, at, run, false)
	return start, best >= 0
}

// earliestStartAndNode returns the earliest start and its node. If which is false, the search may
// stop at any node with capacity at once.
func (f *Fleet) earliestStartAndNode(now protocol.Time, j *protocol.Job, model string, at protocol.Time, run time.Duration, which bool) (start protocol.Time, best int) {
	start, best = f.findEarliestNode(now, j, model, at, run, which, nil)
	// Ignore others' reservations only where waiting for them would make the job late.
	if best >= 0 && start > at && len(f.reservedOn) > 0 && (!j.MayWait() || start > LatestStart(*j, run)) {
		if t, i := f.findEarliestNode(now, j, model, at, run, which, atLeastAsUrgent(now, *j, run)); t < start {
			return t, i
		}
	}
	return start, best
}

// A reservationFilter reports whether a reservation counts; nil: all count.
type reservationFilter func(*reservation) bool

// atLeastAsUrgent is the filter for a job short of time: reservations count whose jobs have no
// more time than it. So two jobs never displace each other in turn.
func atLeastAsUrgent(now protocol.Time, j protocol.Job, run time.Duration) reservationFilter {
	last := startDeadline(now, j, run)
	return func(k *reservation) bool { return k.startDeadline(now) <= last }
}

// startDeadline returns the startDeadline of the reservation's job.
func (k *reservation) startDeadline(now protocol.Time) protocol.Time {
	return startDeadline(now, k.job, k.until.Sub(k.from))
}

// startDeadline returns by when a job should start: 0, at once, if it cannot wait, has no time
// left, or no other site may run it.
func startDeadline(now protocol.Time, j protocol.Job, run time.Duration) protocol.Time {
	if !hasTimeToWait(now, j, run) || j.IsTiedToOneSite() {
		return 0
	}
	return LatestStart(j, run)
}

// findEarliestNode returns the earliest start and its node, or node -1. Of nodes with equal starts
// it takes the one that is busy longest, so that others become empty; if which is false, any. The
// headroom opens to a job that can wait only at its latest start, unless its own reservation is
// there.
func (f *Fleet) findEarliestNode(now protocol.Time, j *protocol.Job, model string, at protocol.Time, run time.Duration, which bool, counts reservationFilter) (start protocol.Time, best int) {
	if !allowsModel(j, model) {
		return 0, -1
	}
	f.headroomNodes()
	x := f.indexFor(j, model)
	from := max(at, now)
	own, waits, late := f.reservedNode(j.ID), canWait(*j), max(from, LatestStart(*j, run))
	// The start on node i without reservations; no node starts sooner than without them.
	openAt := func(k, i int) protocol.Time {
		if f.nodes[i].isHeadroom && waits && own != i {
			return x.startAt(k, now, late)
		}
		return x.startAt(k, now, from)
	}
	// Nodes without reservations come first: they need no search, and bound that of the others.
	best = -1
	busy, by, reserved := protocol.Time(0), readyNever, false // busy: how long the best node is; by: only starts before it improve
	take := func(t protocol.Time, i int) {
		start, best, busy, by = t, i, f.nodes[i].busyUntil(), t
		if which {
			by++
		}
	}
	for k, i32 := range x.nodes {
		i := int(i32)
		if x.startAt(k, now, from) >= by {
			continue
		}
		if len(f.nodes[i].reservations) > 0 {
			reserved = true
		} else if t := openAt(k, i); t < by && (best < 0 || t < start || f.nodes[i].busyUntil() > busy) {
			take(t, i)
		}
	}
	if !reserved {
		return start, best
	}
	for k, i32 := range x.nodes {
		i := int(i32)
		if len(f.nodes[i].reservations) == 0 {
			continue
		}
		lower := openAt(k, i)
		if lower >= by {
			continue
		}
		if until := f.nodes[i].busyUntil(); best >= 0 && lower == start && (until < busy || until == busy && i > best) {
			continue // starts no earlier, and is not busy longer
		} else if t, ok := f.earliestStartOn(now, i, j, lower, by, run, counts); ok && (best < 0 || t < start || until > busy || until == busy && i < best) {
			take(t, i)
		}
	}
	return start, best
}

// busyUntil returns the planned end of n's last job.
func (n *node) busyUntil() protocol.Time {
	if len(n.jobs) == 0 {
		return 0
	}
	return n.jobs[len(n.jobs)-1].End
}

// earliestStartOn returns the first time, at or after at and before by, at which node i has
// capacity for a job for so long. Capacity grows only when a job or reservation ends, so only
// these times are tried. A job past its planned end is expected to end within a second. The end of
// other schedulers' pods is unknown: false if there is no capacity next to them.
func (f *Fleet) earliestStartOn(now protocol.Time, i int, j *protocol.Job, at, by protocol.Time, run time.Duration, counts reservationFilter) (start protocol.Time, ok bool) {
	if at < by && f.hasRoomThroughout(now, i, j, at, run, counts) {
		return at, true
	}
	n := &f.nodes[i]
	// Candidate times are the ends of jobs and of reservations after at.
	f.times = f.times[:0]
	for _, r := range n.jobs {
		if t := max(r.End, now.Add(time.Second)); t > at && t < by && !r.isReplica {
			f.times = append(f.times, t)
		}
	}
	for x := range n.reservations {
		if t := n.reservations[x].until; t > at && t < by {
			f.times = append(f.times, t)
		}
	}
	slices.Sort(f.times)
	for _, t := range f.times {
		if f.hasRoomThroughout(now, i, j, t, run, counts) {
			return t, true
		}
	}
	return 0, false
}

// hasRoomThroughout reports whether node i has capacity for a job from t on for so long, next to
// running jobs and to others' reservations. Jobs only end and reservations only begin in that
// span, so it suffices to check t and each beginning.
func (f *Fleet) hasRoomThroughout(now protocol.Time, i int, j *protocol.Job, t protocol.Time, run time.Duration, counts reservationFilter) bool {
	if !f.fitsAt(now, i, j, t, counts) || f.cfg.NoBackfill && f.fillsHole(i, j.ID, t) {
		return false
	}
	keeps, seen := f.nodes[i].reservations, t
	end, awake := t.Add(run), t.Add(run)
	if t <= now && len(keeps) > 0 && f.starting != j.ID { // who has a reservation was promised it first
		awake = end.Add(f.nodes[i].wakeTime(now)) // a run that wakes its node ends later by that
	}
	for x := range keeps {
		k := &keeps[x]
		if k.from >= awake {
			break // sorted by beginning: so do the rest
		}
		// One late node delays a whole gang. Jobs of one pod take each other's places a moment late.
		if k.from >= end && f.setsOn[k.job.ID] == nil {
			continue
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

// fillsHole reports whether a job without a reservation would run on node i before one that begins after t.
func (f *Fleet) fillsHole(i int, id protocol.JobID, t protocol.Time) bool {
	if _, kept := f.reservedOn[id]; kept || f.starting == id {
		return false
	}
	return slices.ContainsFunc(f.nodes[i].reservations, func(k reservation) bool { return k.from > t })
}

// fitsAt reports whether node i has capacity for a job at t. A reservation takes whole GPUs, even
// for a job that shares one.
func (f *Fleet) fitsAt(now protocol.Time, i int, j *protocol.Job, t protocol.Time, counts reservationFilter) bool {
	cpu, mem, gpus, _ := f.cluster.FreeResources(i)
	n := &f.nodes[i]
	var held [fgd.MaxGPUs]int64
	if n.GPUMemory > 0 && j.GPUMemory > 0 {
		held = n.heldGPUMemory()
	}
	// Jobs that will have ended by t give back what they hold.
	for _, r := range n.jobs {
		if max(r.End, now.Add(time.Second)) > t.Add(f.overrun) {
			break // sorted by end: so do the rest
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
	// Devices with enough left of their share, and of their memory if it is known.
	room := 0
	for d := range n.GPUs {
		if int64(gpus[d]) >= int64(j.Share) && (n.GPUMemory == 0 || held[d]+int64(j.GPUMemory) <= n.GPUMemory) {
			room++
		}
	}
	// Reservations in force at t; the job's own is no obstacle to it.
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

// ReserveNode reserves capacity of a node for a job, of all its nodes for a gang, from its earliest start
// on, and returns that start. A job has at most one reservation.
func (f *Fleet) ReserveNode(now protocol.Time, j protocol.Job, model string, at protocol.Time, run time.Duration) (from protocol.Time, ok bool) {
	f.CancelReservation(j.ID)
	if j.IsGang() {
		return f.reserveSet(now, &j, model, at, run)
	}
	from, best := f.earliestStartAndNode(now, &j, model, at, run, true)
	if best < 0 {
		return 0, false
	}
	f.insertReservation(best, reservation{job: j, from: from, until: from.Add(run), wake: f.nodes[best].wakeTimeAt(now, from)})
	f.reservedOn[j.ID] = best
	f.dropInfeasible(now, best, j.ID)
	return from, true
}

// insertReservation adds a reservation to node i, by beginning. The slice is cloned, as an undo may hold
// the old one.
func (f *Fleet) insertReservation(i int, k reservation) {
	n := &f.nodes[i]
	place, _ := slices.BinarySearchFunc(n.reservations, k, func(x, y reservation) int { return cmp.Compare(x.from, y.from) })
	n.reservations = slices.Insert(slices.Clone(n.reservations), place, k)
}

// ReservedFrom returns when a job's reservation begins, if it has one.
func (f *Fleet) ReservedFrom(id protocol.JobID) (from protocol.Time, ok bool) {
	i, ok := f.reservedOn[id]
	if !ok {
		return 0, false
	}
	n := &f.nodes[i]
	return n.reservations[slices.IndexFunc(n.reservations, func(k reservation) bool { return k.job.ID == id })].from, true
}

// CancelReservation cancels a job's reservation, if there is one. The returned function restores
// it, and is valid only as long as nothing else was reserved or started since.
func (f *Fleet) CancelReservation(id protocol.JobID) (undo func()) {
	i, ok := f.reservedOn[id]
	if !ok {
		return func() {}
	}
	nodes, set, hold := f.setsOn[id], []int{i}, f.holes[id]
	if nodes != nil {
		set = nodes
	}
	delete(f.reservedOn, id)
	delete(f.setsOn, id)
	delete(f.holes, id)
	before := make([][]reservation, len(set))
	for k, at := range set {
		n := &f.nodes[at]
		f.noteChange(n)
		before[k] = n.reservations
		n.reservations = slices.DeleteFunc(slices.Clone(n.reservations), func(k reservation) bool { return k.job.ID == id })
	}
	return func() {
		if f.reservedOn[id] = i; nodes != nil {
			f.setsOn[id] = nodes
		}
		if hold != nil {
			f.holes[id] = hold
		}
		for k, at := range set {
			f.nodes[at].reservations = before[k]
			f.noteChange(&f.nodes[at])
		}
	}
}

// reservedNode returns the index of the node with a job's reservation, or -1.
func (f *Fleet) reservedNode(id protocol.JobID) int {
	if i, ok := f.reservedOn[id]; ok {
		return i
	}
	return -1
}

// tryWithReservations calls try with nodes to skip until it finds a place for a job that would run
// for so long from now: first without the nodes that have too little next to reservations, and
// without the headroom. A job that has no time to wait may then use the headroom, and at last
// capacity reserved for jobs with more time; before all that it looks for room on nodes that are
// awake, the headroom's too. Each time it leaves nodes asleep if it can. The search itself changes
// nothing.
func (f *Fleet) tryWithReservations(now protocol.Time, j *protocol.Job, model string, run time.Duration, own int, try func(skip fgd.NodeSet) bool) bool {
	others := slices.ContainsFunc(f.headroomNodes(), func(i int) bool { return i != own })
	x := f.indexFor(j, model)
	trySkipping := func(counts reservationFilter, aside bool) bool {
		k := &f.skips
		if counts == nil && aside && own < 0 {
			k = &x.skips // the same for all jobs of the shape that run for so long: those of a call
		}
		if k == &f.skips || !k.isOf(f, x, now, run) {
			k.skip, k.open = f.nodesWithoutRoom(k.skip[:0], x, now, j, run, counts, own, aside)
			k.asleep = f.nodesToLeaveAsleep(k.asleep[:0], x, now, j, run, k.skip)
			k.version, k.read, k.now, k.run = f.version, x.read, now, run
		}
		if !k.open {
			return false
		}
		if len(k.asleep) > 0 && allowsModel(j, model) && try(k.asleep) {
			return true
		}
		return try(k.skip)
	}
	urgent := f.cfg.HeadroomOneIn > 0 && !hasTimeToWait(now, *j, run)
	if urgent && others && f.cfg.PreferAwake && allowsModel(j, model) && f.tryAwakeHeadroom(x, now, j, run, own, try) {
		return true
	}
	if trySkipping(nil, true) {
		return true
	}
	return urgent && (others && trySkipping(nil, false) || len(f.reservedOn) > 0 && trySkipping(atLeastAsUrgent(now, *j, run), false))
}

// A skipSets is which nodes a search for a node now leaves out.
type skipSets struct {
	version, read int // of the fleet and its changes: see isOf
	now           protocol.Time
	run           time.Duration
	skip, asleep  fgd.NodeSet // see nodesWithoutRoom and nodesToLeaveAsleep
	open          bool
}

// isOf reports whether k is what would be computed now for a run of an index.
func (k *skipSets) isOf(f *Fleet, x *nodeIndex, now protocol.Time, run time.Duration) bool {
	return k.now == now && k.run == run && k.version == f.version && k.read == x.read
}

// nodesWithoutRoom returns the nodes of x that would have capacity for a job now, but have too
// little next to the reservations that count, and with aside the headroom except node own. The set
// reuses the memory of skip, which is empty. Open is false if no node is left.
func (f *Fleet) nodesWithoutRoom(skip fgd.NodeSet, x *nodeIndex, now protocol.Time, j *protocol.Job, run time.Duration, counts reservationFilter, own int, aside bool) (_ fgd.NodeSet, open bool) {
	for k, i32 := range x.nodes {
		if x.ready[k] != readyNow {
			continue // placement does not choose it
		}
		i := int(i32)
		n := &f.nodes[i]
		if aside && n.isHeadroom && i != own || len(n.reservations) > 0 && !f.hasRoomThroughout(now, i, j, now, run, counts) {
			skip = skip.Add(i)
		} else {
			open = true
		}
	}
	return skip, open
}

// dropInfeasible cancels reservations on node i that no longer fit, those of jobs with most time
// first, and never that of job but. One that begins in this second, or is late, fits if it did when it was to
// begin: the run before it overruns, or the news of its end is on the way. The agent says when that is too late,
// and whether one that was dropped is put back.
func (f *Fleet) dropInfeasible(now protocol.Time, i int, but protocol.JobID) {
	n := &f.nodes[i]
	f.noteChange(n)
	for {
		worst := -1
		for at := range n.reservations {
			k := &n.reservations[at]
			if k.job.ID == but || f.staysFeasible(now, i, k) {
				continue
			}
			if worst < 0 || k.startDeadline(now) > n.reservations[worst].startDeadline(now) {
				worst = at
			}
		}
		if worst < 0 {
			return
		}
		f.displace(n.reservations[worst].job.ID)
	}
}

// gangGrace is how far a run may last into the reservation of a gang: the default of Planning.MaxStartDelay, after
// which the agent gives the gang back.
var gangGrace = protocol.DefaultPlanning().MaxStartDelay

// staysFeasible reports whether a reservation on node i keeps its place. That of a gang does though a run that
// starts late, or has to wake a node, lasts into it: the gang starts late by that. Were it dropped, jobs that were
// promised their start after it would take its nodes before it could be put back.
func (f *Fleet) staysFeasible(now protocol.Time, i int, k *reservation) bool {
	if f.setsOn[k.job.ID] != nil {
		f.overrun = gangGrace
		defer func() { f.overrun = 0 }()
	}
	return f.hasRoomThroughout(k.beforeItBegins(now), i, &k.job, k.from, k.until.Sub(k.from), nil)
}

// beforeItBegins returns now, or the last instant at which no run that is to end by the beginning of k is expected
// to last into it: an overdue run is expected to end within a second.
func (k *reservation) beforeItBegins(now protocol.Time) protocol.Time {
	return min(now, k.from.Add(-time.Second))
}

// canServe reports whether an empty n could run j on a model, or on any that j allows.
func (n *node) canServe(j *protocol.Job, model string) bool {
	if j.GPUs > 0 && (model != "" && n.Model != model || len(j.Models) > 0 && !slices.Contains(j.Models, n.Model)) {
		return false
	}
	return n.fitsWhenEmpty(j)
}
