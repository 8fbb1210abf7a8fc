package agents

import (
	"fmt"

	"github.com/gridbid/gridbid/protocol"
)

// Events returns the events of the last Step or Tick in order: the received and sent messages that
// the agent's state depends on. The caller must not change them, and must persist them before it
// sends any message of that step.
//
// Two kinds differ from the message itself. A CallForBids is cut down to its planning and the job
// that was won. A Launch is recorded when the job gets its capacity, and may be sent later.
func (a *Agent) Events() []protocol.Message { return a.events }

// recordEvent adds an event to those of the current step.
func (a *Agent) recordEvent(m protocol.Message) { a.events = append(a.events, m) }

// recordCall records the part of the last call that a restored award needs.
func (a *Agent) recordCall(j protocol.Job) {
	m := a.lastCall
	call, _ := m.Body.(protocol.CallForBids)
	m.Body = protocol.CallForBids{Jobs: []protocol.Job{j}, Planning: call.Planning}
	a.recordEvent(m)
}

// recordLaunch records that a job got its capacity.
func (a *Agent) recordLaunch(now protocol.Time, id protocol.JobID) {
	quiet := a.sender // a copy: the event takes no sequence number
	a.recordEvent(quiet.NewMessage(now, protocol.ExecutorParty(a.cfg.Site), a.running[id].launch))
}

// BeginIncarnation sets the number that tells this process's messages from those of earlier ones:
// see protocol.Sender.
func (a *Agent) BeginIncarnation(incarnation uint32) { a.sender.Incarnation = incarnation }

// NeedsEvent reports whether an event is still needed: it belongs to a job that is not over for
// this agent, or is one of the completed runs that it has learned from. The event log drops all
// others when it is compacted.
func (a *Agent) NeedsEvent(m protocol.Message) bool {
	id := protocol.JobID("")
	switch b := m.Body.(type) {
	case protocol.CallForBids:
		if len(b.Jobs) == 0 {
			return false
		}
		if id = b.Jobs[0].ID; a.ownCalled[id] != 0 {
			return true
		}
	case protocol.Drain:
		return a.isLeaveNote(m)
	case protocol.Submit:
		id = b.Job.ID
	case protocol.LocalStart:
		id = b.Job
	case protocol.Award:
		id = b.Job
	case protocol.Accept:
		id = b.Job
	case protocol.Confirm:
		id = b.Job
	case protocol.Decline:
		id = b.Job
	case protocol.Launch:
		id = b.Job.ID
	case protocol.Started:
		id = b.Job
	case protocol.UsageReport:
		id = b.Job
	case protocol.Preempt:
		id = b.Job
	case protocol.Preempted:
		id = b.Job
	case protocol.Settlement:
		id = b.Job
	case protocol.CompletedRun:
		return a.keepsRunEvent(m)
	case protocol.AssignReplicas, protocol.RunReplicas:
		return a.needsServiceEvent(m)
	}
	return a.running[id] != nil || a.queueIndex(id) >= 0 || a.pendingAckOf(id) != nil || a.own[id] != nil
}

