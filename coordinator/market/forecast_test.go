package market

import (
	"math"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// Nobody counts the hours of an outlook from a time that wraps: each of these had
// the coordinator fall over, or count for ever, or believe it.
func TestAnOutlookOfAnotherTimeIsNotRead(t *testing.T) {
	for name, from := range map[string]protocol.Time{
		"before all time":    math.MinInt64,
		"a start that wraps": noon - 9_223_372_036_855,
		"next century":       noon.Add(100 * 365 * 24 * time.Hour),
		"the end of time":    math.MaxInt64,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "oslo")
			s.market.rule = auction.New(auction.Config{})
			s.tell(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Cap, Carbon: 400_000}}})
			s.tell(protocol.Submitter, protocol.Submit{Job: s.pausable()})
			s.wait()
			s.tell("agent/oslo", protocol.Bids{
				Round: 1, Jobs: []protocol.JobBids{menu("train", s.option(0, 4*time.Hour))}, Capacity: []protocol.CapacityProfile{room(s.now)},
				Grid: protocol.GridForecast{From: from, Price: []protocol.Microdollars{50_000, 10_000}, Carbon: []protocol.Milligrams{300_000, 500_000}, PUE: []protocol.Milli{1200}},
			})
			if a := the[protocol.Award](s); a.Pause != 0 || s.market.RefusalCounts()["impossible-term"] != 1 {
				t.Errorf("awarded %+v, counts %v", a, s.market.RefusalCounts())
			}
		})
	}
}

// Each option is held to the hours of its offer: a site that tells of a million has the
// market count for half a minute.
func TestHoursWithoutEndAreNotRead(t *testing.T) {
	s := newStage(t, "oslo")
	s.tell(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	s.tell("agent/oslo", protocol.Bids{
		Round: 1, Jobs: []protocol.JobBids{menu("train", s.option(0, time.Hour))}, Capacity: []protocol.CapacityProfile{room(s.now)},
		Grid: protocol.GridForecast{From: noon, Price: make([]protocol.Microdollars, 1e6), Carbon: make([]protocol.Milligrams, 1e6)},
	})
	last := s.rule.rounds[0].Now.Add(maxFinishAhead)
	for _, hours := range []int{len(s.rule.rounds[0].Sites[0].Forecast.Price), len(s.rule.rounds[0].Sites[0].Forecast.Carbon)} {
		if end := noon.Add(time.Duration(hours) * time.Hour); end < last || end > last.Add(2*protocol.MaxRun) {
			t.Errorf("%d hours are read; runs end before %v", hours, last)
		}
	}
}
