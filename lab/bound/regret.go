package bound

import (
	"fmt"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A Yardstick tells for each job of a run what it paid beyond its best choice, at the prices of
// capacity of a certificate. The sum over jobs is that of ExplainGap's groups, so that it differs from
// the cost of the run by what the run's jobs cannot change and by priced capacity that is left idle.
// It is used by one goroutine at a time.
type Yardstick struct {
	e    *gapExplainer
	jobs []protocol.Job
	best []float64 // by job, in microdollars
}

// NewYardstick returns the yardstick of a scenario at a certificate's prices, of which none may be
// given: then a job's best choice is the one that it would have alone, and what it pays is its cost.
func NewYardstick(s spec.Scenario, c Certificate) (*Yardstick, error) {
	s = s.WithPartsAsJobs()
	e, err := newGapExplainer(s, c)
	if err != nil {
		return nil, err
	}
	y := &Yardstick{e: e, jobs: s.Jobs, best: make([]float64, len(s.Jobs))}
	for i := range y.best {
		_, _, whole := e.p.bestAtPrices(&e.p.jobs[i])
		y.best[i], _, _ = e.p.leastPausedCost(&e.p.jobs[i], whole)
	}
	return y, nil
}

// BestUSD returns what the best choice of a job costs, capacity included.
func (y *Yardstick) BestUSD(id protocol.JobID) float64 {
	if i, ok := y.e.index[id]; ok {
		return y.best[i] / 1e6
	}
	return 0
}

// RegretUSD returns what a job that ran to its end paid beyond its best choice, with delay and
// lateness.
func (y *Yardstick) RegretUSD(r scenarios.CompletedJob) (float64, error) {
	i, ok := y.e.index[r.Job]
	if !ok {
		return 0, fmt.Errorf("bound: job %s is not in the scenario: measure a run of the same one", r.Job)
	}
	started, paid := r.Started, 0.0
	if len(r.PausedSegments) > 0 {
		started = r.PausedSegments[0].Started
	}
	for _, x := range append(r.PausedSegments[:len(r.PausedSegments):len(r.PausedSegments)], r) {
		v, _ := y.e.attributeRun(y.jobs[i], &y.e.p.jobs[i], x)
		paid += v
	}
	delay, late := y.e.weights.DelayAndLateCost(y.jobs[i], started, r.Ended)
	return (paid + float64(delay) + float64(late) - y.best[i]) / 1e6, nil
}
