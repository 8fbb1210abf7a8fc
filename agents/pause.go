package agents

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A plannedPause is when a job that runs is to be paused.
type plannedPause struct {
	at    protocol.Time
	job   protocol.JobID
	epoch uint64
}

// schedulePause remembers when a job that runs is to be paused. One that began so late
// that it would have run for less than pausing costs runs to its end.
func (a *Agent) schedulePause(id protocol.JobID, l *activeRun) {
	if l.launch.Job.Pause == 0 || l.pauseAt <= l.started.Add(l.launch.Job.Pause) || l.pauseAt >= l.started.Add(l.launch.Run) {
		return
	}
	p := plannedPause{l.pauseAt, id, l.epoch}
	i, _ := slices.BinarySearchFunc(a.plannedPauses, p, func(x, y plannedPause) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.job, y.job))
	})
	a.plannedPauses = slices.Insert(a.plannedPauses, i, p)
}

// sendDuePauses has the hands pause what is to be paused by now. They are told until
// they say that it stopped, or that they cannot.
func (a *Agent) sendDuePauses(now protocol.Time) (said []protocol.Message) {
	for len(a.plannedPauses) > 0 && a.plannedPauses[0].at <= now {
		p := a.plannedPauses[0]
		a.plannedPauses = a.plannedPauses[1:]
		if l := a.running[p.job]; l != nil && l.running && l.epoch == p.epoch {
			said = append(said, a.sendReliably(now, pendingAck{
				job: p.job, epoch: p.epoch, to: protocol.ExecutorParty(a.cfg.Site),
				body: protocol.Cancel{Job: p.job, Epoch: p.epoch, Checkpoint: true},
			}))
		}
	}
	return said
}

// remainingRun returns how much run at the reference clock is left of a job, when so
// much is left of its launch. What of that was for its input to come is no run.
func (a *Agent) remainingRun(l *activeRun, launch time.Duration) time.Duration {
	job := l.launch.Job
	work := l.launch.Run - a.cfg.Network.transferTime(job, a.cfg.Site)
	if launch <= 0 || work <= 0 {
		return 0
	}
	part := float64(min(launch, work)) / float64(work)
	return min(time.Duration(float64(job.Run)*part).Truncate(time.Second)+time.Second, job.Run)
}
