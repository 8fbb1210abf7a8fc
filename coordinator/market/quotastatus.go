package market

import (
	"maps"
	"slices"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// A QuotaStatus is what a quota's tenants hold, spent and have left.
type QuotaStatus struct {
	protocol.Quota
	Running, Planned map[string]protocol.Milli // GPUs of runs now, and of awarded ones that are to start, by model; "": all
	Month            protocol.Time
	// Of the month's budgets: what the month before spent beyond its own, what was spent, what is reserved for
	// runs, and what is left; zero without a budget.
	Overrun, Spent, Reserved, Left accounts.Amounts
}

// QuotaStatuses returns how each quota in force stands. It reads the market and changes nothing of it, so it may
// be called between two steps.
func (k *Market) QuotaStatuses(now protocol.Time) (all []QuotaStatus) {
	tree, month := k.quotaTree(), protocol.MonthOf(now)
	running, planned := newHeldGPUs(tree), newHeldGPUs(tree)
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l := k.lots[id]
		switch {
		case l.state == accepted && l.start <= now:
			running.addTenant(l.submitted.Tenant, l.option.Model, l.awardedJob().TotalGPUMilli())
		case l.state == accepted || l.state == awarded:
			planned.addTenant(l.submitted.Tenant, l.option.Model, l.awardedJob().TotalGPUMilli())
		}
	}
	k.services.EachHolding(running.addService)
	var budgets *budgetUse
	if tree.HasBudgets() {
		budgets = k.plannedUse(now, &round{}, nil).quotas.budgets
	}
	for _, q := range k.policy.Quotas {
		s := QuotaStatus{Quota: q, Month: month, Running: make(map[string]protocol.Milli), Planned: make(map[string]protocol.Milli)}
		for _, model := range append([]string{""}, tree.Models()...) {
			at := modelOfQuota{model, q.Name}
			s.Running[model], s.Planned[model] = running.of[at], planned.of[at]
		}
		if q.Budget != 0 || q.CarbonBudget != 0 {
			st := budgets.stateOf(&q, month)
			s.Overrun, s.Spent = k.budgets.SpentIn(q.Name, month, accounts.Amounts{Money: q.Budget, Carbon: q.CarbonBudget})
			s.Reserved = accounts.Amounts{Money: protocol.Microdollars(st.money.with(estimate{})), Carbon: protocol.Milligrams(st.carbon.with(estimate{}))}
			if q.Budget != 0 {
				s.Left.Money = q.Budget - st.spent.Money - s.Reserved.Money
			}
			if q.CarbonBudget != 0 {
				s.Left.Carbon = q.CarbonBudget - st.spent.Carbon - s.Reserved.Carbon
			}
		}
		all = append(all, s)
	}
	return all
}
