package agents

import (
	"slices"

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
	start := w.Option.Start
	free := a.keep(now)
	launch, ok := a.start(now, job, w)
	free()
	switch {
	case ok:
		start = now
	case w.Queue:
		a.queue = append(a.queue, reserved{job, w})
	default:
		return decline(protocol.RoomGone)
	}
	a.epochs[w.Job] = w.Epoch
	said := a.say(now, protocol.Coordinator, protocol.Accept{Job: w.Job, Epoch: w.Epoch, Start: start})
	if ok {
		return append(said, a.mouth.Say(now, protocol.Hands(a.cfg.Site), launch))
	}
	return append(said, a.advance(now)...)
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
	} else if plain, _, ok := a.fleet.Plain(job); ok {
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
		Cap: run.Way.Choice.Cap, Run: run.End.Sub(run.Start), Power: run.Way.Power,
	}, true
}

// advance starts what it can of the queue, in its order.
func (a *Agent) advance(now protocol.Time) (said []protocol.Message) {
	waiting := a.queue
	a.queue = nil
	frees := []func(){}
	for _, r := range waiting {
		if launch, ok := a.start(now, r.job, r.award); ok {
			said = append(said, a.mouth.Say(now, protocol.Hands(a.cfg.Site), launch))
			continue
		}
		frees = append(frees, a.hold(now, r, len(a.queue) == 0))
		a.queue = append(a.queue, r)
	}
	for _, free := range frees {
		free()
	}
	return said
}

// keep keeps nodes for the jobs that wait in the queue while others are offered
// room or started, until the returned function is called.
func (a *Agent) keep(now protocol.Time) (free func()) {
	frees := make([]func(), len(a.queue))
	for i, r := range a.queue {
		frees[i] = a.hold(now, r, i == 0)
	}
	return func() {
		for _, free := range frees {
			free()
		}
	}
}

// hold keeps, for a job in the queue, the node on which it will fit soonest, if
// it is the first or wants several GPUs. So small jobs pass a large one and do
// not hold it up for ever.
func (a *Agent) hold(now protocol.Time, r reserved, first bool) (free func()) {
	if !first && r.job.GPUs < 2 {
		return func() {}
	}
	model := ""
	if a.cfg.Habit.Choose {
		model = r.award.Option.Model
	}
	return a.fleet.Keep(now, r.job, model)
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
		IT: bill.IT, Energy: bill.Energy, Carbon: bill.Carbon + l.moved, Money: bill.Money,
	})
	return append(said, a.advance(now)...)
}

// read reports an hour of the site to the market.
func (a *Agent) read(now protocol.Time, r protocol.Reading) []protocol.Message {
	idle, _ := a.grid.Bill([]protocol.Slice{{Hour: r.Hour, Energy: r.Idle}})
	return a.say(now, protocol.Coordinator, protocol.Meter{Hour: r.Hour, Total: r.Total, Idle: idle})
}
