package tables

import (
	"iter"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Payment is what a tenant paid a site for one run of a job, or for what replicas of a service took until their meter
// was read. A paused job has a payment for each of its runs.
type Payment struct {
	Job            protocol.JobID
	Service        protocol.ServiceID // "": of a job
	Instance, Part int                // of a job: which that the id was given to, and which of its runs, from 1
	Settled        protocol.Settlement
	At             protocol.Time // when it was settled
	Started, Ended protocol.Time
}

// Name returns the job or the service that the payment is for.
func (p Payment) Name() string {
	if p.Service != "" {
		return "service " + string(p.Service)
	}
	return string(p.Job)
}

// Month returns the month, in UTC, in which the payment was settled, as "2026-03".
func (p Payment) Month() string { return p.At.StdTime().Format("2006-01") }

// Margin returns what was paid above the measured cost of energy and the site's tariff.
func (p Payment) Margin() protocol.Microdollars {
	return p.Settled.Paid - p.Settled.Counted.Money - p.Settled.Tariff
}

// Payments returns the payments of a run: for jobs, in the order in which these began, and then for services.
func Payments(run Run) iter.Seq[Payment] {
	return func(yield func(Payment) bool) {
		for rec := range run.History.AllInstances() {
			for i, s := range rec.RunSegments() {
				r := s.Run
				if r.Settlement != (history.MessageRef{}) && !yield(Payment{Job: rec.Job.ID, Instance: rec.Before + 1, Part: i + 1, Settled: r.Settled, At: r.Settlement.At, Started: r.Started, Ended: r.Ended}) {
					return
				}
			}
		}
		for _, rec := range run.History.Services() {
			for _, s := range rec.Payments {
				b := s.Settled
				if !yield(Payment{Service: b.Service, At: s.From.At, Started: b.From, Ended: b.Meter.Until,
					Settled: protocol.Settlement{Site: b.Site, Payer: b.Payer, Paid: b.Paid, Counted: b.Counted, Charges: b.Charges, Estimated: true}}) {
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
		{"job_id", Text, func(p Payment) any { return text(p.Job) }},
		{"instance", Integer, func(p Payment) any { return ordinal(p.Instance) }},
		{"part", Integer, func(p Payment) any { return ordinal(p.Part) }},
		{"tenant", Text, func(p Payment) any { return text(p.Settled.Payer) }},
		{"site", Text, func(p Payment) any { return text(p.Settled.Site) }},
		{"month", Text, func(p Payment) any { return text(p.Month()) }},
		{"settled_time", Instant, func(p Payment) any { return instant(p.At) }},
		{"start_time", Instant, func(p Payment) any { return instant(p.Started) }},
		{"end_time", Instant, func(p Payment) any { return instant(p.Ended) }},
		{"energy_kwh", Number, func(p Payment) any { return kwh(p.Settled.Counted.Energy) }},
		{"carbon_kg", Number, func(p Payment) any { return kilograms(p.Settled.Counted.Carbon) }},
		{"energy_usd", Number, func(p Payment) any { return dollars(p.Settled.Counted.Money) }},
		{"margin_usd", Number, func(p Payment) any { return dollars(p.Margin()) }},
		{"tariff_usd", Number, func(p Payment) any { return dollars(p.Settled.Tariff) }},
		{"paid_usd", Number, func(p Payment) any { return dollars(p.Settled.Paid) }},
		{"paid_microdollars", Integer, func(p Payment) any { return integer(p.Settled.Paid) }},
		{"is_late", Flag, func(p Payment) any { return p.Settled.Late }},
		{"is_estimated", Flag, func(p Payment) any { return p.Settled.Estimated }},
		{"service_id", Text, func(p Payment) any { return text(p.Service) }},
	}, Payments)
}

// ordinal returns a number that counts from 1; what has none has no value.
func ordinal(n int) any {
	if n == 0 {
		return nil
	}
	return integer(n)
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
			for _, c := range p.Settled.Charges {
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
		{"job_id", Text, func(c Charge) any { return text(c.Job) }},
		{"instance", Integer, func(c Charge) any { return ordinal(c.Instance) }},
		{"part", Integer, func(c Charge) any { return ordinal(c.Part) }},
		{"tenant", Text, func(c Charge) any { return text(c.Settled.Payer) }},
		{"site", Text, func(c Charge) any { return text(c.Settled.Site) }},
		{"settled_time", Instant, func(c Charge) any { return instant(c.At) }},
		{"paid_microdollars", Integer, func(c Charge) any { return integer(c.BudgetCharge.Money) }},
		{"carbon_milligrams", Integer, func(c Charge) any { return integer(c.BudgetCharge.Carbon) }},
		{"budget_usd", Number, func(c Charge) any { return dollars(c.BudgetCharge.Budget) }},
		{"carbon_budget_kg", Number, func(c Charge) any { return kilograms(c.BudgetCharge.CarbonBudget) }},
		{"service_id", Text, func(c Charge) any { return text(c.Service) }},
	}, Charges)
}

// BudgetMonth returns the month of the charge, in UTC, as "2026-03".
func (c Charge) BudgetMonth() string { return c.BudgetCharge.Month.StdTime().UTC().Format("2006-01") }
