package agents

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// A keptRoom is a reservation for a job for which runs were stopped here, and which is not awarded yet.
type keptRoom struct {
	job   protocol.JobID
	until protocol.Time
}

// preemptionsFor returns what this site would have to stop for the jobs of a call that may preempt and find no
// room here at once, in the order of the call. No run is named for two jobs: it makes room for one.
func (a *Agent) preemptionsFor(now protocol.Time, c protocol.CallForBids, bids []protocol.JobBids) (all []protocol.PreemptionSet) {
	named := make(map[protocol.JobID]bool)
	for _, set := range c.Preemptable {
		i := slices.IndexFunc(bids, func(m protocol.JobBids) bool { return m.Job == set.Job })
		if i < 0 {
			continue
		}
		j, _ := a.calledJobs.find(set.Job)
		runs := a.runsInTheWay(now, j, bids[i], set, named)
		if len(runs) == 0 {
			continue
		}
		for _, id := range runs {
			named[id] = true
		}
		all = append(all, protocol.PreemptionSet{Job: set.Job, Runs: runs})
	}
	return all
}

// runsInTheWay returns which of the runs of a PreemptionSet to stop, so that a job starts here at once: those
// by which least is lost (cheapestToStop). It returns nil if the job fits beside all of them, or if it does
// not help to stop all. A run that would end before it had saved its checkpoint is not stopped, nor one that
// is named for another job.
func (a *Agent) runsInTheWay(now protocol.Time, j protocol.Job, m protocol.JobBids, set protocol.PreemptionSet, named map[protocol.JobID]bool) []protocol.JobID {
	if len(m.Options) > 0 && m.Options[0].Start <= now.Add(protocol.PreemptAfter) || m.Why.Code != "" && m.Why.Code != protocol.NoCapacity {
		return nil
	}
	mine := slices.DeleteFunc(slices.Clone(set.Runs), func(id protocol.JobID) bool {
		if named[id] {
			return true
		}
		if l := a.running[id]; l != nil {
			pause := l.launch.Job.Pause
			return !l.confirmed || l.preempt != nil || pause > 0 && l.started.Add(l.launch.Run) <= now.Add(pause)
		}
		i := a.queueIndex(id)
		return i < 0 || !a.queue[i].confirmed
	})
	if len(mine) == 0 {
		return nil
	}
	var best choice
	for _, w := range a.configsPerModel(now, j) {
		length := w.Run + a.cfg.Network.transferTime(j, a.cfg.Site)
		if !a.termsFor(&j, func() lendingPlan { return a.planLending(now, j.ID) }).allows(now, now.Add(length)) {
			continue
		}
		fitsWithout := func(gone []protocol.JobID) bool { return a.fleet.StartsWithout(now, j, w.Model, length, gone) }
		if c := a.cheapestToStop(set, mine, fitsWithout); len(c.runs) > 0 && (len(best.runs) == 0 || c.isBetter(best)) {
			best = c
		}
	}
	return best.runs
}

// leastToStop returns the runs to stop of an ordered list: runs are added in its order until the job fits, and
// then, in the reverse order, those are left out without which it fits, too, as in Kueue. None, if that does
// not help or none needs to be stopped.
func leastToStop(ordered []protocol.JobID, fitsWithout func([]protocol.JobID) bool) (gone []protocol.JobID) {
	if fitsWithout(nil) {
		return nil
	}
	for _, id := range ordered {
		if gone = append(gone, id); fitsWithout(gone) {
			break
		}
	}
	if !fitsWithout(gone) {
		return nil
	}
	return withoutNeedless(gone, fitsWithout)
}

// configsPerModel returns one way to run a job on each GPU model, or the one by which this site runs it.
func (a *Agent) configsPerModel(now protocol.Time, j protocol.Job) []capacity.RunConfig {
	if !a.delivery.AsOffered {
		if w, _, ok := a.fleet.Default(now, j); ok {
			return []capacity.RunConfig{w}
		}
		return nil
	}
	ways, _ := a.fleet.RunConfigs(j)
	return slices.CompactFunc(ways, func(x, y capacity.RunConfig) bool { return x.Model == y.Model })
}

