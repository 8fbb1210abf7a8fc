package forecast

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// With signals an hour late the current hour is a forecast like the ones after it: bids never
// take the last published value for it as if it were known.
func TestTheCurrentHourOfLateSignalsIsAForecast(t *testing.T) {
	now := tuesday.Add(40 * time.Hour)
	var history []protocol.Point
	for h := -24 * 20; h < 40; h++ { // 20 days of a sharp morning peak at four o'clock
		v := int64(100_000)
		if (h+24*30)%24 == 16 {
			v = 400_000
		}
		history = append(history, protocol.Point{At: tuesday.Add(time.Duration(h) * time.Hour), Value: v})
	}
	for _, rule := range append([]Rule{Flat}, Rules...) {
		k := New(Config{Price: rule, Carbon: rule})
		for _, q := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon} {
			k.RecordSignal(now, protocol.Signal{What: q, Points: history})
		}
		if _, known := k.FactAt(protocol.GridPrice, now); known || k.HasFacts(now) || !k.HasFacts(now.Add(-time.Hour)) {
			t.Fatalf("%s: the current hour is known", rule)
		}
		o := k.ForecastFrom(now, 3)
		if o.From != now || (int64(o.Carbon[0]) > 200_000) == (rule == Flat) {
			t.Errorf("%s: from %v on it expects %v; the peak of the current hour was seen on 20 days", rule, o.From, o.Carbon)
		}
		// A run of half an hour is priced by the forecast of this hour.
		if _, carbon, _ := NewCurve(o).CostBetween(now, now.Add(30*time.Minute), 1_000_000); int64(carbon) != int64(o.Carbon[0])*6/10 {
			t.Errorf("%s: half an hour of a kilowatt emits %d mg at %d mg/kWh and a PUE of 1.2", rule, carbon, o.Carbon[0])
		}
		// A service's forecast of the current hour goes before the own one, with its last error.
		k.RecordSignal(now.Add(-time.Hour), protocol.Signal{What: protocol.GridCarbon, Guess: true, Points: []protocol.Point{{At: now, Value: 700_000}}})
		if o := k.ForecastFrom(now, 1); o.Carbon[0] != 700_000 {
			t.Errorf("%s: a service's forecast of the current hour is taken for %d", rule, o.Carbon[0])
		}
	}
}
