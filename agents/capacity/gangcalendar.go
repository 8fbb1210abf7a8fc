package capacity

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/protocol"
)

// A roomStep says that a node has room for so many more pods of a component from an instant on.
type roomStep struct {
	at        protocol.Time // readyNow: already
	component int
	pods      int
	headroom  bool // the node is headroom
}

// setOpenings is when there is room for the pods of a gang, reservations aside. It holds until a run, a
// reservation or a node changes: the configurations and starts of a call share it.
type setOpenings struct {
	version  int // of the fleet, plus one
	model    string
	models   []string
	pods     []protocol.Component
	steps    []roomStep // on nodes without reservations, by time
	reserved []int      // nodes with reservations
}

// openingsFor returns the openings for a gang on a model.
func (f *Fleet) openingsFor(j *protocol.Job, model string) *setOpenings {
	o := &f.openings
	f.headroomNodes()
	if o.version == f.version+1 && o.model == model && slices.Equal(o.models, j.Models) && slices.Equal(o.pods, j.Pods) {
		return o
	}
	*o = setOpenings{f.version + 1, model, slices.Clone(j.Models), slices.Clone(j.Pods), o.steps[:0], o.reserved[:0]}
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.removed || n.unschedulable {
			continue
		}
		if len(n.reservations) > 0 {
			o.reserved = append(o.reserved, i)
			continue
		}
		for c := range j.Pods {
			o.steps = f.appendRoomSteps(o.steps, i, j, c, model)
		}
	}
	slices.SortStableFunc(o.steps, func(x, y roomStep) int { return cmp.Compare(x.at, y.at) })
	return o
}

// appendRoomSteps appends when node i has room for pods of a component, beside its runs.
func (f *Fleet) appendRoomSteps(steps []roomStep, i int, j *protocol.Job, c int, model string) []roomStep {
	n := &f.nodes[i]
	most, had := min(j.Pods[c].Pods, f.podsWhenEmpty(i, j, c, model)), 0
	if most == 0 {
		return steps
	}
	s := f.stateOf(i, j.Pods[c].GPUMemory)
	add := func(at protocol.Time) {
		if has := min(s.podsOf(n, &j.Pods[c]), most); has > had {
			steps = append(steps, roomStep{at, c, has - had, n.isHeadroom})
			had = has
		}
	}
	add(readyNow)
	for _, r := range n.jobs { // by planned end
		if had == most || r.isReplica { // so are the rest
			break
		}
		s.release(n, r)
		add(r.End)
	}
	return steps
}

// A freeState is what is free on a node.
type freeState struct {
	cpu, memory int64
	gpus        [fgd.MaxGPUs]int16
	held        [fgd.MaxGPUs]int64 // of device memory, if anyone asks for it
}

// stateOf returns what is free on node i now.
func (f *Fleet) stateOf(i int, gpuMemory protocol.MiB) (s freeState) {
	s.cpu, s.memory, s.gpus, _ = f.cluster.FreeResources(i)
	if n := &f.nodes[i]; n.GPUMemory > 0 && gpuMemory > 0 {
		s.held = n.heldGPUMemory()
	}
	return s
}

// release adds what a run gives back when it ends.
func (s *freeState) release(n *node, r *Run) {
	s.cpu += r.placement.Request.CPU
	s.memory += r.placement.Request.Memory
	for d := range n.GPUs {
		if r.placement.Devices.Has(d) {
			s.gpus[d] += int16(r.placement.Request.Milli)
			s.held[d] -= r.placement.Request.GPUMemory
		}
	}
}

// podsOf returns how many pods of a component find room.
func (s *freeState) podsOf(n *node, c *protocol.Component) int {
	most := int64(protocol.MaxPods)
	if c.CPU > 0 {
		most = min(most, s.cpu/int64(c.CPU))
	}
	if c.Memory > 0 {
		most = min(most, s.memory/int64(c.Memory))
	}
	if c.GPUs == 0 {
		return int(most)
	}
	room := int64(0)
	for d := range n.GPUs {
		by := int64(s.gpus[d]) / int64(c.Share)
		if n.GPUMemory > 0 && c.GPUMemory > 0 {
			by = min(by, max(n.GPUMemory-s.held[d], 0)/int64(c.GPUMemory))
		}
		room += by
	}
	return int(min(most, room/int64(c.GPUs)))
}

