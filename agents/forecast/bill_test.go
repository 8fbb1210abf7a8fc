package forecast

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

const kWh = protocol.Millijoules(milliPerKWh)

func TestABillIsByTheHour(t *testing.T) {
	k := New(Config{})
	tell(k, after(4), protocol.GridPrice, 50_000, -20_000)
	tell(k, after(4), protocol.GridCarbon, 400_000, 100_000)
	tell(k, after(4), protocol.GridPUE, 1100, 1500)
	for _, tc := range []struct {
		name    string
		slices  []protocol.HourlyEnergy
		want    protocol.Usage
		guessed int
	}{
		{"nothing costs nothing", nil, protocol.Usage{}, 0},
		{"a kWh with the building's tenth", []protocol.HourlyEnergy{{Hour: after(0), Energy: kWh}},
			protocol.Usage{IT: kWh, Energy: kWh * 11 / 10, Carbon: 440_000, Money: 55_000}, 0},
		{"an hour in which one is paid to draw", []protocol.HourlyEnergy{{Hour: after(1), Energy: 2 * kWh}},
			protocol.Usage{IT: 2 * kWh, Energy: 3 * kWh, Carbon: 300_000, Money: -60_000}, 0},
		{"two hours", []protocol.HourlyEnergy{{Hour: after(0), Energy: kWh}, {Hour: after(1), Energy: 2 * kWh}},
			protocol.Usage{IT: 3 * kWh, Energy: kWh * 41 / 10, Carbon: 740_000, Money: -5_000}, 0},
		{"an hour without a value is as the last before it", []protocol.HourlyEnergy{{Hour: after(3), Energy: 2 * kWh}},
			protocol.Usage{IT: 2 * kWh, Energy: 3 * kWh, Carbon: 300_000, Money: -60_000}, 1},
		{"an hour before all values is as the first", []protocol.HourlyEnergy{{Hour: after(-9), Energy: kWh}},
			protocol.Usage{IT: kWh, Energy: kWh * 11 / 10, Carbon: 440_000, Money: 55_000}, 1},
	} {
		if got, guessed := k.PriceEnergy(tc.slices); got != tc.want || guessed != tc.guessed {
			t.Errorf("%s: Bill = %+v, %d; want %+v, %d", tc.name, got, guessed, tc.want, tc.guessed)
		}
	}
	dark := New(Config{})
	if got, guessed := dark.PriceEnergy([]protocol.HourlyEnergy{{Hour: after(0), Energy: kWh}}); guessed != 1 || got.Energy != kWh*12/10 || got.Money != 0 {
		t.Errorf("a site that received nothing: Bill = %+v, %d; want energy by the usual PUE, and no money", got, guessed)
	}
}

func TestBillsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := New(Config{})
		for range rapid.IntRange(0, 10).Draw(t, "told") {
			h := after(float64(rapid.IntRange(0, 12).Draw(t, "hour")))
			k.RecordSignal(after(12), protocol.Signal{What: protocol.GridPrice, Points: []protocol.Point{{At: h, Value: rapid.Int64Range(-9_000_000, 9_000_000).Draw(t, "price")}}})
			k.RecordSignal(after(12), protocol.Signal{What: protocol.GridCarbon, Points: []protocol.Point{{At: h, Value: rapid.Int64Range(0, 900_000).Draw(t, "carbon")}}})
			k.RecordSignal(after(12), protocol.Signal{What: protocol.GridPUE, Points: []protocol.Point{{At: h, Value: rapid.Int64Range(1000, 2000).Draw(t, "pue")}}})
		}
		var run []protocol.HourlyEnergy
		for range rapid.IntRange(0, 12).Draw(t, "slices") {
			run = append(run, protocol.HourlyEnergy{
				Hour:   after(float64(rapid.IntRange(-2, 15).Draw(t, "of"))),
				Energy: protocol.Millijoules(rapid.Int64Range(0, 1<<40).Draw(t, "energy")),
			})
		}
		cut := rapid.IntRange(0, len(run)).Draw(t, "cut")
		whole, _ := k.PriceEnergy(run)
		a, _ := k.PriceEnergy(run[:cut])
		b, _ := k.PriceEnergy(run[cut:])
		if sum := (protocol.Usage{IT: a.IT + b.IT, Energy: a.Energy + b.Energy, Carbon: a.Carbon + b.Carbon, Money: a.Money + b.Money}); sum != whole {
			t.Errorf("two parts cost %+v, the whole %+v", sum, whole)
		}
		// Within an hour, halves may differ from the whole by their rounding.
		for _, s := range run {
			one, _ := k.PriceEnergy([]protocol.HourlyEnergy{s})
			half := s.Energy / 3
			two, _ := k.PriceEnergy([]protocol.HourlyEnergy{{Hour: s.Hour, Energy: half}, {Hour: s.Hour, Energy: s.Energy - half}})
			if two.IT != one.IT || off(int64(two.Energy-one.Energy)) || off(int64(two.Carbon-one.Carbon)) || off(int64(two.Money-one.Money)) {
				t.Errorf("%+v in two slices costs %+v, in one %+v", s, two, one)
			}
		}
	})
}

