package forecast

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// tell gives k n values of q, for the hours from Tuesday 00:00 on.
func tell(k *GridState, now protocol.Time, q protocol.Quantity, values ...int64) (int, string) {
	s := protocol.Signal{What: q}
	for i, v := range values {
		s.Points = append(s.Points, protocol.Point{At: after(float64(i)), Value: v})
	}
	return k.RecordSignal(now, s)
}

// No peek: two worlds that differ only in what is not known yet look the same.
func TestWhatIsNotToldChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := markets(t)
		q := rapid.SampledFrom([]protocol.Quantity{protocol.GridPrice, protocol.GridCarbon}).Draw(t, "quantity")
		now := after(float64(rapid.IntRange(0, 80).Draw(t, "now")))
		value := rapid.Int64Range(0, 500_000)
		var here, there []protocol.Point
		for i := range 140 {
			p := protocol.Point{At: after(float64(i)), Value: value.Draw(t, "value")}
			here = append(here, p)
			if p.At >= m.KnownUntil(now) {
				p.Value = value.Draw(t, "other")
			}
			there = append(there, p)
		}
		look := func(points []protocol.Point) []int64 {
			s, err := NewSeries(points)
			if err != nil {
				t.Fatal(err)
			}
			k, f := New(Config{}), NewSeriesPublisher(s, m)
			for at := after(0); at <= now; at = at.Add(time.Hour) {
				k.RecordSignal(at, protocol.Signal{What: q, Points: f.Publish(at)})
			}
			o := k.ForecastFrom(now, 96)
			if q == protocol.GridPrice {
				return plain(o.Price)
			}
			return plain(o.Carbon)
		}
		if a, b := look(here), look(there); !slices.Equal(a, b) {
			t.Errorf("at %v the outlook used values not received yet:\n %v\n %v", now, a, b)
		}
	})
}

func plain[T ~int64](values []T) []int64 {
	var out []int64
	for _, v := range values {
		out = append(out, int64(v))
	}
	return out
}

func TestForecastsOfADay(t *testing.T) {
	twoDays := make([]int64, 48)
	for i := range twoDays {
		twoDays[i] = 100 + int64(i%24)
		if i >= 24 {
			twoDays[i] += 40 // the second day is dearer
		}
	}
	for _, tc := range []struct {
		name  string
		rule  Rule
		told  []int64
		ahead int // hours from the first without a value
		want  int64
	}{
		{"persistence is the same hour yesterday", Persistence, twoDays, 3, 143},
		{"and two days ahead still that", Persistence, twoDays, 27, 143},
		{"the average is of both days", Average, twoDays, 3, 123},
		{"blend adds what the average missed, fading", Blend, twoDays, 0, 100 + 20 + 38},
		{"until nothing is left of it", Blend, twoDays, 150, 100 + 6 + 20},
		{"within the first day the last value has to do", Average, []int64{7, 8, 9}, 5, 9},
		{"also for blend", Blend, []int64{7, 8, 9}, 5, 9 + 0},
	} {
		k := New(Config{Price: tc.rule})
		now := after(float64(len(tc.told)))
		tell(k, now, protocol.GridPrice, tc.told...)
		if got := int64(k.ForecastFrom(now, tc.ahead+1).Price[tc.ahead]); got != tc.want {
			t.Errorf("%s: %s, %d hours ahead = %d; want %d", tc.name, tc.rule, tc.ahead, got, tc.want)
		}
	}
}

func TestTheAverageIsOfSevenDays(t *testing.T) {
	var values []int64
	for i := range 9 * day {
		v := int64(70)
		if i < 2*day {
			v = 7_000 // eight and nine days ago
		} else if i < 3*day {
			v = 140
		}
		values = append(values, v)
	}
	k := New(Config{Price: Average})
	tell(k, after(9*day), protocol.GridPrice, values...)
	if got := k.ForecastFrom(after(9*day), 1).Price[0]; got != 80 {
		t.Errorf("Outlook = %d; want 80, the mean of 140 and six times 70", got)
	}
}

