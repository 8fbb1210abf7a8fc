package scenarios

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
)

// hears returns what a site with some signals knows and forecasts of carbon at noon of
// the small day, and the true values.
func hears(t *testing.T, signals SignalKnowledge) (known *forecast.GridState, truth []protocol.Point, now protocol.Time) {
	t.Helper()
	s := small(1)
	site := s.Sites[2]
	truth = site.Signals[protocol.GridCarbon]
	now = s.Start.Add(12 * time.Hour)
	known = forecast.New(signals.forecastConfig(site, nil))
	for _, what := range []protocol.Quantity{protocol.GridCarbon, protocol.GridPrice} {
		lines, err := signals.signalSeries(s.Seed, site, what, site.Signals[what])
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			known.RecordSignal(now, protocol.Signal{What: what, Points: forecast.NewSeriesPublisher(l.series, l.market).Publish(now)})
		}
	}
	return known, truth, now
}

func TestSignalsTellNoMoreThanTheirNameSays(t *testing.T) {
	tests := []struct {
		signals SignalKnowledge
		ahead   bool                        // the next hour is told
		right   func(said, true int64) bool // what is thought of hours to come
	}{
		{SignalForecasts, false, func(int64, int64) bool { return true }},
		{SignalPerfect, true, func(said, true int64) bool { return said == true }},
		{SignalPerturbed, true, func(said, true int64) bool { return said >= true/2-1 && said <= true*3/2+1 }},
		{SignalNoneAhead, false, func(said, _ int64) bool { return said == 100_000 }},
	}
	for _, tc := range tests {
		k, truth, now := hears(t, tc.signals)
		if _, ok := k.FactAt(protocol.GridCarbon, now.Add(time.Hour)); ok != tc.ahead {
			t.Errorf("%q: the next hour is told: %v; want %v", tc.signals, ok, tc.ahead)
		}
		off := 0
		o := k.ForecastFrom(now, 12)
		for _, p := range truth {
			h := int(p.At.Sub(now).Hours())
			switch {
			case p.At <= now:
				if v, _ := k.FactAt(protocol.GridCarbon, p.At); v != p.Value {
					t.Errorf("%q: %v was %d, told as %d", tc.signals, p.At, p.Value, v)
				}
			case h < len(o.Carbon):
				if !tc.right(int64(o.Carbon[h]), p.Value) {
					t.Errorf("%q: thinks %d of %v; it is %d", tc.signals, o.Carbon[h], p.At, p.Value)
				}
				if int64(o.Carbon[h]) != p.Value {
					off++
				}
			}
		}
		if tc.signals == SignalPerturbed && off < 8 {
			t.Errorf("%q: only %d of 11 hours are off", tc.signals, off)
		}
	}
}

// Series of a year begin long before its summer, and with them the share of a building
// that is the same all year.
func TestAConstantIsHeardHoweverLongAgoItsSeriesBegan(t *testing.T) {
	s := small(1)
	site := s.Sites[2]
	for _, began := range []time.Duration{24 * time.Hour, forecast.MaxAge, 200 * 24 * time.Hour} {
		site.Signals[protocol.GridPUE] = []protocol.Point{{At: s.Start.Add(-began), Value: 1070}}
		p, err := buildSimulatedSite(s, site, capacity.Config{}, SignalForecasts, nil, s.Start, MeteredUntil(s))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p.SignalPublisher.Tick(s.Start) {
			p.Grid.RecordSignal(s.Start, m.Body.(protocol.Signal))
		}
		if got := p.Grid.ForecastFrom(s.Start, 1).PUE[0]; got != 1070 {
			t.Errorf("a PUE of 1.07 since %v before: the site takes it for %d thousandths", began, got)
		}
	}
}

// A simulated site runs for longer than it keeps a value that was published once.
func TestAConstantIsHeardByASiteThatIsBegunAnewMonthsLater(t *testing.T) {
	s := small(1)
	site := s.Sites[2]
	site.Signals[protocol.GridPUE] = []protocol.Point{{At: s.Start.Add(-24 * time.Hour), Value: 1070}}
	now := s.Start.Add(forecast.MaxAge + 48*time.Hour)
	x, err := SimulateSite(s, site.Name, s.Start, now.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	known := forecast.New(x.Forecast)
	for _, m := range x.Signals.Machine.Tick(now) {
		known.RecordSignal(now, m.Body.(protocol.Signal))
	}
	if got := known.ForecastFrom(now, 1).PUE[0]; got != 1070 {
		t.Errorf("a PUE of 1.07: the site takes it for %d thousandths", got)
	}
}
