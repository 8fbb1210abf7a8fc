package agents

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// handleAward reserves capacity for a won job, queues it if the award allows that, or declines.
// The job is launched when the Accept is confirmed (decision 0020).
func (a *Agent) handleAward(now protocol.Time, m protocol.Message, w protocol.Award) []protocol.Message {
	decline := func(c protocol.Code) []protocol.Message {
		return a.messageTo(now, protocol.Coordinator, protocol.Decline{Job: w.Job, Epoch: w.Epoch, Why: protocol.Reason{Code: c}})
	}
	called, ok := a.calledJobs.find(w.Job)
	job := asAwarded(called, &w)
	switch {
	case w.Epoch <= a.epochs[w.Job]:
		return decline(protocol.Superseded)
	case a.own[w.Job].isUnsettled():
		return a.adoptOwnRun(now, m, w)
	case !ok:
		return decline(protocol.UnknownJob)
	case now > w.Lease:
		return decline(protocol.CapacityTaken)
	}
	if a.hasOtherSize(w.Job, job) {
		a.releaseJob(now, w.Job)
	}
	if start, ok := a.adoptNewerAward(w); ok {
		return a.acceptAward(now, m, w, start)
	}
	r := reservation{job: job, award: w}
	if !a.mayRun(now, r) {
		return decline(protocol.RefusedByTerms)
	}
	a.recordCall(called)
	if (w.Option.Start <= now || !w.MayQueue && w.Option.Start <= now.Add(earlyStartTolerance)) && a.placeJob(now, r) {
		msgs := a.acceptAward(now, m, w, now)
		a.recordLaunch(now, w.Job)
		return append(msgs, a.startQueuedJobs(now)...)
	}
	if !w.MayQueue {
		return decline(protocol.CapacityTaken)
	}
	start, ok := a.enqueueReserved(now, r)
	if !ok {
		return decline(protocol.CapacityTaken)
	}
	msgs := a.acceptAward(now, m, w, start)
	return append(msgs, a.startQueuedJobs(now)...)
}

// earlyStartTolerance is how much before its awarded start a job may start that must not queue:
// the market's clock and ours differ.
const earlyStartTolerance = time.Minute

// acceptAward returns the Accept of a job, which is retransmitted until it is confirmed.
func (a *Agent) acceptAward(now protocol.Time, m protocol.Message, w protocol.Award, start protocol.Time) []protocol.Message {
	a.epochs[w.Job] = w.Epoch
	accept := a.sendReliably(now, pendingAck{
		job: w.Job, epoch: w.Epoch, leaseEnd: w.Lease, to: protocol.Coordinator,
		body: protocol.Accept{Job: w.Job, Epoch: w.Epoch, Start: start},
	})
	a.recordEvent(m)
	a.recordEvent(accept)
	return []protocol.Message{accept}
}

// enqueueReserved queues a job and returns its expected start, or false if that is too late. A job
// of several GPUs has a node reserved at once: small jobs would never leave it one.
func (a *Agent) enqueueReserved(now protocol.Time, r reservation) (start protocol.Time, ok bool) {
	start = r.award.Option.Start
	if a.reservesAtOnce(r) {
		if at, ok := a.reserveNode(now, r); ok {
			start = at
		}
	}
	if a.isTooLate(r, start, true) {
		a.fleet.CancelReservation(r.job.ID)
		return 0, false
	}
	a.queue = append(a.queue, r)
	return start, true
}

// isTooLate reports whether a queued job should be given back, so that another site can run it:
// its reservation starts more than the call's MaxStartDelay after the awarded start, or there is
// none.
func (a *Agent) isTooLate(r reservation, at protocol.Time, found bool) bool {
	return a.delivery.KeepRoom && (!found || at > r.award.Option.Start.Add(a.planning.MaxStartDelay))
}

// reservesAtOnce reports whether a queued job gets a reservation as soon as it is accepted.
func (a *Agent) reservesAtOnce(r reservation) bool {
	return a.delivery.KeepRoom || r.job.GPUs > 1 || r.job.IsGang()
}

