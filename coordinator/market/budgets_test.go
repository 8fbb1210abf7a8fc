package market

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
	"pgregory.net/rapid"
)

// The R-B ids are those of docs/quotas.md.

const dollar = 1_000_000

// newBudgetMarket returns a market with one site and a tenant lab with a budget of $100 a month, of which some is
// spent in April 2022.
func newBudgetMarket(t *testing.T, spent protocol.Microdollars) *testMarket {
	s := newQuotaMarket(t, 200, protocol.Quota{Name: "lab", Weight: 1000, Budget: 100 * dollar})
	s.market.budgets.Charge(protocol.BudgetCharge{Quota: "lab", Month: protocol.MonthOf(noon), Money: spent, Budget: 100 * dollar, Version: 1})
	return s
}

// offPrice returns a forecast of which an option of an hour from now, of 0.2 kWh, is off by an amount.
func (s *testMarket) offPrice(off protocol.Microdollars) protocol.GridForecast {
	return protocol.GridForecast{From: s.now.Floor(time.Hour), PriceOff: []protocol.Microdollars{5 * off, 5 * off, 5 * off}, CarbonOff: []protocol.Milligrams{0}}
}

// bid submits a job, has oslo bid for it at a price that is off by an amount, and returns what the market says.
func (s *testMarket) bid(id protocol.JobID, price, off protocol.Microdollars) []protocol.Message {
	s.Helper()
	j := s.job()
	j.ID, j.Arrival, j.Deadline = id, s.now, s.now.Add(8*time.Hour)
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	for s.wait(); s.market.round == nil || s.market.lots[id].state != called; s.wait() {
		if s.market.round != nil {
			s.offer("oslo")
		}
	}
	o := s.option(0, time.Hour)
	o.Money = price
	return s.send("agent/oslo", protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf(id, o)}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}, Grid: s.offPrice(off)})
}

// R-B1: of $100, 60 are spent and 35 reserved. A run of $4 whose error is within 1.28 times $1.6 is refused, one
// within 1.28 times $0.5 is admitted.
func TestABudgetHoldsForWhatIsSpentReservedAndAsked(t *testing.T) {
	s := newBudgetMarket(t, 60*dollar)
	if count[protocol.Award](s.bid("reserved", 35*dollar, 0)) != 1 {
		t.Fatal("a run within the budget is refused")
	}
	s.send("agent/oslo", protocol.Accept{Job: "reserved", Epoch: 1, Start: s.now})
	if ms := s.bid("wide", 4*dollar, 1_280_000*1.6); count[protocol.Award](ms) != 0 {
		t.Error("a run is awarded that may exceed the budget")
	}
	want := protocol.Reason{Code: protocol.BudgetSpent, Note: "$95.0000 of the $100.0000 that lab may spend in April 2022 are taken, and the run may take $6.0480"}
	if d := lastSent[protocol.Defer](s); d.Why != want {
		t.Errorf("it waits for %+v\nwant %+v", d.Why, want)
	}
	if ms := s.bid("narrow", 4*dollar, 1_280_000*0.5); count[protocol.Award](ms) != 1 {
		t.Error("a run is refused that keeps the budget")
	}
	if a := lastSent[protocol.Award](s); a.PaidOff != 640_000 || !a.ByMonth || !a.NotBeforeStart {
		t.Errorf("its award says %+v", a)
	}
}

// R-B2: what is reserved for 100 runs of $1 with errors within 1.28 times $0.3, alike by nothing, by what is assumed,
// and wholly.
func TestAPortfolioReservesLessThanItsParts(t *testing.T) {
	var r reservedSum
	for range 99 {
		r.add(estimate{dollar, 384_000}, 1)
	}
	if got := float64(r.with(estimate{dollar, 384_000})) / dollar; math.Abs(got-121.28) > 0.005 {
		t.Errorf("$%.4f are reserved, want $121.28", got)
	}
	if apart, whole := 100+math.Sqrt(100*0.384*0.384), 100+38.4; math.Abs(apart-103.84) > 0.001 || math.Abs(whole-138.40) > 0.001 {
		t.Errorf("the ends of the scale are $%.2f and $%.2f", apart, whole)
	}
	for range 99 {
		r.add(estimate{dollar, 384_000}, -1)
	}
	if got := r.with(estimate{}); got != 0 {
		t.Errorf("%d stay reserved of nothing", got)
	}
}

