package agents

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A plannedPause is the instant at which a running job is to be paused.
type plannedPause struct {
	at    protocol.Time
	job   protocol.JobID
	epoch uint64
}

// schedulePause plans the pause that a running job's award names. A job that started so late that it would run
// for less than the overhead of a pause runs to its end; an elastic one is paused a little later, since its
// number of pods was chosen for that part alone.
func (a *Agent) schedulePause(id protocol.JobID, l *activeRun) {
	at, pause := l.pauseAt, l.launch.Job.Pause
	if at != 0 && at <= l.started.Add(pause) && l.launch.Job.IsElastic() {
		at = l.started.Add(2 * pause)
	}
	if pause == 0 || at <= l.started.Add(pause) || at >= l.started.Add(l.launch.Run) {
		return
	}
	p := plannedPause{at, id, l.epoch}
	i, _ := slices.BinarySearchFunc(a.plannedPauses, p, func(x, y plannedPause) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.job, y.job))
	})
	a.plannedPauses = slices.Insert(a.plannedPauses, i, p)
}

// sendDuePauses asks the executor to pause the jobs whose instant has come. The request is
// retransmitted until the executor reports that the job stopped, or that it cannot be paused.
func (a *Agent) sendDuePauses(now protocol.Time) (msgs []protocol.Message) {
	for len(a.plannedPauses) > 0 && a.plannedPauses[0].at <= now {
		p := a.plannedPauses[0]
		a.plannedPauses = a.plannedPauses[1:]
		if l := a.running[p.job]; l != nil && l.running && l.epoch == p.epoch {
			msgs = append(msgs, a.sendReliably(now, pendingAck{
				job: p.job, epoch: p.epoch, to: protocol.ExecutorParty(a.cfg.Site),
				body: protocol.Cancel{Job: p.job, Epoch: p.epoch, Checkpoint: true},
			}))
		}
	}
	return msgs
}

// remainingRun returns how much of a job's run at the reference clock is left when so much of its
// launch is left. The launch includes the transfer of the input, which does not count as run. It
// rounds up to a second, so that work is never lost.
func (a *Agent) remainingRun(l *activeRun, launch time.Duration) time.Duration {
	job := l.launch.Job
	work := l.launch.Run - a.cfg.Network.transferTime(job, a.cfg.Site)
	if launch <= 0 || work <= 0 {
		return 0
	}
	part := float64(min(launch, work)) / float64(work)
	return min(time.Duration(float64(job.Run)*part).Truncate(time.Second)+time.Second, job.Run)
}
