package conformance

import (
	"slices"

	"github.com/gridbid/gridbid/scenarios/baseline/published"
)

// ElasticScalingSaving returns what jobs save of the carbon of starting at once that have a
// window of hours for the work which one worker does in a day: with one worker, in
// the best hours, and with as many as pay, by CarbonScaler's rule. Jobs start every
// 37 hours. Savings of jobs that scale alike are taken together, and their mean is
// returned.
func ElasticScalingSaving(intensity []float64, jobs []published.ScalingCurve, window int) (waiting, elastic float64) {
	const day, every = 24, 37
	for _, s := range jobs {
		atOnce, waited, scaled := 0.0, 0.0, 0.0
		for at := 0; at+window <= len(intensity); at += every {
			hours := intensity[at : at+window]
			scaled += s.CarbonOf(hours, published.ElasticSchedule(hours, day*s.Work[1], s))
			best := slices.Sorted(slices.Values(hours))
			for i := range day {
				atOnce += float64(hours[i] * s.Energy[1])
				waited += float64(best[i] * s.Energy[1])
			}
		}
		waiting += 1 - waited/atOnce
		elastic += 1 - scaled/atOnce
	}
	return waiting / float64(len(jobs)), elastic / float64(len(jobs))
}
