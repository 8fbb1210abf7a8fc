package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/history/tables"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
)

// newStatementCommand is `gridbid statement`: what a tenant paid, or a site got.
func newStatementCommand() *cobra.Command {
	var f ledgerSelector
	var o outputFlags
	var list listFlags
	var tenant, site, month, budget string
	cmd := &cobra.Command{
		Use:   "statement",
		Short: "what a tenant paid, or a site was paid, line by line",
		Long: `Print the payments of a tenant or to a site, one line for each run that was settled and each
hour of a service's replicas at a site, and their sums, which are those of the ledger to the microdollar. CSV and JSON have whole
microdollars, too (paid_microdollars). A run belongs to the month, in UTC, in which it
was settled.

With --budget, print what the budget of a quota was charged with instead: a line for each run
and month of its energy. Work that is lost for a job of a higher class is charged to that job's
tenant.

The lines are rows of the tables payments and charges of "gridbid export" (docs/export.md).`,
		Example: `  gridbid statement --tenant team-a
  gridbid statement --site hydro-north --month 2026-03 -o csv > march.csv
  gridbid statement --budget research --month 2026-03
  gridbid statement --live --tenant team-a`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tenant == "" && site == "" && budget == "" {
				return usageError{errors.New("statement: whose? Name --tenant or --site, or both, or --budget")}
			}
			if _, err := time.Parse("2006-01", month); month != "" && err != nil {
				return usageError{fmt.Errorf("statement: --month %q: want a year and a month, such as 2026-03", month)}
			}
			from, err := f.source()
			if err != nil {
				return err
			}
			run, err := from.readTables(nil, history.Config{}, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			for _, x := range []struct {
				what, name string
				known      []string
			}{{"tenant", tenant, run.History.TenantNames()}, {"site", site, run.History.ReportingSiteNames()}} {
				if x.name != "" && !slices.Contains(x.known, x.name) {
					return usageError{fmt.Errorf("statement: --%s: no %s %q%s in this record", x.what, x.what, x.name, nearest.DidYouMean(x.name, x.known))}
				}
			}
			if budget != "" {
				return printCharges(cmd, &o, &list, slices.DeleteFunc(slices.Collect(tables.Charges(run.Run)), func(c tables.Charge) bool {
					return c.Quota != budget || tenant != "" && c.Settled.Payer != tenant || site != "" && c.Settled.Site != site || month != "" && c.BudgetMonth() != month
				}))
			}
			all := slices.Collect(tables.Payments(run.Run))
			all = slices.DeleteFunc(all, func(p tables.Payment) bool {
				return tenant != "" && p.Settled.Payer != tenant || site != "" && p.Settled.Site != site || month != "" && p.Month() != month
			})
			v, err := selectRows(&list, paymentListing(all))
			if err != nil {
				return err
			}
			if err := o.printView(cmd, v); err != nil || o.forPrograms() {
				return err
			}
			writeSums(cmd.OutOrStdout(), all)
			return nil
		},
	}
	f.registerFlags(cmd, "`FOLDER` of the run to read, written by gridbid replay")
	cmd.Flags().StringVar(&tenant, "tenant", "", "`NAME` of the tenant that paid")
	cmd.Flags().StringVar(&site, "site", "", "`NAME` of the site that was paid")
	cmd.Flags().StringVar(&budget, "budget", "", "`QUOTA` whose budget was charged")
	cmd.Flags().StringVar(&month, "month", "", "only what was settled, or of a budget: used, in this `MONTH`, as 2026-03 (default: all)")
	o.registerOutput(cmd)
	list.registerList(cmd, "payments", 0)
	return cmd
}

