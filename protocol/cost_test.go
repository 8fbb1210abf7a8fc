package protocol

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What waiting and carbon cost is exact at every price that a scenario may set: a
// million dollars at most, for a GPU-hour or a tonne.
func TestCostsAreExactAtHighPrices(t *testing.T) {
	exact := func(a, b, per int64) Microdollars {
		x := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		return Microdollars(x.Quo(x, big.NewInt(per)).Int64())
	}
	if got := GPUHoursCost(16_000, 1500*time.Hour, 1_000_000_000_000); got != 24_000_000_000_000_000 {
		t.Errorf("16 GPUs for 1,500 hours at a million dollars cost %d; want 24 thousand million dollars", got)
	}
	if got := (Weights{Carbon: 1_000_000_000}).CarbonCost(1_000_000_000_000); got != 1_000_000_000_000_000 {
		t.Errorf("a thousand tonnes at a million dollars cost %d", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		g := Milli(rapid.Int64Range(-16_000, 16_000).Draw(t, "gpu"))
		d := time.Duration(rapid.Int64Range(0, 1500*3600).Draw(t, "seconds")) * time.Second
		rate := Microdollars(rapid.Int64Range(0, 1_000_000_000_000).Draw(t, "rate"))
		if got, want := GPUHoursCost(g, d, rate), exact(int64(g)*int64(d/time.Second), int64(rate), 3_600_000); got != want {
			t.Errorf("GPUHoursCost(%d, %v, %d) = %d; want %d", g, d, rate, got, want)
		}
		w := Weights{Carbon: rate / 1000}
		c := Milligrams(rapid.Int64Range(-1_000_000_000_000, 1_000_000_000_000).Draw(t, "carbon"))
		if got, want := w.CarbonCost(c), exact(int64(c), int64(w.Carbon), 1_000_000); got != want {
			t.Errorf("%d milligrams at %d per kilogram cost %d; want %d", c, w.Carbon, got, want)
		}
	})
}

// A basis changes the terms that it is about, and no other: what a site ranks by, what
// the auction compares and what documents show are one sum.
func TestABasisChangesItsOwnTermsAlone(t *testing.T) {
	w := FreeWaitingWeights()
	j := Job{ID: "a", Urgency: UrgencyNow, GPUs: 2, Share: 1000, Arrival: noon, Deadline: noon.Add(3 * time.Hour)}
	o := BidOption{Start: noon.Add(time.Hour), Finish: noon.Add(3 * time.Hour), Carbon: 1_000_000, Money: -40_000, Transfer: 7, NodeIdleShare: 9, FragmentationDelta: -500}
	plain := CostBreakdown{Money: -40_000, Carbon: 190_000, NodeIdle: 9, Transfer: 7, Delay: 2_000_000}
	for _, tc := range []struct {
		name string
		by   PricingBasis
		with func(*CostBreakdown)
	}{
		{"the site's word", PricingBasis{}, func(*CostBreakdown) {}},
		{"full trust", PricingBasis{Trust: 1000}, func(*CostBreakdown) {}},
		{"half trust", PricingBasis{Trust: 2000}, func(t *CostBreakdown) { t.Money, t.Carbon = -20_000, 380_000 }},
		{"dear room", PricingBasis{Shadow: 1_000_000}, func(t *CostBreakdown) { t.Fragmentation = -1_000_000 }},
		{"a slip", PricingBasis{FinishDelay: 15 * time.Minute}, func(t *CostBreakdown) { t.Late = 5_000_000 }},
	} {
		want := plain
		tc.with(&want)
		if got := w.PriceOption(&j, &o, tc.by); got != want {
			t.Errorf("%s: Price = %+v; want %+v", tc.name, got, want)
		}
		if got := w.CostOf(j, o, tc.by.Shadow); tc.by == (PricingBasis{Shadow: tc.by.Shadow}) && got != want {
			t.Errorf("%s: Of = %+v; want %+v", tc.name, got, want)
		}
	}
	o.Wake = 30 * time.Minute
	if got := w.PriceOption(&j, &o, PricingBasis{}); got.Delay != 3_000_000 {
		t.Errorf("two GPUs that wait for an hour and for half an hour of waking cost %d, want 3000000", got.Delay)
	}
	if w.PriceOption(&j, &BidOption{Money: 100}, PricingBasis{Trust: 2000}).Money != 200 {
		t.Error("a cost of a site that is half trusted does not count twice")
	}
}
