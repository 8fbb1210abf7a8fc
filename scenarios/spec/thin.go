package spec

import (
	"cmp"

	"github.com/gridbid/gridbid/scenarios/generate"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// limitJobs applies a limit on jobs from the command line. Generated jobs are spread over the
// whole period whatever their number is. Of a trace, a limit below the scenario's own thins the
// scenario's jobs; a limit above takes more consecutive jobs.
func (j *jobsSpec) limitJobs(most int) {
	switch own := cmp.Or(j.Max, defaultMax); {
	case most == 0:
	case j.Count > 0:
		j.Count = min(j.Count, most)
	case j.draw > 0 || most >= own: // a draw spreads its jobs by itself
		j.Max = most
	default:
		j.thinTo = most
	}
}

// thinTraceJobs keeps n of the records, evenly spaced in their order of submission, so that few
// jobs arrive over the same hours as all of them: the first n of a trace may all arrive within
// one hour. The seed chooses the first one; the same seed keeps the same records.
func thinTraceJobs(all []trace.TraceJob, n int, seed uint64) []trace.TraceJob {
	if n <= 0 || n >= len(all) {
		return all
	}
	offset := generate.SeededRand(seed, "thin").IntN(len(all))
	kept := make([]trace.TraceJob, n)
	for i := range kept {
		// offset < len(all), so the largest index is below len(all).
		kept[i] = all[(i*len(all)+offset)/n]
	}
	return kept
}
