package agents

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/fleet"
	"github.com/gridbid/gridbid/protocol"
)

// awarded starts a job that we won, puts it into the site's queue if the award
// says so, or declines.
func (a *Agent) awarded(now protocol.Time, w protocol.Award) []protocol.Message {
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
	if said := a.again(now, w); said != nil {
		return said
	}
	start, launch, ok := w.Option.Start, protocol.Launch{}, false
	if start <= now {
		launch, ok = a.start(now, job, w)
	}
	switch {
	case ok:
		start = now
	case !w.Queue:
		return decline(protocol.RoomGone)
	default:
		if start, ok = a.enqueue(now, job, w); !ok {
			return decline(protocol.RoomGone)
		}
		ok = false
	}
	a.epochs[w.Job] = w.Epoch
	said := a.say(now, protocol.Coordinator, protocol.Accept{Job: w.Job, Epoch: w.Epoch, Start: start})
	if ok {
		return append(said, a.mouth.Say(now, protocol.Hands(a.cfg.Site), launch))
	}
	return append(said, a.advance(now)...)
}

// tardy is how much later than it was sold a job may find room, before the
// award is declined for another site to take it.
const tardy = 15 * time.Minute

// enqueue puts a job into the queue and returns when it is expected to start. A
// job of several GPUs has a node set aside at once: nothing else would ever
// leave it one.
func (a *Agent) enqueue(now protocol.Time, j protocol.Job, w protocol.Award) (start protocol.Time, ok bool) {
	r := reserved{j, w}
	start = w.Option.Start
	if j.GPUs > 1 {
		if at, ok := a.keep(now, r); ok {
			start = at
		}
	}
	if a.cfg.Habit.Later && start > w.Option.Start.Add(tardy) {
		a.fleet.Free(j.ID)
		return 0, false
	}
	a.queue = append(a.queue, r)
	return start, true
}

// after returns before which time a job of the queue shall not start: it was
// sold for a better hour, or it may start as soon as there is room.
func (r reserved) after() protocol.Time {
	if r.award.Why.Code == protocol.CheaperLater {
		return r.award.Option.Start
	}
	return 0
}

// keep sets aside the node on which a job of the queue will fit soonest.
func (a *Agent) keep(now protocol.Time, r reserved) (from protocol.Time, ok bool) {
	model, o := "", r.award.Option
	if a.cfg.Habit.Choose {
		model = o.Model
	}
	return a.fleet.Keep(now, r.job, model, max(r.after(), now), o.Finish.Sub(o.Start))
}

// again accepts a newer award of a job that is here already, because the market
// missed or would not hear the first accept. The job is not started twice.
func (a *Agent) again(now protocol.Time, w protocol.Award) []protocol.Message {
	start := protocol.Time(0)
	if l := a.live[w.Job]; l != nil {
		l.award, start = w.Epoch, l.started
	}
	for i := range a.queue {
		if a.queue[i].job.ID == w.Job {
			a.queue[i].award, start = w, w.Option.Start
		}
	}
	if start == 0 {
		return nil
	}
	a.epochs[w.Job] = w.Epoch
	return a.say(now, protocol.Coordinator, protocol.Accept{Job: w.Job, Epoch: w.Epoch, Start: start})
}

// start places a job and returns what to tell the hands, or false if there is
// no room.
func (a *Agent) start(now protocol.Time, job protocol.Job, w protocol.Award) (launch protocol.Launch, ok bool) {
	var way fleet.Way
	if a.cfg.Habit.Choose && job.GPUs > 0 {
		ways, _ := a.fleet.Ways(job)
		i := slices.IndexFunc(ways, func(x fleet.Way) bool { return x.Model == w.Option.Model && x.Choice.Cap == w.Option.Cap })
		if i < 0 {
			return launch, false
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
		return launch, false
	}
	a.live[job.ID] = &live{epoch: w.Epoch, award: w.Epoch, started: now, moved: a.cfg.Network.emits(job, a.cfg.Site)}
	return protocol.Launch{
		Job: job, Epoch: w.Epoch, Node: run.Node, Devices: run.Devices(), Model: run.Way.Model,
		Cap: run.Way.Choice.Cap, Run: run.End.Sub(run.Start), Power: run.Way.Power, Task: w.Task,
	}, true
}

// advance starts what it can of the queue, in its order. The first job that
// finds no room, and each that wants several GPUs, has a node set aside. So
// small jobs pass a large one and do not hold it up for ever.
func (a *Agent) advance(now protocol.Time) (said []protocol.Message) {
	waiting := a.queue
	a.queue = nil
	for _, r := range waiting {
		if r.after() <= now {
			if launch, ok := a.start(now, r.job, r.award); ok {
				said = append(said, a.mouth.Say(now, protocol.Hands(a.cfg.Site), launch))
				continue
			}
		}
		a.queue = append(a.queue, r)
	}
	for i, r := range a.queue {
		from, kept := a.fleet.Kept(r.job.ID)
		if late := kept && from <= now; late || !kept && (i == 0 || r.job.GPUs > 1) {
			a.keep(now, r)
		}
	}
	return said
}

func (a *Agent) started(now protocol.Time, s protocol.Started) {
	if l := a.live[s.Job]; l != nil && l.epoch == s.Epoch {
		l.started = now
	}
}

// exited closes the book on a job: its energy, hour by hour, at what each hour
// really cost.
func (a *Agent) exited(now protocol.Time, x protocol.Exited) []protocol.Message {
	l := a.live[x.Job]
	if l == nil || l.epoch != x.Epoch {
		return nil // said twice, or not ours
	}
	run := a.fleet.Running(x.Job)
	delete(a.live, x.Job)
	delete(a.epochs, x.Job)
	a.fleet.End(now, x.Job)
	bill, _ := a.grid.Bill(x.Draw)
	said := a.say(now, protocol.Coordinator, protocol.Done{
		Job: x.Job, Epoch: l.award, Started: l.started, Ended: now, Node: run.Node, Devices: run.Devices(),
		IT: bill.IT, Energy: bill.Energy, Carbon: bill.Carbon + l.moved, Money: bill.Money, Failed: x.Failed,
	})
	return append(said, a.advance(now)...)
}

// read reports an hour of the site to the market.
func (a *Agent) read(now protocol.Time, r protocol.Reading) []protocol.Message {
	idle, _ := a.grid.Bill([]protocol.Slice{{Hour: r.Hour, Energy: r.Idle}})
	return a.say(now, protocol.Coordinator, protocol.Meter{Hour: r.Hour, Total: r.Total, Idle: idle})
}
