package tables

import (
	"iter"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Payment is what a tenant paid a site for one run of a job. One of a paused job is a payment for
// each of its runs.
type Payment struct {
	*history.JobRecord
	Run  *history.Run
	Part int // which of the job's runs, from 1
}

// Month returns the month, in UTC, in which the payment was settled, as "2026-03".
func (p Payment) Month() string { return p.Run.Settlement.At.StdTime().Format("2006-01") }

// Margin returns what was paid above the measured cost of energy and the site's tariff.
func (p Payment) Margin() protocol.Microdollars {
	return p.Run.Settled.Paid - p.Run.Settled.Counted.Money - p.Run.Settled.Tariff
}

// Payments returns the payments of a run, in the order in which their jobs began.
func Payments(run Run) iter.Seq[Payment] {
	return func(yield func(Payment) bool) {
		for rec := range run.History.AllInstances() {
			for i, s := range rec.RunSegments() {
				if s.Run.Settlement != (history.MessageRef{}) && !yield(Payment{rec, s.Run, i + 1}) {
					return
				}
			}
		}
	}
}

// paymentsTable has one row for each payment. Its integer column sums to the balances of the market to
// the microdollar.
func paymentsTable() Table {
	return newTable("payments", []field[Payment]{
		{"job_id", Text, func(p Payment) any { return text(p.Job.ID) }},
		{"instance", Integer, func(p Payment) any { return integer(p.Before + 1) }},
		{"part", Integer, func(p Payment) any { return integer(p.Part) }},
		{"tenant", Text, func(p Payment) any { return text(p.Run.Settled.Payer) }},
		{"site", Text, func(p Payment) any { return text(p.Run.Settled.Site) }},
		{"month", Text, func(p Payment) any { return text(p.Month()) }},
		{"settled_time", Instant, func(p Payment) any { return instant(p.Run.Settlement.At) }},
		{"start_time", Instant, func(p Payment) any { return instant(p.Run.Started) }},
		{"end_time", Instant, func(p Payment) any { return instant(p.Run.Ended) }},
		{"energy_kwh", Number, func(p Payment) any { return kwh(p.Run.Settled.Counted.Energy) }},
		{"carbon_kg", Number, func(p Payment) any { return kilograms(p.Run.Settled.Counted.Carbon) }},
		{"energy_usd", Number, func(p Payment) any { return dollars(p.Run.Settled.Counted.Money) }},
		{"margin_usd", Number, func(p Payment) any { return dollars(p.Margin()) }},
		{"tariff_usd", Number, func(p Payment) any { return dollars(p.Run.Settled.Tariff) }},
		{"paid_usd", Number, func(p Payment) any { return dollars(p.Run.Settled.Paid) }},
		{"paid_microdollars", Integer, func(p Payment) any { return integer(p.Run.Settled.Paid) }},
		{"is_late", Flag, func(p Payment) any { return p.Run.Settled.Late }},
		{"is_estimated", Flag, func(p Payment) any { return p.Run.Settled.Estimated }},
	}, Payments)
}

// A Charge is what a payment takes from a budget for a month.
type Charge struct {
	Payment
	protocol.BudgetCharge
}

// Charges returns the charges of a run to budgets, in the order of Payments.
func Charges(run Run) iter.Seq[Charge] {
	return func(yield func(Charge) bool) {
		for p := range Payments(run) {
			for _, c := range p.Run.Settled.Charges {
				if !yield(Charge{p, c}) {
					return
				}
			}
		}
	}
}

// chargesTable has one row for each charge to a budget. Of one quota and month, its integer columns sum to what the
// market counts as spent.
func chargesTable() Table {
	return newTable("charges", []field[Charge]{
		{"quota", Text, func(c Charge) any { return text(c.Quota) }},
		{"month", Text, func(c Charge) any { return text(c.BudgetMonth()) }},
		{"job_id", Text, func(c Charge) any { return text(c.Job.ID) }},
		{"instance", Integer, func(c Charge) any { return integer(c.Before + 1) }},
		{"part", Integer, func(c Charge) any { return integer(c.Part) }},
		{"tenant", Text, func(c Charge) any { return text(c.Run.Settled.Payer) }},
		{"site", Text, func(c Charge) any { return text(c.Run.Settled.Site) }},
		{"settled_time", Instant, func(c Charge) any { return instant(c.Run.Settlement.At) }},
		{"paid_microdollars", Integer, func(c Charge) any { return integer(c.BudgetCharge.Money) }},
		{"carbon_milligrams", Integer, func(c Charge) any { return integer(c.BudgetCharge.Carbon) }},
		{"budget_usd", Number, func(c Charge) any { return dollars(c.BudgetCharge.Budget) }},
		{"carbon_budget_kg", Number, func(c Charge) any { return kilograms(c.BudgetCharge.CarbonBudget) }},
	}, Charges)
}

// BudgetMonth returns the month of the charge, in UTC, as "2026-03".
func (c Charge) BudgetMonth() string { return c.BudgetCharge.Month.StdTime().UTC().Format("2006-01") }
