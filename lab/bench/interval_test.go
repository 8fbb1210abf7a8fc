package bench

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// Of intervals of 95 % so many hold the truth, whatever the values look like: also where a few
// jobs decide a run, and where there are few values.
func TestIntervalsHoldTheTruth(t *testing.T) {
	kinds := []struct {
		what string
		draw func(*rand.Rand) float64
	}{
		{"normal", (*rand.Rand).NormFloat64},
		{"lottery", func(d *rand.Rand) float64 { // one run in twenty is off by up to ten times the usual
			z := d.NormFloat64()
			if d.Float64() < 0.05 {
				z += 20*d.Float64() - 10
			}
			return z
		}},
	}
	for k, kind := range kinds {
		for _, n := range []int{minUnits, 10, 40} {
			// Each case has its own seed, so that its count is the same in every run.
			d := rand.New(rand.NewPCG(uint64(k), uint64(n)))
			const truth, runs = 3, 1000
			held, heldByPercentiles := 0, 0
			for range runs {
				values := make([]float64, n)
				for i := range values {
					values[i] = truth + kind.draw(d)
				}
				if x := bootstrapInterval(values); x.Low <= truth && truth <= x.High {
					held++
				}
				if low, high := percentiles(values, d); low <= truth && truth <= high {
					heldByPercentiles++
				}
			}
			t.Logf("%s, %d values: %d of %d hold the truth; by plain percentiles %d", kind.what, n, held, runs, heldByPercentiles)
			if held < runs*92/100 || held > runs*985/1000 {
				t.Errorf("%s, %d values: %d of %d intervals of 95 %% hold the truth", kind.what, n, held, runs)
			}
			if n == minUnits && heldByPercentiles > runs*92/100 {
				t.Errorf("%s: plain percentiles of %d values hold the truth in %d of %d; then they would do", kind.what, n, heldByPercentiles, runs)
			}
		}
	}
}

// Where one day in ten has spikes and is saved nine tenths, the others a quarter, no more than one in forty intervals
// of the totals ends below the truth, so that what it says is saved is saved. What is saved evenly has no width,
// however dear one day is.
func TestIntervalsOfTotalsDoNotSayTooMuchIsSaved(t *testing.T) {
	const n, runs, truth = 10, 300, (0.9*75+0.1*100)/(0.9*100+0.1*1000) - 1
	d := rand.New(rand.NewPCG(3, n))
	days, x, y := make([]string, n), make([]float64, n), make([]float64, n)
	tooMuch := 0
	for range runs {
		for i := range days {
			days[i] = strconv.Itoa(i)
			x[i], y[i] = 75+10*d.NormFloat64(), 100
			if d.IntN(n) == 0 {
				x[i], y[i] = 100, 1000
			}
		}
		if TotalInterval(days, x, y).High < truth {
			tooMuch++
		}
	}
	if tooMuch > runs/40 {
		t.Errorf("%d of %d intervals end below the truth", tooMuch, runs)
	}
	for i := range x {
		x[i] = 0.6 * y[i]
	}
	if in := TotalInterval(days, x, y); math.Abs(in.Low+0.4) > 1e-9 || math.Abs(in.High+0.4) > 1e-9 || in.N != n {
		t.Errorf("all days at six tenths: %+v", in)
	}
	if in := TotalInterval(days, y, make([]float64, n)); in != (Interval{}) {
		t.Errorf("against nothing: %+v", in)
	}
}

// percentiles is the plain bootstrap, for comparison.
func percentiles(values []float64, d *rand.Rand) (low, high float64) {
	const n = 399
	means := make([]float64, n)
	for i := range means {
		for range values {
			means[i] += values[d.IntN(len(values))] / float64(len(values))
		}
	}
	slices.Sort(means)
	return means[n/40], means[n-1-n/40]
}

func TestTheQuantileOfStudent(t *testing.T) {
	for free, want := range map[float64]float64{5: 2.5706, 9: 2.2622, 19: 2.0930, 39: 2.0227, 1000: 1.9623} {
		if got := studentQuantile(free); math.Abs(got-want) > 0.003 {
			t.Errorf("%v degrees of freedom: %.4f; want %.4f", free, got, want)
		}
	}
	if few, many := expandedLevel(minUnits), expandedLevel(10_000); few < 0.99 || few >= 1 || math.Abs(many-0.95) > 0.0005 {
		t.Errorf("levels: %.4f of %d values, %.4f of many", few, minUnits, many)
	}
}

func TestAnIntervalTellsWhatIsThere(t *testing.T) {
	wide := []float64{-4, 5, -3, 6, -5, 4, -2, 3, -6, 2}
	if x := bootstrapInterval(wide); x != bootstrapInterval(wide) || !x.WithinChance() || x.Mean != 0 || x.High != -x.Low || x.High < 2 || x.High > 5 {
		t.Errorf("of %v: %+v", wide, x)
	}
	near := make([]float64, len(wide))
	for i, v := range wide {
		near[i] = 3 + v/10
	}
	if x := bootstrapInterval(near); x.WithinChance() || math.Abs(x.Mean-3) > 1e-9 || x.Low < 2.5 || x.High > 3.5 {
		t.Errorf("of values about 3: %+v", x)
	}
	if x := bootstrapInterval(near[:minUnits-1]); x.Known() || !x.WithinChance() || x.Low != 0 || x.High != 0 {
		t.Errorf("of %d values: %+v; want a mean and nothing more", minUnits-1, x)
	}
	if x := bootstrapInterval([]float64{2, 2, 2, 2, 2, 2}); x.Low != 2 || x.High != 2 || x.WithinChance() {
		t.Errorf("of equal values: %+v", x)
	}
	if x := bootstrapInterval(nil); x != (Interval{}) || !x.WithinChance() {
		t.Errorf("of nothing: %+v", x)
	}
}
