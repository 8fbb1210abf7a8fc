package agents

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A pendingAck is a message that the agent retransmits until it is answered, because its receiver
// or the network may have been down. Invariant: at most one per job, and one with no job, which is
// the site's registration.
type pendingAck struct {
	due       protocol.Time
	nextDelay time.Duration // between the next retransmission and the one after it
	job       protocol.JobID
	epoch     uint64
	leaseEnd  protocol.Time // of an Accept: the end of its lease
	to        protocol.Party
	body      protocol.Body
}

// The delay of the first retransmission, and the longest; in between it doubles.
const (
	firstRetryDelay = 3 * time.Second
	maxRetryDelay   = time.Minute
)

// sendReliably returns a message and retransmits it until [Agent.dropPendingAck].
func (a *Agent) sendReliably(now protocol.Time, o pendingAck) protocol.Message {
	a.scheduleResend(now.Add(firstRetryDelay), o)
	return a.sender.NewMessage(now, o.to, o.body)
}

// scheduleResend sends a message from a time on, in place of the one pending for that job.
func (a *Agent) scheduleResend(at protocol.Time, o pendingAck) {
	a.dropPendingAck(o.job)
	o.due, o.nextDelay = at, 2*firstRetryDelay
	a.insertPendingAck(o)
}

// insertPendingAck keeps pendingAcks sorted.
func (a *Agent) insertPendingAck(o pendingAck) {
	i, _ := slices.BinarySearchFunc(a.pendingAcks, &o, compareByDue)
	a.pendingAcks = slices.Insert(a.pendingAcks, i, &o)
	a.ackDue[o.job] = o.due
}

// removePendingAck removes the ith of pendingAcks.
func (a *Agent) removePendingAck(i int) {
	delete(a.ackDue, a.pendingAcks[i].job)
	a.pendingAcks = slices.Delete(a.pendingAcks, i, i+1)
}

// pendingAckIndex returns where the pending message of a job stands, or -1.
func (a *Agent) pendingAckIndex(id protocol.JobID) int {
	if due, ok := a.ackDue[id]; ok {
		if i, found := slices.BinarySearchFunc(a.pendingAcks, &pendingAck{due: due, job: id}, compareByDue); found {
			return i
		}
	}
	return -1
}

// compareByDue orders pending messages by due time, then job.
func compareByDue(x, y *pendingAck) int {
	return cmp.Or(cmp.Compare(x.due, y.due), cmp.Compare(x.job, y.job))
}

// clampFutureRetries makes retransmissions due now that lie further ahead than maxRetryDelay: only
// a clock that was ahead can have scheduled them.
func (a *Agent) clampFutureRetries(now protocol.Time) {
	for _, o := range a.pendingAcks {
		if o.due > now.Add(maxRetryDelay) {
			o.due, a.ackDue[o.job] = now, now
		}
	}
	slices.SortFunc(a.pendingAcks, compareByDue)
}

// dropPendingAck stops the retransmission of a job's message.
func (a *Agent) dropPendingAck(id protocol.JobID) {
	if i := a.pendingAckIndex(id); i >= 0 {
		a.removePendingAck(i)
	}
}

// pendingAckOf returns the pending message of a job, or nil.
func (a *Agent) pendingAckOf(id protocol.JobID) *pendingAck {
	if i := a.pendingAckIndex(id); i >= 0 {
		return a.pendingAcks[i]
	}
	return nil
}

// mayResend reports whether a message may be retransmitted now. An agent without inventory neither
// asks its executor nor claims jobs, but it still declines and reports jobs.
func (a *Agent) mayResend(o *pendingAck) bool {
	_, declined := o.body.(protocol.Decline)
	return !a.lacksNodes() || declined || isUsageReport(o.body)
}

