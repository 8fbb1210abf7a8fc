package agents

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A heldService is a service of which the market has assigned replicas to this site.
type heldService struct {
	service  protocol.Service
	revision uint64                 // of the newest AssignReplicas
	count    int                    // that it assigned
	replicas []protocol.Replica     // that have a node, by number
	stopping []protocol.Replica     // that are to stop, and hold their room until the executor has answered
	acked    protocol.ReplicaStatus // of the newest assignment whose replicas have all stopped: its revision and count
	newest   int                    // the number that was given last
	since    protocol.Time          // since when some have no node; 0: all have one
	reported protocol.ReplicaStatus
	meter    replicaMeter

	// What the executor knows.
	unordered bool   // replicas has changed since the last RunReplicas
	order     uint64 // of the newest RunReplicas
	answered  bool   // the executor answered that one
	restored  bool   // it has answered none since this process started, so nobody knows what runs
	running   map[int]bool
	resendAt  protocol.Time
	delay     time.Duration
}

// handleAssign takes in how many replicas of a service the site is to hold. One that is not newer than
// what is known is a repeat, and is answered with the state of the service.
func (a *Agent) handleAssign(now protocol.Time, m protocol.Message, b protocol.AssignReplicas) []protocol.Message {
	if h := a.services[b.Service.ID]; h != nil && b.Revision <= h.revision {
		return a.messageTo(now, protocol.Coordinator, h.status())
	}
	a.recordEvent(m)
	a.applyAssign(now, b)
	return nil // keepServices does and reports the rest
}

// applyAssign sets what the site is to hold, and takes replicas away that it is to hold no more: all if
// they are of another shape, else those that came last.
func (a *Agent) applyAssign(now protocol.Time, b protocol.AssignReplicas) {
	h := a.services[b.Service.ID]
	if h == nil {
		h = &heldService{running: make(map[int]bool), unordered: b.Count > 0}
		a.services[b.Service.ID] = h
	}
	keep := b.Count
	if !h.service.SameReplica(&b.Service) {
		keep = 0
	}
	h.countReplicas(now)
	if h.count == 0 && b.Count > 0 && len(h.running) == 0 { // what it took before was read when it left
		h.meter = replicaMeter{}
	}
	h.service, h.revision, h.count = b.Service, b.Revision, b.Count
	for len(h.replicas) > keep {
		last := h.replicas[len(h.replicas)-1]
		h.stopping = append(h.stopping, last)
		h.forgetReplica(last.Number)
	}
	a.triedVersion = -1
}

// dropReplica frees the capacity of a replica that does not run.
func (a *Agent) dropReplica(now protocol.Time, h *heldService, number int) {
	a.fleet.EndRun(now, protocol.ReplicaName(h.service.ID, number))
	h.countReplicas(now)
	h.forgetReplica(number)
}

// forgetReplica takes a replica off the list.
func (h *heldService) forgetReplica(number int) {
	h.replicas = slices.DeleteFunc(h.replicas, func(r protocol.Replica) bool { return r.Number == number })
	delete(h.running, number)
	h.unordered = true
}

// replicaJob returns a replica as the site's capacity counts it.
func (h *heldService) replicaJob(site string, number int) protocol.Job {
	j, _ := h.service.ReplicaAt(site)
	j.ID = protocol.ReplicaName(h.service.ID, number)
	return j
}

// refusesService returns why the site holds no replicas of a service, or no Code. A site with terms or
// a tariff holds none of other tenants: what it lends to jobs comes back, and a replica does not; and
// replicas pay for energy alone.
func (a *Agent) refusesService(s *protocol.Service) protocol.Reason {
	switch t := &a.cfg.Terms; {
	case !a.cfg.Services:
		return protocol.Reason{Code: protocol.RunsNoServices, Note: a.cfg.Site + " runs jobs only"}
	case len(s.Sites) > 0 && !slices.Contains(s.Sites, a.cfg.Site):
		return protocol.Reason{Code: protocol.NotAllowed}
	case (!t.IsZero() || !t.Tariff.IsZero()) && !t.IsOwn(s.Tenant):
		return protocol.Reason{Code: protocol.RefusedByTerms, Note: a.cfg.Site + " holds services of its own tenants only"}
	}
	return protocol.Reason{}
}