// handlePreempt stops a run to make room for another job, or gives up one that waits in the queue. That it
// is to be preempted is an event: a restarted agent must not take the end of the run for the end of the job.
func (a *Agent) handlePreempt(now protocol.Time, m protocol.Message, p protocol.Preempt) []protocol.Message {
	l := a.running[p.Job]
	if l != nil && l.cannotPause && p.IsForBudget() {
		return nil
	}
	stops := l != nil && l.confirmed && l.acceptedEpoch <= p.Epoch
	if stops && l.preempt == nil {
		l.preempt = &p
		a.recordEvent(m)
		a.fleet.PlanEnd(p.Job, now)
	}
	if i := a.queueIndex(p.Job); i >= 0 && a.queue[i].award.Epoch <= p.Epoch {
		m := a.giveBackJob(now, p.Job, p.Epoch, p.Why)
		a.keepRoomFor(now, p)
		return []protocol.Message{m}
	}
	a.keepRoomFor(now, p)
	return a.stopJob(now, p.Job, p.Epoch, p.Why, stops && l.launch.Job.Pause > 0 && !l.cannotPause)
}

// keepRoomFor reserves the room that runs leave for the job for which they are stopped. Of several, the last
// one completes it.
func (a *Agent) keepRoomFor(now protocol.Time, p protocol.Preempt) {
	j, called := a.calledJobs.find(p.For)
	if !called || a.running[p.For] != nil || a.queueIndex(p.For) >= 0 || p.Until <= now {
		return
	}
	soon := now.Add(time.Second)
	for _, w := range a.configsPerModel(now, j) {
		length := w.Run + a.cfg.Network.transferTime(j, a.cfg.Site)
		if at, ok := a.fleet.EarliestStart(now, j, w.Model, soon, length); ok && at <= soon {
			a.fleet.ReserveNode(now, j, w.Model, soon, length)
			a.keptRooms = append(slices.DeleteFunc(a.keptRooms, func(k keptRoom) bool { return k.job == p.For }), keptRoom{p.For, p.Until})
			return
		}
	}
}

// dropKeptRooms gives up the room that was kept for jobs that were not awarded in time. One that was has a
// reservation or a run of its own.
func (a *Agent) dropKeptRooms(now protocol.Time) {
	a.keptRooms = slices.DeleteFunc(a.keptRooms, func(k keptRoom) bool {
		here := a.running[k.job] != nil || a.queueIndex(k.job) >= 0
		if !here && k.until <= now {
			a.fleet.CancelReservation(k.job)
		}
		return here || k.until <= now
	})
}

// withoutKeptRooms calls do while the room that is kept for jobs of a call counts as free: the market takes it
// for one of them.
func (a *Agent) withoutKeptRooms(jobs []protocol.Job, do func()) {
	for _, k := range a.keptRooms {
		if slices.ContainsFunc(jobs, func(j protocol.Job) bool { return j.ID == k.job }) {
			defer a.fleet.CancelReservation(k.job)()
		}
	}
	do()
}

// reportPreempted reports the end of a run that was stopped to make room, with what it used.
func (a *Agent) reportPreempted(now protocol.Time, l *activeRun, r protocol.UsageReport) []protocol.Message {
	p := protocol.Preempted{
		Job: r.Job, Epoch: r.Epoch, For: l.preempt.For, Why: l.preempt.Why, Started: r.Started, Ended: r.Ended, Node: r.Node, Devices: r.Devices,
		IT: r.IT, Energy: r.Energy, Carbon: r.Carbon, Money: r.Money, Estimated: r.Estimated, Left: r.Left, Places: r.Places, Months: r.Months,
	}
	if r.Left == 0 {
		p.Lost = r.Ended.Sub(r.Started)
		if run := l.launch.Job.Run; run > 0 && l.launch.Run > 0 {
			p.Lost = min(time.Duration(float64(run)*(float64(p.Lost)/float64(l.launch.Run))), run).Truncate(time.Second)
		}
	}
	a.forgetEndedJob(now, r.Job)
	report := a.sendReliably(now, pendingAck{job: r.Job, epoch: r.Epoch, to: protocol.Coordinator, body: p})
	a.recordEvent(report)
	return append([]protocol.Message{report}, a.startQueuedJobs(now)...)
}
