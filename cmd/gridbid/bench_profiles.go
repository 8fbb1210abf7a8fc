package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/lab/estimates"
)

// newBenchProfilesCommand is `gridbid bench profiles`: it scores the forecasts of run times
// by which cluster-agent bids for jobs that state none.
func newBenchProfilesCommand() *cobra.Command {
	var data string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "profiles",
		Short: "score a site's forecasts of job run times on public traces",
		Long: `Replay public traces in time order. The run time of each job is forecast when the job
is submitted, from the jobs that had ended by then.

  p50, p90, p95   share of jobs that took no longer than the forecast quantile; ideal
                  is 50, 90 and 95 %
  loss            mean pinball loss of that quantile: a forecast that is too low costs
                  the quantile's share of the error, one that is too high the rest;
                  lower is better

The row profiles is what cluster-agent bids by. "all jobs alike" uses the quantiles of
all ended jobs; "last of the same user" repeats the run time of that user's last job.`,
		Example: `  gridbid bench profiles --data ../shared/data/workload
  gridbid bench profiles --json`,
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
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), all)
			}
			return printScores(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().StringVar(&data, "data", filepath.Join(dataFolder(), "workload"), "`FOLDER` of the traces; also folder workload of $GRIDBID_DATA")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: losses in nanoseconds, shares in thousandths")
	return cmd
}

// printScores writes one row per trace and forecaster: the shares of jobs within each forecast
// quantile, and its loss. Short losses keep two decimals of a second.
func printScores(out io.Writer, scores []estimates.ForecastScore) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "trace\tforecast by\tjobs\tp50\tp90\tp95\tloss p50\tloss p90\tloss p95\t")
	for _, s := range scores {
		fmt.Fprintf(w, "%s\t%s\t%d", s.Trace, s.Forecaster, s.Jobs)
		for _, c := range s.Covered {
			fmt.Fprintf(w, "\t%.1f %%", float64(c)/10)
		}
		for _, l := range s.Loss {
			unit := time.Second
			if l < time.Minute {
				unit = 10 * time.Millisecond
			}
			fmt.Fprintf(w, "\t%s", l.Round(unit))
		}
		fmt.Fprintln(w, "\t")
	}
	return w.Flush()
}