// R-B3: of $6.05 that were reserved 3.90 are spent, and the rest is free at once. The site is paid in any case.
func TestWhatIsNotSpentIsFreeAtTheEnd(t *testing.T) {
	s := newBudgetMarket(t, 93*dollar)
	s.bid("train", 4*dollar, 1_280_000*1.6)
	a := lastSent[protocol.Award](s)
	s.send("agent/oslo", protocol.Accept{Job: "train", Epoch: a.Epoch, Start: s.now})
	if count[protocol.Award](s.bid("early", 2*dollar, 0)) != 0 {
		t.Error("what is reserved is given twice")
	}
	d := s.done(a)
	d.Money = 3_900_000
	s.now = d.Ended
	s.send("agent/oslo", d)
	got := lastSent[protocol.Settlement](s)
	want := []protocol.BudgetCharge{{Quota: "lab", Month: protocol.MonthOf(noon), Money: 3_900_000, Carbon: 50_000, Budget: 100 * dollar, Version: 1}}
	if got.Paid != 3_900_000 || !reflect.DeepEqual(got.Charges, want) {
		t.Errorf("settled %+v\nwant charges %+v", got, want)
	}
	if count[protocol.Award](s.bid("late", 3_100_000, 0)) != 1 { // 93 + 3.90 + 3.10
		t.Errorf("what was not spent is not free: %+v", lastSent[protocol.Defer](s).Why)
	}
}

// R-B4: a run from 23:00 to 2:00 at the end of a month is $1 of the old month and $2 of the new one: as its site
// reports by the hour, or by time if that does not add up.
func TestARunIsOfTheMonthsOfItsHours(t *testing.T) {
	s := newBudgetMarket(t, 0)
	eve := protocol.FromStdTime(time.Date(2022, time.April, 30, 23, 0, 0, 0, time.UTC))
	l := &lot{option: protocol.BidOption{Start: eve}}
	may := protocol.MonthOf(eve.Add(2 * time.Hour))
	for name, c := range map[string]struct {
		months []protocol.MonthUsage
		want   string
	}{
		"by hours":       {[]protocol.MonthUsage{{Month: protocol.MonthOf(eve), Money: 2 * dollar, Carbon: 100}, {Month: may, Money: dollar, Carbon: 500}}, "2000000/100 1000000/500"},
		"by time":        {nil, "1000000/200 2000000/400"},
		"that lacks one": {[]protocol.MonthUsage{{Month: may, Money: dollar, Carbon: 500}}, "1000000/200 2000000/400"},
		"that is wrong":  {[]protocol.MonthUsage{{Month: protocol.MonthOf(eve), Money: 9 * dollar, Carbon: -300}, {Month: may, Money: -6 * dollar, Carbon: 900}}, "1000000/200 2000000/400"},
	} {
		d := protocol.UsageReport{Started: eve, Ended: eve.Add(3 * time.Hour), Money: 3 * dollar, Carbon: 600, Months: c.months}
		set := protocol.Settlement{Payer: "lab", Paid: 3 * dollar}
		var words []string
		for _, x := range s.market.chargesOf(d.Ended, l, d, &set) {
			words = append(words, fmt.Sprintf("%d/%d", x.Money, x.Carbon))
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// R-B6: a run that the site pays for, in hours of a negative price, frees its reservation and gives the budget no
// more than it had.
func TestANegativePriceAddsNothingToABudget(t *testing.T) {
	s := newBudgetMarket(t, 0)
	s.bid("train", -2*dollar, 0)
	a := lastSent[protocol.Award](s)
	s.send("agent/oslo", protocol.Accept{Job: "train", Epoch: a.Epoch, Start: s.now})
	if count[protocol.Award](s.bid("whole", 100*dollar+1, 0)) != 0 {
		t.Error("a run that may earn something adds to the budget")
	}
	d := s.done(a)
	d.Money = -2 * dollar
	s.now = d.Ended
	s.send("agent/oslo", d)
	if c := lastSent[protocol.Settlement](s).Charges; len(c) != 1 || c[0].Money != -2*dollar {
		t.Errorf("charged %+v", c)
	}
	if count[protocol.Award](s.bid("more", 100*dollar+1, 0)) != 0 {
		t.Error("the budget grew")
	}
	if count[protocol.Award](s.bid("all", 100*dollar, 0)) != 1 {
		t.Errorf("the budget shrank: %+v", lastSent[protocol.Defer](s).Why)
	}
}

// R-B7: a coordinator that takes over between an award and its acceptance has one reservation, and none after the
// lease: the same as one that did not fail. An overrun is the first line of the next month in both.
func TestAFailoverKeepsEveryReservation(t *testing.T) {
	var events []protocol.Message
	s := newBudgetMarket(t, 0)
	keep := func() { events = append(events, s.market.Events()...) }
	events = append(events, s.message(protocol.Coordinator, protocol.Policy{Version: 1, By: "ada", Quotas: s.market.policy.Quotas}))
	j := s.job()
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	keep()
	s.wait()
	keep()
	o := s.option(0, time.Hour)
	o.Money = 60 * dollar
	s.send("agent/oslo", protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf(j.ID, o)}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}, Grid: s.offPrice(30 * dollar)})
	keep()
	a := lastSent[protocol.Award](s)
	if a.PaidOff != 30*dollar {
		t.Fatalf("the award is off by %d", a.PaidOff)
	}
	heir := &testMarket{T: t, market: New(Config{}, &soonest{}), now: s.now, senders: s.senders}
	for _, m := range events {
		heir.market.Restore(m)
	}
	takenBy := func(k *Market, now protocol.Time) string {
		u := k.plannedUse(now, &round{}, nil)
		st := u.quotas.budgets.stateOf(&k.policy.Quotas[0], protocol.MonthOf(now))
		return fmt.Sprint(int64(st.spent.Money) + st.money.with(estimate{}))
	}
	for _, at := range []protocol.Time{s.now, s.now.Add(9 * time.Second)} {
		if one, other := takenBy(s.market, at), takenBy(heir.market, at); one != "90000000" || other != one {
			t.Errorf("%v after the award %s are taken, and of the new coordinator %s", at.Sub(s.now), one, other)
		}
	}
	for _, m := range []*testMarket{s, heir} {
		m.now = a.Lease.Add(2 * time.Minute)
		m.market.Tick(m.now)
		if got := takenBy(m.market, m.now); got != "0" {
			t.Errorf("after the lease %s are taken", got)
		}
	}
}

