package agents

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// awarded gives a job that we won its place, puts it into the site's queue if the
// award says so, or declines. The job starts when our accept is confirmed.
func (a *Agent) awarded(now protocol.Time, m protocol.Message, w protocol.Award) []protocol.Message {
	decline := func(c protocol.Code) []protocol.Message {
		return a.say(now, protocol.Coordinator, protocol.Decline{Job: w.Job, Epoch: w.Epoch, Why: protocol.Reason{Code: c}})
	}
	job, ok := a.asked[w.Job]
	switch {
	case w.Epoch <= a.epochs[w.Job]:
		return decline(protocol.Superseded)
	case !ok:
		return decline(protocol.UnknownJob)
	case now > w.Lease:
		return decline(protocol.RoomGone)
	}
	if start, ok := a.again(w); ok {
		return a.accept(now, m, w, start)
	}
	a.noteCall(job)
	r := reserved{job: job, award: w}
	if (w.Option.Start <= now || !w.Queue && w.Option.Start <= now.Add(haste)) && a.start(now, r) {
		said := a.accept(now, m, w, now)
		a.notePlan(now, w.Job)
		return append(said, a.advance(now)...)
	}
	if !w.Queue {
		return decline(protocol.RoomGone)
	}
	start, ok := a.enqueue(now, r)
	if !ok {
		return decline(protocol.RoomGone)
	}
	said := a.accept(now, m, w, start)
	return append(said, a.advance(now)...)
}

// haste is how much sooner than it was sold a job may start that is not to wait:
// the market's clock is not ours.
const haste = time.Minute

// accept says that we keep a job, until that is confirmed.
func (a *Agent) accept(now protocol.Time, m protocol.Message, w protocol.Award, start protocol.Time) []protocol.Message {
	a.epochs[w.Job] = w.Epoch
	said := a.owe(now, owed{
		job: w.Job, epoch: w.Epoch, until: w.Lease, to: protocol.Coordinator,
		body: protocol.Accept{Job: w.Job, Epoch: w.Epoch, Start: start},
	})
	a.note(m)
	a.note(said)
	return []protocol.Message{said}
}

// enqueue puts a job into the queue and returns when it is expected to start. A
// job of several GPUs has a node set aside at once: nothing else would ever
// leave it one.
func (a *Agent) enqueue(now protocol.Time, r reserved) (start protocol.Time, ok bool) {
	start = r.award.Option.Start
	if a.keeps(r) {
		if at, ok := a.keep(now, r); ok {
			start = at
		}
	}
	if a.late(r, start, true) {
		a.fleet.Free(r.job.ID)
		return 0, false
	}
	a.queue = append(a.queue, r)
	return start, true
}

// late reports whether a job of the queue had better be given back for another site
// to take it, because what was found for it is later than it was sold for by more
// than the last call's MaxStartDelay.
func (a *Agent) late(r reserved, at protocol.Time, found bool) bool {
	return a.delivery.KeepRoom && (!found || at > r.award.Option.Start.Add(a.planning.MaxStartDelay))
}

// keeps reports whether room is set aside for a job of the queue as soon as it
// is accepted.
func (a *Agent) keeps(r reserved) bool { return a.delivery.KeepRoom || r.job.GPUs > 1 }

// after returns before which time a job of the queue shall not start: it was
// sold for a better hour, or for one in which a rule lets it run; or it may start as
// soon as there is room.
func (r reserved) after() protocol.Time {
	if r.award.Firm || r.award.Why.Code == protocol.CheaperLater {
		return r.award.Option.Start
	}
	return 0
}

// begins returns when a job of the queue is to be looked at: when its place
// begins, or in a while if it should have begun.
func (a *Agent) begins(r reserved) protocol.Time {
	if from, ok := a.fleet.Kept(r.job.ID); ok && a.delivery.KeepRoom {
		if from <= a.looked.Add(time.Second) {
			return a.looked.Add(time.Minute)
		}
		return from
	}
	return r.after()
}

// keep sets aside the node on which a job of the queue will fit soonest.
func (a *Agent) keep(now protocol.Time, r reserved) (from protocol.Time, ok bool) {
	model, o := "", r.award.Option
	if a.delivery.AsOffered {
		model = o.Model
	}
	return a.fleet.Keep(now, r.job, model, max(r.after(), now), o.Finish.Sub(o.Start))
}

// again takes up a newer award of a job that is here already, because the market
// missed or would not hear the first accept. The job is not started twice.
func (a *Agent) again(w protocol.Award) (start protocol.Time, ok bool) {
	if l := a.live[w.Job]; l != nil {
		l.award = w.Epoch
		if !l.granted {
			l.epoch, l.launch.Epoch, l.pause = w.Epoch, w.Epoch, w.Pause
		}
		return l.started, true
	}
	if i := a.queued(w.Job); i >= 0 {
		a.queue[i].award = w
		return w.Option.Start, true
	}
	return 0, false
}