// earliestStart returns the time before which a queued job must not start: it was awarded for a
// cheaper hour, or for one that a policy rule requires. 0 means as soon as there is capacity.
func (r reservation) earliestStart() protocol.Time {
	if r.award.NotBeforeStart || r.award.Why.Code == protocol.CheaperLater {
		return r.award.Option.Start
	}
	return 0
}

// nextStartCheck returns when a queued job is due: when its reservation begins, or a minute later
// if it has begun and the job could not start.
func (a *Agent) nextStartCheck(r reservation) protocol.Time {
	if from, ok := a.fleet.ReservedFrom(r.job.ID); ok && a.delivery.KeepRoom {
		if from <= a.lastQueueCheck.Add(time.Second) {
			return a.lastQueueCheck.Add(time.Minute)
		}
		return from
	}
	if len(a.cfg.Terms.Hours) > 0 && !a.cfg.Terms.IsOwn(r.job.Tenant) {
		from, _ := a.cfg.Terms.OpenFor(max(r.earliestStart(), a.lastQueueCheck), r.runTime())
		return from
	}
	return r.earliestStart()
}

// reserveNode reserves the node on which a queued job fits first.
func (a *Agent) reserveNode(now protocol.Time, r reservation) (from protocol.Time, ok bool) {
	at, ok := a.firstAllowedStart(now, r)
	if !ok {
		a.fleet.CancelReservation(r.job.ID)
		return 0, false
	}
	return a.fleet.ReserveNode(now, r.job, a.modelOf(r), at, r.runTime())
}

// modelOf returns the GPU model on which a queued job is to run; "" is any that it allows.
func (a *Agent) modelOf(r reservation) string {
	if a.delivery.AsOffered || r.job.IsGang() {
		return r.award.Option.Model
	}
	return ""
}

// adoptNewerAward applies a newer award to a job that is here already, because the market missed
// the first Accept or received it too late. The job is not started twice.
func (a *Agent) adoptNewerAward(w protocol.Award) (start protocol.Time, ok bool) {
	if l := a.running[w.Job]; l != nil {
		l.acceptedEpoch = w.Epoch
		if !l.confirmed {
			l.epoch, l.launch.Epoch, l.pauseAt = w.Epoch, w.Epoch, w.Pause
		}
		return l.started, true
	}
	if i := a.queueIndex(w.Job); i >= 0 {
		a.queue[i].award = w
		return w.Option.Start, true
	}
	return 0, false
}

// asAwarded returns a job as it was called as it runs by an award: an elastic one, and a gang that may start
// with fewer pods, on the pods of the award.
func asAwarded(called protocol.Job, w *protocol.Award) protocol.Job {
	return called.Under(&w.Option).AtPlaces(w.Places)
}

// hasOtherSize reports whether a gang is here with another number of pods than a newer award says, and has
// not been launched.
func (a *Agent) hasOtherSize(id protocol.JobID, awarded protocol.Job) bool {
	if l := a.running[id]; l != nil {
		return !l.confirmed && l.launch.Job.PodCount() != awarded.PodCount()
	}
	i := a.queueIndex(id)
	return i >= 0 && a.queue[i].job.PodCount() != awarded.PodCount()
}

// placeJob gives a job its capacity, and reports whether there was any.
func (a *Agent) placeJob(now protocol.Time, r reservation) bool {
	job, w := r.job, r.award
	if at, ok := a.firstAllowedStart(now, r); !ok || at > max(r.earliestStart(), now) {
		return false
	}
	var way capacity.RunConfig
	if a.delivery.AsOffered && job.GPUs > 0 {
		ways, _ := a.fleet.RunConfigs(job)
		i := slices.IndexFunc(ways, func(x capacity.RunConfig) bool { return x.Model == w.Option.Model && x.Choice.Cap == w.Option.Cap })
		if i < 0 {
			return false
		}
		way = ways[i]
	} else if plain, _, ok := a.fleet.Default(now, job); ok {
		way = plain
		if job.GPUs > 0 && !job.IsGang() {
			way.Model = "" // the placement policy picks it
		}
	}
	move := a.cfg.Network.transferTime(job, a.cfg.Site)
	// The cluster may have filled since the bid, so the placement is decided here and not in the
	// bid.
	run, ok := a.fleet.StartRun(now, job, way, move)
	if !ok {
		return false
	}
	places, node, devices := a.fleet.PlacesByDomain(&job, run.Places()), run.Node, run.DeviceIndexes()
	if len(places) > 0 {
		node, devices = places[0].Node, places[0].Devices
	}
	a.addRun(&activeRun{
		launch: protocol.Launch{
			Job: job, Epoch: w.Epoch, Node: node, Devices: devices, Model: run.RunConfig.Model,
			Cap: run.RunConfig.Choice.Cap, Run: run.End.Sub(run.Start), Power: run.RunConfig.Power, Task: w.Task, Places: places,
			Domain: a.fleet.DomainOf(&job, places), Wake: a.fleet.WakeAhead(now, run),
		},
		confirmed: r.confirmed, epoch: w.Epoch, acceptedEpoch: w.Epoch, started: run.Start, transferCarbon: a.cfg.Network.transferCarbon(job, a.cfg.Site), pauseAt: w.Pause, byMonth: w.ByMonth,
	})
	return true
}

