package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// leads are how far ahead forecasts are told apart, in hours.
var leads = []int{2, 6, 12, 24, 48}

func newForecastsCommand() *cobra.Command {
	from := source{options: spec.Options{GridsOnly: true}}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "forecasts [SCENARIO]",
		Short: "say how far forecasts of a scenario's grids are off",
		Long: `Replay what the grids of a scenario did, without jobs: each hour from the second
day on, every site forecasts the next 48 hours from what it has been told by then,
by each rule, and is held against what came. The error is the mean absolute error
over the mean value, by how far ahead the hour lies; * marks what sites go by. With
forecasts of a service (docs/scenarios.md) one more row says what sites make of them.`,
		Example: `  gridbid scenario forecasts real-days/ordinary_2022-04-13
  gridbid scenario forecasts --window day.csv --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := from.load(args)
			if err != nil {
				return err
			}
			tellNotes(cmd.ErrOrStderr(), s)
			all, err := scenarios.Foresee(s, leads...)
			if err != nil {
				return err
			}
			if asJSON {
				return tellJSON(cmd.OutOrStdout(), foresightJSON(all))
			}
			return foresightTable(cmd.OutOrStdout(), all)
		},
	}
	from.gridFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// foresightTable writes a row for each rule, a table for each kind of quantity.
func foresightTable(out io.Writer, all []scenarios.Foresight) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	last := ""
	for _, f := range all {
		kind := string(f.What)
		if f.What == protocol.GridPrice {
			kind += map[bool]string{true: ", published ahead", false: ", real time"}[f.DayAhead]
		}
		kind += ": " + strings.Join(f.Sites, ", ")
		if kind != last {
			if last != "" {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s\n\t", kind)
			for _, to := range leads {
				fmt.Fprintf(w, "to %d h\t", to)
			}
			fmt.Fprintln(w)
			last = kind
		}
		name := string(f.Rule)
		if f.Service {
			name = "service, amended"
		}
		if f.Usual {
			name = "* " + name
		}
		fmt.Fprintf(w, "%s\t", name)
		for _, e := range f.Leads {
			fmt.Fprintf(w, "%s\t", part(e))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// part is a mean error in per cent of the mean value.
func part(e forecast.LeadError) string {
	switch {
	case e.N == 0 && e.Told > 0:
		return "told"
	case e.N == 0 || e.Mean == 0:
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(e.MAE)/float64(e.Mean))
}

// foreseen is a row of --json: dollars per MWh, grams per kWh, PUE.
type foreseen struct {
	Quantity protocol.Quantity `json:"quantity"`
	DayAhead bool              `json:"day_ahead"`
	Sites    []string          `json:"sites"`
	Rule     forecast.Rule     `json:"rule"`
	Service  bool              `json:"service"`
	Usual    bool              `json:"usual"`
	Leads    []leadJSON        `json:"leads"`
}

type leadJSON struct {
	From   int     `json:"from_h"`
	To     int     `json:"to_h"`
	Told   int     `json:"told"`
	N      int     `json:"forecasts"`
	MAE    float64 `json:"mean_absolute_error"`
	Mean   float64 `json:"mean_absolute_value"`
	MAPE   float64 `json:"mape_percent"`
	Within float64 `json:"within_percent"`
}

func foresightJSON(all []scenarios.Foresight) []foreseen {
	out := make([]foreseen, len(all))
	for i, f := range all {
		out[i] = foreseen{f.What, f.DayAhead, f.Sites, f.Rule, f.Service, f.Usual, nil}
		for _, e := range f.Leads {
			out[i].Leads = append(out[i].Leads, leadJSON{
				e.From, e.To, e.Told, e.N, float64(e.MAE) / 1000, float64(e.Mean) / 1000, float64(e.MAPE) / 10, float64(e.Within) / 10,
			})
		}
	}
	return out
}
