package protocol

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What waiting and carbon cost is exact at every price that a scenario may set: a
// million dollars at most, for a GPU-hour or a tonne.
func TestDearWaitingAndCarbonCostWhatTheyCost(t *testing.T) {
	exact := func(a, b, per int64) Microdollars {
		x := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		return Microdollars(x.Quo(x, big.NewInt(per)).Int64())
	}
	if got := GPUHours(16_000, 1500*time.Hour, 1_000_000_000_000); got != 24_000_000_000_000_000 {
		t.Errorf("16 GPUs for 1,500 hours at a million dollars cost %d; want 24 thousand million dollars", got)
	}
	if got := (Weights{Carbon: 1_000_000_000}).CarbonCost(1_000_000_000_000); got != 1_000_000_000_000_000 {
		t.Errorf("a thousand tonnes at a million dollars cost %d", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		g := Milli(rapid.Int64Range(-16_000, 16_000).Draw(t, "gpu"))
		d := time.Duration(rapid.Int64Range(0, 1500*3600).Draw(t, "seconds")) * time.Second
		rate := Microdollars(rapid.Int64Range(0, 1_000_000_000_000).Draw(t, "rate"))
		if got, want := GPUHours(g, d, rate), exact(int64(g)*int64(d/time.Second), int64(rate), 3_600_000); got != want {
			t.Errorf("GPUHours(%d, %v, %d) = %d; want %d", g, d, rate, got, want)
		}
		w := Weights{Carbon: rate / 1000}
		c := Milligrams(rapid.Int64Range(-1_000_000_000_000, 1_000_000_000_000).Draw(t, "carbon"))
		if got, want := w.CarbonCost(c), exact(int64(c), int64(w.Carbon), 1_000_000); got != want {
			t.Errorf("%d milligrams at %d per kilogram cost %d; want %d", c, w.Carbon, got, want)
		}
	})
}
