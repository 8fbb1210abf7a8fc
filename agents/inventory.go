package agents

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// handleInventory takes in the site's current nodes. It adopts jobs that the executor runs and a
// restarted agent does not know. The site registers anew if its pools changed, or if capacity
// became free that a job lacked.
func (a *Agent) handleInventory(now protocol.Time, v protocol.Inventory) []protocol.Message {
	before := a.fleet.PoolTotals()
	a.fleet.SetTopology(v.Topology) // before nodes that are new get theirs
	a.fleet.UpdateNodes(now, v.Nodes)
	a.adoptReplicas(now) // restored before the nodes were known
	a.executorReported = true
	if after := a.fleet.PoolTotals(); slices.ContainsFunc(before, func(p protocol.Pool) bool { return !poolsCover(after, p) }) {
		a.nodeLossUntil = now.Add(nodeLossGrace)
	}
	less := a.othersReleasedCapacity(v.Nodes)
	for _, h := range v.Held {
		a.adoptRunning(now, h)
	}
	for _, id := range slices.Sorted(maps.Keys(a.running)) { // restored before the nodes were known
		a.adoptInCapacity(id)
	}
	var msgs []protocol.Message
	if pools := a.fleet.PoolTotals(); a.registered && (less && a.lackedCapacity || !slices.Equal(pools, a.announcedPools)) {
		msgs = a.registerSite(now)
	}
	return append(msgs, a.startQueuedJobs(now)...)
}

// nodeLossGrace is how long after a loss of nodes or GPUs the site does not claim that it can
// never run a job: machines and device plugins restart, and the market rejects for good a job that
// every site claims never to be able to run.
const nodeLossGrace = time.Hour

// poolsCover reports whether pools have at least the nodes and GPUs of p's model that p has.
func poolsCover(pools []protocol.Pool, p protocol.Pool) bool {
	return slices.ContainsFunc(pools, func(q protocol.Pool) bool { return q.Model == p.Model && q.Nodes >= p.Nodes && q.GPUs >= p.GPUs })
}

// adoptRunning adopts a job that the executor runs. If the agent's event log was restored from an
// older copy, the job may still be queued here, or its Accept unconfirmed. It is adopted all the
// same: if the site gave it back it would run twice.
func (a *Agent) adoptRunning(now protocol.Time, h protocol.FoundRunning) {
	id, epoch := h.Launch.Job.ID, h.Launch.Epoch
	l, i := a.running[id], a.queueIndex(id)
	if l != nil && l.epoch < epoch || i >= 0 && a.queue[i].award.Epoch <= epoch {
		a.releaseJob(now, id)
		l = nil
	}
	switch {
	case l == nil:
		a.addRun(&activeRun{
			launch: h.Launch, confirmed: true, running: true, epoch: epoch, acceptedEpoch: epoch,
			started: h.Since, transferCarbon: a.cfg.Network.transferCarbon(h.Launch.Job, a.cfg.Site),
		})
		a.epochs[id] = max(a.epochs[id], epoch)
	case l.epoch == epoch:
		l.confirmed = true // the executor is sent confirmed jobs only
		if !l.running {    // its Started was lost; the time of this message would be too late, perhaps after the job's end
			l.running, l.started = true, h.Since
			a.schedulePause(id, l)
		}
	}
	a.adoptInCapacity(id)
}

// adoptInCapacity makes the capacity calendar count a running job, if it does not yet.
func (a *Agent) adoptInCapacity(id protocol.JobID) {
	if l := a.running[id]; a.fleet.RunOf(id) == nil {
		a.fleet.AdoptRun(l.launch, l.started)
	}
}

// othersReleasedCapacity reports whether pods of other schedulers use less than in the last
// inventory. A job that lacked capacity may fit then, which only this site can know: a
// registration makes the market call it.
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

// registerSite introduces the site to the market, until the market acknowledges.
func (a *Agent) registerSite(now protocol.Time) []protocol.Message {
	a.registered, a.lackedCapacity, a.announcedPools = true, false, a.fleet.PoolTotals()
	h := protocol.RegisterSite{Site: a.cfg.Site, Pools: a.announcedPools, Location: a.cfg.Location}
	return []protocol.Message{a.sendReliably(now, pendingAck{to: protocol.Coordinator, body: h})}
}

// rebidBackoff is how long a site does not bid for a job that its cluster refused or did not
// start: the cause may persist, and another site can have the job meanwhile. After the loss of a
// node there is no backoff, because the site's other nodes may do.
const rebidBackoff = 5 * time.Minute

// handleInterrupted gives a job back to the market that the executor could not keep running.
func (a *Agent) handleInterrupted(now protocol.Time, x protocol.Interrupted) []protocol.Message {
	l := a.running[x.Job]
	if l == nil || l.epoch != x.Epoch || !l.confirmed {
		return nil // a duplicate, or of a run that is not ours
	}
	maps.DeleteFunc(a.rebidAfter, func(_ protocol.JobID, until protocol.Time) bool { return until <= now })
	if x.Why.Code == protocol.ClusterRefused || x.Why.Code == protocol.NotStarted {
		a.rebidAfter[x.Job] = now.Add(rebidBackoff)
	}
	delete(a.epochs, x.Job) // an award of this job to this site may come next
	return append(a.reportWastedEnergy(now, x.Draw, x.Estimated), a.declineJob(now, x.Job, l.acceptedEpoch, x.Why)...)
}

// reportWastedEnergy reports energy that served no job. The site bears its cost, as it does that
// of idle nodes.
func (a *Agent) reportWastedEnergy(now protocol.Time, draw []protocol.HourlyEnergy, estimated bool) (msgs []protocol.Message) {
	for _, s := range draw {
		bill := a.billEnergy([]protocol.HourlyEnergy{s}, true)
		msgs = append(msgs, a.messageTo(now, protocol.Coordinator, protocol.SiteUsage{Hour: s.Hour, Idle: bill, Estimated: estimated})...)
	}
	return msgs
}
