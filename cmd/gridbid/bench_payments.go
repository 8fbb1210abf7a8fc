package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/lab/bench"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// newBenchPaymentsCommand is `gridbid bench payments`.
func newBenchPaymentsCommand() *cobra.Command {
	var data string
	var jobs int
	var sites []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "payments [SCENARIO...]",
		Short: "measure what a site gains that asks for more or less than its energy costs",
		Long: `Replay each day with one site asking 0.7 to 1.3 times what its energy costs, and
say what that site would earn under three rules of payment: first-price (what it
asked), second-price (what it could have asked before another site was cheaper)
and settled (what was measured, and a tenth of it). Also what the lie costs the
federation, by what was measured.`,
		Example: `  gridbid bench payments
  gridbid bench payments real-days/ordinary_2022-04-13 --sites us-tex-erco --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"real-days/ordinary_2022-04-13"}
			}
			type day struct {
				spec.Scenario
				who []string
			}
			var days []day
			for _, name := range args { // before the work: it takes minutes
				s, err := spec.LoadScenario(name, spec.Options{Data: data, MaxJobs: jobs})
				if err != nil {
					return usageError{err}
				}
				if slices.ContainsFunc(days, func(d day) bool { return d.Name == s.Name }) { // tables go by it
					return usageError{fmt.Errorf("bench payments: two scenarios are called %s: give one of them another name", s.Name)}
				}
				who := sites
				if len(who) == 0 {
					who = bench.MisreportStudySites(s)
				}
				for _, name := range who {
					if !slices.ContainsFunc(s.Sites, func(x spec.Site) bool { return x.Name == name }) {
						return usageError{fmt.Errorf("--sites: %s has no site %q", s.Name, name)}
					}
				}
				days = append(days, day{s, who})
			}
			var rows []bench.MisreportRow
			for _, d := range days {
				more, err := bench.RunPaymentStudy(cmd.Context(), d.Scenario, d.who, func(format string, args ...any) {
					fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
				})
				if err != nil {
					return err
				}
				rows = append(rows, more...)
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), struct {
					Schema int                  `json:"schema"`
					Rows   []bench.MisreportRow `json:"rows"`
				}{1, rows})
			}
			return bench.WritePaymentsMarkdown(cmd.OutOrStdout(), rows)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&data, "data", dataFolder(), "folder of recorded series and traces; also $GRIDBID_DATA")
	fl.IntVar(&jobs, "jobs", 0, "jobs of each scenario (default 2000, or what it says)")
	fl.StringSliceVar(&sites, "sites", nil, "who shades its bids, one at a time (default: the cheapest, cleanest and dearest)")
	fl.BoolVar(&asJSON, "json", false, "print rows as JSON")
	return cmd
}
