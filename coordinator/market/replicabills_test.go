package market

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// A replicaSite is a site of eight GPUs that runs what it is told at once, and whose replicas take $1 and 1 kg an hour.
type replicaSite struct {
	*testMarket
	count int
	meter protocol.ReplicaMeter
	told  uint64
}

// newReplicaSite returns a site with a service of lab, which has $100 a month, of which some are spent.
func newReplicaSite(t *testing.T, spent protocol.Microdollars, wanted, least int) *replicaSite {
	s := newBudgetMarket(t, spent)
	s.market.cfg.Pay = accounts.PaymentRule{}
	r := &replicaSite{testMarket: s}
	r.meter.Since, r.meter.Until = s.now, s.now
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "A100", GPUs: 8, CPU: 1 << 20, Memory: 1 << 20}}})
	r.answer(s.send(protocol.Submitter, protocol.SubmitService{Service: protocol.Service{
		ID: "web", Tenant: "lab", Wanted: wanted, Min: least, GPUs: 1, Share: 1000, CPU: 1000, Memory: 1024, Division: protocol.Division{Rule: protocol.DivideByCapacity}}}))
	r.pass(time.Minute)
	return r
}

func (r *replicaSite) status() protocol.ReplicaStatus {
	return protocol.ReplicaStatus{Service: "web", Revision: r.told, Assigned: r.count, Ready: r.count, Meter: r.meter}
}

// answer has the site do what the market says.
func (r *replicaSite) answer(ms []protocol.Message) {
	for _, m := range ms {
		switch b := m.Body.(type) {
		case protocol.CallForCapacity:
			row := protocol.ReplicaBid{Service: "web", Available: 8 - r.count, Held: r.status(), Hourly: protocol.ReplicaUse{Energy: 1, Money: dollar, Carbon: 1_000_000}}
			if row.Held.Service = ""; row.Available > 0 {
				row.Steps = []protocol.CostStep{{Count: row.Available, Cost: 5}}
			}
			r.answer(r.send("agent/oslo", protocol.CapacityBid{Round: b.Round, Services: []protocol.ReplicaBid{row}}))
		case protocol.AssignReplicas:
			r.count, r.told = b.Count, b.Revision
			r.answer(r.send("agent/oslo", r.status()))
		}
	}
}

// pass lets time pass.
func (r *replicaSite) pass(d time.Duration) {
	until := r.now.Add(d)
	for due := r.market.Due(); due != 0 && due <= until; due = r.market.Due() {
		r.answer(r.wait())
	}
	r.now = until
}

// read lets an hour pass and the site read its meter.
func (r *replicaSite) read() []protocol.Message {
	r.pass(time.Hour)
	n := int64(r.count)
	u := &r.meter.Used
	r.meter.Ran, r.meter.Until = r.meter.Ran+time.Duration(n)*r.now.Sub(r.meter.Until), r.now
	u.Energy, u.Money, u.Carbon = u.Energy+protocol.Millijoules(n), u.Money+protocol.Microdollars(n*dollar), u.Carbon+protocol.Milligrams(n*1_000_000)
	ms := r.send("agent/oslo", r.status())
	r.answer(ms)
	return ms
}

