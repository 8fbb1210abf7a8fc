package forecast

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// start is the hour in which these tracks begin.
var start = hourOf(tuesday)

func trackOf(values ...int64) *track {
	t := &track{}
	for i, v := range values {
		t.putValue(start+hour(i), v, false)
	}
	return t
}

// Noise, but in each fifth hour exactly what Blend forecast and some of the clues:
// those are the hours that are learnt from.
func TestALinearProcessIsLearnt(t *testing.T) {
	const hours, unit = 40 * day, 10_000.0
	want := features{0.4, -0.3, 0.5, 0.2, -0.2}
	r := rand.New(rand.NewPCG(1, 2))
	tr := trackOf(0)
	for h := start + 1; h < start+hours; h++ {
		v := int64(1_000_000 + unit*r.NormFloat64())
		if gone := h - start; gone > 2*day && gone%learningStride == (hours-1)%learningStride {
			x, blend := (&regressionFit{track: tr, scale: 1}).featuresAt(h, h-1)
			v = blend
			for i := range x {
				v += int64(want[i] * x[i])
			}
		}
		tr.putValue(h, v, false)
	}
	for i, w := range tr.newRegressionFit(Regression, tr.endHour()-1, unit).fitWeights(1, 2) {
		if math.Abs(w-want[i]) > 0.1 {
			t.Errorf("weight %d is %.3f; want about %.3f", i, w, want[i])
		}
	}
}

func TestAWeekIsLearnt(t *testing.T) {
	values := make([]int64, 36*day)
	for i := range values {
		values[i] = 100_000 + 10_000*int64((i/day%7)*(i/day%7)%5) + 1000*int64(i%day)
	}
	off := func(rule Rule) (sum int64) {
		tr := trackOf(values[:35*day]...)
		got, _ := tr.forecastHours(rule, tr.endHour(), day, carbonLimits)
		for i, v := range got {
			sum += int64(absValue(v - values[35*day+i]))
		}
		return sum / day
	}
	if blend, learnt := off(Blend), off(Regression); learnt > blend/2 {
		t.Errorf("days that repeat each week: off by %d in the mean, and blend by %d", learnt, blend)
	}
}

func TestWhatComesLaterTeachesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Int64Range(-100, 100)
		past := rapid.SliceOfN(value, minLearningHours, 12*day).Draw(t, "past")
		here, there := trackOf(past...), trackOf(past...)
		anchor := here.endHour() - 1
		for h := anchor + 1; h < anchor+3*day; h++ {
			here.putValue(h, value.Draw(t, "here"), false)
			there.putValue(h, value.Draw(t, "there"), false)
		}
		a, b := here.newRegressionFit(Regression, anchor, here.meanDailyChange(anchor)), there.newRegressionFit(Regression, anchor, there.meanDailyChange(anchor))
		for h := anchor; h < anchor+100; h++ {
			if a.correctionAt(h) != b.correctionAt(h) || here.typicalValue(Regression, h, anchor) != there.typicalValue(Regression, h, anchor) {
				t.Fatalf("%d hours on: %d and %d", h-anchor, a.correctionAt(h), b.correctionAt(h))
			}
		}
	})
}

// Histories long enough to learn from, of anything that is believed.
func TestWildHistoriesGiveForecastsWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Just(int64(50_000)), rapid.Int64Range(-200_000, 200_000), rapid.SampledFrom([]int64{priceLimits.least, priceLimits.most}))
		if rapid.Bool().Draw(t, "constant") {
			value = rapid.Just(value.Draw(t, "value"))
		}
		tr, gaps := &track{}, rapid.IntRange(0, 3).Draw(t, "gaps")
		for i, v := range rapid.SliceOfN(value, minLearningHours, 40*day).Draw(t, "told") {
			if gaps == 0 || (i+i/day)%(gaps+1) != 0 {
				tr.putValue(start+hour(i), v, false)
			}
		}
		h := tr.endHour() + hour(rapid.IntRange(-60, 60).Draw(t, "now"))
		for _, bound := range []limits{priceLimits, carbonLimits, pueLimits} {
			values, off := tr.forecastHours(Regression, h, 120, bound)
			again, _ := tr.forecastHours(Regression, h, 120, bound)
			for i, v := range values {
				if _, told := tr.factAt(h + hour(i)); off[i] < 0 || !told && v != bound.clampValue(v) {
					t.Fatalf("hour %d is %d±%d; bounds %+v", i, v, off[i], bound)
				}
			}
			if len(values) != 120 || !slices.Equal(values, again) {
				t.Fatalf("%d values, the same again: %v", len(values), slices.Equal(values, again))
			}
		}
	})
}

func TestUnderThreeDaysItIsBlend(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var values []int64
	for len(values) < minLearningHours+day {
		values = append(values, 100_000+r.Int64N(50_000))
		blend, learnt := New(Config{Carbon: Blend}), New(Config{Carbon: Regression})
		now := after(float64(len(values)))
		tell(blend, now, protocol.GridCarbon, values...)
		tell(learnt, now, protocol.GridCarbon, values...)
		same := slices.Equal(blend.ForecastFrom(now, 48).Carbon, learnt.ForecastFrom(now, 48).Carbon)
		if want := len(values) < minLearningHours; same != want {
			t.Errorf("after %d hours it is as blend: %v; want %v", len(values), same, want)
		}
	}
}

func BenchmarkOutlookOfARegression(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	tr := &track{}
	for h := range hour(60 * day) {
		tr.putValue(h, r.Int64N(500_000), false)
	}
	for b.Loop() {
		tr.forecastHours(Regression, tr.endHour()-1, 96, carbonLimits)
	}
}
