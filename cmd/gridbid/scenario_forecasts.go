package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// leadTimes are the upper ends of the lead-time columns, in hours.
var leadTimes = []int{2, 6, 12, 24, 48}

// newForecastsCommand is `gridbid scenario forecasts`.
func newForecastsCommand() *cobra.Command {
	from := scenarioFlags{options: spec.Options{GridsOnly: true}}
	var f outputFlags
	cmd := &cobra.Command{
		Use:   "forecasts [SCENARIO]",
		Short: "measure the forecast errors of a scenario's grids",
		Long: `Replay the grids of a scenario without jobs. In each hour from the second day on every
site forecasts the next 48 hours with each rule, from the values that it has received
by then; the forecasts are compared with the values that followed. The table has the
mean absolute error over the mean value, by lead time; * marks the rule that sites
bid by. If the scenario has forecasts of a service (docs/scenarios.md), one more row
has the error of these as sites correct them.`,
		Example: `  gridbid scenario forecasts real-days/ordinary_2022-04-13
  gridbid scenario forecasts --window day.csv -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := from.loadScenario(args)
			if err != nil {
				return err
			}
			printNotes(notesOf(cmd), s)
			all, err := scenarios.MeasureForecastErrors(s, leadTimes...)
			if err != nil {
				return err
			}
			return f.printView(cmd, forecastErrorListing(all))
		},
	}
	from.registerGridFlags(cmd)
	f.registerOutput(cmd)
	return cmd
}

// A forecastLead is the errors of one rule at one range of lead times: a row of CSV.
type forecastLead struct {
	forecastErrorRow
	leadJSON
}

// forecastErrorListing returns forecast errors as a listing: for people tables with a column
// per range of lead times, for programs a row per rule and range.
func forecastErrorListing(all []scenarios.ForecastErrors) printer.View {
	data := forecastErrorRows(all)
	var rows []forecastLead
	for _, r := range data {
		for _, lead := range r.Leads {
			rows = append(rows, forecastLead{r, lead})
		}
	}
	type row = forecastLead
	return printer.Listing[row]{
		Rows: rows, Data: data, Text: func(out io.Writer) { writeForecastErrorTable(out, all) },
		Columns: []printer.Column[row]{
			{Head: "RULE", Value: func(r row) any { return r.Rule }},
			{Head: "QUANTITY", Value: func(r row) any { return r.Quantity }},
			{Head: "DAY AHEAD", Value: func(r row) any { return r.DayAhead }},
			{Head: "SITES", Value: func(r row) any { return strings.Join(r.Sites, " ") }},
			{Head: "SERVICE", Value: func(r row) any { return r.Service }},
			{Head: "USUAL", Value: func(r row) any { return r.DefaultRule }},
			{Head: "FROM H", Value: func(r row) any { return r.From }},
			{Head: "TO H", Value: func(r row) any { return r.To }},
			{Head: "FORECASTS", Value: func(r row) any { return r.N }},
			{Head: "MEAN ABSOLUTE ERROR", Value: func(r row) any { return r.MAE }},
			{Head: "MEAN ABSOLUTE VALUE", Value: func(r row) any { return r.Mean }},
			{Head: "MAPE PERCENT", Value: func(r row) any { return r.MAPE }},
			{Head: "WITHIN PERCENT", Value: func(r row) any { return r.Within }},
		},
	}
}

// writeForecastErrorTable writes a table for each kind of quantity, with a row per rule.
func writeForecastErrorTable(out io.Writer, all []scenarios.ForecastErrors) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	last := ""
	for _, f := range all {
		kind := string(f.Quantity)
		if f.Quantity == protocol.GridPrice {
			kind += map[bool]string{true: ", published ahead", false: ", real time"}[f.DayAhead]
		}
		kind += ": " + strings.Join(f.Sites, ", ")
		// Rows of one kind stand together: a new kind begins a new table.
		if kind != last {
			if last != "" {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s\n\t", kind)
			for _, to := range leadTimes {
				fmt.Fprintf(w, "to %d h\t", to)
			}
			fmt.Fprintln(w)
			last = kind
		}
		name := string(f.Rule)
		if f.UsesService {
			name = "service, amended"
		}
		if f.IsDefaultRule {
			name = "* " + name
		}
		fmt.Fprintf(w, "%s\t", name)
		for _, e := range f.Leads {
			fmt.Fprintf(w, "%s\t", errorPercent(e))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // never fails: out is a buffer in memory
}

// errorPercent returns a mean error in per cent of the mean value; "told" where all values
// were published ahead, and "-" where there are none.
func errorPercent(e forecast.LeadError) string {
	switch {
	case e.N == 0 && e.Published > 0:
		return "told"
	case e.N == 0 || e.Mean == 0:
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(e.MAE)/float64(e.Mean))
}

// forecastErrorRow is a row of --json: dollars per MWh, grams per kWh, PUE.
type forecastErrorRow struct {
	Quantity    protocol.Quantity `json:"quantity"`
	DayAhead    bool              `json:"day_ahead"`
	Sites       []string          `json:"sites"`
	Rule        forecast.Rule     `json:"rule"`
	Service     bool              `json:"service"`
	DefaultRule bool              `json:"usual"`
	Leads       []leadJSON        `json:"leads"`
}

// A leadJSON is the errors of the forecasts between two lead times, in hours; MAE and Mean are in
// the units of the quantity, shares in per cent.
type leadJSON struct {
	From      int     `json:"from_h"`
	To        int     `json:"to_h"`
	Published int     `json:"told"`
	N         int     `json:"forecasts"`
	MAE       float64 `json:"mean_absolute_error"`
	Mean      float64 `json:"mean_absolute_value"`
	MAPE      float64 `json:"mape_percent"`
	Within    float64 `json:"within_percent"`
}

// forecastErrorRows returns the rows of --json. It converts thousandths of a quantity to units, and
// shares in thousandths to per cent.
func forecastErrorRows(all []scenarios.ForecastErrors) []forecastErrorRow {
	out := make([]forecastErrorRow, len(all))
	for i, f := range all {
		out[i] = forecastErrorRow{f.Quantity, f.DayAhead, f.Sites, f.Rule, f.UsesService, f.IsDefaultRule, nil}
		for _, e := range f.Leads {
			out[i].Leads = append(out[i].Leads, leadJSON{
				e.From, e.To, e.Published, e.N, float64(e.MAE) / 1000, float64(e.Mean) / 1000, float64(e.MAPE) / 10, float64(e.Within) / 10,
			})
		}
	}
	return out
}
