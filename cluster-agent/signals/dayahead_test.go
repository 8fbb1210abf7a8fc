package signals

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Day-ahead prices are published as forecasts, from their hour of publication on and not before;
// the real-time price of an hour goes before them.
func TestADayAheadSeriesIsAForecastFromItsPublicationOn(t *testing.T) {
	midnight := noon.Truncate(24 * time.Hour)
	hourly := func(from, hours int, v float64) (out []Span) {
		for h := from; h < from+hours; h++ {
			at := midnight.Add(time.Duration(h) * time.Hour)
			out = append(out, Span{From: at, To: at.Add(time.Hour), Value: v})
		}
		return out
	}
	for _, tc := range []struct {
		name            string
		published, ends *int
		now             float64 // hours after midnight
		until           int     // first hour that is not known, after midnight
	}{
		{"PJM before it publishes", new(18), new(5), 17.9, 29},
		{"PJM after it has published", new(18), new(5), 18, 29 + 24},
		{"PJM in the night", new(18), new(5), 4, 29},
		{"until midnight, before", new(12), nil, 11, 24},
		{"until midnight, after", new(12), nil, 12.5, 48},
		{"what is there at once", nil, nil, 1, 96},
	} {
		ahead := &Source{quantity: protocol.GridPrice, cfg: Config{Forecast: true, Published: tc.published, Ends: tc.ends}, spans: hourly(-24, 120, 50)}
		real := &Source{quantity: protocol.GridPrice, spans: hourly(-24, 26, 70)} // until two o'clock
		now := midnight.Add(time.Duration(tc.now * float64(time.Hour)))
		f := &Poller{Sources: []*Source{ahead, real}}
		known := f.knownHours(protocol.GridPrice, now)
		for h := -24; h < 96; h++ {
			want, ok := hourValue{50, true}, h < tc.until
			if h < 2 {
				want = hourValue{70, false}
			}
			if got, there := known[midnight.Add(time.Duration(h)*time.Hour)]; there != ok || ok && got != want {
				t.Errorf("%s: hour %d is %v, %v; want %v, %v", tc.name, h, got, there, want, ok)
			}
		}
		for _, s := range f.unpublishedSignals(now) {
			if last := s.Points[len(s.Points)-1].At; s.Guess != (last == protocol.FromStdTime(midnight.Add(time.Duration(tc.until-1)*time.Hour))) {
				t.Errorf("%s: a signal until %v is sent with forecast %v", tc.name, last, s.Guess)
			}
		}
	}
}