// start gives a job its place, and reports whether there is room. It is launched
// when the accept is confirmed.
func (a *Agent) start(now protocol.Time, r reserved) bool {
	job, w := r.job, r.award
	var way capacity.Way
	if a.delivery.AsOffered && job.GPUs > 0 {
		ways, _ := a.fleet.Ways(job)
		i := slices.IndexFunc(ways, func(x capacity.Way) bool { return x.Model == w.Option.Model && x.Choice.Cap == w.Option.Cap })
		if i < 0 {
			return false
		}
		way = ways[i]
	} else if plain, _, ok := a.fleet.Plain(now, job); ok {
		way = plain
		if job.GPUs > 0 {
			way.Model = "" // the placement policy picks it
		}
	}
	move := a.cfg.Network.takes(job, a.cfg.Site)
	run, ok := a.fleet.Start(now, job, way, move)
	if !ok {
		return false
	}
	a.live[job.ID] = &live{
		launch: protocol.Launch{
			Job: job, Epoch: w.Epoch, Node: run.Node, Devices: run.Devices(), Model: run.Way.Model,
			Cap: run.Way.Choice.Cap, Run: run.End.Sub(run.Start), Power: run.Way.Power, Task: w.Task,
		},
		granted: r.granted, epoch: w.Epoch, award: w.Epoch, started: now, moved: a.cfg.Network.emits(job, a.cfg.Site), pause: w.Pause,
	}
	return true
}

// advance starts what it can of the queue, in its order. The first job that
// finds no room, and each that wants several GPUs, has a node set aside. So
// small jobs pass a large one and do not hold it up for ever. An agent that was begun
// anew and knows no node yet leaves the queue as it is.
func (a *Agent) advance(now protocol.Time) (said []protocol.Message) {
	if a.blind() {
		return nil
	}
	waiting := a.queue
	a.queue = nil
	for _, r := range waiting {
		if r.after() <= now {
			if a.start(now, r) {
				a.notePlan(now, r.job.ID)
				if r.granted {
					said = append(said, a.owe(now, a.launch(r.job.ID, a.live[r.job.ID])))
				}
				continue
			}
		}
		a.queue = append(a.queue, r)
	}
	var lost []reserved
	for i, r := range a.queue {
		from, kept := a.fleet.Kept(r.job.ID)
		if late := kept && from <= now; late || !kept && (i == 0 || a.keeps(r)) {
			if at, ok := a.keep(now, r); a.late(r, at, ok) {
				lost = append(lost, r)
			}
		}
	}
	for _, r := range lost {
		if i := a.queued(r.job.ID); i >= 0 && a.queue[i].award.Epoch == r.award.Epoch {
			said = append(said, a.giveBack(now, r.job.ID, r.award.Epoch, protocol.Reason{Code: protocol.RoomGone})...)
		}
	}
	return said
}

// started notes that a job runs. Should its end not be heard, the hands are asked
// a while after it was due.
func (a *Agent) started(now protocol.Time, m protocol.Message, s protocol.Started) {
	l := a.live[s.Job]
	if l == nil || l.epoch != s.Epoch || !l.granted {
		return
	}
	if !l.running {
		a.note(m)
		l.running, l.started = true, now
		a.plan(s.Job, l)
	}
	if o := a.owes(s.Job); o != nil && o.to == protocol.Hands(a.cfg.Site) {
		a.later(max(now, l.started.Add(l.launch.Run)).Add(mostWait), a.launch(s.Job, l))
	}
}

// exited closes the book on a job: its energy, hour by hour, at what each hour
// really cost. An agent that was begun anew may hear of an end before it hears of its
// grid; it asks again then, for what was settled at nothing stays so.
func (a *Agent) exited(now protocol.Time, x protocol.Exited) []protocol.Message {
	l := a.live[x.Job]
	if l == nil || l.epoch != x.Epoch || !l.granted {
		return nil // said twice, or not ours
	}
	if !a.grid.Prices(x.Draw) {
		a.ask(now, x.Job, l)
		return nil
	}
	bill, _ := a.grid.Bill(x.Draw)
	started, ended := min(l.started, now), now
	if x.Ended != 0 { // heard late, if we were down; clocks differ
		ended = min(max(x.Ended, started), now)
	}
	done := protocol.Done{
		Job: x.Job, Epoch: l.award, Started: started, Ended: ended, Node: l.launch.Node, Devices: l.launch.Devices,
		IT: bill.IT, Energy: bill.Energy, Carbon: bill.Carbon + l.moved, Money: bill.Money, Failed: x.Failed, Estimated: x.Estimated,
		Left: a.left(l, x.Left),
	}
	a.over(now, x.Job)
	a.learn(now, ended, l, x)
	said := a.owe(now, owed{job: x.Job, epoch: l.award, to: protocol.Coordinator, body: done})
	a.note(said)
	return append([]protocol.Message{said}, a.advance(now)...)
}

// over gives back the room of a job that ran.
func (a *Agent) over(now protocol.Time, id protocol.JobID) {
	delete(a.live, id)
	delete(a.epochs, id)
	a.fleet.End(id)
}

// settled takes in that the market has our report of a job.
func (a *Agent) settled(m protocol.Message, s protocol.Settled) {
	if o := a.owes(s.Job); o != nil && s.Site == a.cfg.Site && isDone(o.body) {
		a.note(m)
		a.drop(s.Job)
	}
}

// read reports an hour of the site to the market.
func (a *Agent) read(now protocol.Time, r protocol.Reading) []protocol.Message {
	idle, _ := a.grid.Bill([]protocol.Slice{{Hour: r.Hour, Energy: r.Idle}})
	return a.say(now, protocol.Coordinator, protocol.Meter{Hour: r.Hour, Total: r.Total, Idle: idle, Estimated: r.Estimated})
}