// Restore applies one event to an agent that has not taken a step yet. After all events in order
// the agent has the state of the one that recorded them: jobs have their capacity, and unanswered
// messages are retransmitted. The agent asks the executor for the state of each job. An error says
// what no longer fits the site; such a job is still reported when the executor reports its end.
func (a *Agent) Restore(m protocol.Message) error {
	if m.From != a.sender.Party {
		a.admitMessage(m)
	}
	switch b := m.Body.(type) {
	case protocol.CallForBids:
		for _, j := range b.Jobs {
			a.calledJobs.add(j)
			a.restoreOwnCalled(j)
		}
		if plan := b.Planning.OrDefault(); plan.Validate() == nil {
			a.planning = plan
		}
	case protocol.Drain:
		a.restoreLeave(m)
	case protocol.Submit:
		a.keepOwnJob(b)
	case protocol.LocalStart:
		a.restoreLocalStart(m, b)
	case protocol.Award:
		a.lastAward = b
	case protocol.Accept:
		a.restoreAccept(m, b)
	case protocol.Confirm:
		a.restoreConfirm(m, b)
	case protocol.Decline:
		a.releaseJob(m.At, b.Job)
		a.own[b.Job].givenUp()
		a.scheduleResend(m.At, pendingAck{job: b.Job, epoch: b.Epoch, to: protocol.Coordinator, body: b})
	case protocol.Launch:
		return a.restoreLaunch(m, b)
	case protocol.Started:
		if l := a.running[b.Job]; l != nil {
			if !l.running {
				l.running, l.started = true, m.At
				a.schedulePause(b.Job, l)
			}
			a.goOnWithFewer(m.At, l, b.Places)
		}
	case protocol.UsageReport:
		a.forgetEndedJob(m.At, b.Job)
		if o := a.own[b.Job]; o.isUnsettled() {
			o.report = &b
			break
		}
		a.scheduleResend(m.At, pendingAck{job: b.Job, epoch: b.Epoch, to: protocol.Coordinator, body: b})
	case protocol.Preempt:
		if l := a.running[b.Job]; l != nil && m.To == a.sender.Party && m.From == a.sender.Party {
			a.recallRun(b)
		} else if l != nil {
			l.preempt, l.recall = &b, nil
			a.fleet.PlanEnd(b.Job, m.At)
		}
	case protocol.Preempted:
		a.forgetEndedJob(m.At, b.Job)
		a.scheduleResend(m.At, pendingAck{job: b.Job, epoch: b.Epoch, to: protocol.Coordinator, body: b})
	case protocol.Settlement:
		a.dropPendingAck(b.Job)
	case protocol.CompletedRun:
		a.rememberRun(m, b)
	case protocol.AssignReplicas:
		a.applyAssign(m.At, b)
	case protocol.RunReplicas:
		a.restoreReplicas(b)
	}
	return nil
}

// restoreAccept restores an accepted job as queued; a following Launch moves it to running.
func (a *Agent) restoreAccept(m protocol.Message, b protocol.Accept) {
	a.epochs[b.Job] = b.Epoch
	called, known := a.calledJobs.find(b.Job)
	job, own := asAwarded(called, &a.lastAward), a.own[b.Job].isUnsettled()
	if known && !own && a.hasOtherSize(b.Job, job) {
		a.releaseJob(m.At, b.Job)
	}
	if _, here := a.adoptNewerAward(a.lastAward); !here && !own {
		a.queue = append(a.queue, reservation{job: job, award: a.lastAward})
	}
	a.scheduleResend(m.At, pendingAck{job: b.Job, epoch: b.Epoch, leaseEnd: a.lastAward.Lease, to: protocol.Coordinator, body: b})
}

// restoreConfirm restores the coordinator's answer to an Accept or a report.
func (a *Agent) restoreConfirm(m protocol.Message, b protocol.Confirm) {
	a.dropPendingAck(b.Job)
	l, i := a.running[b.Job], a.queueIndex(b.Job)
	switch {
	case a.own[b.Job].isUnsettled():
		a.restoreOwnConfirmed(m, b)
	case b.Code == protocol.AwardVoid:
		delete(a.epochs, b.Job)
		a.releaseJob(m.At, b.Job)
	case b.Code == protocol.AcceptConfirmed && l != nil:
		l.confirmed = true
		a.scheduleResend(m.At, a.launchRequest(b.Job, l))
	case b.Code == protocol.AcceptConfirmed && i >= 0:
		a.queue[i].confirmed = true
	}
}

// restoreLaunch restores a job's capacity, exactly where it was.
func (a *Agent) restoreLaunch(m protocol.Message, b protocol.Launch) error {
	i := a.queueIndex(b.Job.ID)
	if i < 0 {
		return fmt.Errorf("agents: %s: job %s was launched but never accepted: its event log is incomplete", a.cfg.Site, b.Job.ID)
	}
	r := a.queue[i]
	a.queue = append(a.queue[:i:i], a.queue[i+1:]...)
	l := &activeRun{launch: b, confirmed: r.confirmed, epoch: b.Epoch, acceptedEpoch: r.award.Epoch, started: m.At, transferCarbon: a.cfg.Network.transferCarbon(b.Job, a.cfg.Site), pauseAt: r.award.Pause, byMonth: r.award.ByMonth}
	a.addRun(l)
	if l.confirmed {
		a.scheduleResend(m.At, a.launchRequest(b.Job.ID, l))
	}
	if !a.fleet.AdoptRun(b, m.At) && !a.fleet.HasNoNodes() {
		return fmt.Errorf("agents: %s: job %s no longer fits on node %s; its executor knows whether it still runs", a.cfg.Site, b.Job.ID, b.Node)
	}
	return nil
}