// Whatever is charged, the money of all months is what was paid, and the carbon what was measured.
func TestChargesSumToTheSettlement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newBudgetMarketOf(rapid.SampledFrom([]accounts.PaymentRule{{}, {Margin: 100}, {Pay: accounts.FirstPrice}}).Draw(t, "rule"))
		from := noon.Add(time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "from")) * time.Millisecond)
		d := protocol.UsageReport{
			Started: from, Ended: from.Add(time.Duration(rapid.Int64Range(0, int64(protocol.MaxRun/time.Millisecond)).Draw(t, "run")) * time.Millisecond),
			Money: protocol.Microdollars(rapid.Int64Range(-1e9, 1e9).Draw(t, "money")), Carbon: protocol.Milligrams(rapid.Int64Range(0, 1e9).Draw(t, "carbon")),
		}
		set := protocol.Settlement{Payer: "lab", Paid: protocol.Microdollars(rapid.Int64Range(-1e9, 1e9).Draw(t, "paid")), Tariff: protocol.Microdollars(rapid.Int64Range(0, 1e8).Draw(t, "tariff"))}
		var money protocol.Microdollars
		var carbon protocol.Milligrams
		for _, c := range s.chargesOf(d.Ended.Add(time.Minute), &lot{}, d, &set) {
			money, carbon = money+c.Money, carbon+c.Carbon
		}
		if money != set.Paid || carbon != d.Carbon {
			t.Fatalf("charges of %d and %d, want %d and %d", money, carbon, set.Paid, d.Carbon)
		}
	})
}

func newBudgetMarketOf(rule accounts.PaymentRule) *Market {
	k := New(Config{Pay: rule}, &soonest{})
	k.replacePolicy(protocol.Policy{Version: 1, Quotas: []protocol.Quota{{Name: "lab", Budget: 100 * dollar, Weight: 1000}}})
	return k
}

// Options of one job are held against what others of it were found to cost within the budget; the highest mean of
// these and the widest error together were not.
func TestRoomForOneOptionIsRoomForLowerOnesAlone(t *testing.T) {
	var account accounts.Budgets
	limits := newBudgetUse(&account).limitsOf([]*protocol.Quota{{Name: "lab", Budget: 15}})
	for _, c := range []struct {
		cost estimate
		fits bool
	}{{estimate{10, 0}, true}, {estimate{0, 10}, true}, {estimate{10, 10}, false}, {estimate{10, 5}, true}, {estimate{9, 4}, true}, {estimate{16, 0}, false}} {
		if got := limits.exceededBy([]monthCost{{month: protocol.MonthOf(noon), money: c.cost}}) == nil; got != c.fits {
			t.Errorf("a run of %+v fits: %t; want %t", c.cost, got, c.fits)
		}
	}
}