// retransmitDue returns the messages that are due once more. An Accept that was not confirmed before
// its lease ended becomes a Decline: another site may have the job by now, and its capacity is
// wanted here. The exception is an Accept of a newer award for a job that the executor runs
// already.
func (a *Agent) retransmitDue(now protocol.Time) (msgs []protocol.Message) {
	for i := 0; i < len(a.pendingAcks) && a.pendingAcks[i].due <= now; {
		o := *a.pendingAcks[i]
		if !a.mayResend(&o) {
			i++
			continue
		}
		a.removePendingAck(i)
		_, accept := o.body.(protocol.Accept)
		if l := a.running[o.job]; accept && now > o.leaseEnd && (l == nil || !l.confirmed) && !a.own[o.job].isUnsettled() {
			msgs = append(msgs, a.declineJob(now, o.job, o.epoch, protocol.Reason{Code: protocol.Unconfirmed})...)
			continue
		}
		o.due, o.nextDelay = now.Add(o.nextDelay), min(2*o.nextDelay, maxRetryDelay)
		a.insertPendingAck(o)
		msgs = append(msgs, a.sender.NewMessage(now, o.to, o.body))
	}
	return msgs
}

// handleConfirm takes in the coordinator's answer about a job, or about the site's registration.
func (a *Agent) handleConfirm(now protocol.Time, m protocol.Message, c protocol.Confirm) []protocol.Message {
	switch c.Code {
	case protocol.AcceptConfirmed:
		return a.handleAcceptConfirmed(now, m, c)
	case protocol.AwardVoid:
		return a.handleAwardVoid(now, m, c)
	case protocol.Acknowledged:
		a.dropPendingAck(c.Job) // the registration
	case protocol.UnknownSite:
		a.registered = false // the coordinator lost or dropped this site: the next Tick registers
	case protocol.JobClosed:
		if o := a.pendingAckOf(c.Job); o != nil && o.epoch == c.Epoch && isUsageReport(o.body) {
			a.recordEvent(m)
			a.dropPendingAck(c.Job)
		}
	}
	return nil
}

// isUsageReport reports whether b reports the usage of a run that is over.
func isUsageReport(b protocol.Body) bool {
	switch b.(type) {
	case protocol.UsageReport, protocol.Preempted:
		return true
	}
	return false
}

// handleAcceptConfirmed launches a job whose Accept is durable at the coordinator, or lets it wait
// in the queue. If the agent gave the job up meanwhile, it declines.
func (a *Agent) handleAcceptConfirmed(now protocol.Time, m protocol.Message, c protocol.Confirm) []protocol.Message {
	l := a.running[c.Job]
	i := a.queueIndex(c.Job)
	switch {
	case a.own[c.Job].isUnsettled():
		return a.ownRunConfirmed(now, m, c)
	case l != nil && l.acceptedEpoch == c.Epoch:
		if l.confirmed { // the Accept was of a newer award for a running job
			a.queryExecutorLater(now, c.Job, l)
			return nil
		}
		a.recordEvent(m)
		l.confirmed = true
		return []protocol.Message{a.sendLaunch(now, c.Job, l)}
	case i >= 0 && a.queue[i].award.Epoch == c.Epoch:
		a.dropPendingAck(c.Job)
		if !a.queue[i].confirmed { // else the Accept was of a newer award for a queued job
			a.recordEvent(m)
			a.queue[i].confirmed = true
			a.planResizes(now)
		}
		return nil
	case l == nil && i < 0 && a.pendingAckOf(c.Job) == nil:
		return a.declineJob(now, c.Job, c.Epoch, protocol.Reason{Code: protocol.UnknownJob})
	}
	return nil
}

// launchRequest is the message that has the executor start a job; for a job it has, the executor
// answers with its state.
func (a *Agent) launchRequest(id protocol.JobID, l *activeRun) pendingAck {
	return pendingAck{job: id, epoch: l.epoch, to: protocol.ExecutorParty(a.cfg.Site), body: l.launch}
}

// sendLaunch returns the launch of a job, which is retransmitted until the executor reports its
// start: the first time when its node is awake.
func (a *Agent) sendLaunch(now protocol.Time, id protocol.JobID, l *activeRun) protocol.Message {
	m := a.sendReliably(now, a.launchRequest(id, l))
	a.scheduleResend(max(now, l.started).Add(firstRetryDelay), a.launchRequest(id, l))
	return m
}

