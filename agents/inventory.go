package agents

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// handleInventory takes in what the site consists of now. Jobs that the hands hold and
// the agent has forgotten, because it was started anew, are taken up again. The
// market is told when the site has become another, or has room that it had not.
func (a *Agent) handleInventory(now protocol.Time, v protocol.Inventory) []protocol.Message {
	before := a.fleet.PoolTotals()
	a.fleet.UpdateNodes(now, v.Nodes)
	a.executorReported = true
	if after := a.fleet.PoolTotals(); slices.ContainsFunc(before, func(p protocol.Pool) bool { return !poolsCover(after, p) }) {
		a.nodeLossUntil = now.Add(nodeLossGrace)
	}
	less := a.othersReleasedCapacity(v.Nodes)
	for _, h := range v.Held {
		a.adoptRunning(now, h)
	}
	for _, id := range slices.Sorted(maps.Keys(a.running)) { // of a former life, whose nodes were not known yet
		a.adoptInCapacity(id)
	}
	var said []protocol.Message
	if pools := a.fleet.PoolTotals(); a.registered && (less && a.lackedCapacity || !slices.Equal(pools, a.announcedPools)) {
		said = a.registerSite(now)
	}
	return append(said, a.startQueuedJobs(now)...)
}

// nodeLossGrace is for how long a site does not say that it can never run a job after nodes
// of it went, or their GPUs: machines and device plugins begin anew, and the market would
// refuse for good what nobody can ever run.
const nodeLossGrace = time.Hour

// poolsCover reports whether pools have as much of a model as p.
func poolsCover(pools []protocol.Pool, p protocol.Pool) bool {
	return slices.ContainsFunc(pools, func(q protocol.Pool) bool { return q.Model == p.Model && q.Nodes >= p.Nodes && q.GPUs >= p.GPUs })
}

// adoptRunning takes up a job that the hands hold. By a journal that was put back from an
// older copy it may wait yet, or its accept be unconfirmed; it is not given back for
// that, or it would run twice.
func (a *Agent) adoptRunning(now protocol.Time, h protocol.FoundRunning) {
	id, epoch := h.Launch.Job.ID, h.Launch.Epoch
	l, i := a.running[id], a.queueIndex(id)
	if l != nil && l.epoch < epoch || i >= 0 && a.queue[i].award.Epoch <= epoch {
		a.releaseJob(now, id)
		l = nil
	}
	switch {
	case l == nil:
		a.running[id] = &activeRun{
			launch: h.Launch, confirmed: true, running: true, epoch: epoch, acceptedEpoch: epoch,
			started: h.Since, transferCarbon: a.cfg.Network.transferCarbon(h.Launch.Job, a.cfg.Site),
		}
		a.epochs[id] = max(a.epochs[id], epoch)
	case l.epoch == epoch:
		l.confirmed = true // or the hands would not have been told
		if !l.running {    // nor have we heard that it started; now would be too late, and perhaps after its end
			l.running, l.started = true, h.Since
			a.schedulePause(id, l)
		}
	}
	a.adoptInCapacity(id)
}

// adoptInCapacity has the fleet count a job that has its place, if it does not yet.
func (a *Agent) adoptInCapacity(id protocol.JobID) {
	if l := a.running[id]; a.fleet.RunOf(id) == nil {
		a.fleet.AdoptRun(l.launch, l.started)
	}
}

// othersReleasedCapacity reports whether others hold less than they did. A job that found no room may
// find some then, and nobody else knows: by a greeting the market asks again.
func (a *Agent) othersReleasedCapacity(nodes []protocol.Node) (less bool) {
	var held [3]int64
	for _, n := range nodes {
		held[0] += int64(n.OtherCPU)
		held[1] += int64(n.OtherMem)
		for _, milli := range n.Others {
			held[2] += int64(milli)
		}
	}
	for i := range held {
		less = less || held[i] < a.heldByOthers[i]
	}
	a.heldByOthers = held
	return less
}

// registerSite introduces the site.
func (a *Agent) registerSite(now protocol.Time) []protocol.Message {
	a.registered, a.lackedCapacity, a.announcedPools = true, false, a.fleet.PoolTotals()
	h := protocol.RegisterSite{Site: a.cfg.Site, Pools: a.announcedPools}
	return []protocol.Message{a.sendReliably(now, pendingAck{to: protocol.Coordinator, body: h})}
}

// rebidBackoff is how long a site does not offer again for a job that its cluster refused
// or did not begin: what hindered it may still be there, and another site may have
// it meanwhile. Where a node was lost, the others may do.
const rebidBackoff = 5 * time.Minute

// handleInterrupted gives a job back to the market that the hands could not keep running.
func (a *Agent) handleInterrupted(now protocol.Time, x protocol.Interrupted) []protocol.Message {
	l := a.running[x.Job]
	if l == nil || l.epoch != x.Epoch || !l.confirmed {
		return nil // said twice, or not ours
	}
	maps.DeleteFunc(a.rebidAfter, func(_ protocol.JobID, until protocol.Time) bool { return until <= now })
	if x.Why.Code == protocol.ClusterRefused || x.Why.Code == protocol.NotStarted {
		a.rebidAfter[x.Job] = now.Add(rebidBackoff)
	}
	delete(a.epochs, x.Job)
	return append(a.reportWastedEnergy(now, x.Draw, x.Estimated), a.declineJob(now, x.Job, l.acceptedEpoch, x.Why)...)
}

// reportWastedEnergy reports energy that served no job: the site bears it, as it does what
// its idle machines draw.
func (a *Agent) reportWastedEnergy(now protocol.Time, draw []protocol.HourlyEnergy, estimated bool) (said []protocol.Message) {
	for _, s := range draw {
		bill, _ := a.grid.PriceEnergy([]protocol.HourlyEnergy{s})
		said = append(said, a.messageTo(now, protocol.Coordinator, protocol.SiteUsage{Hour: s.Hour, Idle: bill, Estimated: estimated})...)
	}
	return said
}
