package agents

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A pause is when a job that runs is to be paused.
type pause struct {
	at    protocol.Time
	job   protocol.JobID
	epoch uint64
}

// plan remembers when a job that runs is to be paused. One that began so late
// that it would have run for less than pausing costs runs to its end.
func (a *Agent) plan(id protocol.JobID, l *live) {
	if l.launch.Job.Pause == 0 || l.pause <= l.started.Add(l.launch.Job.Pause) || l.pause >= l.started.Add(l.launch.Run) {
		return
	}
	p := pause{l.pause, id, l.epoch}
	i, _ := slices.BinarySearchFunc(a.breaks, p, func(x, y pause) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.job, y.job))
	})
	a.breaks = slices.Insert(a.breaks, i, p)
}

// interrupt has the hands pause what is to be paused by now. They are told until
// they say that it stopped, or that they cannot.
func (a *Agent) interrupt(now protocol.Time) (said []protocol.Message) {
	for len(a.breaks) > 0 && a.breaks[0].at <= now {
		p := a.breaks[0]
		a.breaks = a.breaks[1:]
		if l := a.live[p.job]; l != nil && l.running && l.epoch == p.epoch {
			said = append(said, a.owe(now, owed{
				job: p.job, epoch: p.epoch, to: protocol.Hands(a.cfg.Site),
				body: protocol.Cancel{Job: p.job, Epoch: p.epoch, Keep: true},
			}))
		}
	}
	return said
}

// left returns how much run at the reference clock is left of a job, when so
// much is left of its launch. What of that was for its input to come is no run.
func (a *Agent) left(l *live, launch time.Duration) time.Duration {
	job := l.launch.Job
	work := l.launch.Run - a.cfg.Network.takes(job, a.cfg.Site)
	if launch <= 0 || work <= 0 {
		return 0
	}
	part := float64(min(launch, work)) / float64(work)
	return min(time.Duration(float64(job.Run)*part).Truncate(time.Second)+time.Second, job.Run)
}
