// Package estimates measures the accuracy of run time estimates. It replays public
// traces in order of time: it asks for an estimate of each job at submission, reports
// the job's duration when the job ends, and scores the estimates.
//
// A [RuntimeForecaster] cannot look ahead: it receives jobs without durations and learns the
// durations in order of the jobs' ends.
package estimates

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/runtimeest"
	"github.com/gridbid/gridbid/protocol"
)

// A TraceJob is one job of a trace.
type TraceJob struct {
	Submit, End protocol.Time
	Lasted      time.Duration // the duration to be estimated
	Job         protocol.Job  // without a duration
}

// A RuntimeForecaster estimates how long jobs run.
type RuntimeForecaster interface {
	Name() string
	// ForecastQuantiles returns the quantiles of [Quantiles] of j's run time, or nil if it has no
	// data yet.
	ForecastQuantiles(j protocol.Job) []time.Duration
	// LearnRunTime adds the duration of an ended job.
	LearnRunTime(j protocol.Job, lasted time.Duration)
}

// Quantiles are the estimated quantiles, in thousandths.
var Quantiles = []protocol.Milli{500, 900, 950}

// A ForecastScore is the accuracy of one forecaster on one trace.
type ForecastScore struct {
	Trace      string `json:"trace"`
	Forecaster string `json:"foretold_by"`
	Jobs       int    `json:"jobs"` // number of scored jobs
	// Covered is, for each of Quantiles, the fraction of jobs that ran no
	// longer. It equals the quantile for a calibrated forecaster.
	Covered []protocol.Milli `json:"covered_milli"`
	// Loss is the mean pinball loss of each quantile: underestimates are weighted by
	// the quantile, overestimates by the rest. Lower is better.
	Loss []time.Duration `json:"loss_ns"`
}

// pendingEnds is a heap of the running jobs, by end.
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

// warmUpJobs is the number of ended jobs before scoring begins.
const warmUpJobs = 200

// ScoreTrace replays a trace. It scores the jobs for which all forecasters have an
// estimate, so that all are scored on the same jobs.
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
		// Forecasters learn only what had ended before this submission.
		for len(running) > 0 && running[0].End <= j.Submit {
			over := heap.Pop(&running).(TraceJob)
			for _, f := range forecasters {
				f.LearnRunTime(over.Job, over.Lasted)
			}
			learned++
		}
		// Score a job only if every forecaster has an estimate.
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

// pinballLoss returns the pinball loss of one quantile, in seconds.
func pinballLoss(part protocol.Milli, said, was time.Duration) float64 {
	p, d := float64(part)/1000, was.Seconds()-said.Seconds()
	return max(p*d, (p-1)*d)
}

// AllForecasters returns the product's forecaster and those it is compared with.
func AllForecasters() []RuntimeForecaster {
	return []RuntimeForecaster{&profileForecaster{runtimeest.New(runtimeest.Config{})}, &pooledForecaster{p: runtimeest.New(runtimeest.Config{})}, &lastRunForecaster{of: make(map[string]time.Duration)}}
}

// profileForecaster is the estimator that agents use.
type profileForecaster struct{ p *runtimeest.Profiles }

func (o *profileForecaster) Name() string { return "profiles" }

// ForecastQuantiles implements RuntimeForecaster.
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

// LearnRunTime implements RuntimeForecaster.
func (o *profileForecaster) LearnRunTime(j protocol.Job, lasted time.Duration) {
	o.p.LearnRun(j, lasted, 0, protocol.Utilization{})
}

// pooledForecaster estimates every job by the quantiles of all ended jobs.
type pooledForecaster struct{ p *runtimeest.Profiles }

func (g *pooledForecaster) Name() string { return "all jobs alike" }

// anonymousJob is a job without distinguishing properties.
var anonymousJob = protocol.Job{CPU: 1000}

// ForecastQuantiles implements RuntimeForecaster.
func (g *pooledForecaster) ForecastQuantiles(protocol.Job) []time.Duration {
	return (&profileForecaster{g.p}).ForecastQuantiles(anonymousJob)
}

// LearnRunTime implements RuntimeForecaster.
func (g *pooledForecaster) LearnRunTime(_ protocol.Job, lasted time.Duration) {
	g.p.LearnRun(anonymousJob, lasted, 0, protocol.Utilization{})
}

// lastRunForecaster estimates all quantiles of a job by the duration of the same tenant's last
// ended job.
type lastRunForecaster struct{ of map[string]time.Duration }

func (l *lastRunForecaster) Name() string { return "last of the same user" }

// ForecastQuantiles implements RuntimeForecaster.
func (l *lastRunForecaster) ForecastQuantiles(j protocol.Job) []time.Duration {
	d, ok := l.of[j.Tenant]
	if !ok {
		return nil
	}
	return []time.Duration{d, d, d}
}

// LearnRunTime implements RuntimeForecaster.
func (l *lastRunForecaster) LearnRunTime(j protocol.Job, lasted time.Duration) {
	l.of[j.Tenant] = lasted
}
