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
// costs under four payment rules.
func newBenchPaymentsCommand() *cobra.Command {
	var data string
	var jobs, draws int
	var sites []string
	var o outputFlags
	cmd := &cobra.Command{
		Use:   "payments [SCENARIO...]",
		Short: "measure what a site gains by bidding above or below its energy cost",
		Long: `Replay each day with one site that bids 0.7 to 1.3 times its energy cost, and compute
its profit under four payment rules: first-price (its bid), second-price (the highest
bid with which it would still have won), VCG (its bid, and what each round would cost
more without the site) and settled (measured cost plus a tenth). The table also has
what the misreport costs the federation, by measured cost. With --draws N each day is
replayed with N samples of its jobs, and gains have an interval of chance.`,
		Example: `  gridbid bench payments
  gridbid bench payments six-regions --jobs 300 --draws 12
  gridbid bench payments real-days/ordinary_2022-04-13 --sites us-tex-erco -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"real-days/ordinary_2022-04-13"}
			}
			days, err := loadPaymentDays(args, spec.Options{Data: data, MaxJobs: jobs}, draws, sites)
			if err != nil {
				return usageError{err}
			}
			var rows []bench.MisreportRow
			for _, d := range days {
				more, err := bench.RunPaymentStudy(cmd.Context(), d.Scenario, d.liars, func(format string, args ...any) {
					fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
				})
				if err != nil {
					return err
				}
				for i := range more {
					more[i].Draw = d.draw
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
	fl.IntVar(&draws, "draws", 1, "samples of each day's jobs to replay; 1 is the day's own jobs alone")
	fl.StringSliceVar(&sites, "sites", nil, "sites that misreport, one at a time (default: the cheapest, cleanest and most expensive)")
	o.registerOutput(cmd)
	return cmd
}

// A paymentDay is one draw of a day's jobs, and the sites that misreport on it.
type paymentDay struct {
	spec.Scenario
	draw  int
	liars []string
}

// loadPaymentDays loads and checks all days before the first replay, as replays take minutes.
func loadPaymentDays(names []string, o spec.Options, draws int, sites []string) (days []paymentDay, err error) {
	if draws < 1 {
		return nil, fmt.Errorf("--draws %d: want 1 or more", draws)
	}
	for _, name := range names {
		for i, draw := range bench.DrawNumbers(draws) {
			o.Draw = draw
			s, err := spec.LoadScenario(name, o)
			if err != nil {
				return nil, err
			}
			if i == 0 && slices.ContainsFunc(days, func(d paymentDay) bool { return d.Name == s.Name }) { // tables identify a day by name
				return nil, fmt.Errorf("bench payments: two scenarios have the name %s: rename one of them", s.Name)
			}
			liars := sites
			if len(liars) == 0 {
				liars = bench.MisreportStudySites(s)
			}
			for _, name := range liars {
				if !slices.ContainsFunc(s.Sites, func(x spec.Site) bool { return x.Name == name }) {
					return nil, fmt.Errorf("--sites: %s has no site %q", s.Name, name)
				}
			}
			days = append(days, paymentDay{s, draw, liars})
		}
	}
	return days, nil
}
