package agents

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// fillExpectedRun fills in how long a job runs that does not say so, by the jobs that ran
// here. It returns what the bid says of that.
func (a *Agent) fillExpectedRun(j *protocol.Job) []protocol.Estimate {
	if j.Run != 0 {
		return nil
	}
	e := a.jobs.EstimateRun(*j)
	j.Run = e.Mean
	return []protocol.Estimate{e.Estimate}
}

// maxRememberedRuns is how many runs are kept over restarts.
const maxRememberedRuns = 10_000

// recordCompletedRun remembers a run of a job, and writes it down. How long it took is brought
// to the reference clock by what was planned: a job on a GPU of half the speed
// takes twice as long.
func (a *Agent) recordCompletedRun(now, ended protocol.Time, l *activeRun, x protocol.Finished) {
	move := a.cfg.Network.transferTime(l.launch.Job, a.cfg.Site)
	took, planned := ended.Sub(l.started)-move, l.launch.Run-move
	if took <= 0 || planned <= 0 || x.Failed != "" {
		return
	}
	j := l.launch.Job
	ran := protocol.CompletedRun{
		Job:    protocol.Job{Tenant: j.Tenant, Image: j.Image, GPUs: j.GPUs, Share: j.Share, CPU: j.CPU, Memory: j.Memory},
		Lasted: time.Duration(float64(j.Run) * (took.Seconds() / planned.Seconds())).Round(time.Millisecond),
		Use:    x.Use,
	}
	var drawn protocol.Millijoules
	for _, s := range x.Draw {
		drawn += s.Energy
	}
	if !x.Estimated {
		ran.Power = protocol.Milliwatts(float64(drawn) / ended.Sub(l.started).Seconds())
	}
	quiet := a.sender // a copy: the number is not used up
	m := quiet.NewMessage(now, a.sender.Party, ran)
	a.recordEvent(m)
	a.rememberRun(m, ran)
}

func (a *Agent) rememberRun(m protocol.Message, b protocol.CompletedRun) {
	a.jobs.LearnRun(b.Job, b.Lasted, b.Power, b.Use)
	if a.rememberedRuns = append(a.rememberedRuns, m.Seq); len(a.rememberedRuns) >= 2*maxRememberedRuns {
		a.rememberedRuns = slices.Clone(a.rememberedRuns[maxRememberedRuns:])
	}
}

// keepsRunEvent reports whether a fact is one of the last runs, which are kept.
func (a *Agent) keepsRunEvent(m protocol.Message) bool {
	oldest := a.rememberedRuns[max(0, len(a.rememberedRuns)-maxRememberedRuns):]
	return len(oldest) > 0 && m.Seq >= oldest[0]
}
