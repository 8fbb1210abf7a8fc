package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/lab/estimates"
)

// newBenchProfilesCommand is `gridbid bench profiles`: it scores the forecasts of run times
// by which cluster-agent bids for jobs that state none.
func newBenchProfilesCommand() *cobra.Command {
	var data string
	var o outputFlags
	cmd := &cobra.Command{
		Use:   "profiles",
		Short: "score a site's forecasts of job run times on public traces",
		Long: `Replay public traces in time order. The run time of each job is forecast when the job
is submitted, from the jobs that had ended by then.

  p50, p90, p95   share of jobs that took no longer than the forecast quantile; ideal
                  is 50, 90 and 95 %
  loss            mean pinball loss of that quantile: a forecast that is too low costs
                  the quantile's share of the error, one that is too high the rest;
                  lower is better. In JSON in nanoseconds, and shares in thousandths

The row profiles is what cluster-agent bids by. "all jobs alike" uses the quantiles of
all ended jobs; "last of the same user" repeats the run time of that user's last job.`,
		Example: `  gridbid bench profiles --data ../shared/data/workload
  gridbid bench profiles -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []estimates.ForecastScore
			for _, t := range estimates.PublicTraces {
				jobs, err := t.LoadTrace(data)
				if errors.Is(err, os.ErrNotExist) {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s is not in %s: skipped\n", t.File, data)
					continue
				}
				if err != nil {
					return usageError{err}
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d jobs\n", t.Name, len(jobs))
				all = append(all, estimates.ScoreTrace(t.Name, jobs, estimates.AllForecasters())...)
			}
			if len(all) == 0 {
				return usageError{fmt.Errorf("bench profiles: no trace in %s: give the folder of the traces with --data FOLDER", data)}
			}
			return o.printView(cmd, scoreListing(all))
		},
	}
	cmd.Flags().StringVar(&data, "data", filepath.Join(dataFolder(), "workload"), "`FOLDER` of the traces; also folder workload of $GRIDBID_DATA")
	o.registerOutput(cmd)
	return cmd
}

// scoreListing returns scores as a listing: the share of jobs within each forecast quantile, and its
// loss.
func scoreListing(scores []estimates.ForecastScore) printer.View {
	type score = estimates.ForecastScore
	l := printer.Listing[score]{Rows: scores, Columns: []printer.Column[score]{
		{Head: "TRACE", Value: func(s score) any { return s.Trace }},
		{Head: "FORECAST BY", Value: func(s score) any { return s.Forecaster }},
		{Head: "JOBS", Value: func(s score) any { return s.Jobs }},
	}}
	for i, name := range []string{"P50", "P90", "P95"} {
		l.Columns = append(l.Columns, printer.Column[score]{Head: name + " PCT", Verb: "%.1f", Value: func(s score) any { return float64(s.Covered[i]) / 10 }})
	}
	for i, name := range []string{"P50", "P90", "P95"} {
		l.Columns = append(l.Columns, printer.Column[score]{Head: "LOSS " + name + " S", Verb: "%.2f", Value: func(s score) any { return s.Loss[i].Seconds() }})
	}
	return l
}
