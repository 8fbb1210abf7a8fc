package conformance

import (
	"slices"

	"github.com/gridbid/gridbid/scenarios/baseline/published"
)

// ElasticScalingSaving returns the carbon savings of jobs against starting at once. A job has a
// window of hours for the work that one worker does in a day. waiting is the saving
// with one worker in the best hours, elastic with CarbonScaler's rule. Jobs start
// every 37 hours. The savings of each scaling curve are added up, and the mean over
// the curves is returned.
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