// earliestSet is findEarliestNode for a gang: the first start, at or after at, at which all its pods find
// room for so long.
func (f *Fleet) earliestSet(now protocol.Time, j *protocol.Job, model string, at protocol.Time, run time.Duration, counts reservationFilter) (start protocol.Time, ok bool) {
	if !allowsModel(j, model) {
		return 0, false
	}
	o := f.openingsFor(j, model)
	from := max(at, now)
	late := from
	if canWait(*j) {
		late = max(from, LatestStart(*j, run)) // until then the headroom is closed to it
	}
	// What reserved nodes hold at most, whatever is reserved: no start before that suffices is worth a
	// search node by node.
	bonus := make([]int, len(j.Pods))
	for _, i := range o.reserved {
		for c := range j.Pods {
			bonus[c] += min(j.Pods[c].Pods, f.podsWhenEmpty(i, j, c, model))
		}
	}
	free, head := make([]int, len(j.Pods)), make([]int, len(j.Pods))
	enough := func(t protocol.Time, bonus []int) bool {
		for c := range j.Pods {
			have := free[c]
			if t >= late {
				have += head[c]
			}
			if bonus != nil {
				have += bonus[c]
			}
			if have < j.Pods[c].Pods {
				return false
			}
		}
		return true
	}
	next := 0
	for _, t := range f.candidateStarts(now, o, from, late, j.RequiredUntil()) {
		for ; next < len(o.steps) && (o.steps[next].at == readyNow || max(o.steps[next].at, now.Add(time.Second)) <= t); next++ {
			if s := &o.steps[next]; s.headroom {
				head[s.component] += s.pods
			} else {
				free[s.component] += s.pods
			}
		}
		switch {
		case len(j.Pods) == 1 && !j.Pods[0].IsShare() && !j.LimitsPlaces() && enough(t, nil):
			return t, true
		case enough(t, bonus):
			if _, ok := f.setAt(now, j, model, t, run, counts); ok {
				return t, true
			}
		}
	}
	return 0, false
}

// candidateStarts returns the instants, from from on, at which room may have grown, and until, when a
// topology ceases to be required. A run past its
// planned end is expected to end within a second.
func (f *Fleet) candidateStarts(now protocol.Time, o *setOpenings, from, late, until protocol.Time) []protocol.Time {
	times := append(f.times[:0], from, late)
	add := func(t protocol.Time) {
		if t = max(t, now.Add(time.Second)); t > from {
			times = append(times, t)
		}
	}
	for i := range o.steps {
		if o.steps[i].at != readyNow {
			add(o.steps[i].at)
		}
	}
	for _, i := range o.reserved {
		n := &f.nodes[i]
		for _, r := range n.jobs {
			if !r.isReplica {
				add(r.End)
			}
		}
		for x := range n.reservations {
			add(n.reservations[x].until.Add(n.reservations[x].wake))
		}
	}
	if until > from {
		times = append(times, until)
	}
	slices.Sort(times)
	f.times = times
	return slices.Clone(slices.Compact(times)) // the search on one node uses f.times
}

// setAt returns the nodes on which a gang finds room from t on for so long. It prefers those that are
// ready latest, as they are held idle shortest; of these the ones that take most pods.
func (f *Fleet) setAt(now protocol.Time, j *protocol.Job, model string, t protocol.Time, run time.Duration, counts reservationFilter) (parts []setPart, ok bool) {
	parts, _, ok = f.packAt(now, j, model, t, run, counts)
	return parts, ok
}

// PodsThatFit returns how many pods of a gang find room now for so long, next to all reservations.
func (f *Fleet) PodsThatFit(now protocol.Time, j *protocol.Job, model string, run time.Duration) int {
	_, most, _ := f.packAt(now, j, model, now, run, nil)
	return most
}

// packAt is setAt with the most pods that found room.
func (f *Fleet) packAt(now protocol.Time, j *protocol.Job, model string, t protocol.Time, run time.Duration, counts reservationFilter) (parts []setPart, most int, ok bool) {
	if wish := j.WithTopologyAt(max(t, now)); wish.RequiredFor != j.RequiredFor {
		j = &wish
	}
	f.headroomNodes()
	own, closed := f.reservedNodes(j.ID), canWait(*j) && t < LatestStart(*j, run)
	run += f.longestWake(now, t)
	type candidate struct {
		node  int
		ready protocol.Time
		pods  int
	}
	var all []candidate
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.removed || n.unschedulable || closed && n.isHeadroom && !own.Has(i) || n.mayBeLate(t, j.ID) {
			continue
		}
		x := candidate{node: i, ready: now}
		for c := range j.Pods {
			if !f.isTooFull(now, i, &j.Pods[c], t) && f.podsWhenEmpty(i, j, c, model) > 0 {
				x.pods = max(x.pods, f.podsThroughout(now, i, j, c, t, run, counts))
			}
		}
		if x.pods == 0 {
			continue
		}
		for _, r := range n.jobs {
			if r.End <= t {
				x.ready = max(x.ready, r.End)
			}
		}
		all = append(all, x)
	}
	slices.SortStableFunc(all, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(y.ready, x.ready), cmp.Compare(y.pods, x.pods))
	})
	pods := make([]int64, len(f.nodes))
	for _, x := range all {
		pods[x.node] = int64(x.pods)
	}
	p := podPacker{job: j, fleet: f, most: func(i, _ int) int { return int(pods[i]) }}
	if len(j.Pods) > 1 { // pods counts those of one component alone
		p.most = func(i, c int) int { return f.podsWhenEmpty(i, j, c, model) }
		p.fits = func(i int, x *protocol.Job) bool { return f.hasRoomThroughout(now, i, x, t, run, counts) }
	}
	ok = f.overDomains(j, roomMeasure{of: func(i int) int64 { return pods[i] }}, func(domains []fgd.NodeSet) bool {
		for _, d := range domains {
			p.nodes = p.nodes[:0]
			for _, x := range all {
				if d == nil || d.Has(x.node) {
					p.nodes = append(p.nodes, x.node)
				}
			}
			found, n, whole := p.pack()
			if most = max(most, n); whole {
				parts = found
				return true
			}
		}
		return false
	})
	return parts, most, ok
}

