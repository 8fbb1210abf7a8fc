package scenarios

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Limits beyond which the figures of a replay say little about its policies.
const (
	maxMeaningfulLoad = 1.0  // GPU-hours asked for over GPU-hours available
	maxLateShare      = 0.10 // of jobs that are late or never run, under the best policy
	minEffectiveJobs  = 30.0 // by GPU-hours: below, a dozen jobs decide every sum
	minArrivalShare   = 0.5  // of the period, from the first arrival to the last
)

// MisleadingFigures returns why figures of a replay mean less than they seem to, as sentences
// that say what to change; nil if nothing is wrong. All are the results of the scenario's
// policies; without results only the scenario itself is checked.
func MisleadingFigures(s spec.Scenario, all []history.Totals) (warnings []string) {
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	if load := s.GPULoad(); load > maxMeaningfulLoad {
		warn("the jobs ask for %.0f %% of the GPU-hours that the fleets have from start to end: they queue under every policy; use fewer jobs or more nodes", 100*load)
	}
	if first, n := jobsThatFitNowhere(s); n > 0 {
		warn("%d jobs, such as %s, fit no site, even an empty one, and are refused under every policy: use larger nodes, more of them or sites with their GPU models, or let them take any model with --jobs-columns models=", n, first)
	}
	if n, ok := effectiveJobs(s); ok && n < minEffectiveJobs {
		warn("%d jobs are worth %.0f by GPU-hours: a few large jobs decide energy, carbon and cost, so differences between policies are mostly chance; use more jobs", len(s.Jobs), n)
	}
	if span, period := arrivalSpan(s), s.End.Sub(s.Start); len(s.Jobs) > 1 && span.Hours() < minArrivalShare*period.Hours() {
		warn("all jobs arrive within %.1f h of a period of %.0f h, so waiting and lateness are those of a burst; take more jobs, and let --max-jobs thin them", span.Hours(), period.Hours())
	}
	least, n := leastLateShare(all)
	if n > 0 && least > maxLateShare {
		warn("at least %.0f %% of the jobs are late or never run under each of %d policies: lateness hides what the policies differ in; use fewer jobs or more nodes", 100*least, n)
	}
	return warnings
}

// jobsThatFitNowhere returns how many jobs no node could run, and the first of them.
func jobsThatFitNowhere(s spec.Scenario) (first protocol.JobID, n int) {
	for _, j := range s.Jobs {
		if s.SomeSiteFits(j) {
			continue
		}
		if n++; n == 1 {
			first = j.ID
		}
	}
	return first, n
}

// effectiveJobs returns Kish's effective number of jobs by GPU-hours (L. Kish 1965): the number
// of equal jobs whose sums vary by chance as much. ok is false if no job has GPUs.
func effectiveJobs(s spec.Scenario) (n float64, ok bool) {
	var sum, squares float64
	for _, j := range s.Jobs {
		w := float64(j.TotalGPUMilli()) / 1000 * j.Run.Hours()
		sum += w
		squares += float64(w * w)
	}
	if squares == 0 {
		return 0, false
	}
	return sum * sum / squares, true
}

// arrivalSpan returns the time from the first arrival to the last. Jobs are in order of arrival.
func arrivalSpan(s spec.Scenario) time.Duration {
	if len(s.Jobs) == 0 {
		return 0
	}
	return s.Jobs[len(s.Jobs)-1].Arrival.Sub(s.Jobs[0].Arrival)
}

// leastLateShare returns the smallest share of late and unplaced jobs of n results with jobs.
func leastLateShare(all []history.Totals) (least float64, n int) {
	for _, t := range all {
		if t.Jobs == 0 {
			continue
		}
		share := float64(t.Late+t.Unplaced) / float64(t.Jobs)
		if n++; n == 1 || share < least {
			least = share
		}
	}
	return least, n
}
