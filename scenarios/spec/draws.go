package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/generate"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// maxStrata is into how many draws a pool of jobs is dealt. A pool is that many times the jobs of
// one draw, so that draws up to this number have no job in common.
const maxStrata = 20

// ErrTooFewJobs is returned for a draw out of a trace that has not the jobs of two draws.
var ErrTooFewJobs = errors.New("too few jobs for draws")

// poolSize returns how many times the jobs of a draw its pool has.
func (j jobsSpec) poolSize() int {
	if j.draw == 0 {
		return 1
	}
	return maxStrata
}

// traceJobs returns how many jobs are read of a trace.
func (j jobsSpec) traceJobs() int {
	own := cmp.Or(j.Max, defaultMax)
	if j.draw == 0 {
		return own
	}
	return cmp.Or(j.thinTo, own) * maxStrata
}

// selectRecords returns the jobs of a trace that are replayed: a draw of them or, without draws,
// all, or evenly spaced ones if there is a limit.
func (j jobsSpec) selectRecords(all []trace.TraceJob, seed uint64) ([]trace.TraceJob, error) {
	if j.draw == 0 {
		return thinTraceJobs(all, j.thinTo, seed), nil
	}
	return drawStratified(all, cmp.Or(j.thinTo, j.Max, defaultMax), j.draw, seed, func(r trace.TraceJob) protocol.Job { return r.Job })
}

// drawNote describes the draw for the notes of a scenario.
func (j jobsSpec) drawNote(pool int) string {
	return fmt.Sprintf("draw %d of the jobs, stratified by GPUs and run time out of a pool of %d", j.draw, pool)
}

// drawStratified returns draw number draw, counting from 1, of count jobs out of a pool. The jobs
// are sorted by GPUs, then by run time, and cut into strata of neighbours. Each stratum gives
// one of its jobs to each draw: the one with the most GPU-hours to the draw that has the fewest so
// far, beginning with the largest jobs, which are shuffled by the seed. So all draws have nearly
// the same GPU-hours and the same number of gangs, of which most of a day's cost is made, and
// differ less than plain random samples: fewer jobs tell as much. Draws of one pool have no job
// in common as long as the pool lasts; later draws are dealt from another shuffle.
func drawStratified[J any](pool []J, count, draw int, seed uint64, jobOf func(J) protocol.Job) ([]J, error) {
	strata := min(len(pool)/max(count, 1), maxStrata)
	if strata < 2 {
		return nil, fmt.Errorf("%w: draw %d of %d jobs wants twice as many to draw from, and there are %d: use fewer jobs or a longer trace", ErrTooFewJobs, draw, count, len(pool))
	}
	sorted := slices.Clone(pool[:strata*count])
	slices.SortFunc(sorted, func(x, y J) int { // the largest jobs first
		a, b := jobOf(x), jobOf(y)
		return cmp.Or(cmp.Compare(b.TotalGPUMilli(), a.TotalGPUMilli()), cmp.Compare(b.Run, a.Run), cmp.Compare(a.ID, b.ID))
	})
	deal, place := (draw-1)/strata, (draw-1)%strata
	order := generate.SeededRand(seed, "draw", fmt.Sprint(deal)).Perm(strata) // draws, by what they have so far
	held := make([]int64, strata)                                             // in thousandths of a GPU times milliseconds
	out := make([]J, 0, count)
	for i := range count {
		stratum := sorted[i*strata : (i+1)*strata]
		slices.SortStableFunc(stratum, func(x, y J) int { return cmp.Compare(gpuTime(jobOf(y)), gpuTime(jobOf(x))) })
		slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(held[x], held[y]) })
		for k, to := range order {
			held[to] += gpuTime(jobOf(stratum[k]))
			if to == place {
				out = append(out, stratum[k])
			}
		}
	}
	return out, nil
}

// gpuTime returns what a job asks for, in thousandths of a GPU times milliseconds: an integer, so
// that sums do not depend on their order.
func gpuTime(j protocol.Job) int64 { return int64(j.TotalGPUMilli()) * j.Run.Milliseconds() }
