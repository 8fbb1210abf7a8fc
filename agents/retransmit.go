package agents

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An pendingAck word is said again until it is answered: who should have heard it may
// have been down, and so may the network. A job has at most one; so has no job,
// which is the site's Hello.
type pendingAck struct {
	due       protocol.Time
	nextDelay time.Duration // until it is said once more after that
	job       protocol.JobID
	epoch     uint64
	leaseEnd  protocol.Time // of an Accept: when its lease ends
	to        protocol.Party
	body      protocol.Body
}

// How long an answer may take before a word is said again: at first, and at
// most, doubling in between.
const (
	firstRetryDelay = 3 * time.Second
	maxRetryDelay   = time.Minute
)

// sendReliably says a word, and has it said again until [Agent.settle].
func (a *Agent) sendReliably(now protocol.Time, o pendingAck) protocol.Message {
	a.scheduleResend(now.Add(firstRetryDelay), o)
	return a.sender.NewMessage(now, o.to, o.body)
}

// scheduleResend has a word said from a time on, in place of what is owed of that job.
func (a *Agent) scheduleResend(at protocol.Time, o pendingAck) {
	a.dropPendingAck(o.job)
	o.due, o.nextDelay = at, 2*firstRetryDelay
	a.insertPendingAck(o)
}

func (a *Agent) insertPendingAck(o pendingAck) {
	i, _ := slices.BinarySearchFunc(a.pendingAcks, o, compareByDue)
	a.pendingAcks = slices.Insert(a.pendingAcks, i, o)
}

func compareByDue(x, y pendingAck) int {
	return cmp.Or(cmp.Compare(x.due, y.due), cmp.Compare(x.job, y.job))
}

// clampFutureRetries has said now what is due long after: that may be by a clock that was hours ahead.
func (a *Agent) clampFutureRetries(now protocol.Time) {
	for i := range a.pendingAcks {
		if o := &a.pendingAcks[i]; o.due > now.Add(maxRetryDelay) {
			o.due = now
		}
	}
	slices.SortFunc(a.pendingAcks, compareByDue)
}

// dropPendingAck forgets what is owed of a job.
func (a *Agent) dropPendingAck(id protocol.JobID) {
	a.pendingAcks = slices.DeleteFunc(a.pendingAcks, func(o pendingAck) bool { return o.job == id })
}

// pendingAckOf returns what is owed of a job, or nil.
func (a *Agent) pendingAckOf(id protocol.JobID) *pendingAck {
	if i := slices.IndexFunc(a.pendingAcks, func(o pendingAck) bool { return o.job == id }); i >= 0 {
		return &a.pendingAcks[i]
	}
	return nil
}

// mayResend reports whether a word may be said again now. An agent that knows no node
// asks nothing of its hands and claims nothing, but lets go of what it has no more.
func (a *Agent) mayResend(o pendingAck) bool {
	_, declined := o.body.(protocol.Decline)
	return !a.lacksNodes() || declined || isUsageReport(o.body)
}

// retransmitDue says again what is due. An Accept that nobody confirmed before the lease
// ended is taken back: another site may have the job by now, and the room it
// holds is wanted. But not that of a newer award of what our hands have already.
func (a *Agent) retransmitDue(now protocol.Time) (said []protocol.Message) {
	for i := 0; i < len(a.pendingAcks) && a.pendingAcks[i].due <= now; {
		o := a.pendingAcks[i]
		if !a.mayResend(o) {
			i++
			continue
		}
		a.pendingAcks = slices.Delete(a.pendingAcks, i, i+1)
		_, accept := o.body.(protocol.Accept)
		if l := a.running[o.job]; accept && now > o.leaseEnd && (l == nil || !l.confirmed) {
			said = append(said, a.declineJob(now, o.job, o.epoch, protocol.Reason{Code: protocol.Unconfirmed})...)
			continue
		}
		o.due, o.nextDelay = now.Add(o.nextDelay), min(2*o.nextDelay, maxRetryDelay)
		a.insertPendingAck(o)
		said = append(said, a.sender.NewMessage(now, o.to, o.body))
	}
	return said
}

// handleConfirm takes in what the coordinator's books say of a job.
func (a *Agent) handleConfirm(now protocol.Time, m protocol.Message, c protocol.Confirm) []protocol.Message {
	switch c.Code {
	case protocol.AcceptConfirmed:
		return a.handleAcceptConfirmed(now, m, c)
	case protocol.AwardVoid:
		return a.handleAwardVoid(now, m, c)
	case protocol.Acknowledged:
		a.dropPendingAck(c.Job) // our Hello
	case protocol.UnknownSite:
		a.registered = false
	case protocol.JobClosed:
		if o := a.pendingAckOf(c.Job); o != nil && o.epoch == c.Epoch && isUsageReport(o.body) {
			a.recordEvent(m)
			a.dropPendingAck(c.Job)
		}
	}
	return nil
}