// mayBeLate reports whether a job of one pod that is to have ended by t may still run, as it woke n.
func (n *node) mayBeLate(t protocol.Time, but protocol.JobID) bool {
	return slices.ContainsFunc(n.reservations, func(k reservation) bool {
		return k.job.ID != but && k.until <= t && t < k.until.Add(k.wake)
	})
}

// isTooFull reports whether node i has too few GPUs free for a pod of a component at t, by what is free now: no
// run there ends by then. It spares a look at the node's calendar.
func (f *Fleet) isTooFull(now protocol.Time, i int, c *protocol.Component, t protocol.Time) bool {
	jobs := f.nodes[i].jobs
	return c.GPUs > 0 && len(jobs) > 0 && f.cluster.FreeMilli(i) < int64(c.GPUs)*int64(c.Share) &&
		jobs[0].End > max(t, now.Add(time.Second))
}

// earliestGang is earliestStartAndNode for a gang, with the filter of the reservations that counted.
func (f *Fleet) earliestGang(now protocol.Time, j *protocol.Job, model string, at protocol.Time, run time.Duration) (start protocol.Time, counts reservationFilter, ok bool) {
	start, ok = f.earliestSet(now, j, model, at, run, nil)
	if ok && start > at && len(f.reservedOn) > 0 && (!j.MayWait() || start > LatestStart(*j, run)) {
		urgent := atLeastAsUrgent(now, *j, run)
		if t, sooner := f.earliestSet(now, j, model, at, run, urgent); sooner && t < start {
			return t, urgent, true
		}
	}
	return start, nil, ok
}

// reserveSet is ReserveNode for a gang: it holds the nodes of its earliest start, all or none.
func (f *Fleet) reserveSet(now protocol.Time, j *protocol.Job, model string, at protocol.Time, run time.Duration) (from protocol.Time, ok bool) {
	from, counts, ok := f.earliestGang(now, j, model, at, run)
	if !ok {
		return 0, false
	}
	parts, ok := f.setAt(now, j, model, from, run, counts)
	if !ok {
		return 0, false // shares of GPUs: room on devices that others share, which no reservation counts
	}
	var nodes []int
	held := make(map[int]protocol.Job)
	for _, p := range parts {
		if _, known := held[p.node]; !known {
			nodes = append(nodes, p.node)
		}
		held[p.node] = addPods(held[p.node], j, p.component, p.pods)
	}
	f.setsOn[j.ID], f.reservedOn[j.ID] = nodes, nodes[0]
	f.holes[j.ID] = &holeUse{held: f.holeOf(now, j, parts, from).GPUHours}
	wake := time.Duration(0)
	for _, i := range nodes {
		wake = max(wake, f.nodes[i].wakeTimeAt(now, from)) // the gang starts when the last of its nodes is awake
	}
	for _, i := range nodes {
		f.insertReservation(i, reservation{job: held[i], from: from, until: from.Add(run + wake)})
	}
	for _, i := range nodes {
		f.dropInfeasible(now, i, j.ID)
	}
	return from, true
}

// setOpenFrom is AlwaysOpenFrom for a gang of one component that may go anywhere; for others every
// start is searched.
func (f *Fleet) setOpenFrom(now protocol.Time, j *protocol.Job, model string, run time.Duration) protocol.Time {
	if len(j.Pods) > 1 || j.Pods[0].IsShare() || j.LimitsPlaces() || !allowsModel(j, model) {
		return readyNever
	}
	o, room, later := f.openingsFor(j, model), 0, 0
	closed := now
	if canWait(*j) {
		closed = LatestStart(*j, run) // until then to the headroom
	}
	for _, s := range o.steps {
		t := now
		if s.at != readyNow {
			t = max(s.at, now.Add(time.Second))
		}
		if t > closed && room+later >= j.Pods[0].Pods {
			return closed
		}
		if s.headroom && t < closed {
			later += s.pods
			continue
		}
		if room += s.pods; room >= j.Pods[0].Pods || t >= closed && room+later >= j.Pods[0].Pods {
			return t
		}
	}
	if room+later >= j.Pods[0].Pods {
		return closed
	}
	return readyNever
}
