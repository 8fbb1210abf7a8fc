package agents

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An owed word is said again until it is answered: who should have heard it may
// have been down, and so may the network. A job has at most one; so has no job,
// which is the site's Hello.
type owed struct {
	due   protocol.Time
	wait  time.Duration // until it is said once more after that
	job   protocol.JobID
	epoch uint64
	until protocol.Time // of an Accept: when its lease ends
	to    protocol.Party
	body  protocol.Body
}

// How long an answer may take before a word is said again: at first, and at
// most, doubling in between.
const (
	firstWait = 3 * time.Second
	mostWait  = time.Minute
)

// owe says a word, and has it said again until [Agent.settle].
func (a *Agent) owe(now protocol.Time, o owed) protocol.Message {
	a.later(now.Add(firstWait), o)
	return a.mouth.Say(now, o.to, o.body)
}

// later has a word said from a time on, in place of what is owed of that job.
func (a *Agent) later(at protocol.Time, o owed) {
	a.drop(o.job)
	o.due, o.wait = at, 2*firstWait
	a.keepWord(o)
}

func (a *Agent) keepWord(o owed) {
	i, _ := slices.BinarySearchFunc(a.owed, o, sooner)
	a.owed = slices.Insert(a.owed, i, o)
}

func sooner(x, y owed) int { return cmp.Or(cmp.Compare(x.due, y.due), cmp.Compare(x.job, y.job)) }

// hasten has said now what is due long after: that may be by a clock that was hours ahead.
func (a *Agent) hasten(now protocol.Time) {
	for i := range a.owed {
		if o := &a.owed[i]; o.due > now.Add(mostWait) {
			o.due = now
		}
	}
	slices.SortFunc(a.owed, sooner)
}

// drop forgets what is owed of a job.
func (a *Agent) drop(id protocol.JobID) {
	a.owed = slices.DeleteFunc(a.owed, func(o owed) bool { return o.job == id })
}

// owes returns what is owed of a job, or nil.
func (a *Agent) owes(id protocol.JobID) *owed {
	if i := slices.IndexFunc(a.owed, func(o owed) bool { return o.job == id }); i >= 0 {
		return &a.owed[i]
	}
	return nil
}

// sayable reports whether a word may be said again now. An agent that knows no node
// asks nothing of its hands and claims nothing, but lets go of what it has no more.
func (a *Agent) sayable(o owed) bool {
	_, declined := o.body.(protocol.Decline)
	return !a.blind() || declined || isDone(o.body)
}

// remind says again what is due. An Accept that nobody confirmed before the lease
// ended is taken back: another site may have the job by now, and the room it
// holds is wanted. But not that of a newer award of what our hands have already.
func (a *Agent) remind(now protocol.Time) (said []protocol.Message) {
	for i := 0; i < len(a.owed) && a.owed[i].due <= now; {
		o := a.owed[i]
		if !a.sayable(o) {
			i++
			continue
		}
		a.owed = slices.Delete(a.owed, i, i+1)
		_, accept := o.body.(protocol.Accept)
		if l := a.live[o.job]; accept && now > o.until && (l == nil || !l.granted) {
			said = append(said, a.giveBack(now, o.job, o.epoch, protocol.Reason{Code: protocol.Unconfirmed})...)
			continue
		}
		o.due, o.wait = now.Add(o.wait), min(2*o.wait, mostWait)
		a.keepWord(o)
		said = append(said, a.mouth.Say(now, o.to, o.body))
	}
	return said
}

// confirmed takes in what the coordinator's books say of a job.
func (a *Agent) confirmed(now protocol.Time, m protocol.Message, c protocol.Confirm) []protocol.Message {
	switch c.Code {
	case protocol.Stands:
		return a.stands(now, m, c)
	case protocol.Void:
		return a.void(now, m, c)
	case protocol.Taken:
		a.drop(c.Job) // our Hello
	case protocol.UnknownSite:
		a.greeted = false
	case protocol.Closed:
		if o := a.owes(c.Job); o != nil && o.epoch == c.Epoch && isDone(o.body) {
			a.note(m)
			a.drop(c.Job)
		}
	}
	return nil
}

func isDone(b protocol.Body) bool { _, ok := b.(protocol.Done); return ok }

