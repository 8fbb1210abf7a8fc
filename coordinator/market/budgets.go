package market

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// Budgets: docs/quotas.md. An option counts only if each budget of its tenant, of the leaf and of the groups
// above it, has room in each month in which it runs for what all reserved runs and this one may cost.

// An estimate is an amount that is not known yet: four in five are within off of the mean.
type estimate struct{ mean, off int64 }

// A monthCost is what a run may cost in a month: money in microdollars, carbon in milligrams.
type monthCost struct {
	month         protocol.Time
	money, carbon estimate
}

// budgetCorrelation is how alike the errors of two runs are: hours of one grid move together. 0 would be not at
// all, 1 all by the same. It is assumed, until it is measured.
const budgetCorrelation = 0.3

// offOf returns by how much more than its mean an option may cost, by the bounds that its site states of its
// forecasts of price and carbon: four in five errors stay within, which is 1.28 standard deviations. Where a
// site states none, that is nothing.
func (k *Market) offOf(o *protocol.BidOption, g *protocol.GridForecast) (off accounts.Amounts) {
	if o.Finish <= o.Start || g == nil {
		return off
	}
	var money, carbon float64
	perHour := float64(o.Energy) / 3.6e9 / float64(o.Finish-o.Start) // kWh for a millisecond
	for i := max(int(o.Start.Sub(g.From)/time.Hour), 0); i < max(len(g.PriceOff), len(g.CarbonOff)); i++ {
		from := g.From.Add(time.Duration(i) * time.Hour)
		if from >= o.Finish {
			break
		}
		energy := float64(perHour * float64(max(min(from.Add(time.Hour), o.Finish)-max(from, o.Start), 0)))
		if i < len(g.PriceOff) {
			money += float64(energy * math.Abs(float64(g.PriceOff[i])))
		}
		if i < len(g.CarbonOff) {
			carbon += float64(energy * math.Abs(float64(g.CarbonOff[i])))
		}
	}
	if k.cfg.Pay.Pay == accounts.FirstPrice { // what was bid is paid, whatever the hours cost
		money = 0
	}
	more := float64(money * (1 + float64(k.cfg.Pay.Margin)/1000))
	return accounts.Amounts{
		Money:  protocol.Microdollars(math.Round(min(more, float64(accounts.MaxBalance)))),
		Carbon: protocol.Milligrams(math.Round(min(carbon, float64(protocol.MaxCarbon)))),
	}
}

// costsOf appends what a run of an option on so many GPUs may cost its tenant, by the months in which it runs. A
// run that is paid for, or takes carbon away, reserves nothing of either: no budget grows by it.
func (k *Market) costsOf(all []monthCost, month *monthSpan, j *protocol.Job, gpus protocol.Milli, o *protocol.BidOption, off accounts.Amounts) []monthCost {
	money, carbon := k.estimatesOf(j, gpus, o, off)
	if month.holds(o.Start, o.Finish) {
		return append(all, monthCost{month.begin, money, carbon})
	}
	months, spans := protocol.DivideByMonth(o.Start, o.Finish)
	for i, at := range months {
		all = append(all, monthCost{at, money.part(spans, i), carbon.part(spans, i)})
	}
	return all
}

// estimatesOf returns what costsOf divides by months.
func (k *Market) estimatesOf(j *protocol.Job, gpus protocol.Milli, o *protocol.BidOption, off accounts.Amounts) (money, carbon estimate) {
	var tariff protocol.Microdollars
	if o.Tariff != 0 {
		tariff = j.TariffCost(max(o.Finish.Sub(o.Start), 0), o.Tariff)
		if all := j.TotalGPUMilli(); gpus != all && all > 0 {
			tariff = protocol.Microdollars(float64(tariff) * (float64(gpus) / float64(all)))
		}
	}
	money = estimate{max(int64(accounts.SettlementAmount(o.Money, o.Money, tariff, k.cfg.Pay)), 0), int64(off.Money)}
	return money, estimate{max(int64(o.Carbon), 0), int64(off.Carbon)}
}

// A monthSpan is the month of the run that was last looked at: most runs are of one.
type monthSpan struct{ begin, end protocol.Time }

// holds reports whether a run is of the month alone, which becomes that of its start.
func (m *monthSpan) holds(from, to protocol.Time) bool {
	if from < m.begin || from >= m.end {
		m.begin, m.end = protocol.MonthOf(from), protocol.NextMonth(from)
	}
	return to <= m.end
}

// part returns the part of an estimate that is of one of some spans of time. What rounding leaves is of the last.
func (e estimate) part(spans []time.Duration, i int) estimate {
	return estimate{partOf(e.mean, spans, i), partOf(e.off, spans, i)}
}

// partOf returns the part of an amount that is of one of some spans of time; all parts sum to it.
func partOf(v int64, spans []time.Duration, i int) int64 {
	var before, sum time.Duration
	for k, s := range spans {
		if k < i {
			before += s
		}
		sum += s
	}
	if sum <= 0 {
		if i == len(spans)-1 {
			return v
		}
		return 0
	}
	upTo := func(d time.Duration) int64 {
		if d == sum {
			return v
		}
		return int64(float64(v) * (float64(d) / float64(sum)))
	}
	return upTo(before+spans[i]) - upTo(before)
}