// keepServices gives replicas without a node one as soon as there is capacity, and tells the executor and
// the coordinator what changed. It runs at the end of each step, after jobs had their turn.
func (a *Agent) keepServices(now protocol.Time) (msgs []protocol.Message) {
	if len(a.services) == 0 || a.lacksNodes() {
		return nil
	}
	all := a.servicesByPriority()
	try := a.fleet.Version() != a.triedVersion // else capacity is as it was when some found none
	for _, h := range all {
		if try && len(h.replicas) < h.count && a.refusesService(&h.service).Code == "" {
			a.placeReplicas(now, h)
		}
		switch missing := len(h.replicas) < h.count; {
		case !missing:
			h.since = 0
		case h.since == 0:
			h.since = now
		}
		msgs = append(msgs, a.orderReplicas(now, h)...)
		a.readMeter(now, h)
		if s := h.status(); s != h.reported {
			h.reported = s
			msgs = append(msgs, a.messageTo(now, protocol.Coordinator, s)...)
		}
	}
	a.triedVersion = a.fleet.Version()
	return msgs
}

// servicesByPriority returns the services in the order in which they get nodes.
func (a *Agent) servicesByPriority() (all []*heldService) {
	for _, id := range slices.Sorted(maps.Keys(a.services)) {
		all = append(all, a.services[id])
	}
	slices.SortStableFunc(all, func(x, y *heldService) int { return cmp.Compare(y.service.Priority, x.service.Priority) })
	return all
}

// placeReplicas places missing replicas of a service as far as they fit.
func (a *Agent) placeReplicas(now protocol.Time, h *heldService) {
	for len(h.replicas) < h.count {
		run, ok := a.fleet.StartReplica(now, h.replicaJob(a.cfg.Site, h.newest+1))
		if !ok {
			return
		}
		h.newest++
		h.unordered = true
		h.replicas = append(h.replicas, protocol.Replica{Number: h.newest, Node: run.Node, Devices: run.DeviceIndexes(), Model: run.RunConfig.Model, Power: h.service.PowerOn(run.RunConfig.Model, run.RunConfig.Power)})
	}
}

// adoptReplicas gives restored replicas their capacity, before anything else is placed; one whose node is
// gone has none. Those that are to stop are last: where another has their devices, the executor had
// answered that they stopped before this process started.
func (a *Agent) adoptReplicas(now protocol.Time) {
	if len(a.services) == 0 || a.lacksNodes() {
		return
	}
	all := a.servicesByPriority()
	for _, h := range all {
		for _, r := range slices.Clone(h.replicas) {
			if a.fleet.RunOf(protocol.ReplicaName(h.service.ID, r.Number)) == nil && !a.fleet.AdoptReplica(now, h.replicaJob(a.cfg.Site, r.Number), r) {
				a.dropReplica(now, h, r.Number)
			}
		}
	}
	for _, h := range all {
		for _, r := range h.stopping {
			a.fleet.AdoptReplica(now, h.replicaJob(a.cfg.Site, r.Number), r)
		}
	}
}

