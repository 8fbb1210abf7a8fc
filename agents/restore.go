package agents

import (
	"fmt"

	"github.com/gridbid/gridbid/protocol"
)

// Facts returns what changed, in the last Step or Tick, what this agent has to
// keep: what was heard and what was said, in order. The caller must not change
// it, and must write it down before it sends what that step said.
//
// Two facts are not quite what was said. A Call is cut down to its planning and
// the job that was won; a Launch is written down when the job is given its place, and may be said
// later.
func (a *Agent) Facts() []protocol.Message { return a.facts }

func (a *Agent) note(m protocol.Message) { a.facts = append(a.facts, m) }

func (a *Agent) noteCall(j protocol.Job) {
	m := a.call
	call, _ := m.Body.(protocol.Call)
	m.Body = protocol.Call{Jobs: []protocol.Job{j}, Planning: call.Planning}
	a.note(m)
}

func (a *Agent) notePlan(now protocol.Time, id protocol.JobID) {
	quiet := a.mouth // a copy: the number is not used up
	a.note(quiet.Say(now, protocol.Hands(a.cfg.Site), a.live[id].launch))
}

// Begin begins a life of an agent, the life-th of its journal: see
// protocol.Mouth.
func (a *Agent) Begin(life uint32) { a.mouth.Life = life }

// Needs reports whether a fact is of a job that is not over for this agent, or is
// what it remembers of one that is.
func (a *Agent) Needs(m protocol.Message) bool {
	id := protocol.JobID("")
	switch b := m.Body.(type) {
	case protocol.Call:
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
	case protocol.Done:
		id = b.Job
	case protocol.Settled:
		id = b.Job
	case protocol.Ran:
		return a.recalls(m)
	}
	return a.live[id] != nil || a.queued(id) >= 0 || a.owes(id) != nil
}

// Restore puts a fact back into an agent that has not lived yet. With all facts
// of its last life, in order, it stands where that one stood: jobs have the
// places that they had, and what was not answered is said again. The hands are
// asked how each job stands. The error says what no longer fits the site; the job
// is still reported when its hands say that it ended.
func (a *Agent) Restore(m protocol.Message) error {
	if m.From != a.mouth.Who {
		a.hears(m)
	}
	switch b := m.Body.(type) {
	case protocol.Call:
		for _, j := range b.Jobs {
			a.asked[j.ID] = j
		}
		if plan := b.Planning.OrDefault(); plan.Validate() == nil {
			a.planning = plan
		}
	case protocol.Award:
		a.won = b
	case protocol.Accept:
		a.restoreAccept(m, b)
	case protocol.Confirm:
		a.restoreConfirm(m, b)
	case protocol.Decline:
		a.release(m.At, b.Job)
		a.later(m.At, owed{job: b.Job, epoch: b.Epoch, to: protocol.Coordinator, body: b})
	case protocol.Launch:
		return a.restoreLaunch(m, b)
	case protocol.Started:
		if l := a.live[b.Job]; l != nil {
			l.running, l.started = true, m.At
			a.plan(b.Job, l)
		}
	case protocol.Done:
		a.over(m.At, b.Job)
		a.later(m.At, owed{job: b.Job, epoch: b.Epoch, to: protocol.Coordinator, body: b})
	case protocol.Settled:
		a.drop(b.Job)
	case protocol.Ran:
		a.remember(m, b)
	}
	return nil
}

func (a *Agent) restoreAccept(m protocol.Message, b protocol.Accept) {
	a.epochs[b.Job] = b.Epoch
	if _, here := a.again(a.won); !here {
		a.queue = append(a.queue, reserved{job: a.asked[b.Job], award: a.won})
	}
	a.later(m.At, owed{job: b.Job, epoch: b.Epoch, until: a.won.Lease, to: protocol.Coordinator, body: b})
}

func (a *Agent) restoreConfirm(m protocol.Message, b protocol.Confirm) {
	a.drop(b.Job)
	l, i := a.live[b.Job], a.queued(b.Job)
	switch {
	case b.Code == protocol.Void:
		delete(a.epochs, b.Job)
		a.release(m.At, b.Job)
	case b.Code == protocol.Stands && l != nil:
		l.granted = true
		a.later(m.At, a.launch(b.Job, l))
	case b.Code == protocol.Stands && i >= 0:
		a.queue[i].granted = true
	}
}

func (a *Agent) restoreLaunch(m protocol.Message, b protocol.Launch) error {
	i := a.queued(b.Job.ID)
	if i < 0 {
		return fmt.Errorf("agents: %s: job %s was launched but never accepted; its facts are not whole", a.cfg.Site, b.Job.ID)
	}
	r := a.queue[i]
	a.queue = append(a.queue[:i:i], a.queue[i+1:]...)
	l := &live{launch: b, granted: r.granted, epoch: b.Epoch, award: r.award.Epoch, started: m.At, moved: a.cfg.Network.emits(b.Job, a.cfg.Site), pause: r.award.Pause}
	a.live[b.Job.ID] = l
	if l.granted {
		a.later(m.At, a.launch(b.Job.ID, l))
	}
	if !a.fleet.Adopt(b, m.At) && !a.fleet.Empty() {
		return fmt.Errorf("agents: %s: job %s has no place on node %s any more; its hands know whether it still runs", a.cfg.Site, b.Job.ID, b.Node)
	}
	return nil
}