// mostCosts returns the most that either of two costs is, by month, in place of the first.
func mostCosts(a, b []monthCost) []monthCost {
	for _, x := range b {
		i := 0
		for i < len(a) && a[i].month != x.month {
			i++
		}
		if i == len(a) {
			a = append(a, x)
			continue
		}
		a[i].money, a[i].carbon = a[i].money.most(x.money), a[i].carbon.most(x.carbon)
	}
	return a
}

func (e estimate) most(x estimate) estimate {
	return estimate{max(e.mean, x.mean), max(e.off, x.off)}
}

// isWithin reports whether an estimate is no more than another, in mean and in error.
func (e estimate) isWithin(x estimate) bool { return e.mean <= x.mean && e.off <= x.off }

// A reservedSum is the sum of what runs may cost a budget in a month.
type reservedSum struct {
	mean         int64
	off, squares float64
}

// add adds an estimate, or with sign -1 subtracts it.
func (r *reservedSum) add(e estimate, sign int64) {
	r.mean += sign * e.mean
	r.off += float64(float64(sign) * float64(e.off))
	r.squares += float64(float64(sign) * float64(float64(e.off)*float64(e.off)))
}

// with returns what is to be reserved for all runs of the sum and one more: the sum of their means, and of the
// bounds of their errors as much as a portfolio has, whose errors are alike by budgetCorrelation.
func (r *reservedSum) with(e estimate) int64 {
	off := r.off + float64(e.off)
	squares := r.squares + float64(float64(e.off)*float64(e.off))
	apart, alike := float64((1-budgetCorrelation)*squares), float64(budgetCorrelation*float64(off*off))
	return r.mean + e.mean + int64(math.Ceil(math.Sqrt(max(apart+alike, 0))))
}

// A budgetUse is what the runs of a round may cost each budget.
type budgetUse struct {
	account *accounts.Budgets
	months  map[budgetMonth]*budgetState
	month   monthSpan
}

type budgetMonth struct {
	quota string
	month protocol.Time
}

type budgetState struct {
	spent         accounts.Amounts // with the overrun of the month before; not less than zero
	money, carbon reservedSum
}

func newBudgetUse(account *accounts.Budgets) *budgetUse {
	return &budgetUse{account: account, months: make(map[budgetMonth]*budgetState)}
}

// stateOf returns the state of a budget in a month.
func (u *budgetUse) stateOf(q *protocol.Quota, month protocol.Time) *budgetState {
	at := budgetMonth{q.Name, month}
	s := u.months[at]
	if s == nil {
		overrun, spent := u.account.SpentIn(q.Name, month, accounts.Amounts{Money: q.Budget, Carbon: q.CarbonBudget})
		s = &budgetState{spent: accounts.Amounts{Money: max(overrun.Money+spent.Money, 0), Carbon: max(overrun.Carbon+spent.Carbon, 0)}}
		u.months[at] = s
	}
	return s
}

// addCosts adds what one job may cost its budgets, or with sign -1 subtracts it. At most one of its possible uses
// happens: each month counts with the largest.
func (u *budgetUse) addCosts(path []*protocol.Quota, own []runUse, sign int64) {
	if u == nil || len(path) == 0 {
		return
	}
	var most []monthCost
	for i := range own {
		most = mostCosts(most, own[i].costs)
	}
	for i := range path {
		for _, c := range most {
			s := u.stateOf(path[i], c.month)
			s.money.add(c.money, sign)
			s.carbon.add(c.carbon, sign)
		}
	}
}

// budgetLimits are the budgets of a job.
type budgetLimits struct {
	use  *budgetUse
	path []*protocol.Quota

	month  protocol.Time  // of states
	states []*budgetState // of each budget of the path
	fits   monthCost      // of month: what costs no more than this has room. Invariant: states do not change meanwhile
}

// limitsOf returns the limits by the budgets of a path; nil if it has none.
func (u *budgetUse) limitsOf(path []*protocol.Quota) *budgetLimits {
	if u == nil || len(path) == 0 {
		return nil
	}
	return &budgetLimits{use: u, path: path}
}

// A budgetExcess is a budget that has no room for a run.
type budgetExcess struct {
	quota       *protocol.Quota
	month       protocol.Time
	code        protocol.Code
	taken, more int64 // spent and reserved; by how much more with the run
}

// exceededBy returns the first budget that has no room for the costs of a run; nil if all have.
func (l *budgetLimits) exceededBy(costs []monthCost) *budgetExcess {
	if l == nil {
		return nil
	}
	for _, c := range costs {
		if l.states == nil || c.month != l.month {
			l.month, l.states = c.month, l.states[:0]
			for _, q := range l.path {
				l.states = append(l.states, l.use.stateOf(q, c.month))
			}
			l.fits = monthCost{}
		}
		if c.money.isWithin(l.fits.money) && c.carbon.isWithin(l.fits.carbon) {
			continue
		}
		if x := l.excessIn(c); x != nil {
			return x
		}
		most := monthCost{c.month, c.money.most(l.fits.money), c.carbon.most(l.fits.carbon)}
		if l.excessIn(most) == nil {
			l.fits = most
		}
	}
	return nil
}