// addRun adds a run that begins or goes on, by its job.
func (a *Agent) addRun(l *activeRun) {
	j := &l.launch.Job
	a.ranPausableGang = a.ranPausableGang || j.IsGang() && j.Pause > 0
	a.running[j.ID] = l
}

// startQueuedJobs starts what it can of the queue, in its order. The first job that finds no
// capacity, and each of several GPUs, gets a node reserved, so small jobs pass a large one without
// starving it. An agent without inventory leaves the queue alone.
func (a *Agent) startQueuedJobs(now protocol.Time) (msgs []protocol.Message) {
	if a.lacksNodes() {
		return nil
	}
	waiting := a.ownFirst(now, a.queue)
	a.queue = nil
	for _, r := range waiting {
		if r.earliestStart() <= now {
			if a.placeJob(now, r) {
				a.recordLaunch(now, r.job.ID)
				if r.confirmed {
					msgs = append(msgs, a.sendLaunch(now, r.job.ID, a.running[r.job.ID]))
				}
				continue
			}
		}
		a.queue = append(a.queue, r)
	}
	// A reservation that was due without a start is late: reserve anew, and give the job up if
	// that comes too late and it is late itself.
	var lost []reservation
	for i, r := range a.queue {
		from, kept := a.fleet.ReservedFrom(r.job.ID)
		if late := kept && from <= now; late || !kept && (i == 0 || a.reservesAtOnce(r)) {
			if !a.renewReservation(now, r) {
				lost = append(lost, r)
			}
		}
	}
	a.fleet.ForgetDisplaced()
	for _, r := range lost {
		if i := a.queueIndex(r.job.ID); i >= 0 && a.queue[i].award.Epoch == r.award.Epoch {
			msgs = append(msgs, a.declineJob(now, r.job.ID, r.award.Epoch, protocol.Reason{Code: protocol.CapacityTaken})...)
		}
	}
	return msgs
}

// renewReservation reserves a node anew for a queued job whose reservation is late, or that has none. It
// returns false if the job is to be given up. A late reservation stays where it is, and one that was dropped
// for a late run is put back, if any other would come too late and the job itself is not too late: the run
// before it overruns, and those who wait behind it hold the node from when its own run was to end.
func (a *Agent) renewReservation(now protocol.Time, r reservation) bool {
	_, late := a.fleet.ReservedFrom(r.job.ID)
	if open, ok := a.firstAllowedStart(now, r); late && ok && !a.isTooLate(r, open, true) {
		undo := a.fleet.CancelReservation(r.job.ID)
		if at, ok := a.fleet.EarliestStart(now, r.job, a.modelOf(r), open, r.runTime()); a.isTooLate(r, at, ok) {
			undo()
			return true
		}
	}
	at, ok := a.reserveNode(now, r)
	if !a.isTooLate(r, at, ok) {
		return true
	}
	a.fleet.CancelReservation(r.job.ID)
	return a.fleet.PutBack(now, r.job.ID)
}

