package packing

import (
	"math"
	"strconv"

	"github.com/gridbid/gridbid/internal/stats"
)

// pointSum accumulates points for a mean.
type pointSum struct {
	LoadPoint
	n float64
}

// addPoint adds one point.
func (s *pointSum) addPoint(p LoadPoint) {
	s.Alloc += p.Alloc
	s.Frag += p.Frag
	s.Ratio += p.Ratio
	s.n++
}

// meanPoint returns nil if no point was added.
func (s *pointSum) meanPoint() *LoadPoint {
	if s.n == 0 {
		return nil
	}
	return &LoadPoint{s.Alloc / s.n, s.Frag / s.n, s.Ratio / s.n}
}

// meanAndDeviation returns the mean of runs and their sample standard deviation. Only the mean
// has a curve.
func meanAndDeviation(runs []ReplayResult) (mean, sd ReplayResult) {
	stat := func(of func(*ReplayResult) *float64) {
		m, s := meanSD(len(runs), func(i int) float64 { return *of(&runs[i]) })
		*of(&mean), *of(&sd) = m, s
	}
	stat(func(r *ReplayResult) *float64 { return &r.FinalAlloc })
	stat(func(r *ReplayResult) *float64 { return &r.Failed })
	stat(func(r *ReplayResult) *float64 { return &r.Decisions })
	stat(func(r *ReplayResult) *float64 { return &r.NsPerChoice })
	mean.Load, sd.Load = map[string]LoadPoint{}, map[string]LoadPoint{}
	// A load that some runs did not reach has the mean of those that did.
	for _, load := range reportedLoads {
		key := strconv.Itoa(load)
		var points []LoadPoint
		for _, r := range runs {
			if p, ok := r.Load[key]; ok {
				points = append(points, p)
			}
		}
		if len(points) == 0 {
			continue
		}
		var m, s LoadPoint
		for _, metric := range summaryMetrics {
			*metric.of(&m), *metric.of(&s) = meanSD(len(points), func(i int) float64 { return *metric.of(&points[i]) })
		}
		mean.Load[key], sd.Load[key] = m, s
	}
	mean.Curve = meanCurve(runs)
	return mean, sd
}

// meanCurve returns, for each per cent, the mean over the runs that have a point there.
func meanCurve(runs []ReplayResult) []*LoadPoint {
	longest := 0
	for _, r := range runs {
		longest = max(longest, len(r.Curve))
	}
	out := make([]*LoadPoint, longest)
	for k := range out {
		var s pointSum
		for _, r := range runs {
			if k < len(r.Curve) && r.Curve[k] != nil {
				s.addPoint(*r.Curve[k])
			}
		}
		out[k] = s.meanPoint()
	}
	return out
}

// meanSD returns mean and sample standard deviation, rounded to six decimals for
// readable output.
func meanSD(n int, at func(int) float64) (mean, sd float64) {
	values := make([]float64, n)
	for i := range values {
		values[i] = at(i)
	}
	mean, sd = stats.MeanAndDeviation(values)
	return roundToMicros(mean), roundToMicros(sd)
}

// roundToMicros rounds to six decimals.
func roundToMicros(x float64) float64 { return math.Round(x*1e6) / 1e6 }
