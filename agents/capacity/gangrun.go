package capacity

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/protocol"
)

// startGang is StartRun for a gang.
func (f *Fleet) startGang(now protocol.Time, j protocol.Job, w RunConfig, move time.Duration) (*Run, bool) {
	due, kept := f.ReservedFrom(j.ID)
	own, hold := f.reservedNodes(j.ID), f.holes[j.ID]
	undo := f.CancelReservation(j.ID)
	if kept {
		f.starting = j.ID
		defer func() { f.starting = "" }()
	}
	sets := podSets(&j, w.Model)
	var placed []fgd.SetPlacement
	try := func(limits []fgd.NodeLimit) (ok bool) {
		placed, ok = f.cluster.PlaceSets(sets, limits)
		return ok
	}
	var ok bool
	if len(j.Groups) > 0 {
		ok = f.limitToGroups(now, &j, w.Model, w.Run+move, sets) && try(nil)
	} else {
		ok = f.tryGang(now, &j, w.Model, w.Run+move, own, try)
	}
	// Due: later reservations of its nodes give way; overdue: those of other nodes, too.
	if wish := j.WithTopologyAt(now); !ok && kept && due <= now && len(j.Groups) == 0 {
		limits := f.limitsReservedBy(due, own, due.Add(reservationGrace) <= now)
		ok = f.overDomains(&wish, f.freeNow(&wish, w.Model), func(domains []fgd.NodeSet) bool { return f.tryWithin(domains, limits, try) })
	}
	if !ok {
		undo()
		return nil, false
	}
	r := &Run{Job: j, RunConfig: w, Start: now}
	for _, p := range placed {
		r.Start = max(r.Start, now.Add(f.nodes[p.Node].wakeTime(now)))
	}
	r.End = r.Start.Add(w.Run + move)
	for _, p := range placed {
		r.addPart(f.nodes[p.Node].Name, p)
	}
	for _, p := range r.parts {
		n := &f.nodes[p.placement.Node]
		n.wakesAt = max(n.wakesAt, r.Start)
		f.recordAwake(now, n, &p.Job, r.End)
		f.noteBackfill(n, p)
	}
	f.learnBackfill(hold)
	f.recordGang(now, r)
	return r, true
}

// limitsReservedBy is nodesReservedBy for a gang.
func (f *Fleet) limitsReservedBy(by protocol.Time, own fgd.NodeSet, others bool) (limits []fgd.NodeLimit) {
	for i := range f.nodes {
		n := &f.nodes[i]
		if !n.unschedulable && !n.removed && (!others && !own.Has(i) || slices.ContainsFunc(n.reservations, func(k reservation) bool { return k.from <= by })) {
			limits = append(limits, fgd.NodeLimit{Node: i})
		}
	}
	return limits
}

// addPart adds pods on one node to the run of a gang.
func (r *Run) addPart(node string, p fgd.SetPlacement) {
	r.parts = append(r.parts, &Run{
		Job: r.Job.PodsOf(p.Set, p.Pods), RunConfig: r.RunConfig, Start: r.Start, End: r.End, Node: node,
		placement: p.Placement, component: p.Set, pods: p.Pods, isFurtherPart: len(r.parts) > 0,
	})
	r.Node = r.parts[0].Node
}

// recordGang records the run of a gang whose capacity is already taken in the cluster.
func (f *Fleet) recordGang(now protocol.Time, r *Run) {
	f.running[r.Job.ID] = r
	for _, p := range r.parts {
		f.recordRun(now, &f.nodes[p.placement.Node], p)
	}
}

// onNodes returns what r is on its nodes: itself, or the parts of a gang.
func (r *Run) onNodes() []*Run {
	if r.parts == nil {
		return []*Run{r}
	}
	return r.parts
}

// Places returns where the pods of a gang run, with their devices; nil for other jobs.
func (r *Run) Places() (places []protocol.Place) {
	for _, p := range r.parts {
		places = append(places, protocol.Place{Component: p.component, Pods: p.pods, Node: p.Node, Devices: p.DeviceIndexes()})
	}
	return places
}

// adoptGang is AdoptRun for a gang: all of its places, or none.
func (f *Fleet) adoptGang(l protocol.Launch, since protocol.Time) bool {
	r := &Run{Job: l.Job, Start: since, End: since.Add(l.Run)}
	undo := func() bool {
		for _, p := range r.parts {
			_ = f.cluster.ReleasePlacement(p.placement) // cannot fail: it was taken below
		}
		return false
	}
	left := make([]int, len(l.Job.Pods))
	for i, c := range l.Job.Pods {
		left[i] = c.Pods
	}
	for _, p := range l.Places {
		i := slices.IndexFunc(f.nodes, func(n node) bool { return !n.removed && n.Name == p.Node })
		if i < 0 || p.Component < 0 || p.Component >= len(left) || p.Pods < 1 || p.Pods > left[p.Component] {
			return undo()
		}
		left[p.Component] -= p.Pods
		devices, ok := deviceSet(p.Devices)
		placed := fgd.Placement{Node: i, Devices: devices, Request: fgdRequest(l.Job.PodsOf(p.Component, p.Pods), l.Model)}
		if !ok || f.cluster.TakePlacement(placed) != nil {
			return undo()
		}
		r.addPart(p.Node, fgd.SetPlacement{Placement: placed, Set: p.Component, Pods: p.Pods})
	}
	if slices.ContainsFunc(left, func(n int) bool { return n != 0 }) {
		return undo()
	}
	pool := f.poolOf(l.Model)
	if pool == nil {
		pool = f.poolOf(f.nodes[r.parts[0].placement.Node].Model)
	}
	r.RunConfig = f.adoptedConfig(pool, &l)
	for _, p := range r.parts {
		p.RunConfig = r.RunConfig
	}
	f.recordGang(since, r)
	return true
}

// deviceSet returns devices as a set of bits.
func deviceSet(all []int) (set fgd.Devices, ok bool) {
	for _, d := range all {
		if d < 0 || d >= fgd.MaxGPUs {
			return 0, false
		}
		set |= 1 << d
	}
	return set, true
}
