package bench

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gridbid/gridbid/internal/stats"
)

// An Interval is the mean of paired differences, with the interval that holds the true mean with
// a confidence of 95 %. Where N is below minUnits there is no interval: Low and High are 0.
type Interval struct {
	N    int     `json:"n"` // units: days, or pairs of day and draw (see unitsOf)
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

const (
	minUnits     = 6    // units without which nothing is said of chance
	resamples    = 1999 // of a bootstrap
	intervalSeed = 254  // the same figures give the same interval
)

// Known reports whether there are enough units for an interval.
func (i Interval) Known() bool { return i.N >= minUnits }

// WithinChance reports whether the interval holds 0, so that nothing may be called better. Where
// there is no interval everything is within chance.
func (i Interval) WithinChance() bool { return !i.Known() || i.Low <= 0 && 0 <= i.High }

// bootstrapInterval returns the mean of values and its 95 % interval by the expanded percentile
// bootstrap: resample the values, and take a percentile of how far the means of resamples lie
// from the mean. For few values the plain percentile bootstrap is too narrow (it holds the truth
// in 85 % of cases for six, TestIntervalsHoldTheTruth), since a resample is less spread than what
// it comes from and the spread itself is estimated. So the percentile is the one at which the
// interval of normal values is Student's (Hesterberg, The American Statistician 69, 2015). The
// interval is symmetric, as the difference of two runs by chance is.
func bootstrapInterval(values []float64) Interval {
	out := Interval{N: len(values)}
	out.Mean, _ = stats.MeanAndDeviation(values)
	if !out.Known() {
		return out
	}
	d := rand.New(rand.NewPCG(intervalSeed, uint64(len(values))))
	distances := make([]float64, resamples)
	for i := range distances {
		sum := 0.0
		for range values {
			sum += values[d.IntN(len(values))]
		}
		distances[i] = math.Abs(sum/float64(len(values)) - out.Mean)
	}
	slices.Sort(distances)
	reach := distances[int(math.Ceil(expandedLevel(len(values))*resamples))-1]
	out.Low, out.High = out.Mean-reach, out.Mean+reach
	return out
}

// expandedLevel returns the percentile, as a fraction, that makes a bootstrap of n values as wide
// as Student's interval of 95 % if they are normal: above 0.95, and 0.95 for many values.
func expandedLevel(n int) float64 {
	free := float64(n - 1)
	return math.Erf(studentQuantile(free) * math.Sqrt(float64(n)/free) / math.Sqrt2)
}

// studentQuantile returns the 97.5th percentile of Student's distribution, by the expansion of
// Cornish and Fisher: within 0.003 of it from five degrees of freedom on.
func studentQuantile(free float64) float64 {
	const z = 1.959963984540054 // of the normal distribution
	const z3, z5, z7 = z * z * z, z * z * z * z * z, z * z * z * z * z * z * z
	return z + float64((z3+z)/(4*free)) + float64((5*z5+16*z3+3*z)/(96*free*free)) + float64((3*z7+19*z5+17*z3-15*z)/(384*free*free*free))
}
