package forecast

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

func guess(k *GridState, now protocol.Time, q protocol.Quantity, from int, values ...int64) {
	s := protocol.Signal{What: q, Guess: true}
	for i, v := range values {
		s.Points = append(s.Points, protocol.Point{At: after(float64(from + i)), Value: v})
	}
	k.RecordSignal(now, s)
}

func TestAGuessIsNoFact(t *testing.T) {
	k, now := New(Config{}), after(3.5)
	guess(k, now, protocol.GridCarbon, 3, 300, 400, 500, 600)
	if o := k.ForecastFrom(now, 5); !slices.Equal(o.Carbon, []protocol.Milligrams{300, 400, 500, 600, 300}) || o.CarbonOff[0] == 0 && o.CarbonOff[1] == 0 {
		t.Errorf("of guesses alone: %v, off by %v", o.Carbon, o.CarbonOff)
	}
	tell(k, now, protocol.GridCarbon, 100, 200, 300, 450)
	guess(k, now, protocol.GridCarbon, 3, 999)
	o := k.ForecastFrom(now, 4)
	if o.Carbon[0] != 450 || o.CarbonOff[0] != 0 {
		t.Errorf("a guess replaced a fact: %v, off by %v", o.Carbon, o.CarbonOff)
	}
	if !slices.Equal(o.Carbon[1:], []protocol.Milligrams{542, 634, 727}) || o.CarbonOff[1] == 0 { // 150 too little of the last hour; each takes a twentieth
		t.Errorf("guesses are %v, off by %v; want 400, 500 and 600 amended by 142, 134 and 127", o.Carbon[1:], o.CarbonOff)
	}
	if o := k.ForecastFrom(after(5.5), 2); !slices.Equal(o.Carbon, []protocol.Milligrams{634, 727}) {
		t.Errorf("two hours later, and nothing received since: %v", o.Carbon)
	}
	if _, told := k.FactAt(protocol.GridCarbon, after(4)); told || k.FactAge(protocol.GridCarbon, after(6)) != 2*time.Hour {
		t.Errorf("a forecast counts as published; age %v", k.FactAge(protocol.GridCarbon, after(6)))
	}
	tell(k, now, protocol.GridPrice, 1, 1, 1, 1)
	bill, guessed := k.PriceEnergy([]protocol.HourlyEnergy{{Hour: after(5), Energy: 3_600_000_000}})
	if bill.Carbon != 600 || guessed != 1 { // 1 kWh at PUE 1.2 and 500 mg/kWh
		t.Errorf("an hour of which only a guess is known is billed as %+v, %d guessed", bill, guessed)
	}
}

func TestASiteThatWasToldNothingBidsWithItsDefault(t *testing.T) {
	k := New(Config{Default: &DefaultSignal{Price: 60_000, Carbon: 400_000}})
	o := k.ForecastFrom(after(0), 48)
	for i := range o.Price {
		if o.Price[i] != 60_000 || o.PriceOff[i] != 60_000 || o.Carbon[i] != 400_000 || o.CarbonOff[i] != 400_000 {
			t.Fatalf("hour %d: %d±%d, %d±%d", i, o.Price[i], o.PriceOff[i], o.Carbon[i], o.CarbonOff[i])
		}
	}
	if NewCurve(o) == nil {
		t.Error("it cannot bid")
	}
	if b, guessed := k.PriceEnergy([]protocol.HourlyEnergy{{Hour: after(0), Energy: 3_600_000_000}}); b.Money != 72_000 || b.Carbon != 480_000 || guessed != 1 {
		t.Errorf("its bill is %+v, %d guessed", b, guessed)
	}
	tell(k, after(0), protocol.GridPrice, 50_000)
	if o := k.ForecastFrom(after(0), 2); o.Price[0] != 50_000 || o.PriceOff[0] != 0 || o.Price[1] == 60_000 || o.Carbon[0] != 400_000 {
		t.Errorf("after it received values, it has %v and %v", o.Price, o.Carbon)
	}
	if o := New(Config{}).ForecastFrom(after(0), 2); o.Price != nil || o.PriceOff != nil {
		t.Error("without a default it bids")
	}
}

// The longer a source is silent, the wider the bounds, for any history and hour.
func TestSilenceWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.SampledFrom([]Rule{Blend, Average, Persistence, Steady, Regression, Flat}).Draw(t, "rule")
		values := rapid.SliceOfN(rapid.Int64Range(0, 500_000), 1, 100).Draw(t, "told")
		k := New(Config{Carbon: rule})
		end := len(values)
		tell(k, after(float64(end)), protocol.GridCarbon, values...)
		h := rapid.IntRange(0, 60).Draw(t, "ahead")
		last := protocol.Milligrams(0)
		for silent := 0; silent < 200; silent += 7 {
			o := k.ForecastFrom(after(float64(end-1+silent)), 64)
			if silent == 0 && o.CarbonOff[0] != 0 {
				t.Fatalf("a fact is off by %d", o.CarbonOff[0])
			}
			if o.CarbonOff[h] < last {
				t.Fatalf("after %d hours of silence it is off by %d, and by %d before", silent, o.CarbonOff[h], last)
			}
			last = o.CarbonOff[h]
		}
	})
}

func TestRoot(t *testing.T) {
	for _, n := range []int64{0, 1, 2, 3, 4, 8, 9, 1_000_000, 999_999, 41_666, 1 << 58} {
		if r := integerSqrt(n); r*r > n || (r+1)*(r+1) <= n {
			t.Errorf("integerSqrt(%d) = %d", n, r)
		}
	}
}
