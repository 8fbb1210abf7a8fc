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

// newBenchProfilesCommand is `gridbid bench profiles`: how well sites foretell what
// jobs do not say.
func newBenchProfilesCommand() *cobra.Command {
	var data string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "profiles",
		Short: "how well a site foretells how long jobs run, on public traces",
		Long: `Replay public traces in the order of their time. Each job's duration is foretold
when it is submitted, by what had ended until then, and told when it ends.

  p50, p90, p95   how many jobs took no longer than that quantile; best is 50, 90
                  and 95 %
  loss            mean pinball loss of that quantile: what is too low costs its
                  part, what is too high the rest; less is better

profiles are what cluster-agent bids by. "all jobs alike" has the quantiles of all
that ended; "last of the same user" takes a job for as long as that one.`,
		Example: `  gridbid bench profiles --data ../shared/data/workload
  gridbid bench profiles --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []estimates.ForecastScore
			for _, t := range estimates.PublicTraces {
				jobs, err := t.LoadTrace(data)
				if errors.Is(err, os.ErrNotExist) {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s is not in %s: passed over\n", t.File, data)
					continue
				}
				if err != nil {
					return usageError{err}
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d jobs\n", t.Name, len(jobs))
				all = append(all, estimates.ScoreTrace(t.Name, jobs, estimates.AllForecasters())...)
			}
			if len(all) == 0 {
				return usageError{fmt.Errorf("bench profiles: no trace in %s: give --data FOLDER", data)}
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), all)
			}
			return printScores(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().StringVar(&data, "data", filepath.Join(dataFolder(), "workload"), "`FOLDER` of the traces; also workload in $GRIDBID_DATA")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON; losses in nanoseconds, parts in thousandths")
	return cmd
}

func printScores(out io.Writer, scores []estimates.ForecastScore) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "trace\tforetold by\tjobs\tp50\tp90\tp95\tloss p50\tloss p90\tloss p95\t")
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
