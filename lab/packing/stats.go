package packing

import (
	"math"
	"strconv"
)

// sum adds up points for a mean.
type sum struct {
	Point
	n float64
}

func (s *sum) add(p Point) {
	s.Alloc += p.Alloc
	s.Frag += p.Frag
	s.Ratio += p.Ratio
	s.n++
}

// mean is nil if nothing was added.
func (s *sum) mean() *Point {
	if s.n == 0 {
		return nil
	}
	return &Point{s.Alloc / s.n, s.Frag / s.n, s.Ratio / s.n}
}

// summary is the mean of runs, and their sample standard deviation. The mean has
// a mean curve.
func summary(runs []Run) (mean, sd Run) {
	stat := func(of func(*Run) *float64) {
		m, s := meanSD(len(runs), func(i int) float64 { return *of(&runs[i]) })
		*of(&mean), *of(&sd) = m, s
	}
	stat(func(r *Run) *float64 { return &r.FinalAlloc })
	stat(func(r *Run) *float64 { return &r.Failed })
	stat(func(r *Run) *float64 { return &r.Decisions })
	stat(func(r *Run) *float64 { return &r.NsPerChoice })
	mean.Load, sd.Load = map[string]Point{}, map[string]Point{}
	for _, load := range loads {
		key := strconv.Itoa(load)
		var points []Point
		for _, r := range runs {
			if p, ok := r.Load[key]; ok {
				points = append(points, p)
			}
		}
		if len(points) == 0 {
			continue
		}
		var m, s Point
		for _, metric := range metrics {
			*metric.of(&m), *metric.of(&s) = meanSD(len(points), func(i int) float64 { return *metric.of(&points[i]) })
		}
		mean.Load[key], sd.Load[key] = m, s
	}
	mean.Curve = meanCurve(runs)
	return mean, sd
}

// meanCurve is the mean at each percent over the runs that have a point there.
func meanCurve(runs []Run) []*Point {
	longest := 0
	for _, r := range runs {
		longest = max(longest, len(r.Curve))
	}
	out := make([]*Point, longest)
	for k := range out {
		var s sum
		for _, r := range runs {
			if k < len(r.Curve) && r.Curve[k] != nil {
				s.add(*r.Curve[k])
			}
		}
		out[k] = s.mean()
	}
	return out
}

// meanSD rounds to six decimals, so that sums of decimals stay readable.
func meanSD(n int, at func(int) float64) (mean, sd float64) {
	for i := range n {
		mean += at(i)
	}
	mean /= float64(n)
	for i := range n {
		d := at(i) - mean
		sd += float64(d * d)
	}
	if n > 1 {
		sd = math.Sqrt(sd / float64(n-1))
	}
	return round6(mean), round6(sd)
}

func round6(x float64) float64 { return math.Round(x*1e6) / 1e6 }