// handleStarted records that a job runs, and reports it. If its end is never reported, the agent
// queries the executor a while after it was due.
func (a *Agent) handleStarted(now protocol.Time, m protocol.Message, s protocol.Started) []protocol.Message {
	l := a.running[s.Job]
	if l == nil || l.epoch != s.Epoch || !l.confirmed {
		return nil
	}
	if !l.running {
		a.recordEvent(m)
		l.running, l.started = true, now
		a.schedulePause(s.Job, l)
	}
	if a.goOnWithFewer(now, l, s.Places) {
		a.recordEvent(m)
	}
	if l.preempt != nil && l.launch.Job.Pause > 0 && !l.cannotPause { // it answers a request for a checkpoint, or crosses it
		if l.cannotPause = true; l.preempt.IsForBudget() { // it runs out
			l.preempt = nil
			return a.reportStart(now, s.Job, l)
		}
		return a.messageTo(now, protocol.ExecutorParty(a.cfg.Site), protocol.Cancel{Job: s.Job, Epoch: l.epoch})
	}
	if o := a.pendingAckOf(s.Job); o != nil && o.to == protocol.ExecutorParty(a.cfg.Site) {
		a.scheduleResend(max(now, l.started.Add(l.launch.Run)).Add(maxRetryDelay), a.launchRequest(s.Job, l))
	}
	return a.reportStart(now, s.Job, l)
}

// handleFinished reports a finished or paused run: its energy, hour by hour, at each hour's price
// and carbon, as far as they are published (see billEnergy). A restarted agent may learn of an end before it has the signals of those
// hours. Then it asks the executor later, because a settlement at price 0 would be final.
func (a *Agent) handleFinished(now protocol.Time, x protocol.Finished) []protocol.Message {
	l := a.running[x.Job]
	if l == nil || l.epoch != x.Epoch || !l.confirmed {
		return nil // a duplicate, or of a run that is not ours
	}
	if !a.grid.CanPrice(x.Draw) {
		a.queryExecutorLater(now, x.Job, l)
		return nil
	}
	bill := a.billEnergy(x.Draw, false)
	started, ended := min(l.started, now), now
	if x.Ended != 0 { // the executor's time: the message may be late, and clocks differ
		ended = min(max(x.Ended, started), now)
	}
	done := protocol.UsageReport{
		Job: x.Job, Epoch: l.acceptedEpoch, Started: started, Ended: ended, Node: l.launch.Node, Devices: l.launch.Devices,
		IT: bill.IT, Energy: bill.Energy, Carbon: bill.Carbon + l.transferCarbon, Money: bill.Money, Failed: x.Failed, Estimated: x.Estimated,
		Left: a.remainingRun(l, x.Left), Places: l.launch.Places, Months: a.usageByMonth(l, x.Draw),
	}
	if l.preempt != nil && (x.Stopped || x.Left > 0) {
		return a.reportPreempted(now, l, done)
	}
	a.forgetEndedJob(now, x.Job)
	a.recordCompletedRun(now, ended, l, x)
	if a.own[x.Job].isUnsettled() {
		return append(a.holdOwnReport(now, done, x), a.startQueuedJobs(now)...)
	}
	report := a.sendReliably(now, pendingAck{job: x.Job, epoch: l.acceptedEpoch, to: protocol.Coordinator, body: done})
	a.recordEvent(report)
	return append([]protocol.Message{report}, a.startQueuedJobs(now)...)
}

// forgetEndedJob frees the capacity of a job that ran.
func (a *Agent) forgetEndedJob(now protocol.Time, id protocol.JobID) {
	delete(a.running, id)
	delete(a.epochs, id)
	a.fleet.EndRun(now, id)
	a.planResizes(now)
}

// handleSettlement stops retransmitting a usage report that the market has settled.
func (a *Agent) handleSettlement(m protocol.Message, s protocol.Settlement) {
	if o := a.pendingAckOf(s.Job); o != nil && s.Site == a.cfg.Site && isUsageReport(o.body) {
		a.recordEvent(m)
		a.dropPendingAck(s.Job)
	}
}

// reportIdleReading reports one hour of the site's total and idle energy to the market.
func (a *Agent) reportIdleReading(now protocol.Time, r protocol.IdleReading) []protocol.Message {
	idle := a.billEnergy([]protocol.HourlyEnergy{{Hour: r.Hour, Energy: r.Idle}}, true)
	return a.messageTo(now, protocol.Coordinator, protocol.SiteUsage{Hour: r.Hour, Total: r.Total, Idle: idle, Estimated: r.Estimated})
}
