package agents

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// surveyed takes in what the site consists of now. Jobs that the hands hold and
// the agent has forgotten, because it was started anew, are taken up again. The
// market is told when the site has become another, or has room that it had not.
func (a *Agent) surveyed(now protocol.Time, v protocol.Inventory) []protocol.Message {
	before := a.fleet.Pools()
	a.fleet.Survey(now, v.Nodes)
	a.told = true
	if after := a.fleet.Pools(); slices.ContainsFunc(before, func(p protocol.Pool) bool { return !holds(after, p) }) {
		a.absent = now.Add(absence)
	}
	less := a.frees(v.Nodes)
	for _, h := range v.Held {
		a.takeUp(now, h)
	}
	for _, id := range slices.Sorted(maps.Keys(a.live)) { // of a former life, whose nodes were not known yet
		a.adopt(id)
	}
	var said []protocol.Message
	if pools := a.fleet.Pools(); a.greeted && (less && a.short || !slices.Equal(pools, a.pools)) {
		said = a.hello(now)
	}
	return append(said, a.advance(now)...)
}

// absence is for how long a site does not say that it can never run a job after nodes
// of it went, or their GPUs: machines and device plugins begin anew, and the market would
// refuse for good what nobody can ever run.
const absence = time.Hour

// holds reports whether pools have as much of a model as p.
func holds(pools []protocol.Pool, p protocol.Pool) bool {
	return slices.ContainsFunc(pools, func(q protocol.Pool) bool { return q.Model == p.Model && q.Nodes >= p.Nodes && q.GPUs >= p.GPUs })
}

// takeUp takes up a job that the hands hold. By a journal that was put back from an
// older copy it may wait yet, or its accept be unconfirmed; it is not given back for
// that, or it would run twice.
func (a *Agent) takeUp(now protocol.Time, h protocol.Held) {
	id, epoch := h.Launch.Job.ID, h.Launch.Epoch
	l, i := a.live[id], a.queued(id)
	if l != nil && l.epoch < epoch || i >= 0 && a.queue[i].award.Epoch <= epoch {
		a.release(now, id)
		l = nil
	}
	switch {
	case l == nil:
		a.live[id] = &live{
			launch: h.Launch, granted: true, running: true, epoch: epoch, award: epoch,
			started: h.Since, moved: a.cfg.Network.emits(h.Launch.Job, a.cfg.Site),
		}
		a.epochs[id] = max(a.epochs[id], epoch)
	case l.epoch == epoch:
		l.granted = true // or the hands would not have been told
		if !l.running {  // nor have we heard that it started; now would be too late, and perhaps after its end
			l.running, l.started = true, h.Since
			a.plan(id, l)
		}
	}
	a.adopt(id)
}

// adopt has the fleet count a job that has its place, if it does not yet.
func (a *Agent) adopt(id protocol.JobID) {
	if l := a.live[id]; a.fleet.Running(id) == nil {
		a.fleet.Adopt(l.launch, l.started)
	}
}

// frees reports whether others hold less than they did. A job that found no room may
// find some then, and nobody else knows: by a greeting the market asks again.
func (a *Agent) frees(nodes []protocol.Node) (less bool) {
	var held [3]int64
	for _, n := range nodes {
		held[0] += int64(n.OtherCPU)
		held[1] += int64(n.OtherMem)
		for _, milli := range n.Others {
			held[2] += int64(milli)
		}
	}
	for i := range held {
		less = less || held[i] < a.others[i]
	}
	a.others = held
	return less
}

// hello introduces the site.
func (a *Agent) hello(now protocol.Time) []protocol.Message {
	a.greeted, a.short, a.pools = true, false, a.fleet.Pools()
	h := protocol.Hello{Site: a.cfg.Site, Pools: a.pools}
	return []protocol.Message{a.owe(now, owed{to: protocol.Coordinator, body: h})}
}

// rest is how long a site does not offer again for a job that its cluster refused
// or did not begin: what hindered it may still be there, and another site may have
// it meanwhile. Where a node was lost, the others may do.
const rest = 5 * time.Minute

// lost gives a job back to the market that the hands could not keep running.
func (a *Agent) lost(now protocol.Time, x protocol.Lost) []protocol.Message {
	l := a.live[x.Job]
	if l == nil || l.epoch != x.Epoch || !l.granted {
		return nil // said twice, or not ours
	}
	maps.DeleteFunc(a.rests, func(_ protocol.JobID, until protocol.Time) bool { return until <= now })
	if x.Why.Code == protocol.Refused || x.Why.Code == protocol.Unfinished {
		a.rests[x.Job] = now.Add(rest)
	}
	delete(a.epochs, x.Job)
	return append(a.wasted(now, x.Draw, x.Estimated), a.giveBack(now, x.Job, l.award, x.Why)...)
}

// wasted reports energy that served no job: the site bears it, as it does what
// its idle machines draw.
func (a *Agent) wasted(now protocol.Time, draw []protocol.Slice, estimated bool) (said []protocol.Message) {
	for _, s := range draw {
		bill, _ := a.grid.Bill([]protocol.Slice{s})
		said = append(said, a.say(now, protocol.Coordinator, protocol.Meter{Hour: s.Hour, Idle: bill, Estimated: estimated})...)
	}
	return said
}