func TestWhatWasMissedFadesWhileAFeedIsSilent(t *testing.T) {
	values := make([]int64, 25)
	values[24] = 1_000_000
	k := New(Config{Price: Blend})
	tell(k, after(24), protocol.GridPrice, values...)
	soon := k.ForecastFrom(after(24), 11).Price[10]
	late := k.ForecastFrom(after(34), 1).Price[0]
	if soon != late || soon < 598_000 || soon > 599_000 {
		t.Errorf("the forecast for ten hours after the last word is %d then and %d now; want the same, 0.95 to the tenth of what was missed", soon, late)
	}
}

func TestPublishedValuesAreNotOverruled(t *testing.T) {
	k := New(Config{})
	tell(k, after(30), protocol.GridPrice, make([]int64, 48)...)
	k.RecordSignal(after(30), protocol.Signal{What: protocol.GridPrice, Points: []protocol.Point{{At: after(40), Value: 777}, {At: after(50), Value: 999}}})
	o := k.ForecastFrom(after(30.5), 24)
	if o.From != after(30) || o.Price[10] != 777 || o.Price[20] != 999 {
		t.Errorf("Outlook = from %v, %v; want 777 after ten hours of it and 999 after twenty", o.From, o.Price)
	}
	if v, ok := k.FactAt(protocol.GridPrice, after(40.7)); v != 777 || !ok {
		t.Errorf("At = %d, %v; want 777", v, ok)
	}
	if _, ok := k.FactAt(protocol.GridPrice, after(49)); ok {
		t.Error("At of an hour between, without a value, is true")
	}
}

func TestWhoWasToldNothingKnowsNothing(t *testing.T) {
	k := New(Config{NoPUE: 1350})
	o := k.ForecastFrom(after(3), 5)
	if o.Price != nil || o.Carbon != nil || len(o.PUE) != 5 || o.PUE[4] != 1350 {
		t.Errorf("Outlook = %+v; want no price, no carbon, and the usual PUE", o)
	}
	if NewCurve(o) != nil {
		t.Error("NewCurve without a price is not nil")
	}
	if got := k.FactAge(protocol.GridPrice, after(3)); got != math.MaxInt64 {
		t.Errorf("Age = %v; want the longest there is", got)
	}
	if _, ok := k.FactAt("wind", after(0)); ok || k.FactAge("wind", after(0)) != math.MaxInt64 {
		t.Error("an unknown quantity is known")
	}
	// Told only of what is to come: that has to do for now.
	k.RecordSignal(after(3), protocol.Signal{What: protocol.GridPrice, Points: []protocol.Point{{At: after(9), Value: 55}}})
	if o := k.ForecastFrom(after(3), 8); o.Price[0] != 55 || o.Price[6] != 55 || k.FactAge(protocol.GridPrice, after(3)) != math.MaxInt64 {
		t.Errorf("Outlook = %v; want 55 throughout", o.Price)
	}
}

func TestAge(t *testing.T) {
	k := New(Config{})
	tell(k, after(5), protocol.GridCarbon, 1, 2, 3)
	for now, want := range map[float64]time.Duration{2.5: 0, 3: 0, 4.5: 90 * time.Minute, 100: 97 * time.Hour} {
		if got := k.FactAge(protocol.GridCarbon, after(now)); got != want {
			t.Errorf("Age at %v = %v; want %v", after(now), got, want)
		}
	}
}

func TestPointsThatCannotBeAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		what       protocol.Quantity
		point      protocol.Point
	}{
		{"a price of 101 dollars per kWh", "want -100000000..100000000", protocol.GridPrice, protocol.Point{At: after(1), Value: 101_000_000}},
		{"what NaN turns into", "want", protocol.GridPrice, protocol.Point{At: after(1), Value: math.MinInt64}},
		{"carbon under nothing", "carbon of 2022-04-12T01:00:00Z is -1", protocol.GridCarbon, protocol.Point{At: after(1), Value: -1}},
		{"a building that makes power", "want 1000..5000", protocol.GridPUE, protocol.Point{At: after(1), Value: 999}},
		{"half past", "not on the hour", protocol.GridPrice, protocol.Point{At: after(1.5), Value: 1}},
		{"last year", "over 90 days old", protocol.GridPrice, protocol.Point{At: after(-24 * 365), Value: 1}},
		{"sixteen days ahead", "over 15 days ahead", protocol.GridPrice, protocol.Point{At: after(16*24 + 1), Value: 1}},
		{"the end of time", "over 15 days ahead", protocol.GridPrice, protocol.Point{At: math.MaxInt64 / msPerHour * msPerHour, Value: 1}},
		{"its beginning", "over 90 days old", protocol.GridPrice, protocol.Point{At: math.MinInt64 / msPerHour * msPerHour, Value: 1}},
		{"no quantity", "is no quantity", "wind", protocol.Point{At: after(1), Value: 1}},
	} {
		k := New(Config{})
		n, why := k.RecordSignal(after(1), protocol.Signal{What: tc.what, Points: []protocol.Point{tc.point, {At: after(0), Value: 1500}}})
		if want := 1; tc.what == "wind" && n != 2 || tc.what != "wind" && n != want || !strings.Contains(why, tc.want) {
			t.Errorf("%s: Hear = %d, %q; want the one refused with %q", tc.name, n, why, tc.want)
		}
		if v, ok := k.FactAt(tc.what, after(0)); tc.what != "wind" && (v != 1500 || !ok) {
			t.Errorf("%s: the good point beside it is %d, %v; want 1500", tc.name, v, ok)
		}
	}
}

// Whatever is received, in whatever order and at whatever time, answers are
// within bounds and of the length asked for.
func TestAnyHistoryGivesForecastsWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := New(Config{
			Price:  rapid.SampledFrom(Rules).Draw(t, "price rule"),
			Carbon: rapid.SampledFrom([]Rule{Persistence, Average, Blend, Regression, "nonsense"}).Draw(t, "carbon rule"),
		})
		for range rapid.IntRange(0, 8).Draw(t, "signals") {
			s := protocol.Signal{What: rapid.SampledFrom([]protocol.Quantity{protocol.GridPrice, protocol.GridCarbon, protocol.GridPUE, "wind"}).Draw(t, "what")}
			for range rapid.IntRange(0, 40).Draw(t, "points") {
				at := after(float64(rapid.IntRange(-24*100, 24*30).Draw(t, "at")))
				if rapid.IntRange(0, 9).Draw(t, "wild") == 0 {
					at = protocol.Time(rapid.Int64().Draw(t, "anytime"))
				}
				value := rapid.OneOf(rapid.Int64(), rapid.Int64Range(1000, 5000), rapid.SampledFrom([]int64{100_000_000, -100_000_000})).Draw(t, "value")
				s.Points = append(s.Points, protocol.Point{At: at, Value: value})
			}
			k.RecordSignal(after(float64(rapid.IntRange(-100, 3000).Draw(t, "heard"))), s)
		}
		now := after(float64(rapid.IntRange(-200, 4000).Draw(t, "now")))
		n := rapid.IntRange(-1, 200).Draw(t, "hours")
		o := k.ForecastFrom(now, n)
		check := func(name string, values []int64, l limits) {
			if values != nil && len(values) != max(n, 0) {
				t.Errorf("%s: %d values; want %d", name, len(values), n)
			}
			for _, v := range values {
				if v != l.clampValue(v) {
					t.Errorf("%s: forecast %d is not within %+v", name, v, l)
				}
			}
		}
		check("price", plain(o.Price), priceLimits)
		check("carbon", plain(o.Carbon), carbonLimits)
		check("pue", plain(o.PUE), pueLimits)
		for _, track := range []*track{&k.price, &k.carbon, &k.pue} {
			if len(track.cells) > 2*(keptHours+aheadHours)+3100 {
				t.Errorf("%d hours are kept", len(track.cells))
			}
		}
	})
}

func TestWhatIsOldIsForgotten(t *testing.T) {
	k := New(Config{})
	for i := range 200 * 24 {
		now := after(float64(i))
		k.RecordSignal(now, protocol.Signal{What: protocol.GridPrice, Points: []protocol.Point{{At: now, Value: int64(i)}}})
	}
	if n := len(k.price.cells); n < keptHours || n > keptHours+8*day {
		t.Errorf("%d hours are kept; want about %d", n, keptHours)
	}
	if v, ok := k.FactAt(protocol.GridPrice, after(200*24-keptHours)); !ok || v != 200*24-keptHours {
		t.Errorf("At(90 days ago) = %d, %v; want it kept", v, ok)
	}
}