// excessIn returns the first budget that has no room for a cost in the month of states; nil if all have.
func (l *budgetLimits) excessIn(c monthCost) *budgetExcess {
	for i, q := range l.path {
		s := l.states[i]
		if x := excessOf(int64(q.Budget), int64(s.spent.Money), &s.money, c.money); x != nil {
			x.quota, x.month, x.code = q, c.month, protocol.BudgetSpent
			return x
		}
		if x := excessOf(int64(q.CarbonBudget), int64(s.spent.Carbon), &s.carbon, c.carbon); x != nil {
			x.quota, x.month, x.code = q, c.month, protocol.CarbonBudgetSpent
			return x
		}
	}
	return nil
}

// excessOf returns by how much a run would exceed a budget; nil if it would not, or if there is none. A run that
// may cost nothing in a month needs no room in it.
func excessOf(budget, spent int64, reserved *reservedSum, e estimate) *budgetExcess {
	with := reserved.with(e)
	if budget == 0 || e == (estimate{}) || spent+with <= budget {
		return nil
	}
	before := reserved.with(estimate{})
	return &budgetExcess{taken: spent + before, more: with - before}
}

// reason returns why what exceeds a budget waits.
func (x *budgetExcess) reason(what string) protocol.Reason {
	amount := func(v int64) string { return format.FormatDollars(protocol.Microdollars(v)) }
	verb, budget := "spend", int64(x.quota.Budget)
	if x.code == protocol.CarbonBudgetSpent {
		amount = func(v int64) string { return format.FormatKilograms(protocol.Milligrams(v)) + " kg CO2e" }
		verb, budget = "emit", int64(x.quota.CarbonBudget)
	}
	return protocol.Reason{Code: x.code, Note: fmt.Sprintf("%s of the %s that %s may %s in %s are taken, and %s may take %s",
		amount(x.taken), amount(budget), format.CleanText(x.quota.Name), verb, x.month.StdTime().UTC().Format("January 2006"), what, amount(x.more))}
}

// chargesOf returns what a run takes from the budgets of its payer, by the months of its energy: as its site
// reports, if that adds up, else by time.
func (k *Market) chargesOf(now protocol.Time, l *lot, d protocol.UsageReport, s *protocol.Settlement) (charges []protocol.BudgetCharge) {
	path := k.quotaTree().BudgetedPathOf(s.Payer)
	if len(path) == 0 {
		return nil
	}
	ended := max(min(d.Ended, now)-1, 0) // what ends with a month is of that month
	months, spans := protocol.DivideByMonth(min(max(d.Started, l.option.Start), ended), ended)
	usage := monthsOfReport(d, months, spans)
	paid := s.Paid
	for i, u := range usage {
		part := protocol.Microdollars(partOf(int64(s.Paid), spans, i))
		if k.cfg.Pay.Pay != accounts.FirstPrice && s.Paid != 0 {
			part = accounts.SettlementAmount(0, u.Money, protocol.Microdollars(partOf(int64(s.Tariff), spans, i)), k.cfg.Pay)
		}
		if paid -= part; i == len(usage)-1 { // with what rounding leaves
			part, paid = part+paid, 0
		}
		for _, q := range path {
			charges = append(charges, k.chargeOf(now, q, u.Month, part, u.Carbon))
		}
	}
	return charges
}

// chargeOf returns what a quota's budgets of a month are charged with, beside the budgets, and in the month that now is
// the policy that set them.
func (k *Market) chargeOf(now protocol.Time, q *protocol.Quota, month protocol.Time, money protocol.Microdollars, carbon protocol.Milligrams) protocol.BudgetCharge {
	c := protocol.BudgetCharge{Quota: q.Name, Month: month, Money: money, Carbon: carbon, Budget: q.Budget, CarbonBudget: q.CarbonBudget}
	if month == protocol.MonthOf(now) {
		c.Version = k.policy.Version
	}
	return c
}

// monthsOfReport returns a run's usage by months. What its site says counts if it is of these months, oldest
// first, and sums to the report.
func monthsOfReport(d protocol.UsageReport, months []protocol.Time, spans []time.Duration) []protocol.MonthUsage {
	all := make([]protocol.MonthUsage, len(months))
	var sum protocol.MonthUsage
	fits := len(d.Months) > 0
	for i, u := range d.Months {
		at := slices.Index(months, u.Month)
		if fits = fits && at >= 0 && (i == 0 || u.Month > d.Months[i-1].Month) && u.Carbon >= 0; !fits {
			break
		}
		all[at], sum.Carbon, sum.Money = u, sum.Carbon+u.Carbon, sum.Money+u.Money
	}
	fits = fits && sum.Carbon == d.Carbon && sum.Money == d.Money
	for i, month := range months {
		if all[i].Month = month; !fits {
			all[i].Carbon, all[i].Money = protocol.Milligrams(partOf(int64(d.Carbon), spans, i)), protocol.Microdollars(partOf(int64(d.Money), spans, i))
		}
	}
	return all
}
