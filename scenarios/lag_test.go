package scenarios

import (
	"math"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
)

// However late signals come, a run ends with all energy counted at the true values of its hours:
// bills that were made before are corrected. Money and carbon are compared with sums that this
// test makes of the executors' readings and of the scenario.
func TestLateSignalsAreInTheEndCountedAtTheirTrueValues(t *testing.T) {
	for _, lag := range []time.Duration{0, 30 * time.Minute, time.Hour, 150 * time.Minute, 7 * time.Hour} {
		for _, policy := range []string{PolicyAuction, "home-fifo", "auction/none", "auction/perfect", "auction/wrong"} {
			s := late(small(40), lag)
			for i := range s.Sites { // of an odd hour, so that a stale value is another value
				for h := range s.Sites[i].Signals[protocol.GridCarbon] {
					s.Sites[i].Signals[protocol.GridCarbon][h].Value += int64(h%7) * 40_000
				}
			}
			truth := newEmissionsAccount(s)
			carbon, money, corrections := 0.0, 0.0, 0
			res, err := Replay(t.Context(), s, policy, new(membus.Bus), Options{Record: func(m protocol.Message) error {
				i := 0
				for i < len(s.Sites)-1 && s.Sites[i].Name != m.From.SiteName() {
					i++
				}
				var drew []protocol.HourlyEnergy
				switch b := m.Body.(type) {
				case protocol.Finished:
					drew = b.Draw
				case protocol.IdleReading:
					drew = []protocol.HourlyEnergy{{Hour: b.Hour, Energy: b.Idle}}
				case protocol.SiteUsage:
					if !b.IsMeterReading() {
						corrections++
					}
				}
				for _, d := range drew {
					kWh := d.Energy.InKWh() * 1.2
					carbon += kWh * float64(valueInForce(truth.sites[s.Sites[i].Name].average, d.Hour)) / 1e6
					prices := RepeatLastDay(s.Sites[i].Signals[protocol.GridPrice], MeteredUntil(s).Add(MaxReplayOverrun))
					money += kWh * float64(valueInForce(prices, d.Hour)) / 1e6
				}
				return nil
			}})
			if err != nil {
				t.Fatalf("lag %v, %s: %v", lag, policy, err)
			}
			if d := math.Abs(res.Totals.CarbonKg - carbon); d > 1e-3 {
				t.Errorf("lag %v, %s: %.4f kg counted, %.4f emitted", lag, policy, res.Totals.CarbonKg, carbon)
			}
			if d := math.Abs(res.Totals.CostUSD - money); d > 1e-3 {
				t.Errorf("lag %v, %s: $%.4f counted, $%.4f by the prices of the hours", lag, policy, res.Totals.CostUSD, money)
			}
			if late := lag > 0 && policy != "auction/perfect" && policy != "auction/wrong"; (corrections > 0) != late {
				t.Errorf("lag %v, %s: %d corrections", lag, policy, corrections)
			}
		}
	}
}

// All policies are metered over the same hours, however late the signals are.
func TestALagDoesNotChangeTheMeteredHours(t *testing.T) {
	var first protocol.Time
	for _, lag := range []time.Duration{0, time.Hour, 5 * time.Hour} {
		s := late(small(10), lag)
		last := protocol.Time(0)
		if _, err := Replay(t.Context(), s, "home-fifo", new(membus.Bus), Options{Record: func(m protocol.Message) error {
			if b, ok := m.Body.(protocol.IdleReading); ok {
				last = max(last, b.Hour)
			}
			return nil
		}}); err != nil {
			t.Fatal(err)
		}
		if first == 0 {
			first = last
		}
		if last != first || last != MeteredUntil(s).Add(-time.Hour) {
			t.Errorf("lag %v: the last metered hour is %v; want %v", lag, last, first)
		}
	}
}
