package stats

import (
	"math"
	"testing"
)

func TestMeanAndDeviation(t *testing.T) {
	for _, tc := range []struct {
		values   []float64
		mean, sd float64
	}{
		{nil, 0, 0},
		{[]float64{3}, 3, 0},
		{[]float64{2, 4, 4, 4, 5, 5, 7, 9}, 5, math.Sqrt(32.0 / 7)},
	} {
		mean, sd := MeanAndDeviation(tc.values)
		if mean != tc.mean || math.Abs(sd-tc.sd) > 1e-12 {
			t.Errorf("of %v: mean %g, deviation %g; want %g, %g", tc.values, mean, sd, tc.mean, tc.sd)
		}
	}
}
