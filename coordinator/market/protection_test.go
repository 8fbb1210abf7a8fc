package market

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// stopLow stops the run of low-oslo for the job high and has the site report it, as often as told, each time
// awarded anew there; it returns the claims of high at each of some instants after the last stop.
func (s *preemptingMarket) stopLow(times int, after ...time.Duration) (open []bool) {
	for n := range times {
		l := s.market.lots["low-oslo"]
		l.state, l.site, l.start = accepted, "oslo", s.now
		l.epoch = uint64(n + 1)
		l.preempt = &protocol.Preempt{Job: "low-oslo", Epoch: l.epoch, For: "high", Why: protocol.Reason{Code: protocol.StrongerClaim}}
		s.now = s.now.Add(time.Hour)
		s.step("agent/oslo", protocol.Preempted{Job: "low-oslo", Epoch: l.epoch, For: "high", Started: s.now.Add(-time.Minute), Ended: s.now})
	}
	l := s.market.lots["low-oslo"]
	l.state, l.site, l.start = accepted, "oslo", s.now
	for _, d := range after {
		claims := s.market.claimsOf(s.now.Add(d), s.market.lots["high"])
		open = append(open, slices.ContainsFunc(claims, func(c claim) bool { return c.lot == l }))
	}
	return open
}

// A job that was stopped to make room is not stopped so again for half an hour of its next run, and after the
// third time not for a day (R-P14).
func TestAJobIsNotStoppedAgainAndAgain(t *testing.T) {
	s := newPreemptingMarket(t)
	if got, want := s.stopLow(1, 29*time.Minute, 31*time.Minute), []bool{false, true}; !slices.Equal(got, want) {
		t.Errorf("stopped once, it may be stopped %v; want %v", got, want)
	}
	s = newPreemptingMarket(t)
	if got, want := s.stopLow(3, time.Hour, 21*time.Hour, 23*time.Hour), []bool{false, false, true}; !slices.Equal(got, want) {
		t.Errorf("stopped three times, it may be stopped %v; want %v", got, want)
	}
}

// A job that was stopped has none stopped in its turn, though its class would let it, until a while later (R-P15).
func TestAVictimStopsNobody(t *testing.T) {
	s := newPreemptingMarket(t)
	s.market.lots["low-bern"].job.Priority = s.market.lots["low-oslo"].job.Priority - 1
	s.stopLow(1)
	l := s.market.lots["low-oslo"]
	l.state = waiting
	if got := s.market.claimsOf(s.now.Add(time.Minute), l); len(got) != 0 {
		t.Errorf("it may have %d stopped", len(got))
	}
	if got := s.market.claimsOf(s.now.Add(31*time.Minute), l); len(got) != 1 {
		t.Errorf("later it may have %d stopped; want 1", len(got))
	}
}