// paymentListing returns payments as a listing. Programs get whole microdollars.
func paymentListing(all []tables.Payment) printer.Listing[tables.Payment] {
	type payment = tables.Payment
	return printer.Listing[payment]{Rows: all, Columns: []printer.Column[payment]{
		{Head: "JOB", Value: func(p payment) any { return p.Name() }},
		{Head: "PART", Value: func(p payment) any { return p.Part }, Wide: true},
		{Head: "TENANT", Value: func(p payment) any { return p.Settled.Payer }},
		{Head: "SITE", Value: func(p payment) any { return p.Settled.Site }},
		{Head: "SETTLED", Value: func(p payment) any { return p.At }},
		{Head: "KWH", Value: func(p payment) any { return p.Settled.Counted.Energy.InKWh() }, Verb: "%.3f"},
		{Head: "CARBON KG", Value: func(p payment) any { return p.Settled.Counted.Carbon.InKilograms() }, Verb: "%.3f"},
		{Head: "ENERGY USD", Value: func(p payment) any { return p.Settled.Counted.Money.InDollars() }, Verb: "%.6f"},
		{Head: "MARGIN USD", Value: func(p payment) any { return p.Margin().InDollars() }, Verb: "%.6f"},
		{Head: "TARIFF USD", Value: func(p payment) any { return p.Settled.Tariff.InDollars() }, Verb: "%.6f"},
		{Head: "PAID USD", Value: func(p payment) any { return p.Settled.Paid.InDollars() }, Verb: "%.6f"},
		{Head: "PAID MICRODOLLARS", Value: func(p payment) any { return int64(p.Settled.Paid) }, Wide: true},
	}}
}

// writeSums prints the sums of some payments, exact to the microdollar.
func writeSums(out io.Writer, all []tables.Payment) {
	var sum protocol.Usage
	var paid, tariff protocol.Microdollars
	for _, p := range all {
		sum, paid, tariff = sum.Plus(p.Settled.Counted), paid+p.Settled.Paid, tariff+p.Settled.Tariff
	}
	fmt.Fprintf(out, "\n%s: %.3f kWh, %.3f kg CO2e, energy $%.6f, margin $%.6f, tariff $%.6f, paid $%.6f\n", format.CountWithNoun(len(all), "payment", "payments"),
		sum.Energy.InKWh(), sum.Carbon.InKilograms(), sum.Money.InDollars(), (paid - sum.Money - tariff).InDollars(), tariff.InDollars(), paid.InDollars())
}

// printCharges prints charges to a budget, and their sums.
func printCharges(cmd *cobra.Command, o *outputFlags, list *listFlags, all []tables.Charge) error {
	type charge = tables.Charge
	v, err := selectRows(list, printer.Listing[charge]{Rows: all, Columns: []printer.Column[charge]{
		{Head: "BUDGET", Value: func(c charge) any { return c.Quota }},
		{Head: "MONTH", Value: func(c charge) any { return c.BudgetMonth() }},
		{Head: "JOB", Value: func(c charge) any { return c.Name() }},
		{Head: "TENANT", Value: func(c charge) any { return c.Settled.Payer }},
		{Head: "SITE", Value: func(c charge) any { return c.Settled.Site }},
		{Head: "SETTLED", Value: func(c charge) any { return c.At }},
		{Head: "PAID USD", Value: func(c charge) any { return c.BudgetCharge.Money.InDollars() }, Verb: "%.6f"},
		{Head: "CARBON KG", Value: func(c charge) any { return c.BudgetCharge.Carbon.InKilograms() }, Verb: "%.6f"},
		{Head: "PAID MICRODOLLARS", Value: func(c charge) any { return int64(c.BudgetCharge.Money) }, Wide: true},
		{Head: "CARBON MILLIGRAMS", Value: func(c charge) any { return int64(c.BudgetCharge.Carbon) }, Wide: true},
	}})
	if err != nil {
		return err
	}
	if err := o.printView(cmd, v); err != nil || o.forPrograms() {
		return err
	}
	var paid protocol.Microdollars
	var carbon protocol.Milligrams
	for _, c := range all {
		paid, carbon = paid+c.BudgetCharge.Money, carbon+c.BudgetCharge.Carbon
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "\n%s: paid $%.6f, %.6f kg CO2e\n", format.CountWithNoun(len(all), "charge", "charges"), paid.InDollars(), carbon.InKilograms())
	return err
}
