package accounts

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// Budgets is the account of what quotas spent of their budgets, month by month. Its zero value is ready
// to use.
//
// Promise: it depends on which charges and which policies it was told, and not on their order. So a
// restart may read a snapshot of old charges, the policy in force and the charges since in any order.
type Budgets struct {
	months map[string][]budgetEntry // by quota; of each by month
}

// A budgetEntry is what a quota spent in a month, and the budget that the month's overrun is reckoned by.
type budgetEntry struct {
	month   protocol.Time
	spent   Amounts
	limit   Amounts
	version uint64 // of the policy that the limit is of
}

// Amounts are an amount of money and one of carbon.
type Amounts struct {
	Money  protocol.Microdollars
	Carbon protocol.Milligrams
}

// Charge adds a charge.
func (b *Budgets) Charge(c protocol.BudgetCharge) {
	b.update(c.Quota, c.Month, Amounts{c.Money, c.Carbon}, Amounts{c.Budget, c.CarbonBudget}, c.Version)
}

// SetLimits notes the budgets that a policy puts into force at an instant: the last ones of a month are
// those that the month's overrun is reckoned by.
func (b *Budgets) SetLimits(at protocol.Time, p protocol.Policy) {
	month, named := protocol.MonthOf(at), make(map[string]bool)
	for _, q := range p.Quotas {
		if q.Budget != 0 || q.CarbonBudget != 0 {
			named[q.Name] = true
			b.update(q.Name, month, Amounts{}, Amounts{q.Budget, q.CarbonBudget}, p.Version)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.months)) {
		if _, known := b.entryOf(name, month); known && !named[name] {
			b.update(name, month, Amounts{}, Amounts{}, p.Version)
		}
	}
}

// entryOf returns the index of a quota's entry of a month, or where it would stand.
func (b *Budgets) entryOf(quota string, month protocol.Time) (i int, known bool) {
	return slices.BinarySearchFunc(b.months[quota], month, func(e budgetEntry, m protocol.Time) int { return cmp.Compare(e.month, m) })
}

func (b *Budgets) update(quota string, month protocol.Time, spent, limit Amounts, version uint64) {
	if b.months == nil {
		b.months = make(map[string][]budgetEntry)
	}
	i, known := b.entryOf(quota, month)
	if !known {
		b.months[quota] = slices.Insert(b.months[quota], i, budgetEntry{month: month, limit: limit, version: version})
	}
	e := &b.months[quota][i]
	e.spent.Money, e.spent.Carbon = e.spent.Money+spent.Money, e.spent.Carbon+spent.Carbon
	if version > e.version || version == e.version && (limit.Money > e.limit.Money || limit.Money == e.limit.Money && limit.Carbon > e.limit.Carbon) {
		e.limit, e.version = limit, version
	}
}

// SpentIn returns what a quota spent in a month, and as its first line the overrun of the month before:
// what that spent beyond the budget of its end, its own first line included. A month without a charge
// is reckoned by the budget given.
func (b *Budgets) SpentIn(quota string, month protocol.Time, limit Amounts) (overrun, spent Amounts) {
	all := b.months[quota]
	for len(all) > 0 && all[0].month < month {
		e := all[0]
		all = all[1:]
		for m := e.month; ; e = (budgetEntry{limit: limit}) {
			overrun = Amounts{beyond(overrun.Money+e.spent.Money, e.limit.Money), beyond(overrun.Carbon+e.spent.Carbon, e.limit.Carbon)}
			if m = protocol.NextMonth(m); m >= month || len(all) > 0 && m >= all[0].month || overrun == (Amounts{}) {
				break
			}
		}
	}
	if len(all) > 0 && all[0].month == month {
		spent = all[0].spent
	}
	return overrun, spent
}

// beyond returns by how much v is more than a budget; 0 if there is none.
func beyond[T ~int64](v, budget T) T {
	if budget == 0 {
		return 0
	}
	return max(v-budget, 0)
}

// Charges returns charges from which the account can be restored, by quota and month.
func (b *Budgets) Charges() (all []protocol.BudgetCharge) {
	for _, name := range slices.Sorted(maps.Keys(b.months)) {
		for _, e := range b.months[name] {
			all = append(all, protocol.BudgetCharge{
				Quota: name, Month: e.month, Money: e.spent.Money, Carbon: e.spent.Carbon,
				Budget: e.limit.Money, CarbonBudget: e.limit.Carbon, Version: e.version,
			})
		}
	}
	return all
}
