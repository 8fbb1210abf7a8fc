package forecast

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// A line is within rounding of what its curve costs, and follows the curve when that is made anew.
func TestALineIsWithinRoundingOfItsCurve(t *testing.T) {
	var line Line
	rapid.Check(t, func(t *rapid.T) {
		c := NewCurve(outlooks(t))
		from := tuesday + protocol.Time(rapid.Int64Range(-5*msPerHour, 100*msPerHour).Draw(t, "from"))
		to := from + protocol.Time(rapid.Int64Range(0, 720*msPerHour).Draw(t, "run"))
		power := protocol.Milliwatts(rapid.Int64Range(-1, 100_000_000).Draw(t, "power"))
		w := protocol.Weights{Carbon: protocol.Microdollars(rapid.Int64Range(0, 2_000_000).Draw(t, "kilogram"))}
		_, carbon, money := c.CostBetween(from, to, power)
		want := float64(money + w.CarbonCost(carbon))
		l := line.LineOf(c, w.Carbon)
		got := Counted(power) * (l.At(to) - l.At(from))
		if off := math.Abs(got - want); off > 2.5+float64(w.Carbon)/1e6+1e-9*math.Abs(want) {
			t.Fatalf("%d mW from %d for %d ms cost %g microdollars by the line, and %g by the curve", power, from-tuesday, to-from, got, want)
		}
	})
}
