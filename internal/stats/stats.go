// Package stats has the statistics of a sample that several measurements print.
package stats

import "math"

// MeanAndDeviation returns the mean of values and their sample standard deviation, which is 0 of fewer than two
// values; of none both are 0.
func MeanAndDeviation(values []float64) (mean, deviation float64) {
	n := float64(len(values))
	if n == 0 {
		return 0, 0
	}
	for _, v := range values {
		mean += v
	}
	mean /= n
	if n < 2 {
		return mean, 0
	}
	squares := 0.0
	for _, v := range values {
		squares += float64((v - mean) * (v - mean))
	}
	return mean, math.Sqrt(squares / (n - 1))
}