// A service pays for each hour once, whatever the site repeats; the budgets of its tenant are charged with it, and a
// successor knows what was paid.
func TestAServicePaysByTheHour(t *testing.T) {
	r := newReplicaSite(t, 0, 4, 1)
	if q := r.market.QuotaStatuses(r.now)[0]; q.Reserved.Money < 4*dollar || q.Reserved.Money > 4*dollar+dollar/4 {
		t.Errorf("for the hour to come $%.2f are reserved; want $4", q.Reserved.Money.InDollars())
	}
	r.read()
	got := lastSent[protocol.ServiceSettlement](r.testMarket)
	if got.Payer != "lab" || got.Paid != 4*dollar || got.Counted.Carbon != 4_000_000 || len(got.Charges) != 1 || got.Charges[0].Money != got.Paid || got.Charges[0].Quota != "lab" {
		t.Fatalf("settled by %+v", got)
	}
	if ms := r.send("agent/oslo", r.status()); count[protocol.ServiceSettlement](ms) != 0 {
		t.Error("the same reading is paid for twice")
	}
	k := r.restored()
	if k.Accounts().BalanceOf(accounts.SiteAccount("oslo")) != 4*dollar || !reflect.DeepEqual(k.Budgets(), r.market.Budgets()) {
		t.Errorf("a successor has %d, and budgets %+v", k.Accounts().BalanceOf(accounts.SiteAccount("oslo")), k.Budgets())
	}
	if ms := k.Step(r.now, r.message("agent/oslo", r.status())); count[protocol.ServiceSettlement](ms) != 0 {
		t.Error("a successor pays for the same reading again")
	}
	for i, want := range []protocol.Microdollars{8 * dollar, 12 * dollar} {
		if i == 1 { // the agent starts anew
			r.meter = protocol.ReplicaMeter{Since: r.now, Until: r.now}
		}
		r.read()
		if got := r.market.Accounts().BalanceOf(accounts.SiteAccount("oslo")); got != want {
			t.Errorf("by the next reading (of a meter that began anew: %t) $%.2f are paid in all; want $%.2f", i == 1, got.InDollars(), want.InDollars())
		}
	}
	for name, change := range map[string]func(m *protocol.ReplicaMeter){
		"more replicas than the site has GPUs": func(m *protocol.ReplicaMeter) { m.Ran += 9 * time.Hour },
		"energy below what was read":           func(m *protocol.ReplicaMeter) { m.Used.Energy = 0 },
		"a meter that began before":            func(m *protocol.ReplicaMeter) { m.Since = m.Since.Add(-2 * time.Hour) },
		"a time to come":                       func(m *protocol.ReplicaMeter) { m.Until = m.Until.Add(time.Hour) },
	} {
		b := r.status()
		b.Meter.Until, b.Meter.Ran = b.Meter.Until.Add(time.Minute), b.Meter.Ran+time.Minute
		change(&b.Meter)
		r.now = r.now.Add(time.Minute)
		if ms := r.send("agent/oslo", b); count[protocol.ServiceSettlement](ms) != 0 {
			t.Errorf("paid: %s", name)
		}
		r.now = r.now.Add(-time.Minute)
	}
}

// Without room in a budget for the hour to come no replica starts, and those beyond the service's min stop; the min
// stays.
func TestReplicasKeepToBudgets(t *testing.T) {
	r := newReplicaSite(t, 90*dollar, 8, 2)
	if r.count != 8 {
		t.Fatalf("with $10 left %d replicas run; want all 8", r.count)
	}
	r.send(protocol.Submitter, protocol.ScaleService{Service: "web", Wanted: 7})
	r.pass(time.Minute)
	r.read() // of $100, 97 to 98 are spent
	r.pass(time.Minute)
	if r.count != 2 {
		t.Fatalf("with less than $3 left for the hour to come %d replicas run; want 2", r.count)
	}
	d := lastSent[protocol.ServiceDivision](r.testMarket)
	if d.Pending != 5 || d.Why.Code != protocol.BudgetSpent || d.Lack.Code != protocol.BudgetSpent || !strings.Contains(d.Lack.Note, "of the $100.0000 that lab may spend in April 2022 are taken, and 3 replicas in the hour to come may take") {
		t.Errorf("its division says %+v", d)
	}
	r.read()
	r.read()
	if r.count != 2 {
		t.Errorf("beyond the budget %d replicas run; want the min of 2", r.count)
	}
	if ms := r.bid("job", dollar/2, 0); count[protocol.Award](ms) != 0 {
		t.Error("a job is awarded on money that replicas have spent")
	}
	r.now = protocol.NextMonth(r.now)
	r.pass(5 * time.Minute)
	if r.count != 7 {
		t.Errorf("in the next month %d replicas run; want 7", r.count)
	}
	if fresh := newReplicaSite(t, 100*dollar, 4, 1); fresh.count != 0 {
		t.Errorf("without any budget left a new service starts %d replicas", fresh.count)
	}
}