// handleAwardVoid gives a job up whose award is void, unless the executor has it already.
func (a *Agent) handleAwardVoid(now protocol.Time, m protocol.Message, c protocol.Confirm) []protocol.Message {
	o := a.pendingAckOf(c.Job)
	if o == nil || o.epoch != c.Epoch || o.to != protocol.Coordinator || isUsageReport(o.body) {
		return nil
	}
	if l := a.running[c.Job]; l != nil && l.confirmed {
		a.queryExecutorLater(now, c.Job, l)
		return nil
	}
	a.recordEvent(m)
	a.dropPendingAck(c.Job)
	delete(a.epochs, c.Job)
	return a.releaseAndAdvance(now, c.Job)
}

// queryExecutorLater schedules a query of a job's state at the executor.
func (a *Agent) queryExecutorLater(now protocol.Time, id protocol.JobID, l *activeRun) {
	a.scheduleResend(now.Add(maxRetryDelay), a.launchRequest(id, l))
}

// releaseAndAdvance frees the capacity of a job, and starts queued jobs in it.
func (a *Agent) releaseAndAdvance(now protocol.Time, id protocol.JobID) []protocol.Message {
	a.releaseJob(now, id)
	return a.startQueuedJobs(now)
}

// releaseJob removes a job from queue, capacity and running jobs.
func (a *Agent) releaseJob(now protocol.Time, id protocol.JobID) {
	if i := a.queueIndex(id); i >= 0 {
		a.queue = slices.Delete(a.queue, i, i+1)
	}
	a.fleet.CancelReservation(id)
	if a.running[id] != nil {
		delete(a.running, id)
		a.fleet.EndRun(now, id)
	}
}

// declineJob gives a job up, and reports that to the coordinator until it confirms.
func (a *Agent) declineJob(now protocol.Time, id protocol.JobID, epoch uint64, why protocol.Reason) []protocol.Message {
	m := a.giveBackJob(now, id, epoch, why)
	return append([]protocol.Message{m}, a.startQueuedJobs(now)...)
}

// giveBackJob is declineJob, but starts no queued jobs in the room that becomes free.
func (a *Agent) giveBackJob(now protocol.Time, id protocol.JobID, epoch uint64, why protocol.Reason) protocol.Message {
	d := protocol.Decline{Job: id, Epoch: epoch, Why: why}
	m := a.sendReliably(now, pendingAck{job: id, epoch: epoch, to: protocol.Coordinator, body: d})
	a.recordEvent(m)
	a.releaseJob(now, id)
	return m
}

// handleCancel gives up a queued job, or has the executor stop a running one.
func (a *Agent) handleCancel(now protocol.Time, c protocol.Cancel) []protocol.Message {
	a.voidOwnRun(now, c)
	return a.stopJob(now, c.Job, c.Epoch, protocol.Reason{Code: protocol.Cancelled}, false)
}

// stopJob gives up a queued job, or has the executor stop a running one, with a checkpoint if the job is to
// go on from it. A job that is here under a newer award than epoch goes on.
func (a *Agent) stopJob(now protocol.Time, id protocol.JobID, epoch uint64, why protocol.Reason, checkpoint bool) []protocol.Message {
	l, i, o := a.running[id], a.queueIndex(id), a.pendingAckOf(id)
	switch {
	case l != nil && l.acceptedEpoch > epoch || i >= 0 && a.queue[i].award.Epoch > epoch:
		return a.messageTo(now, protocol.Coordinator, protocol.Decline{Job: id, Epoch: epoch, Why: why})
	case l != nil && l.confirmed:
		return a.messageTo(now, protocol.ExecutorParty(a.cfg.Site), protocol.Cancel{Job: id, Epoch: l.epoch, Checkpoint: checkpoint})
	case o != nil && isUsageReport(o.body):
		return nil
	case l == nil && i < 0 && o == nil && a.lacksNodes() && !a.executorReported:
		return nil // the executor may run it: the coordinator repeats the Cancel, and by then its inventory has come
	}
	return a.declineJob(now, id, epoch, why)
}

// queueIndex returns the position of a job in the queue, or -1.
func (a *Agent) queueIndex(id protocol.JobID) int {
	return slices.IndexFunc(a.queue, func(r reservation) bool { return r.job.ID == id })
}
