package grid

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// The hour of 2022-04-12T00:00Z, a Tuesday.
const tuesday = protocol.Time(1_649_721_600_000)

func outlooks(t *rapid.T) protocol.Outlook {
	n := rapid.IntRange(1, 60).Draw(t, "hours")
	o := protocol.Outlook{From: tuesday}
	for range n {
		o.Price = append(o.Price, protocol.Microdollars(rapid.Int64Range(-9_000_000, 9_000_000).Draw(t, "price")))
		o.Carbon = append(o.Carbon, protocol.Milligrams(rapid.Int64Range(0, 900_000).Draw(t, "carbon")))
		o.PUE = append(o.PUE, protocol.Milli(rapid.Int64Range(1000, 2000).Draw(t, "pue")))
	}
	return o
}

// naive sums hour by hour in numbers without a bound.
func naive(o protocol.Outlook, from, to protocol.Time, power protocol.Milliwatts) (e, c, m int64) {
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
		e, c, m := NewCurve(o).Cost(from, to, power)
		we, wc, wm := naive(o, from, to, power)
		if int64(e) != we || int64(c) != wc || int64(m) != wm {
			t.Errorf("Cost(%d ms from %d, %d mW) = %d mJ, %d mg, %d microdollars; want %d, %d, %d", to-from, from-tuesday, power, e, c, m, we, wc, wm)
		}
	})
}
