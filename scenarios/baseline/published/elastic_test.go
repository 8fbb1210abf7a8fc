package published

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAnElasticJobOnThreeSlotsThatFitOnPaper(t *testing.T) {
	s := ScalingCurve{Work: []float64{0, 1, 1.7}, Energy: []float64{0, 1, 2}}
	intensity := []float64{10, 100, 20}
	for _, c := range []struct {
		work   float64
		want   []WorkerShare
		carbon float64
	}{
		// Carbon for a unit of work: 10 and 14.3 in the first slot, 20 and 28.6 in the
		// third, 100 and 142.9 in the second.
		{1, []WorkerShare{{1, 1}, {0, 0}, {0, 0}}, 10},
		{1.7, []WorkerShare{{2, 1}, {0, 0}, {0, 0}}, 20},
		{2, []WorkerShare{{2, 1}, {0, 0}, {1, 0.3}}, 26}, // one worker in the two best slots: 30; at once: 110
		{3.4, []WorkerShare{{2, 1}, {0, 0}, {2, 1}}, 60},
		{4, []WorkerShare{{2, 1}, {1, 0.6}, {2, 1}}, 120},
		{5.2, nil, 0},
	} {
		got := ElasticSchedule(intensity, c.work, s)
		if !slices.EqualFunc(got, c.want, func(x, y WorkerShare) bool { return x.Workers == y.Workers && math.Abs(x.Part-y.Part) < 1e-9 }) {
			t.Errorf("work %g: %v, want %v", c.work, got, c.want)
		}
		if v := s.CarbonOf(intensity, got); math.Abs(v-c.carbon) > 1e-9 {
			t.Errorf("work %g: carbon %g, want %g", c.work, v, c.carbon)
		}
	}
}

// Against all ways to give each slot up to three workers.
func TestNoOtherWayToDoWhatAnElasticJobDoesTakesLessCarbon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		intensity := rapid.SliceOfN(rapid.Float64Range(1, 9), 1, 5).Draw(t, "intensity")
		s := ScalingCurve{Work: []float64{0}, Energy: []float64{0}}
		work, energy := 1.0, 1.0
		for i := range 3 {
			s.Work = append(s.Work, s.Work[i]+work)
			s.Energy = append(s.Energy, s.Energy[i]+energy)
			work *= rapid.Float64Range(0.3, 1).Draw(t, "less")
			energy *= rapid.Float64Range(1, 2).Draw(t, "more")
		}
		asked := rapid.Float64Range(0.1, s.Work[3]*float64(len(intensity))).Draw(t, "work")
		shares := ElasticSchedule(intensity, asked, s)
		done, whole := 0.0, 0.0
		for i := range shares {
			done += s.Work[shares[i].Workers] * shares[i].Part
			shares[i].Part = 1
			whole += s.Work[shares[i].Workers]
		}
		if math.Abs(done-asked) > 1e-7 {
			t.Fatalf("%v does %g, asked for %g", shares, done, asked)
		}
		carbon := s.CarbonOf(intensity, shares)
		try := make([]WorkerShare, len(intensity))
		var next func(i int, sum float64)
		next = func(i int, sum float64) {
			if i < len(try) {
				for n := range s.Work {
					try[i] = WorkerShare{n, 1}
					next(i+1, sum+s.Work[n])
				}
				return
			}
			if v := s.CarbonOf(intensity, try); sum >= whole-1e-9 && v < carbon-1e-6 {
				t.Fatalf("%v does %g for %g; %v does as much for %g", shares, whole, carbon, try, v)
			}
		}
		next(0, 0)
	})
}
