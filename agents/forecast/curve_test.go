package forecast

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// The hour of 2022-04-12T00:00Z, a Tuesday.
const tuesday = protocol.Time(1_649_721_600_000)

func outlooks(t *rapid.T) protocol.GridForecast {
	n := rapid.IntRange(1, 60).Draw(t, "hours")
	o := protocol.GridForecast{From: tuesday}
	for range n {
		o.Price = append(o.Price, protocol.Microdollars(rapid.Int64Range(-9_000_000, 9_000_000).Draw(t, "price")))
		o.Carbon = append(o.Carbon, protocol.Milligrams(rapid.Int64Range(0, 900_000).Draw(t, "carbon")))
		o.PUE = append(o.PUE, protocol.Milli(rapid.Int64Range(1000, 2000).Draw(t, "pue")))
	}
	return o
}

// naive sums hour by hour in numbers without a bound.
func naive(o protocol.GridForecast, from, to protocol.Time, power protocol.Milliwatts) (e, c, m int64) {
	sum := func(value func(i int) int64, unit int64) int64 {
		total := new(big.Int)
		for t := from; t < to; {
			h := t.Floor(time.Hour)
			end := min(h.Add(time.Hour), to)
			i := int(h.Sub(o.From) / time.Hour)
			n := len(o.Price)
			cycle := min(n, 24)
			for i >= n {
				i -= cycle
			}
			i = max(i, 0)
			part := big.NewInt(int64(end - t))
			part.Mul(part, big.NewInt(int64(power)))
			part.Mul(part, big.NewInt(int64(o.PUE[i])))
			part.Mul(part, big.NewInt(value(i)))
			total.Add(total, part)
			t = end
		}
		return nearest(total, big.NewInt(unit))
	}
	one := func(int) int64 { return 1 }
	return sum(one, 1_000_000),
		sum(func(i int) int64 { return int64(o.Carbon[i]) }, 3_600_000_000_000_000),
		sum(func(i int) int64 { return int64(o.Price[i]) }, 3_600_000_000_000_000)
}

// nearest returns a over b, halves away from zero, cut to what fits.
func nearest(a, b *big.Int) int64 {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Abs(r).Lsh(r, 1).Cmp(b) >= 0 {
		q.Add(q, big.NewInt(int64(a.Sign())))
	}
	if !q.IsInt64() || q.Int64() == -1<<63 {
		if q.Sign() < 0 {
			return -(1<<63 - 1)
		}
		return 1<<63 - 1
	}
	return q.Int64()
}

func TestACurveIsTheExactSumOverItsHours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := outlooks(t)
		from := tuesday + protocol.Time(rapid.Int64Range(-5*msPerHour, 100*msPerHour).Draw(t, "from"))
		to := from + protocol.Time(rapid.Int64Range(0, 720*msPerHour).Draw(t, "run"))
		power := protocol.Milliwatts(rapid.Int64Range(1, 100_000_000).Draw(t, "power"))
		e, c, m := NewCurve(o).CostBetween(from, to, power)
		we, wc, wm := naive(o, from, to, power)
		if int64(e) != we || int64(c) != wc || int64(m) != wm {
			t.Errorf("CostBetween(%d ms from %d, %d mW) = %d mJ, %d mg, %d microdollars; want %d, %d, %d", to-from, from-tuesday, power, e, c, m, we, wc, wm)
		}
	})
}

func TestCostsThatAreLargeAreStillExact(t *testing.T) {
	o := protocol.GridForecast{From: tuesday}
	for range 720 {
		o.Price = append(o.Price, 9_000_000) // Texas, 2021, for a month
		o.Carbon = append(o.Carbon, 1_000_000)
		o.PUE = append(o.PUE, 2000)
	}
	e, c, m := NewCurve(o).CostBetween(tuesday, after(720), 100_000_000)
	const kWhs = 2 * 100 * 720
	if e != kWhs*kWh || c != kWhs*1_000_000 || m != kWhs*9_000_000 {
		t.Errorf("100 kW for 720 h = %d mJ, %d mg, %d microdollars; want those of %d kWh", e, c, m, int(kWhs))
	}
}

func TestNoOutlookMakesACurveFail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := protocol.GridForecast{From: protocol.Time(rapid.Int64().Draw(t, "start"))}
		for range rapid.IntRange(0, 30).Draw(t, "hours") {
			o.Price = append(o.Price, protocol.Microdollars(rapid.Int64().Draw(t, "price")))
			o.Carbon = append(o.Carbon, protocol.Milligrams(rapid.Int64().Draw(t, "carbon")))
		}
		for range rapid.IntRange(0, 30).Draw(t, "pues") {
			o.PUE = append(o.PUE, protocol.Milli(rapid.Int64().Draw(t, "pue")))
		}
		c := NewCurve(o)
		if c == nil {
			return
		}
		e, g, _ := c.CostBetween(protocol.Time(rapid.Int64().Draw(t, "from")), protocol.Time(rapid.Int64().Draw(t, "to")), protocol.Milliwatts(rapid.Int64().Draw(t, "power")))
		if e < 0 || g < 0 {
			t.Errorf("Cost = %d mJ, %d mg; want nothing under 0", e, g)
		}
	})
}

func TestCostsOfPartsAreThoseOfTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCurve(outlooks(t))
		var at [3]protocol.Time
		for i := range at {
			at[i] = tuesday + protocol.Time(rapid.Int64Range(0, 200*msPerHour).Draw(t, "at"))
		}
		from, mid, to := min(at[0], at[1], at[2]), at[0]+at[1]+at[2]-min(at[0], at[1], at[2])-max(at[0], at[1], at[2]), max(at[0], at[1], at[2])
		_, ca, ma := c.CostBetween(from, mid, 700_000)
		_, cb, mb := c.CostBetween(mid, to, 700_000)
		_, cw, mw := c.CostBetween(from, to, 700_000)
		if off(int64(ca+cb-cw)) || off(int64(ma+mb-mw)) {
			t.Errorf("parts cost %d mg, %d microdollars; the whole %d, %d", ca+cb, ma+mb, cw, mw)
		}
	})
}

func BenchmarkCost(b *testing.B) {
	o := protocol.GridForecast{From: tuesday, Price: make([]protocol.Microdollars, 168), Carbon: make([]protocol.Milligrams, 168)}
	for i := range o.Price {
		o.Price[i], o.Carbon[i] = 50_000, 400_000
	}
	c := NewCurve(o)
	b.ReportAllocs()
	for b.Loop() {
		c.CostBetween(after(3.2), after(90.7), 2_400_000)
	}
}

func BenchmarkOutlook(b *testing.B) {
	k := New(Config{})
	values := make([]int64, 10*day)
	for i := range values {
		values[i] = int64(1000 + i)
	}
	for _, q := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon, protocol.GridPUE} {
		tell(k, after(200), q, values...)
	}
	b.ReportAllocs()
	for b.Loop() {
		k.ForecastFrom(after(239), 168)
	}
}
