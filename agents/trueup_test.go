package agents

import (
	"reflect"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A signal of an hour gone corrects what was billed at the values of the hour before it.
func TestBillsAreCorrectedWhenTheirHourIsPublished(t *testing.T) {
	const kWh = 3_600_000_000
	for _, tc := range []struct {
		name string
		late time.Duration // of the signals of the hour
		want []protocol.Body
	}{
		{"an hour late", time.Hour, []protocol.Body{protocol.SiteUsage{
			Hour: noon.Add(time.Hour),
			Idle: protocol.Usage{Carbon: 360_000, Money: 120_000}, Jobs: protocol.Usage{Carbon: 720_000, Money: 240_000},
		}}},
		{"two days late", maxSettlementDelay, []protocol.Body{protocol.SiteUsage{
			Hour: noon.Add(time.Hour),
			Idle: protocol.Usage{Carbon: 360_000, Money: 120_000}, Jobs: protocol.Usage{Carbon: 720_000, Money: 240_000},
		}}},
		{"too late", maxSettlementDelay + 2*time.Hour, nil},
	} {
		s := newDarkSite(t, MarginalCost{}, 4)
		s.signal(protocol.GridPUE, 1200)
		s.signal(protocol.GridPrice, 100_000)
		s.signal(protocol.GridCarbon, 500_000)
		s.award(job("train", 1), 7, false)
		s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: "train", Epoch: 7}))
		s.now = noon.Add(90 * time.Minute)
		// One kWh in the hour that is published, two in the hour that is not: both at the values of
		// the first.
		report, ok := bodies(s.exit("train", 7, protocol.HourlyEnergy{Hour: noon, Energy: kWh}, protocol.HourlyEnergy{Hour: noon.Add(time.Hour), Energy: 2 * kWh}))[0].(protocol.UsageReport)
		if !ok || report.Money != 360_000 || report.Carbon != 1_800_000 {
			t.Fatalf("%s: reported %+v", tc.name, report)
		}
		s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.IdleReading{Hour: noon.Add(time.Hour), Idle: kWh, Total: 3 * kWh}))

		at := noon.Add(time.Hour)
		publish := func(what protocol.Quantity, hour protocol.Time, v int64) []protocol.Body {
			return bodies(s.agent.Step(s.now, s.source.NewMessage(s.now, "agent/oslo", protocol.Signal{What: what, Points: []protocol.Point{{At: hour, Value: v}}})))
		}
		s.now = at.Add(tc.late)
		if tc.late > maxSettlementDelay { // some later signal has shown that the hour was passed over
			publish(protocol.GridPrice, s.now.Floor(time.Hour), 1)
		}
		// Price alone corrects nothing: the carbon of the hour is still unknown.
		if got := publish(protocol.GridPrice, at, 200_000); len(got) != 0 {
			t.Errorf("%s: the price alone sent %+v", tc.name, got)
		}
		if got := publish(protocol.GridCarbon, at, 800_000); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: sent %+v; want %+v", tc.name, got, tc.want)
		}
		if got := publish(protocol.GridCarbon, at, 900_000); len(got) != 0 {
			t.Errorf("%s: a second value of the hour sent %+v", tc.name, got)
		}
	}
}
