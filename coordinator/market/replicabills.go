package market

import (
	"sort"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/services"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// Services pay by the hour, and count in budgets by what they took and will take in the hour to come: docs/quotas.md,
// decision 0430.

// settleReplicas pays a site for what replicas took since the reading before, charges budgets with it, and has a service
// that has some looked at again.
func (k *Market) settleReplicas(now protocol.Time, s protocol.ServiceSettlement) protocol.ServiceSettlement {
	s.Paid = accounts.SettlementAmount(s.Counted.Money, s.Counted.Money, 0, k.cfg.Pay)
	months, spans := protocol.DivideByMonth(s.From, s.Meter.Until-1)
	for _, q := range k.quotaTree().BudgetedPathOf(s.Payer) {
		for i, month := range months {
			money, carbon := partOf(int64(s.Paid), spans, i), partOf(int64(s.Counted.Carbon), spans, i)
			s.Charges = append(s.Charges, k.chargeOf(now, q, month, protocol.Microdollars(money), protocol.Milligrams(carbon)))
		}
		k.services.DivideSoon(now, s.Service)
	}
	if !k.applyServiceSettlement(s) {
		k.counts["over-account-limit"]++
		s.Paid = 0
	}
	return s
}

// applyServiceSettlement does what a settlement says; false if it would pass the limit of an account, so that nothing
// is paid.
func (k *Market) applyServiceSettlement(s protocol.ServiceSettlement) bool {
	for _, c := range s.Charges {
		k.budgets.Charge(c)
	}
	return k.ledger.Transfer(accounts.TenantAccount(s.Payer), accounts.SiteAccount(s.Site), s.Paid)
}

// addServices adds what services took and were not charged with, and what they will take in the hour to come.
func (u *budgetUse) addServices(k *Market, now protocol.Time) {
	k.services.EachForeseen(now, func(f services.Foreseen) {
		u.addForeseen(k, f, 1)
	})
}

// addForeseen adds what replicas will take to the budgets of their tenant, or with sign -1 subtracts it.
func (u *budgetUse) addForeseen(k *Market, f services.Foreseen, sign int64) {
	if path := k.quotaTree().BudgetedPathOf(f.Service.Tenant); len(path) > 0 {
		u.addCosts(path, []runUse{{costs: k.costsOfReplicas(f)}}, sign)
	}
}

// costsOfReplicas returns what replicas will cost their tenant, by the months in which they run.
func (k *Market) costsOfReplicas(f services.Foreseen) []monthCost {
	o := protocol.BidOption{Start: f.From, Finish: f.To, Energy: f.Usage.Energy, Carbon: f.Usage.Carbon, Money: f.Usage.Money}
	return k.costsOf(nil, &monthSpan{}, &protocol.Job{}, 0, &o, accounts.Amounts{})
}

// WithinBudgets implements services.QuotaRoom.
func (r serviceRoom) WithinBudgets(s *protocol.Service, held, each protocol.Usage, most int) (n int, why protocol.Reason) {
	path := r.used.tree.BudgetedPathOf(s.Tenant)
	if len(path) == 0 {
		return most, why
	}
	nextHour := func(u protocol.Usage) services.Foreseen {
		return services.Foreseen{Service: s, From: r.now, To: r.now.Add(time.Hour), Usage: u}
	}
	if counted, known := r.counted[s.ID]; known {
		held = counted
	}
	r.budgets.addForeseen(r.market, nextHour(held), -1)
	of := func(n int) protocol.Usage {
		return protocol.Usage{Energy: each.Energy * protocol.Millijoules(n), Carbon: each.Carbon * protocol.Milligrams(n), Money: each.Money * protocol.Microdollars(n)}
	}
	excess := func(n int) *budgetExcess {
		return r.budgets.limitsOf(path).exceededBy(r.market.costsOfReplicas(nextHour(of(n))))
	}
	if n = sort.Search(most, func(n int) bool { return excess(n+1) != nil }); n < most {
		why = excess(n + 1).reason(format.CountWithNoun(n+1, "replica", "replicas") + " in the hour to come")
	}
	r.counted[s.ID] = of(n)
	r.budgets.addForeseen(r.market, nextHour(of(n)), 1)
	return n, why
}
