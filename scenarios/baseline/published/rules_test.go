package published

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// day has a dear morning, a cheap noon and a middling night; a tick is a
// quarter of an hour.
var day = NewCurve([]float64{8, 8, 3, 2, 4, 6, 6, 6}, 4)

func TestEachRuleOnADayThatFitsOnPaper(t *testing.T) {
	tests := []struct {
		name      string
		got, want int
	}{
		{"the lowest slot is the start of the least hour", LowestSlot(day, 0, 20), 12},
		{"a wait too short for it takes the least within reach", LowestSlot(day, 0, 9), 8},
		{"equal hours: the first, which is now", LowestSlot(day, 21, 8), 21},
		{"two hours fit best from the third hour on", LowestWindow(day, 0, 24, 8, 4), 8},
		{"starts count from now and not from the full hour", LowestWindow(day, 2, 24, 8, 4), 10},
		{"a run past the end of the curve is not considered", LowestWindow(day, 24, 24, 8, 4), 24},
		// Saved for an hour's run at 2: (8-3)*4/(8+4) = 1.67, at 3: (8-2)*4/(12+4) = 1.5.
		{"carbon-time stops at the third hour, the least is one later", CarbonTime(day, 0, 24, 4, 4), 8},
		{"carbon-time starts now when nothing is saved", CarbonTime(day, 12, 12, 4, 4), 12},
	}
	for _, tc := range tests {
		if tc.got != tc.want {
			t.Errorf("%s: got tick %d; want %d", tc.name, tc.got, tc.want)
		}
	}
	if got, want := RunBelowThreshold(day, 0, 12, 6, 4), []TickSpan{{8, 14}}; !slices.Equal(got, want) {
		t.Errorf("Below a threshold of 4: %v; want %v", got, want)
	}
	if got, want := RunBelowThreshold(day, 0, 5, 6, 4), []TickSpan{{5, 11}}; !slices.Equal(got, want) {
		t.Errorf("Below, with patience for 5 ticks: %v; want %v", got, want)
	}
	if got, want := CheapestSegments(day, 0, 24, 8), []TickSpan{{8, 16}}; !slices.Equal(got, want) {
		t.Errorf("Cheapest 8 ticks: %v; want %v", got, want)
	}
	if got, want := day.QuantileThreshold(0, 32, 0.3), 4.0; got != want { // rank 9.3 of 32: 2 2 2 2 3 3 3 3 4 4
		t.Errorf("QuantileThreshold(0.3) = %v; want %v", got, want)
	}
}

// A sum by hand, tick by tick, is what prefix sums must agree with.
func TestRulesAgreeWithAWalkThroughAllTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 9), 2, 12).Draw(t, "values")
		step := rapid.IntRange(1, 5).Draw(t, "step")
		c := NewCurve(values, step)
		now := rapid.IntRange(0, c.EndTick()-1).Draw(t, "now")
		length := rapid.IntRange(1, c.EndTick()-now).Draw(t, "length")
		wait := rapid.IntRange(0, c.EndTick()-now-length).Draw(t, "wait")
		at := func(k int) float64 { return values[k/step] }
		sum := func(runs []TickSpan) (s float64, n int) {
			for _, r := range runs {
				for k := r.From; k < r.To; k++ {
					s += at(k)
					n++
				}
			}
			return s, n
		}
		var ticks []float64
		for k := now; k < now+wait+length; k++ {
			ticks = append(ticks, at(k))
		}
		slices.Sort(ticks)
		least := 0.0
		for _, v := range ticks[:length] {
			least += v
		}
		free, n := sum(CheapestSegments(c, now, wait, length))
		if n != length || math.Abs(free-least) > 1e-9 {
			t.Errorf("Cheapest runs %d ticks for %v; want %d for %v", n, free, length, least)
		}
		whole, _ := sum([]TickSpan{{LowestWindow(c, now, wait, length, 1), LowestWindow(c, now, wait, length, 1) + length}})
		for s := now; s <= now+wait; s++ {
			if v, _ := sum([]TickSpan{{s, s + length}}); v < whole-1e-9 {
				t.Errorf("LowestWindow costs %v; a start at %d only %v", whole, s, v)
			}
		}
		if free > whole+1e-9 {
			t.Errorf("sleeping costs %v, more than running through, %v", free, whole)
		}
		if _, n := sum(RunBelowThreshold(c, now, wait, length, rapid.Float64Range(0, 9).Draw(t, "threshold"))); n != length {
			t.Errorf("Below runs %d ticks; want %d", n, length)
		}
	})
}