// stands starts a job whose accept is on the books, or lets it wait in the
// queue. If we gave it back meanwhile, we say so.
func (a *Agent) stands(now protocol.Time, m protocol.Message, c protocol.Confirm) []protocol.Message {
	l := a.live[c.Job]
	i := a.queued(c.Job)
	switch {
	case l != nil && l.award == c.Epoch:
		if l.granted { // an accept of a newer award of what runs
			a.ask(now, c.Job, l)
			return nil
		}
		a.note(m)
		l.granted = true
		return []protocol.Message{a.owe(now, a.launch(c.Job, l))}
	case i >= 0 && a.queue[i].award.Epoch == c.Epoch:
		a.drop(c.Job)
		if !a.queue[i].granted { // else an accept of a newer award of what waits
			a.note(m)
			a.queue[i].granted = true
		}
		return nil
	case l == nil && i < 0 && a.owes(c.Job) == nil:
		return a.giveBack(now, c.Job, c.Epoch, protocol.Reason{Code: protocol.UnknownJob})
	}
	return nil
}

// launch is the word to the hands that starts a job, or asks how it stands.
func (a *Agent) launch(id protocol.JobID, l *live) owed {
	return owed{job: id, epoch: l.epoch, to: protocol.Hands(a.cfg.Site), body: l.launch}
}

// void lets go of a job that is not ours, unless the hands have it already.
func (a *Agent) void(now protocol.Time, m protocol.Message, c protocol.Confirm) []protocol.Message {
	o := a.owes(c.Job)
	if o == nil || o.epoch != c.Epoch || o.to != protocol.Coordinator || isDone(o.body) {
		return nil
	}
	if l := a.live[c.Job]; l != nil && l.granted {
		a.ask(now, c.Job, l)
		return nil
	}
	a.note(m)
	a.drop(c.Job)
	delete(a.epochs, c.Job)
	return a.letGo(now, c.Job)
}

// ask has the hands asked in a while how a job stands.
func (a *Agent) ask(now protocol.Time, id protocol.JobID, l *live) {
	a.later(now.Add(mostWait), a.launch(id, l))
}

// letGo gives back the room of a job that was not launched, to others.
func (a *Agent) letGo(now protocol.Time, id protocol.JobID) []protocol.Message {
	a.release(now, id)
	return a.advance(now)
}

func (a *Agent) release(now protocol.Time, id protocol.JobID) {
	if i := a.queued(id); i >= 0 {
		a.queue = slices.Delete(a.queue, i, i+1)
	}
	a.fleet.Free(id)
	if a.live[id] != nil {
		delete(a.live, id)
		a.fleet.End(id)
	}
}

// giveBack lets go of a job and tells the coordinator until it knows.
func (a *Agent) giveBack(now protocol.Time, id protocol.JobID, epoch uint64, why protocol.Reason) []protocol.Message {
	d := protocol.Decline{Job: id, Epoch: epoch, Why: why}
	m := a.owe(now, owed{job: id, epoch: epoch, to: protocol.Coordinator, body: d})
	a.note(m)
	return append([]protocol.Message{m}, a.letGo(now, id)...)
}

// cancel gives back a job that waits, or has the hands stop one that runs. One that is
// here by a newer award is not what is to be stopped.
func (a *Agent) cancel(now protocol.Time, c protocol.Cancel) []protocol.Message {
	l, i, o := a.live[c.Job], a.queued(c.Job), a.owes(c.Job)
	why := protocol.Reason{Code: protocol.Cancelled}
	switch {
	case l != nil && l.award > c.Epoch || i >= 0 && a.queue[i].award.Epoch > c.Epoch:
		return a.say(now, protocol.Coordinator, protocol.Decline{Job: c.Job, Epoch: c.Epoch, Why: why})
	case l != nil && l.granted:
		return a.say(now, protocol.Hands(a.cfg.Site), protocol.Cancel{Job: c.Job, Epoch: l.epoch})
	case o != nil && isDone(o.body):
		return nil
	case l == nil && i < 0 && o == nil && a.blind() && !a.told:
		return nil // our hands may hold it: we are told again when they have said so
	}
	return a.giveBack(now, c.Job, c.Epoch, why)
}

func (a *Agent) queued(id protocol.JobID) int {
	return slices.IndexFunc(a.queue, func(r reserved) bool { return r.job.ID == id })
}