// orderReplicas returns the RunReplicas of a service, if the executor does not know of the last change or
// has not answered in time.
func (a *Agent) orderReplicas(now protocol.Time, h *heldService) []protocol.Message {
	switch {
	case h.unordered:
		h.order, h.unordered, h.answered, h.delay = h.order+1, false, false, firstRetryDelay
	case h.answered || h.order == 0 || now < h.resendAt:
		return nil
	default:
		h.delay = min(2*h.delay, maxRetryDelay)
	}
	h.resendAt = now.Add(h.delay)
	m := a.sender.NewMessage(now, protocol.ExecutorParty(a.cfg.Site), protocol.RunReplicas{Service: h.service, Revision: h.order, Replicas: slices.Clone(h.replicas), Newest: h.newest, Stopping: slices.Clone(h.stopping)})
	if h.delay == firstRetryDelay {
		a.recordEvent(m)
	}
	return []protocol.Message{m}
}

// handleReplicasRunning takes in which replicas run, and drops those that were lost: keepServices looks for
// other nodes.
func (a *Agent) handleReplicasRunning(now protocol.Time, b protocol.ReplicasRunning) {
	h := a.services[b.Service]
	if h == nil || b.Revision != h.order || h.unordered {
		return // of an older list: the answer to the newest one follows
	}
	h.answered, h.restored = true, false
	for _, r := range h.stopping {
		a.fleet.EndRun(now, protocol.ReplicaName(h.service.ID, r.Number))
	}
	h.stopping = nil
	h.countReplicas(now)
	clear(h.running)
	for _, n := range b.Running {
		if slices.ContainsFunc(h.replicas, func(r protocol.Replica) bool { return r.Number == n }) {
			h.running[n] = true
		}
	}
	for _, n := range b.Lost {
		if slices.ContainsFunc(h.replicas, func(r protocol.Replica) bool { return r.Number == n }) {
			a.dropReplica(now, h, n)
		}
	}
}

// servicesDue returns when the next RunReplicas is to be repeated, or the next meter to be read; 0: none.
func (a *Agent) servicesDue() (due protocol.Time) {
	sooner := func(t protocol.Time) {
		if due == 0 || t < due {
			due = t
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.services)) {
		h := a.services[id]
		if h.order > 0 && !h.answered {
			sooner(h.resendAt)
		}
		if len(h.running) > 0 {
			sooner(h.meter.nextReading())
		}
	}
	return due
}

// status returns how the replicas of a service stand. An assignment that has some stopped is acknowledged once
// they are, so that nobody else is sold their room before; an agent that has just started acknowledges none until it knows
// what runs.
func (h *heldService) status() protocol.ReplicaStatus {
	if len(h.stopping) == 0 && !h.restored {
		h.acked = protocol.ReplicaStatus{Revision: h.revision, Assigned: h.count}
	}
	return protocol.ReplicaStatus{
		Service: h.service.ID, Revision: h.acked.Revision, Assigned: h.acked.Assigned,
		Ready: len(h.running), Pending: h.count - len(h.replicas), Since: h.since, Meter: h.meter.reading,
	}
}

// restoreReplicas restores which replicas there were, from the newest RunReplicas.
func (a *Agent) restoreReplicas(b protocol.RunReplicas) {
	h := a.services[b.Service.ID]
	if h == nil { // the assignment that took them away follows, and the one before it was not needed any more
		h = &heldService{service: b.Service, running: make(map[int]bool), count: len(b.Replicas)}
		a.services[b.Service.ID] = h
	}
	h.replicas, h.stopping, h.order, h.newest = slices.Clone(b.Replicas), slices.Clone(b.Stopping), b.Revision, b.Newest
	h.unordered, h.answered, h.restored, h.delay = false, false, true, firstRetryDelay
}

// needsServiceEvent reports whether an event of a service is still needed: the newest assignment and list
// of one that is here.
func (a *Agent) needsServiceEvent(m protocol.Message) bool {
	switch b := m.Body.(type) {
	case protocol.AssignReplicas:
		h := a.services[b.Service.ID]
		return h != nil && h.revision == b.Revision && (h.count > 0 || !h.answered && h.order > 0)
	case protocol.RunReplicas:
		h := a.services[b.Service.ID]
		return h != nil && h.order == b.Revision && (h.count > 0 || !h.answered)
	}
	return false
}
