package agents

import (
	"fmt"

	"github.com/gridbid/gridbid/protocol"
)

// Events returns what changed, in the last Step or Tick, what this agent has to
// keep: what was heard and what was said, in order. The caller must not change
// it, and must write it down before it sends what that step said.
//
// Two facts are not quite what was said. A Call is cut down to its planning and
// the job that was won; a Launch is written down when the job is given its place, and may be said
// later.
func (a *Agent) Events() []protocol.Message { return a.events }

func (a *Agent) recordEvent(m protocol.Message) { a.events = append(a.events, m) }

func (a *Agent) recordCall(j protocol.Job) {
	m := a.lastCall
	call, _ := m.Body.(protocol.CallForBids)
	m.Body = protocol.CallForBids{Jobs: []protocol.Job{j}, Planning: call.Planning}
	a.recordEvent(m)
}

func (a *Agent) recordLaunch(now protocol.Time, id protocol.JobID) {
	quiet := a.sender // a copy: the number is not used up
	a.recordEvent(quiet.NewMessage(now, protocol.ExecutorParty(a.cfg.Site), a.running[id].launch))
}

// BeginIncarnation begins a life of an agent, the life-th of its journal: see
// protocol.Sender.
func (a *Agent) BeginIncarnation(life uint32) { a.sender.Incarnation = life }

// NeedsEvent reports whether a fact is of a job that is not over for this agent, or is
// what it remembers of one that is.
func (a *Agent) NeedsEvent(m protocol.Message) bool {
	id := protocol.JobID("")
	switch b := m.Body.(type) {
	case protocol.CallForBids:
		if len(b.Jobs) == 0 {
			return false
		}
		id = b.Jobs[0].ID
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
	case protocol.Settlement:
		id = b.Job
	case protocol.CompletedRun:
		return a.keepsRunEvent(m)
	}
	return a.running[id] != nil || a.queueIndex(id) >= 0 || a.pendingAckOf(id) != nil
}

// Restore puts a fact back into an agent that has not lived yet. With all facts
// of its last life, in order, it stands where that one stood: jobs have the
// places that they had, and what was not answered is said again. The hands are
// asked how each job stands. The error says what no longer fits the site; the job
// is still reported when its hands say that it ended.
func (a *Agent) Restore(m protocol.Message) error {
	if m.From != a.sender.Party {
		a.admitMessage(m)
	}
	switch b := m.Body.(type) {
	case protocol.CallForBids:
		for _, j := range b.Jobs {
			a.calledJobs[j.ID] = j
		}
		if plan := b.Planning.OrDefault(); plan.Validate() == nil {
			a.planning = plan
		}
	case protocol.Award:
		a.lastAward = b
	case protocol.Accept:
		a.restoreAccept(m, b)
	case protocol.Confirm:
		a.restoreConfirm(m, b)
	case protocol.Decline:
		a.releaseJob(m.At, b.Job)
		a.scheduleResend(m.At, pendingAck{job: b.Job, epoch: b.Epoch, to: protocol.Coordinator, body: b})
	case protocol.Launch:
		return a.restoreLaunch(m, b)
	case protocol.Started:
		if l := a.running[b.Job]; l != nil {
			l.running, l.started = true, m.At
			a.schedulePause(b.Job, l)
		}
	case protocol.UsageReport:
		a.forgetEndedJob(m.At, b.Job)
		a.scheduleResend(m.At, pendingAck{job: b.Job, epoch: b.Epoch, to: protocol.Coordinator, body: b})
	case protocol.Settlement:
		a.dropPendingAck(b.Job)
	case protocol.CompletedRun:
		a.rememberRun(m, b)
	}
	return nil
}

func (a *Agent) restoreAccept(m protocol.Message, b protocol.Accept) {
	a.epochs[b.Job] = b.Epoch
	if _, here := a.adoptNewerAward(a.lastAward); !here {
		a.queue = append(a.queue, reservation{job: a.calledJobs[b.Job], award: a.lastAward})
	}
	a.scheduleResend(m.At, pendingAck{job: b.Job, epoch: b.Epoch, leaseEnd: a.lastAward.Lease, to: protocol.Coordinator, body: b})
}

func (a *Agent) restoreConfirm(m protocol.Message, b protocol.Confirm) {
	a.dropPendingAck(b.Job)
	l, i := a.running[b.Job], a.queueIndex(b.Job)
	switch {
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

func (a *Agent) restoreLaunch(m protocol.Message, b protocol.Launch) error {
	i := a.queueIndex(b.Job.ID)
	if i < 0 {
		return fmt.Errorf("agents: %s: job %s was launched but never accepted; its facts are not whole", a.cfg.Site, b.Job.ID)
	}
	r := a.queue[i]
	a.queue = append(a.queue[:i:i], a.queue[i+1:]...)
	l := &activeRun{launch: b, confirmed: r.confirmed, epoch: b.Epoch, acceptedEpoch: r.award.Epoch, started: m.At, transferCarbon: a.cfg.Network.transferCarbon(b.Job, a.cfg.Site), pauseAt: r.award.Pause}
	a.running[b.Job.ID] = l
	if l.confirmed {
		a.scheduleResend(m.At, a.launchRequest(b.Job.ID, l))
	}
	if !a.fleet.AdoptRun(b, m.At) && !a.fleet.HasNoNodes() {
		return fmt.Errorf("agents: %s: job %s has no place on node %s any more; its hands know whether it still runs", a.cfg.Site, b.Job.ID, b.Node)
	}
	return nil
}