func isUsageReport(b protocol.Body) bool { _, ok := b.(protocol.UsageReport); return ok }

// handleAcceptConfirmed starts a job whose accept is on the books, or lets it wait in the
// queue. If we gave it back meanwhile, we say so.
func (a *Agent) handleAcceptConfirmed(now protocol.Time, m protocol.Message, c protocol.Confirm) []protocol.Message {
	l := a.running[c.Job]
	i := a.queueIndex(c.Job)
	switch {
	case l != nil && l.acceptedEpoch == c.Epoch:
		if l.confirmed { // an accept of a newer award of what runs
			a.queryExecutorLater(now, c.Job, l)
			return nil
		}
		a.recordEvent(m)
		l.confirmed = true
		return []protocol.Message{a.sendReliably(now, a.launchRequest(c.Job, l))}
	case i >= 0 && a.queue[i].award.Epoch == c.Epoch:
		a.dropPendingAck(c.Job)
		if !a.queue[i].confirmed { // else an accept of a newer award of what waits
			a.recordEvent(m)
			a.queue[i].confirmed = true
		}
		return nil
	case l == nil && i < 0 && a.pendingAckOf(c.Job) == nil:
		return a.declineJob(now, c.Job, c.Epoch, protocol.Reason{Code: protocol.UnknownJob})
	}
	return nil
}

// launchRequest is the word to the hands that starts a job, or asks how it stands.
func (a *Agent) launchRequest(id protocol.JobID, l *activeRun) pendingAck {
	return pendingAck{job: id, epoch: l.epoch, to: protocol.ExecutorParty(a.cfg.Site), body: l.launch}
}

// handleAwardVoid lets go of a job that is not ours, unless the hands have it already.
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

// queryExecutorLater has the hands asked in a while how a job stands.
func (a *Agent) queryExecutorLater(now protocol.Time, id protocol.JobID, l *activeRun) {
	a.scheduleResend(now.Add(maxRetryDelay), a.launchRequest(id, l))
}

// releaseAndAdvance gives back the room of a job that was not launched, to others.
func (a *Agent) releaseAndAdvance(now protocol.Time, id protocol.JobID) []protocol.Message {
	a.releaseJob(now, id)
	return a.startQueuedJobs(now)
}

func (a *Agent) releaseJob(now protocol.Time, id protocol.JobID) {
	if i := a.queueIndex(id); i >= 0 {
		a.queue = slices.Delete(a.queue, i, i+1)
	}
	a.fleet.CancelReservation(id)
	if a.running[id] != nil {
		delete(a.running, id)
		a.fleet.EndRun(id)
	}
}

// declineJob lets go of a job and tells the coordinator until it knows.
func (a *Agent) declineJob(now protocol.Time, id protocol.JobID, epoch uint64, why protocol.Reason) []protocol.Message {
	d := protocol.Decline{Job: id, Epoch: epoch, Why: why}
	m := a.sendReliably(now, pendingAck{job: id, epoch: epoch, to: protocol.Coordinator, body: d})
	a.recordEvent(m)
	return append([]protocol.Message{m}, a.releaseAndAdvance(now, id)...)
}

// handleCancel gives back a job that waits, or has the hands stop one that runs. One that is
// here by a newer award is not what is to be stopped.
func (a *Agent) handleCancel(now protocol.Time, c protocol.Cancel) []protocol.Message {
	l, i, o := a.running[c.Job], a.queueIndex(c.Job), a.pendingAckOf(c.Job)
	why := protocol.Reason{Code: protocol.Cancelled}
	switch {
	case l != nil && l.acceptedEpoch > c.Epoch || i >= 0 && a.queue[i].award.Epoch > c.Epoch:
		return a.messageTo(now, protocol.Coordinator, protocol.Decline{Job: c.Job, Epoch: c.Epoch, Why: why})
	case l != nil && l.confirmed:
		return a.messageTo(now, protocol.ExecutorParty(a.cfg.Site), protocol.Cancel{Job: c.Job, Epoch: l.epoch})
	case o != nil && isUsageReport(o.body):
		return nil
	case l == nil && i < 0 && o == nil && a.lacksNodes() && !a.executorReported:
		return nil // our hands may hold it: we are told again when they have said so
	}
	return a.declineJob(now, c.Job, c.Epoch, why)
}

func (a *Agent) queueIndex(id protocol.JobID) int {
	return slices.IndexFunc(a.queue, func(r reservation) bool { return r.job.ID == id })
}
