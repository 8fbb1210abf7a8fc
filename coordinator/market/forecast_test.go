package market

import (
	"math"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// Arithmetic on times far apart overflows: each of these forecasts once made the coordinator
// panic, loop forever, or believe it.
func TestForecastOfAnotherTimeIsIgnored(t *testing.T) {
	for name, from := range map[string]protocol.Time{
		"before all time":    math.MinInt64,
		"a start that wraps": noon - 9_223_372_036_855,
		"next century":       noon.Add(100 * 365 * 24 * time.Hour),
		"the end of time":    math.MaxInt64,
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestMarket(t, "oslo")
			s.market.rule = auction.New(auction.Config{})
			s.send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Cap, Carbon: 400_000}}})
			s.send(protocol.Submitter, protocol.Submit{Job: s.pausable()})
			s.wait()
			s.send("agent/oslo", protocol.Bids{
				Round: 1, Jobs: []protocol.JobBids{bidsOf("train", s.option(0, 4*time.Hour))}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)},
				Grid: protocol.GridForecast{From: from, Price: []protocol.Microdollars{50_000, 10_000}, Carbon: []protocol.Milligrams{300_000, 500_000}, PUE: []protocol.Milli{1200}},
			})
			if a := lastSent[protocol.Award](s); a.Pause != 0 || s.market.RefusalCounts()["impossible-term"] != 1 {
				t.Errorf("awarded %+v, counts %v", a, s.market.RefusalCounts())
			}
		})
	}
}

// Each option is checked against the hours of its forecast: a million hours would keep the market
// busy for half a minute.
func TestForecastHoursBeyondTheBoundAreIgnored(t *testing.T) {
	s := newTestMarket(t, "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	s.send("agent/oslo", protocol.Bids{
		Round: 1, Jobs: []protocol.JobBids{bidsOf("train", s.option(0, time.Hour))}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)},
		Grid: protocol.GridForecast{From: noon, Price: make([]protocol.Microdollars, 1e6), Carbon: make([]protocol.Milligrams, 1e6)},
	})
	last := s.rule.rounds[0].Now.Add(maxFinishAhead)
	for _, hours := range []int{len(s.rule.rounds[0].Sites[0].Forecast.Price), len(s.rule.rounds[0].Sites[0].Forecast.Carbon)} {
		if end := noon.Add(time.Duration(hours) * time.Hour); end < last || end > last.Add(2*protocol.MaxRun) {
			t.Errorf("%d hours are read; runs end before %v", hours, last)
		}
	}
}
