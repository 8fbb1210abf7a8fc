package forecast

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// zones are those of the table of markets, and one that is not in it.
var zones = []string{
	"DE", "FR", "ES", "PT", "BE", "NL", "CH", "AT", "GB", "SE-SE3", "SE-SE4", "US-CAL-CISO", "US-TEX-ERCO", "US-NY-NYIS",
	"JP-TK", "IN-WE", "BR-CS", "ZA", "US-MIDA-PJM", "AU-NSW", "CA-ON", "SG", "atlantis",
}

func markets(t *rapid.T) Market {
	m, _ := MarketOf(rapid.SampledFrom(zones).Draw(t, "zone"))
	if !m.Ahead {
		m.Lag = rapid.SampledFrom([]time.Duration{0, 0, time.Hour, 90 * time.Minute, -24 * time.Hour}).Draw(t, "lag")
	}
	return m
}

func after(h float64) protocol.Time {
	return tuesday.Add(time.Duration(h * float64(time.Hour)))
}

func TestWhatIsKnownWhen(t *testing.T) {
	california, _ := MarketOf("US-CAL-CISO")
	germany, _ := MarketOf("DE")
	tokyo, _ := MarketOf("JP-TK")
	for _, tc := range []struct {
		name       string
		market     Market
		now, until float64 // hours after Tuesday 00:00
	}{
		{"in real time this hour is known", Market{}, 10, 11},
		{"and to its end no more", Market{}, 10.99, 11},
		{"with a lag of an hour only the hour gone is", Market{Lag: time.Hour}, 10.5, 10},
		{"foresight knows what is to come", Market{Lag: -24 * time.Hour}, 10, 35},
		{"before noon a day-ahead market has published today", DayAheadMarket(), 11.99, 24},
		{"at noon it has published tomorrow", DayAheadMarket(), 12, 48},
		{"and at midnight nothing more", DayAheadMarket(), 24, 48},
		{"Germany before noon knows its own day", germany, 11.5, 22},
		{"and after it the next", germany, 12, 46},
		{"California in its night knows its own day, which ends at seven", california, 5, 7 + 24},
		{"still at noon in London", california, 12, 7 + 24},
		{"until it publishes at one in the afternoon", california, 21, 7 + 48},
		{"Tokyo in the morning has published tomorrow", tokyo, 2, 15 + 24},
		{"and before that only today", tokyo, 1.99, 15},
	} {
		if got, want := tc.market.KnownUntil(after(tc.now)), after(tc.until); got != want {
			t.Errorf("%s: KnownUntil(%v) = %v; want %v", tc.name, after(tc.now), got, want)
		}
	}
	if _, ok := MarketOf("atlantis"); ok {
		t.Error("MarketOf(atlantis) is true")
	}
	if DefaultRule(protocol.GridPrice, germany) != Blend || DefaultRule(protocol.GridPrice, Market{}) != Steady {
		t.Error("Usual: want Blend where prices are published ahead, Steady elsewhere")
	}
}

func TestMarketsNeverUnsayAndKnowThisHour(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := markets(t)
		now := tuesday + protocol.Time(rapid.Int64Range(0, 300*msPerHour).Draw(t, "now"))
		later := now + protocol.Time(rapid.Int64Range(0, 60*msPerHour).Draw(t, "later"))
		if m.KnownUntil(later) < m.KnownUntil(now) {
			t.Errorf("KnownUntil(%v) = %v and KnownUntil(%v) = %v: what was known is not", now, m.KnownUntil(now), later, m.KnownUntil(later))
		}
		if m.Lag == 0 && m.KnownUntil(now) <= now.Floor(time.Hour) {
			t.Errorf("KnownUntil(%v) = %v: this hour is not known", now, m.KnownUntil(now))
		}
		if m.Ahead && m.KnownUntil(now) > now.Add(48*time.Hour) {
			t.Errorf("KnownUntil(%v) = %v; want less: no market publishes so far ahead", now, m.KnownUntil(now))
		}
	})
}

// However often Publish is called, it returns the same points, each hour once, when due.
func TestFeedsSayEachHourOnceWhenItIsDue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := markets(t)
		var points []protocol.Point
		n := rapid.IntRange(1, 100).Draw(t, "hours")
		for i := range n {
			points = append(points, protocol.Point{At: after(float64(i)), Value: int64(i)})
		}
		s, err := NewSeries(points)
		if err != nil {
			t.Fatal(err)
		}
		f, said := NewSeriesPublisher(s, m), 0
		var now protocol.Time
		for steps := 0; f.Due() != 0; steps++ {
			if steps > 2*n+10 {
				t.Fatalf("a feed of %d hours is not done after %d steps", n, steps)
			}
			due := f.Due()
			if early := f.Publish(due - 1); len(early) != 0 {
				t.Fatalf("Publish(%v) = %v before it was due at %v", due-1, early, due)
			}
			now = max(now, due) + protocol.Time(rapid.SampledFrom([]int64{0, 0, 1, msPerHour, 40 * msPerHour}).Draw(t, "late"))
			news := f.Publish(now)
			if len(news) == 0 {
				t.Fatalf("Publish(%v) has nothing to say; it was due at %v", now, due)
			}
			for _, p := range news {
				if p != points[said] || p.At >= m.KnownUntil(now) {
					t.Fatalf("Publish(%v) = %v; want %v, and only before %v", now, p, points[said], m.KnownUntil(now))
				}
				said++
			}
		}
		if said != n {
			t.Errorf("published %d of %d hours", said, n)
		}
	})
}

func TestSeriesAreStepsThatEnd(t *testing.T) {
	s, err := NewSeries([]protocol.Point{{At: after(0), Value: 5}, {At: after(2), Value: 7}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		at   protocol.Time
		want int64
		ok   bool
	}{
		{"before the first point is nothing", after(0) - 1, 0, false},
		{"a point holds from its instant on", after(0), 5, true},
		{"until the next", after(2) - 1, 5, true},
		{"the next takes over", after(2), 7, true},
		{"the last holds for an hour", after(3) - 1, 7, true},
		{"and no longer", after(3), 0, false},
	} {
		if got, ok := s.ValueAt(tc.at); got != tc.want || ok != tc.ok {
			t.Errorf("%s: At(%v) = %d, %v; want %d, %v", tc.name, tc.at, got, ok, tc.want, tc.ok)
		}
	}
	_, err = NewSeries([]protocol.Point{{At: after(0)}, {At: after(1)}, {At: after(1)}})
	if err == nil || !strings.Contains(err.Error(), "point 2 ") {
		t.Errorf("NewSeries of a repeated hour = %v; want an error that names point 2", err)
	}
	if f := NewSeriesPublisher(Series{}, Market{}); f.Due() != 0 || f.Publish(after(5)) != nil {
		t.Error("a feed of an empty series is due")
	}
}