func off(by int64) bool { return by < -2 || by > 2 }

// A run billed at the values that its outlook had costs what the curve gave,
// but for rounding each hour.
func TestTheCurveAgreesWithTheBill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := outlooks(t)
		n := len(o.Price)
		k := New(Config{})
		tell(k, after(0), protocol.GridPrice, plain(o.Price)...)
		tell(k, after(0), protocol.GridCarbon, plain(o.Carbon)...)
		tell(k, after(0), protocol.GridPUE, plain(o.PUE)...)
		power := rapid.Int64Range(1, 10_000_000).Draw(t, "power")
		var run []protocol.HourlyEnergy
		for i := range n {
			run = append(run, protocol.HourlyEnergy{Hour: after(float64(i)), Energy: protocol.Millijoules(power * 3600)})
		}
		bill, guessed := k.PriceEnergy(run)
		e, c, m := NewCurve(k.ForecastFrom(after(0), n)).CostBetween(after(0), after(float64(n)), protocol.Milliwatts(power))
		apart := func(a, b int64) bool { return a-b > int64(n) || b-a > int64(n) }
		if guessed != 0 || apart(int64(e), int64(bill.Energy)) || apart(int64(c), int64(bill.Carbon)) || apart(int64(m), int64(bill.Money)) {
			t.Errorf("Cost = %d, %d, %d; Bill = %+v, %d guessed", e, c, m, bill, guessed)
		}
	})
}

func TestProductsAreExactOrTheLargestThereIs(t *testing.T) {
	anything := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1000, 1000), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}))
	positive := rapid.OneOf(rapid.Int64Range(1, 1<<40), rapid.SampledFrom([]int64{1, 2, 3, milliPerKWh, costUnits}))
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anything.Draw(t, "a"), anything.Draw(t, "b"), positive.Draw(t, "c")
		product := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		if got, want := mulDiv(a, b, c), nearest(product, big.NewInt(c)); got != want {
			t.Errorf("mulDiv(%d, %d, %d) = %d; want %d", a, b, c, got, want)
		}
		hours := rapid.Int64Range(-1<<60, 1<<60).Draw(t, "hours")
		ms := rapid.Int64Range(-1<<62, 1<<62).Draw(t, "ms")
		factor := positive.Draw(t, "factor")
		sum := new(big.Int).Mul(big.NewInt(hours), big.NewInt(msPerHour))
		sum.Add(sum, big.NewInt(ms)).Mul(sum, big.NewInt(factor))
		if got, want := scaledTotal(hours, ms, factor, c), nearest(sum, big.NewInt(c)); got != want {
			t.Errorf("total(%d, %d, %d, %d) = %d; want %d", hours, ms, factor, c, got, want)
		}
	})
}
