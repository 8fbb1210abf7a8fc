// Package estimates measures how good a site's profiles are: it replays public
// traces in the order of their time, asks for the duration of each job when it is
// submitted, tells it only when the job has ended, and holds what was foretold
// against what came.
//
// No forecast can see ahead: a [Forecaster] is handed a job without its duration,
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

// A Job of a trace.
type Job struct {
	Submit, End protocol.Time
	Lasted      time.Duration // what it is asked for
	Job         protocol.Job  // without a duration
}

// A Forecaster foretells how long jobs run.
type Forecaster interface {
	Name() string
	// Foretell returns the parts of [Parts] of how long j runs; nil if it does not
	// know yet.
	Foretell(j protocol.Job) []time.Duration
	Learn(j protocol.Job, lasted time.Duration)
}

// Parts are the quantiles that are asked for, in thousandths.
var Parts = []protocol.Milli{500, 900, 950}

// A Score is how well one forecaster did on one trace.
type Score struct {
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

// ends are the runs that nobody knows of yet, soonest first.
type ends []Job

func (e ends) Len() int { return len(e) }
func (e ends) Less(i, k int) bool {
	return cmp.Or(cmp.Compare(e[i].End, e[k].End), cmp.Compare(e[i].Job.ID, e[k].Job.ID)) < 0
}
func (e ends) Swap(i, k int) { e[i], e[k] = e[k], e[i] }
func (e *ends) Push(x any)   { *e = append(*e, x.(Job)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// warm is how many runs are learned before anybody is judged.
const warm = 200

// Play replays a trace. Jobs that all forecasters know something of are judged, so
// that they are judged by the same ones.
func Play(trace string, jobs []Job, forecasters []Forecaster) []Score {
	jobs = slices.Clone(jobs)
	slices.SortStableFunc(jobs, func(x, y Job) int { return cmp.Compare(x.Submit, y.Submit) })
	scores := make([]Score, len(forecasters))
	covered, loss := make([][]int, len(forecasters)), make([][]float64, len(forecasters))
	for i, f := range forecasters {
		scores[i] = Score{Trace: trace, Forecaster: f.Name()}
		covered[i], loss[i] = make([]int, len(Parts)), make([]float64, len(Parts))
	}
	var running ends
	learned, n := 0, 0
	foretold := make([][]time.Duration, len(forecasters))
	for _, j := range jobs {
		for len(running) > 0 && running[0].End <= j.Submit {
			over := heap.Pop(&running).(Job)
			for _, f := range forecasters {
				f.Learn(over.Job, over.Lasted)
			}
			learned++
		}
		all := learned >= warm
		for i, f := range forecasters {
			foretold[i] = f.Foretell(j.Job)
			all = all && foretold[i] != nil
		}
		heap.Push(&running, j)
		if !all {
			continue
		}
		n++
		for i := range forecasters {
			for k, part := range Parts {
				said := foretold[i][k]
				if j.Lasted <= said {
					covered[i][k]++
				}
				loss[i][k] += pinball(part, said, j.Lasted)
			}
		}
	}
	for i := range scores {
		scores[i].Jobs = n
		for k := range Parts {
			scores[i].Covered = append(scores[i].Covered, protocol.Milli(1000*covered[i][k]/max(n, 1)))
			scores[i].Loss = append(scores[i].Loss, time.Duration(loss[i][k]/float64(max(n, 1))*1e9))
		}
	}
	return scores
}

// pinball is the loss of a quantile, in seconds.
func pinball(part protocol.Milli, said, was time.Duration) float64 {
	p, d := float64(part)/1000, was.Seconds()-said.Seconds()
	return max(p*d, (p-1)*d)
}

// Forecasters returns ours, and those that it is compared with.
func Forecasters() []Forecaster {
	return []Forecaster{&ours{runtimeest.New(runtimeest.Config{})}, &global{p: runtimeest.New(runtimeest.Config{})}, &last{of: make(map[string]time.Duration)}}
}

// ours are the profiles of an agent.
type ours struct{ p *runtimeest.Profiles }

func (o *ours) Name() string { return "profiles" }

func (o *ours) Foretell(j protocol.Job) []time.Duration {
	e := o.p.Estimate(j)
	if e.Runs == 0 {
		return nil
	}
	out := make([]time.Duration, len(Parts))
	for i, part := range Parts {
		out[i] = e.Quantile(part)
	}
	return out
}

func (o *ours) Learn(j protocol.Job, lasted time.Duration) { o.p.Learn(j, lasted, 0, protocol.Use{}) }

// global takes all jobs for alike: the quantiles of all that ended.
type global struct{ p *runtimeest.Profiles }

func (g *global) Name() string { return "all jobs alike" }

// alike is a job that tells nothing of itself.
var alike = protocol.Job{CPU: 1000}

func (g *global) Foretell(protocol.Job) []time.Duration { return (&ours{g.p}).Foretell(alike) }

func (g *global) Learn(_ protocol.Job, lasted time.Duration) {
	g.p.Learn(alike, lasted, 0, protocol.Use{})
}

// last takes a job for as long as the last of the same user that ended, at every
// quantile.
type last struct{ of map[string]time.Duration }

func (l *last) Name() string { return "last of the same user" }

func (l *last) Foretell(j protocol.Job) []time.Duration {
	d, ok := l.of[j.Tenant]
	if !ok {
		return nil
	}
	return []time.Duration{d, d, d}
}

func (l *last) Learn(j protocol.Job, lasted time.Duration) { l.of[j.Tenant] = lasted }
