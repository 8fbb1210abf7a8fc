package agents

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// fillExpectedRun estimates the run time of a job that states none, from the jobs that ran here
// (agents/runtimeest), and returns the estimate that the bid discloses.
func (a *Agent) fillExpectedRun(j *protocol.Job) []protocol.Estimate {
	if j.Run != 0 {
		return nil
	}
	e := a.jobs.EstimateRun(*j)
	j.Run = e.Mean
	return []protocol.Estimate{e.Estimate}
}

// maxRememberedRuns is how many completed runs survive a restart.
const maxRememberedRuns = 10_000

// recordCompletedRun learns from a completed run, and records it as an event. The measured time is
// converted to the reference clock by the planned one: a job on a GPU of half the speed takes
// twice as long. Failed runs teach nothing.
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
	quiet := a.sender // a copy: the event takes no sequence number
	m := quiet.NewMessage(now, a.sender.Party, ran)
	a.recordEvent(m)
	a.rememberRun(m, ran)
}

// rememberRun adds a run to the estimates.
func (a *Agent) rememberRun(m protocol.Message, b protocol.CompletedRun) {
	a.jobs.LearnRun(b.Job, b.Lasted, b.Power, b.Use)
	if a.rememberedRuns = append(a.rememberedRuns, m.Seq); len(a.rememberedRuns) >= 2*maxRememberedRuns {
		a.rememberedRuns = slices.Clone(a.rememberedRuns[maxRememberedRuns:])
	}
}

// keepsRunEvent reports whether an event is one of the last maxRememberedRuns runs.
func (a *Agent) keepsRunEvent(m protocol.Message) bool {
	oldest := a.rememberedRuns[max(0, len(a.rememberedRuns)-maxRememberedRuns):]
	return len(oldest) > 0 && m.Seq >= oldest[0]
}
