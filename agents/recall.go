package agents

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Own first (terms: own_first): accepted jobs of the site's own tenants start before those of others, and
// where one finds no room, runs of others are recalled: they are stopped, with a checkpoint where they can,
// once their notice is over and the job still waits here. docs/federation.md.

// recallNotice is how long a run goes on after it was recalled.
const recallNotice = 30 * time.Minute

// ownFirst moves jobs of the site's own tenants before those of others, where its terms say so. If one is due,
// the others give up their reservations: what is left is reserved anew.
func (a *Agent) ownFirst(now protocol.Time, queue []reservation) []reservation {
	if !a.cfg.Terms.OwnFirst {
		return queue
	}
	slices.SortStableFunc(queue, func(x, y reservation) int { return cmp.Compare(a.rankOf(&x.job), a.rankOf(&y.job)) })
	if len(queue) == 0 || a.rankOf(&queue[0].job) != 0 {
		return queue
	}
	due := slices.ContainsFunc(queue, func(r reservation) bool { return a.rankOf(&r.job) == 0 && r.earliestStart() <= now })
	for _, r := range queue {
		if due && a.rankOf(&r.job) != 0 {
			a.fleet.CancelReservation(r.job.ID)
		}
	}
	return queue
}

// rankOf returns 0 for a job of the site's own tenants, and 1 for others.
func (a *Agent) rankOf(j *protocol.Job) int {
	if a.cfg.Terms.IsOwn(j.Tenant) {
		return 0
	}
	return 1
}

// recallForOwn recalls runs for the jobs of a call that are of the site's own tenants.
func (a *Agent) recallForOwn(now protocol.Time, c protocol.CallForBids) (msgs []protocol.Message) {
	if !a.cfg.Terms.OwnFirst {
		return nil
	}
	p := bidPricing{agent: a, now: now, weights: c.Weights.ForRanking(), planning: a.planning, shadow: newShadowPrices(c.ShadowPrices, a.cfg.Site)}
	for _, j := range c.Jobs {
		if a.rankOf(&j) == 0 && !a.own[j.ID].isUnsettled() {
			p.estimated = len(a.fillExpectedRun(&j)) > 0
			msgs = append(msgs, a.recallFor(now, j, p.bidsForJob(j))...)
		}
	}
	return msgs
}

// recallFor recalls runs of others for a job of the site's own tenants that finds no room before their notice
// were over, by what the site would bid for it. Jobs of others that have not started are given back at once.
func (a *Agent) recallFor(now protocol.Time, j protocol.Job, m protocol.JobBids) (msgs []protocol.Message) {
	soon := now.Add(recallNotice)
	if !a.cfg.Terms.OwnFirst || a.rankOf(&j) != 0 || j.Urgency == protocol.UrgencyFlexible || len(m.Options) > 0 && m.Options[0].Start <= soon ||
		len(m.Options) == 0 && m.Why.Code != protocol.NoCapacity {
		return nil
	}
	lent := a.lentRuns(soon)
	for _, w := range a.configsPerModel(now, j) {
		length := w.Run + a.cfg.Network.transferTime(j, a.cfg.Site)
		gone := leastToStop(lent, func(gone []protocol.JobID) bool { return a.fleet.StartsWithout(now, j, w.Model, length, gone) })
		for _, id := range gone {
			why := protocol.Reason{Code: protocol.Reclaimed, Note: "for " + string(j.ID)}
			if i := a.queueIndex(id); i >= 0 {
				msgs = append(msgs, a.giveBackJob(now, id, a.queue[i].award.Epoch, why))
				continue
			}
			p := protocol.Preempt{Job: id, Epoch: a.running[id].acceptedEpoch, For: j.ID, Why: why, Until: soon}
			quiet := a.sender // a copy: the event takes no sequence number
			a.recordEvent(quiet.NewMessage(now, a.sender.Party, p))
			a.recallRun(p)
		}
		if len(gone) > 0 {
			return msgs
		}
	}
	return nil
}

// lentRuns returns the jobs of others that are here and would be still at an instant, those that are to be
// recalled first: not started, then of the lowest priority, then the most recent.
func (a *Agent) lentRuns(at protocol.Time) (ids []protocol.JobID) {
	for _, r := range slices.Backward(a.queue) {
		if r.confirmed && a.rankOf(&r.job) != 0 {
			ids = append(ids, r.job.ID)
		}
	}
	runs := slices.DeleteFunc(slices.Sorted(maps.Keys(a.running)), func(id protocol.JobID) bool {
		l := a.running[id]
		return a.rankOf(&l.launch.Job) == 0 || !l.confirmed || l.preempt != nil || l.recall != nil || l.started.Add(l.launch.Run) <= at
	})
	slices.SortFunc(runs, func(x, y protocol.JobID) int {
		i, j := a.running[x], a.running[y]
		return cmp.Or(cmp.Compare(i.launch.Job.Priority, j.launch.Job.Priority), cmp.Compare(j.started, i.started), cmp.Compare(x, y))
	})
	return append(ids, runs...)
}

// recallRun plans the end of a run that is recalled.
func (a *Agent) recallRun(p protocol.Preempt) {
	if l := a.running[p.Job]; l != nil {
		l.recall = &p
		a.fleet.PlanEnd(p.Job, p.Until)
	}
}

// nextRecall returns when the first notice ends; 0: none runs.
func (a *Agent) nextRecall() (due protocol.Time) {
	if !a.cfg.Terms.OwnFirst {
		return 0
	}
	for _, id := range slices.Sorted(maps.Keys(a.running)) {
		if l := a.running[id]; l.recall != nil && l.preempt == nil && (due == 0 || l.recall.Until < due) {
			due = l.recall.Until
		}
	}
	return due
}

// stopRecalled stops the runs whose notice is over, if the job for which they were recalled waits here.
func (a *Agent) stopRecalled(now protocol.Time) (msgs []protocol.Message) {
	if due := a.nextRecall(); due == 0 || due > now {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(a.running)) {
		l := a.running[id]
		if l == nil || l.recall == nil || l.preempt != nil || l.recall.Until > now {
			continue
		}
		p := l.recall
		l.recall = nil
		if own := a.own[p.For]; a.queueIndex(p.For) < 0 && (own == nil || own.start != nil) {
			a.fleet.PlanEnd(id, l.started.Add(l.launch.Run))
			continue
		}
		msgs = append(msgs, a.stopForOwner(now, *p)...)
	}
	return msgs
}

// stopForOwner stops a run because the site wants its room.
func (a *Agent) stopForOwner(now protocol.Time, p protocol.Preempt) []protocol.Message {
	l := a.running[p.Job]
	l.preempt = &p
	quiet := a.sender // a copy: the event takes no sequence number
	a.recordEvent(quiet.NewMessage(now, protocol.Coordinator, p))
	return a.stopJob(now, p.Job, l.acceptedEpoch, p.Why, l.launch.Job.Pause > 0 && !l.cannotPause)
}
