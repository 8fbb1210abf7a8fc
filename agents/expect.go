package agents

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// expect fills in how long a job runs that does not say so, by the jobs that ran
// here. It returns what the bid says of that.
func (a *Agent) expect(j *protocol.Job) []protocol.Estimate {
	if j.Run != 0 {
		return nil
	}
	e := a.jobs.Estimate(*j)
	j.Run = e.Mean
	return []protocol.Estimate{e.Estimate}
}

// memory is how many runs are kept over restarts.
const memory = 10_000

// learn remembers a run of a job, and writes it down. How long it took is brought
// to the reference clock by what was planned: a job on a GPU of half the speed
// takes twice as long.
func (a *Agent) learn(now, ended protocol.Time, l *live, x protocol.Exited) {
	move := a.cfg.Network.takes(l.launch.Job, a.cfg.Site)
	took, planned := ended.Sub(l.started)-move, l.launch.Run-move
	if took <= 0 || planned <= 0 || x.Failed != "" {
		return
	}
	j := l.launch.Job
	ran := protocol.Ran{
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
	quiet := a.mouth // a copy: the number is not used up
	m := quiet.Say(now, a.mouth.Who, ran)
	a.note(m)
	a.remember(m, ran)
}

func (a *Agent) remember(m protocol.Message, b protocol.Ran) {
	a.jobs.Learn(b.Job, b.Lasted, b.Power, b.Use)
	if a.ran = append(a.ran, m.Seq); len(a.ran) >= 2*memory {
		a.ran = slices.Clone(a.ran[memory:])
	}
}

// recalls reports whether a fact is one of the last runs, which are kept.
func (a *Agent) recalls(m protocol.Message) bool {
	oldest := a.ran[max(0, len(a.ran)-memory):]
	return len(oldest) > 0 && m.Seq >= oldest[0]
}
