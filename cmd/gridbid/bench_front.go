package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/lab/bench"
)

// frontFlags are the flags of `gridbid bench front`.
type frontFlags struct {
	benchFlags
	prices []float64
}

// newBenchFrontCommand is `gridbid bench front`: what waiting saves, by the price of waiting.
func newBenchFrontCommand() *cobra.Command {
	var f frontFlags
	cmd := &cobra.Command{
		Use:   "front [SCENARIO...]",
		Short: "replay days at several prices of waiting and draw savings against waits",
		Long: `Replay every scenario under the auction at several prices of waiting, and draw what
it saves against home-fifo in cost and carbon over how long jobs wait, in the mean and
in the median: one point for each price, with the knee, beside the best schedules that
a search with full knowledge finds at the same prices. The point "free" has neither a
price nor a limit of waiting.

Without SCENARIO the command runs the ten recorded days. Finished replays, bounds and
searches are cached in the folder of --out, as those of "gridbid bench days".`,
		Example: `  gridbid bench front real-days/ordinary_2022-04-13 --jobs 2000
  gridbid bench front --prices 0,0.005,0.02 --search 20000 --out front/`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.runBenchFront(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.data, "data", dataFolder(), "folder of recorded series and traces; also $GRIDBID_DATA")
	fl.UintSliceVar(&f.seeds, "seeds", nil, "seeds to run, in place of the seed of each scenario")
	registerKappaFlag(cmd, &f.kappa)
	fl.IntVar(&f.jobs, "jobs", 0, "limit on jobs of each scenario (default: the scenario's, or 2000)")
	fl.StringSliceVar(&f.windows, "window", nil, "`FILE.csv` of hourly prices and carbon by zone, run as a day; repeatable")
	fl.BoolVar(&f.fill, "fill", false, "fill missing hours of a window with the hour before, a week at most")
	fl.Float64SliceVar(&f.prices, "prices", bench.FrontPrices, "prices of waiting, in `DOLLARS` per GPU-hour of a standard job of an hour; repeatable")
	fl.StringVar(&f.out, "out", ".gridbid/bench-front", "`FOLDER` for cached rows, tables and charts")
	fl.IntVar(&f.steps, "steps", 200, "steps of the search for bounds")
	registerSearchFlag(cmd, &f.search)
	f.registerOutput(cmd)
	return cmd
}

// maxFrontPrice is the highest price of waiting, in dollars per GPU-hour.
const maxFrontPrice = 1000

// runBenchFront runs the plan and writes tables and charts.
func (f *frontFlags) runBenchFront(cmd *cobra.Command, args []string) error {
	if f.jobs < 0 || f.steps < 1 || f.steps > 100_000 {
		return usageError{fmt.Errorf("--jobs %d, --steps %d: want 0 or more, and 1..100000", f.jobs, f.steps)}
	}
	if err := checkSearchSteps(f.search); err != nil {
		return err
	}
	prices := slices.Compact(slices.Sorted(slices.Values(f.prices)))
	if len(prices) == 0 || prices[0] < 0 || prices[len(prices)-1] > maxFrontPrice {
		return usageError{fmt.Errorf("--prices %v: want one or more of 0..%d", f.prices, maxFrontPrice)}
	}
	all, err := f.loadDays(args)
	if err != nil {
		return usageError{err}
	}
	all = slices.DeleteFunc(all, func(d bench.BenchDay) bool { return d.Stress != "" })
	if err := ensureWritableFolder(f.out); err != nil { // checked before the replays
		return usageError{fmt.Errorf("--out: %w", err)}
	}
	program, err := buildFingerprint()
	if err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	days, err := bench.RunFront(cmd.Context(), bench.FrontPlan{
		BenchPlan: bench.BenchPlan{
			Days: all, Steps: f.steps, SearchSteps: f.search, Program: program, Dir: f.out,
			Progress: func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) },
		},
		Prices: prices,
	})
	if err != nil {
		if len(days) > 0 {
			fmt.Fprintf(stderr, "finished replays are cached in %s: repeat the command to run the rest and write the tables\n", f.out)
		}
		return err
	}
	if err := bench.WriteFront(f.out, days); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "\ntables and charts: %s\n", filepath.Join(f.out, "front-mean.svg"))
	report := bench.FrontReportOf(days)
	return printObjects(cmd, &f.outputFlags, report.Points, "curve", report, func(w io.Writer) { _ = bench.WriteFrontMarkdown(w, report.Points) })
}
