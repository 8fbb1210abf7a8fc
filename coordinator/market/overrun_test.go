package market

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// outlasting returns a market in which a run of $4 for an hour, of a tenant with $100 a month of which some are
// spent, has outlasted its plan by ten minutes, and what the market sent meanwhile.
func outlasting(t *testing.T, spent protocol.Microdollars, pause time.Duration) (s *testMarket, a protocol.Award, sent []protocol.Message) {
	s = newBudgetMarket(t, spent)
	j := s.job()
	j.Pause, j.Urgency = pause, protocol.UrgencyStandard
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	s.wait()
	o := s.option(0, time.Hour)
	o.Money = 4 * dollar
	s.send("agent/oslo", protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf("train", o)}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}, Grid: s.offPrice(0)})
	a = lastSent[protocol.Award](s)
	s.send("agent/oslo", protocol.Accept{Job: "train", Epoch: a.Epoch, Start: s.now})
	s.send("agent/oslo", protocol.Started{Job: "train", Epoch: a.Epoch})
	for until := a.Option.Finish.Add(10 * time.Minute); s.market.Due() != 0 && s.market.Due() <= until; {
		ms := s.wait()
		if s.now < a.Option.Finish && count[protocol.Preempt](ms) > 0 {
			t.Fatal("a run within its plan is to be stopped")
		}
		sent = append(sent, ms...)
	}
	s.now = a.Option.Finish.Add(10 * time.Minute)
	return s, a, sent
}

// A run that outlasts its plan reserves another hour. Where no budget has room for it, a run that can be paused is,
// and what is left of it waits for the next month; any other goes on. A successor knows what was asked.
func TestARunThatOutlastsItsPlanIsPausedWithoutBudget(t *testing.T) {
	for _, c := range []struct {
		name   string
		spent  protocol.Microdollars
		pause  time.Duration
		paused bool
	}{
		{"no room, and it can be paused", 95 * dollar, time.Minute, true},
		{"no room, and it cannot be paused", 95 * dollar, 0, false},
		{"room for another hour", 80 * dollar, time.Minute, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, a, sent := outlasting(t, c.spent, c.pause)
			if got := count[protocol.Preempt](sent) > 0; got != c.paused {
				t.Fatalf("asked to pause: %t", got)
			}
			status := s.market.QuotaStatuses(s.now)[0]
			if more := status.Reserved.Money - 4*dollar; more < dollar/2 {
				t.Errorf("ten minutes after its end it reserves $%.2f", status.Reserved.Money.InDollars())
			}
			if !c.paused {
				return
			}
			p := lastSent[protocol.Preempt](s)
			if p.For != "" || p.Why.Code != protocol.BudgetSpent || !strings.Contains(p.Why.Note, "$95.0000 of the $100.0000 that lab may spend in April 2022 are taken") {
				t.Errorf("asked by %+v", p)
			}
			if k := s.restored(); k.lots["train"].preempt == nil || *k.lots["train"].preempt != p {
				t.Error("a successor does not know what was asked")
			}
			s.send("agent/oslo", protocol.Preempted{Job: "train", Epoch: a.Epoch, Why: p.Why, Started: a.Option.Start, Ended: s.now, IT: 1, Energy: 1, Money: 4_700_000, Left: 30 * time.Minute})
			if set := lastSent[protocol.Settlement](s); set.Paid != 4_700_000 || set.Payer != "lab" || len(set.Charges) != 1 || set.Charges[0].Money != set.Paid {
				t.Errorf("settled by %+v", set)
			}
			if l := s.market.lots["train"]; l.state != waiting || l.isProtected(s.now) || l.job.Run != 31*time.Minute { // with the restart
				t.Errorf("what is left: %+v", l)
			}
			s.wait()
			o := s.option(0, 30*time.Minute)
			o.Money = 2 * dollar
			s.offer("oslo", bidsOf("train", o))
			if d := lastSent[protocol.Defer](s); d.Why.Code != protocol.BudgetSpent {
				t.Errorf("what is left waits for %+v", d.Why)
			}
		})
	}
}

// A run that begins late is not looked at before it outlasts its plan from there on.
func TestALateStartIsNoOverrun(t *testing.T) {
	s := newBudgetMarket(t, 95*dollar)
	l := &lot{state: accepted, start: noon.Add(time.Hour), option: protocol.BidOption{Start: noon, Finish: noon.Add(time.Hour), Money: 4 * dollar}}
	if o, _ := l.reservedAs(noon.Add(90 * time.Minute)); o != l.option {
		t.Errorf("half an hour after its start it counts as %+v", o)
	}
	if o, _ := l.reservedAs(noon.Add(150 * time.Minute)); o.Money != 10*dollar {
		t.Errorf("half an hour after its end it counts with $%.2f", o.Money.InDollars())
	}
	if s.market.pauseBeyondBudget(noon.Add(90*time.Minute), l); l.due != noon.Add(2*time.Hour+overrunGrace) {
		t.Errorf("it is looked at at %v", l.due)
	}
}
