package market

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A run within its plan is paused once prices, as its site forecasts them, make it dearer than what is reserved for it,
// and a budget has no room for its next hour. A run that cannot be paused goes on, as does one that has budget left, and
// one that is as dear as it bid.
func TestARunThatPricesMakeDearIsPausedWithoutBudget(t *testing.T) {
	for _, c := range []struct {
		name         string
		spent, price protocol.Microdollars
		pause        time.Duration
		paused       bool
	}{
		{"five times as dear", 95 * dollar, 25 * dollar, time.Minute, true},
		{"and it cannot be paused", 95 * dollar, 25 * dollar, 0, false},
		{"and there is room", 60 * dollar, 25 * dollar, time.Minute, false},
		{"as dear as it bid", 95 * dollar, 5 * dollar, time.Minute, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newBudgetMarket(t, c.spent)
			forecast := func(price protocol.Microdollars) protocol.GridForecast {
				return protocol.GridForecast{From: s.now.Floor(time.Hour), Price: slices.Repeat([]protocol.Microdollars{price}, 12), Carbon: make([]protocol.Milligrams, 12)}
			}
			bid := func(id protocol.JobID, run time.Duration, g protocol.GridForecast) {
				j := s.job()
				j.ID, j.Pause, j.Run, j.Urgency, j.Arrival, j.Deadline = id, c.pause, run, protocol.UrgencyStandard, s.now, s.now.Add(20*time.Hour)
				s.send(protocol.Submitter, protocol.Submit{Job: j})
				for s.wait(); s.market.round == nil; s.wait() {
				}
				o := s.option(0, run)
				o.Money, o.Energy = 4*dollar, 2_880_000_000 // 0.8 kWh at $5
				s.send("agent/oslo", protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf(id, o)}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}, Grid: g})
			}
			bid("train", 4*time.Hour, forecast(5*dollar))
			a := lastSent[protocol.Award](s)
			s.send("agent/oslo", protocol.Accept{Job: "train", Epoch: a.Epoch, Start: s.now})
			s.send("agent/oslo", protocol.Started{Job: "train", Epoch: a.Epoch})
			s.now = s.now.Add(20 * time.Minute)
			bid("other", time.Hour, forecast(c.price)) // from whose round the market hears of the price
			asked := protocol.Time(0)
			for until := a.Option.Finish; asked == 0 && s.market.Due() != 0 && s.market.Due() <= until; {
				if count[protocol.Preempt](s.wait()) > 0 {
					asked = s.now
				}
			}
			if (asked > 0) != c.paused {
				t.Fatalf("asked to pause at %v; want %t", asked, c.paused)
			}
			if !c.paused {
				return
			}
			if p := lastSent[protocol.Preempt](s); p.Job != "train" || p.For != "" || p.Why.Code != protocol.BudgetSpent {
				t.Errorf("asked by %+v", p)
			}
		})
	}
}
