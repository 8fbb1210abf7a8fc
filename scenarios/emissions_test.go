package scenarios

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// The bills of agents and this account are kept apart; by the intensity that
// bids go by they agree, but for the rounding of each bill.
func TestBothIntensitiesAreAccountedWhicheverBidsGoBy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t, 12)
		for i := range s.Jobs {
			s.Jobs[i].Input = 0 // what a transfer emits is no energy of a site
		}
		s.Carbon = rapid.SampledFrom([]string{spec.ByAverage, spec.ByMarginal}).Draw(t, "by")
		for _, site := range s.Sites {
			var more []protocol.Point
			for _, p := range site.Signals[protocol.GridCarbon] {
				more = append(more, protocol.Point{At: p.At, Value: 2*p.Value + 1000})
			}
			site.Signals[trace.MarginalColumn] = more
			if s.Carbon == spec.ByMarginal {
				site.Signals[spec.AverageCarbon], site.Signals[protocol.GridCarbon] = site.Signals[protocol.GridCarbon], more
			}
		}
		res, err := Replay(t.Context(), s, PolicyAuctionNow, new(membus.Bus), Options{})
		if err != nil {
			t.Fatal(err)
		}
		x := res.Totals
		want := x.AverageKg
		if s.Carbon == spec.ByMarginal {
			want = x.MarginalKg
		}
		if math.Abs(x.CarbonKg-want) > 1e-3 {
			t.Errorf("bills say %f kg, the account %f", x.CarbonKg, want)
		}
		if other := 2*x.AverageKg + x.EnergyKWh/1000; math.Abs(other-x.MarginalKg) > 1e-3 {
			t.Errorf("marginal %f kg; twice the average and a gram per kWh are %f", x.MarginalKg, other)
		}
	})
}
