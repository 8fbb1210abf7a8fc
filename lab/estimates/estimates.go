// Package estimates measures how good a site's profiles are: it replays public
// traces in the order of their time, asks for the duration of each job when it is
// submitted, tells it only when the job has ended, and holds what was foretold
// against what came.
//
// No forecast can see ahead: a [RuntimeForecaster] is handed a job without its duration,
// and learns runs in the order in which they end.
package estimates

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/runtimeest"
	"github.com/gridbid/gridbid/protocol"
)

// A TraceJob of a trace.
type TraceJob struct {
	Submit, End protocol.Time
	Lasted      time.Duration // what it is asked for
	Job         protocol.Job  // without a duration
}

// A RuntimeForecaster foretells how long jobs run.
type RuntimeForecaster interface {
	Name() string
	// ForecastQuantiles returns the parts of [Quantiles] of how long j runs; nil if it does not
	// know yet.
	ForecastQuantiles(j protocol.Job) []time.Duration
	LearnRunTime(j protocol.Job, lasted time.Duration)
}

// Quantiles are the quantiles that are asked for, in thousandths.
var Quantiles = []protocol.Milli{500, 900, 950}

// A ForecastScore is how well one forecaster did on one trace.
type ForecastScore struct {
	Trace      string `json:"trace"`
	Forecaster string `json:"foretold_by"`
	Jobs       int    `json:"jobs"` // that were foretold
	// Covered are the parts of jobs that took no longer than each quantile of
	// Parts; what is foretold well is covered as often as its part says.
	Covered []protocol.Milli `json:"covered_milli"`
	// Loss is the mean pinball loss of each quantile: what is too low costs its
	// part, what is too high the rest. Less is better.
	Loss []time.Duration `json:"loss_ns"`
}

// pendingEnds are the runs that nobody knows of yet, soonest first.
type pendingEnds []TraceJob

func (e pendingEnds) Len() int { return len(e) }
func (e pendingEnds) Less(i, k int) bool {
	return cmp.Or(cmp.Compare(e[i].End, e[k].End), cmp.Compare(e[i].Job.ID, e[k].Job.ID)) < 0
}
func (e pendingEnds) Swap(i, k int) { e[i], e[k] = e[k], e[i] }
func (e *pendingEnds) Push(x any)   { *e = append(*e, x.(TraceJob)) }
func (e *pendingEnds) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// warmUpJobs is how many runs are learned before anybody is judged.
const warmUpJobs = 200

// ScoreTrace replays a trace. Jobs that all forecasters know something of are judged, so
// that they are judged by the same ones.
func ScoreTrace(trace string, jobs []TraceJob, forecasters []RuntimeForecaster) []ForecastScore {
	jobs = slices.Clone(jobs)
	slices.SortStableFunc(jobs, func(x, y TraceJob) int { return cmp.Compare(x.Submit, y.Submit) })
	scores := make([]ForecastScore, len(forecasters))
	covered, loss := make([][]int, len(forecasters)), make([][]float64, len(forecasters))
	for i, f := range forecasters {
		scores[i] = ForecastScore{Trace: trace, Forecaster: f.Name()}
		covered[i], loss[i] = make([]int, len(Quantiles)), make([]float64, len(Quantiles))
	}
	var running pendingEnds
	learned, n := 0, 0
	foretold := make([][]time.Duration, len(forecasters))
	for _, j := range jobs {
		for len(running) > 0 && running[0].End <= j.Submit {
			over := heap.Pop(&running).(TraceJob)
			for _, f := range forecasters {
				f.LearnRunTime(over.Job, over.Lasted)
			}
			learned++
		}
		all := learned >= warmUpJobs
		for i, f := range forecasters {
			foretold[i] = f.ForecastQuantiles(j.Job)
			all = all && foretold[i] != nil
		}
		heap.Push(&running, j)
		if !all {
			continue
		}
		n++
		for i := range forecasters {
			for k, part := range Quantiles {
				said := foretold[i][k]
				if j.Lasted <= said {
					covered[i][k]++
				}
				loss[i][k] += pinballLoss(part, said, j.Lasted)
			}
		}
	}
	for i := range scores {
		scores[i].Jobs = n
		for k := range Quantiles {
			scores[i].Covered = append(scores[i].Covered, protocol.Milli(1000*covered[i][k]/max(n, 1)))
			scores[i].Loss = append(scores[i].Loss, time.Duration(loss[i][k]/float64(max(n, 1))*1e9))
		}
	}
	return scores
}

// pinballLoss is the loss of a quantile, in seconds.
func pinballLoss(part protocol.Milli, said, was time.Duration) float64 {
	p, d := float64(part)/1000, was.Seconds()-said.Seconds()
	return max(p*d, (p-1)*d)
}

// AllForecasters returns ours, and those that it is compared with.
func AllForecasters() []RuntimeForecaster {
	return []RuntimeForecaster{&profileForecaster{runtimeest.New(runtimeest.Config{})}, &pooledForecaster{p: runtimeest.New(runtimeest.Config{})}, &lastRunForecaster{of: make(map[string]time.Duration)}}
}

// profileForecaster are the profiles of an agent.
type profileForecaster struct{ p *runtimeest.Profiles }

func (o *profileForecaster) Name() string { return "profiles" }

func (o *profileForecaster) ForecastQuantiles(j protocol.Job) []time.Duration {
	e := o.p.EstimateRun(j)
	if e.Runs == 0 {
		return nil
	}
	out := make([]time.Duration, len(Quantiles))
	for i, part := range Quantiles {
		out[i] = e.RunQuantile(part)
	}
	return out
}

func (o *profileForecaster) LearnRunTime(j protocol.Job, lasted time.Duration) {
	o.p.LearnRun(j, lasted, 0, protocol.Utilization{})
}

// pooledForecaster takes all jobs for alike: the quantiles of all that ended.
type pooledForecaster struct{ p *runtimeest.Profiles }

func (g *pooledForecaster) Name() string { return "all jobs alike" }

// anonymousJob is a job that tells nothing of itself.
var anonymousJob = protocol.Job{CPU: 1000}

func (g *pooledForecaster) ForecastQuantiles(protocol.Job) []time.Duration {
	return (&profileForecaster{g.p}).ForecastQuantiles(anonymousJob)
}

func (g *pooledForecaster) LearnRunTime(_ protocol.Job, lasted time.Duration) {
	g.p.LearnRun(anonymousJob, lasted, 0, protocol.Utilization{})
}

// lastRunForecaster takes a job for as long as the last of the same user that ended, at every
// quantile.
type lastRunForecaster struct{ of map[string]time.Duration }

func (l *lastRunForecaster) Name() string { return "last of the same user" }

func (l *lastRunForecaster) ForecastQuantiles(j protocol.Job) []time.Duration {
	d, ok := l.of[j.Tenant]
	if !ok {
		return nil
	}
	return []time.Duration{d, d, d}
}

func (l *lastRunForecaster) LearnRunTime(j protocol.Job, lasted time.Duration) {
	l.of[j.Tenant] = lasted
}
