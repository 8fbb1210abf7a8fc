package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/lab/bench"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// newBenchPaymentsCommand is `gridbid bench payments`: it measures the incentive to misreport
// costs under three payment rules.
func newBenchPaymentsCommand() *cobra.Command {
	var data string
	var jobs int
	var sites []string
	var o outputFlags
	cmd := &cobra.Command{
		Use:   "payments [SCENARIO...]",
		Short: "measure what a site gains by bidding above or below its energy cost",
		Long: `Replay each day with one site that bids 0.7 to 1.3 times its energy cost, and compute
its profit under three payment rules: first-price (its bid), second-price (the highest
bid with which it would still have won) and settled (measured cost plus a tenth). The
table also has what the misreport costs the federation, by measured cost.`,
		Example: `  gridbid bench payments
  gridbid bench payments real-days/ordinary_2022-04-13 --sites us-tex-erco -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"real-days/ordinary_2022-04-13"}
			}
			type day struct {
				spec.Scenario
				liars []string
			}
			var days []day
			for _, name := range args { // all names are checked first, as replays take minutes
				s, err := spec.LoadScenario(name, spec.Options{Data: data, MaxJobs: jobs})
				if err != nil {
					return usageError{err}
				}
				if slices.ContainsFunc(days, func(d day) bool { return d.Name == s.Name }) { // tables identify a day by name
					return usageError{fmt.Errorf("bench payments: two scenarios have the name %s: rename one of them", s.Name)}
				}
				liars := sites
				if len(liars) == 0 {
					liars = bench.MisreportStudySites(s)
				}
				for _, name := range liars {
					if !slices.ContainsFunc(s.Sites, func(x spec.Site) bool { return x.Name == name }) {
						return usageError{fmt.Errorf("--sites: %s has no site %q", s.Name, name)}
					}
				}
				days = append(days, day{s, liars})
			}
			var rows []bench.MisreportRow
			for _, d := range days {
				more, err := bench.RunPaymentStudy(cmd.Context(), d.Scenario, d.liars, func(format string, args ...any) {
					fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
				})
				if err != nil {
					return err
				}
				rows = append(rows, more...)
			}
			report := struct {
				Schema int                  `json:"schema"`
				Rows   []bench.MisreportRow `json:"rows"`
			}{1, rows}
			return printObjects(cmd, &o, rows, "scenario", report, func(w io.Writer) { _ = bench.WritePaymentsMarkdown(w, rows) })
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&data, "data", dataFolder(), "folder of recorded series and traces; also $GRIDBID_DATA")
	fl.IntVar(&jobs, "jobs", 0, "limit on jobs of each scenario (default: the scenario's, or 2000)")
	fl.StringSliceVar(&sites, "sites", nil, "sites that misreport, one at a time (default: the cheapest, cleanest and most expensive)")
	o.registerOutput(cmd)
	return cmd
}
