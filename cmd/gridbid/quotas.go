package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/internal/printer"
)

// newQuotasCommand is `gridbid quotas`.
func newQuotasCommand() *cobra.Command {
	var f apiFlags
	cmd := &cobra.Command{
		Use:   "quotas",
		Short: "list the quotas of a live federation, or divide those of your group",
		Long: `List the quotas in force, as far as your credential sees them: a tenant its own, the admin
of a tenant also those below it: what they guarantee and cap, the GPUs of runs now and of
planned ones, and of this month's budgets what is spent (with what the last month spent beyond
its own), reserved for runs, and left. The admin divides them:

  gridbid quotas set vision --min 4 --lend 2

The whole tree is set by "gridbid import". docs/quotas.md says what the amounts mean.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []api.QuotaReply
			if err := f.getJSON(cmd.Context(), "/v1/quotas", &all); err != nil {
				return err
			}
			return f.printView(cmd, quotaReplies(all))
		},
	}
	f.registerFlags(cmd, false)
	cmd.AddCommand(newQuotasSet())
	return cmd
}

// newQuotasSet is `gridbid quotas set`.
func newQuotasSet() *cobra.Command {
	var f apiFlags
	var why string
	amounts := make(map[string]*float64)
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "change amounts of a quota below that of your tenant",
		Long: `Change amounts of a quota below that of your tenant; what is not given stays. You need a
credential of the role tenant-admin. Children are guaranteed no more together than their
parent, and no max is above a parent's; your own tenant's amounts are changed by admins of
the federation. The change takes effect with the next round, and the ledger has its author.`,
		Example: `  gridbid quotas set vision --min 4 --max 8 --reason "the deadline"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{"why": {why}}
			for key, v := range amounts {
				if cmd.Flags().Changed(key) {
					q.Set(key, strconv.FormatFloat(*v, 'g', -1, 64))
				}
			}
			var all []api.QuotaReply
			if err := f.sendRequest(cmd.Context(), http.MethodPost, "/v1/quotas/"+url.PathEscape(args[0])+"?"+q.Encode(), "", nil, &all); err != nil {
				return err
			}
			return f.printView(cmd, quotaReplies(all))
		},
	}
	f.registerFlags(cmd, false)
	for _, x := range [][2]string{
		{"min", "`GPUS` that it is guaranteed"}, {"max", "most `GPUS` that it holds at a time; 0 for no cap of its own"},
		{"weight", "`WEIGHT` of its part of what others leave"}, {"lend", "most `GPUS` of its min that others get"},
	} {
		amounts[x[0]] = cmd.Flags().Float64(x[0], 0, x[1])
	}
	cmd.Flags().StringVar(&why, "reason", "", "reason, as free text for the ledger")
	return cmd
}

// quotaReplies returns quotas of the API as a listing.
func quotaReplies(all []api.QuotaReply) printer.View {
	type quota = api.QuotaReply
	return printer.Listing[quota]{Rows: all, Columns: []printer.Column[quota]{
		{Head: "NAME", Value: func(q quota) any { return q.Name }},
		{Head: "PARENT", Value: func(q quota) any { return q.Parent }},
		{Head: "MIN", Value: func(q quota) any { return q.Min }},
		{Head: "MAX", Value: func(q quota) any {
			if q.Max == 0 {
				return nil // no cap
			}
			return q.Max
		}},
		{Head: "WEIGHT", Value: func(q quota) any { return q.Weight }},
		{Head: "LENDS", Value: func(q quota) any { return q.Lend }},
		{Head: "BAND", Value: func(q quota) any { return q.Band }},
		{Head: "RUNNING", Value: func(q quota) any { return q.Running }},
		{Head: "PLANNED", Value: func(q quota) any { return q.Planned }},
		{Head: "USD", Value: func(q quota) any { return amountOf(q.Budget, budgetAmount) }},
		{Head: "USD SPENT", Value: func(q quota) any { return amountOf(q.Budget, budgetSpent) }, Verb: "%.2f"},
		{Head: "USD RESERVED", Value: func(q quota) any { return amountOf(q.Budget, budgetReserved) }, Verb: "%.2f"},
		{Head: "USD LEFT", Value: func(q quota) any { return amountOf(q.Budget, budgetLeft) }, Verb: "%.2f"},
		{Head: "KG", Value: func(q quota) any { return amountOf(q.CarbonBudget, budgetAmount) }},
		{Head: "KG SPENT", Value: func(q quota) any { return amountOf(q.CarbonBudget, budgetSpent) }, Verb: "%.3f"},
		{Head: "KG RESERVED", Value: func(q quota) any { return amountOf(q.CarbonBudget, budgetReserved) }, Verb: "%.3f"},
		{Head: "KG LEFT", Value: func(q quota) any { return amountOf(q.CarbonBudget, budgetLeft) }, Verb: "%.3f"},
		{Head: "MODELS", Value: func(q quota) any { return modelsInWords(q.Models) }},
	}}
}

// amountOf returns an amount of a budget; nil if there is none.
func amountOf(b *api.BudgetReply, of func(*api.BudgetReply) float64) any {
	if b == nil {
		return nil
	}
	return of(b)
}

func budgetAmount(b *api.BudgetReply) float64   { return b.Amount }
func budgetSpent(b *api.BudgetReply) float64    { return b.Overrun + b.Spent }
func budgetReserved(b *api.BudgetReply) float64 { return b.Reserved }
func budgetLeft(b *api.BudgetReply) float64     { return b.Left }

// modelsInWords says of each model how many GPUs run, of how many that are guaranteed, and at most.
func modelsInWords(all []api.ModelQuotaReply) string {
	var words []string
	for _, m := range all {
		s := fmt.Sprintf("%s %g of %g", m.Model, m.Running, m.Min)
		if m.Max > 0 {
			s += fmt.Sprintf(", max %g", m.Max)
		}
		words = append(words, s)
	}
	return strings.Join(words, "; ")
}
