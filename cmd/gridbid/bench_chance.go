package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/lab/bench"
)

// chanceFlags are the flags of `gridbid bench chance`.
type chanceFlags struct {
	days    benchFlags
	jitters int
	pairs   int
	planted float64
	check   bool
}

// newBenchChanceCommand is `gridbid bench chance`.
func newBenchChanceCommand() *cobra.Command {
	var f chanceFlags
	cmd := &cobra.Command{
		Use:   "chance [SCENARIO...]",
		Short: "check the intervals of bench days on cases whose truth is known",
		Long: `Replay the auction against itself, with its costs moved by at most 0.05 % by another
hash each time, and count how many of the 95 % intervals of "gridbid bench days" hold
the true difference, which is 0. Then plant a difference, and count in how many cases
it is told. Also print the standard deviation of one run by chance.

Without SCENARIO the command replays the ten recorded days. Replays are cached in the
folder of --out.`,
		Example: `  gridbid bench chance six-regions --seeds 1,2,3,4,5,6,7,8,9,10 --jobs 300
  gridbid bench chance --draws 8 --planted 0.02`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.runBenchChance(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.days.data, "data", dataFolder(), "folder of recorded series and traces; also $GRIDBID_DATA")
	fl.UintSliceVar(&f.days.seeds, "seeds", nil, "seeds to run, in place of the seed of each scenario")
	fl.IntVar(&f.days.jobs, "jobs", 0, "limit on jobs of each scenario (default: the scenario's, or 2000)")
	fl.IntVar(&f.days.draws, "draws", bench.DefaultDraws, "samples of each day's jobs")
	fl.IntVar(&f.jitters, "jitters", 6, "replays of each day and draw, each under a jitter of its own")
	fl.IntVar(&f.pairs, "pairs", 200, "cases of the auction against itself, and as many with the planted difference")
	fl.Float64Var(&f.planted, "planted", 0.03, "the planted difference, as a fraction")
	fl.StringVar(&f.days.out, "out", ".gridbid/bench-chance", "`FOLDER` for cached rows")
	fl.BoolVar(&f.check, "check", false, "fail unless 90 to 99.5 % of the intervals hold 0, and the planted difference is told in 80 %")
	f.days.registerOutput(cmd)
	return cmd
}

// runBenchChance runs the study and prints its result.
func (f *chanceFlags) runBenchChance(cmd *cobra.Command, args []string) error {
	if f.jitters < 2 || f.pairs < 1 || f.days.jobs < 0 || f.days.draws < 1 || !(f.planted > 0 && f.planted < 1) {
		return usageError{fmt.Errorf("--jitters %d, --pairs %d, --jobs %d, --draws %d, --planted %g: want 2, 1, 0 and 1 or more, and a fraction between 0 and 1", f.jitters, f.pairs, f.days.jobs, f.days.draws, f.planted)}
	}
	f.days.drawsGiven = true // a study of draws needs them
	all, err := f.days.loadDays(args)
	if err != nil {
		return usageError{err}
	}
	study := bench.CoverageStudy{Jitters: f.jitters, Pairs: f.pairs, Planted: f.planted, Dir: f.days.out}
	for _, d := range all {
		if d.Stress == "" {
			study.Days = append(study.Days, d)
		}
	}
	if err := ensureWritableFolder(study.Dir); err != nil {
		return usageError{fmt.Errorf("--out: %w", err)}
	}
	if study.Program, err = buildFingerprint(); err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	study.Progress = func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
	res, err := bench.RunCoverageStudy(cmd.Context(), study)
	if err != nil {
		return err
	}
	err = f.days.printView(cmd, coverageListing(res))
	if f.check {
		err = errors.Join(err, res.Check())
	}
	return err
}

// coverageListing returns the result of a study as a listing: for each figure the standard deviation
// of one run by chance, the size of intervals, and how many of them say what is true.
func coverageListing(res bench.CoverageResult) printer.View {
	type figure = bench.FigureCoverage
	l := printer.Listing[figure]{Rows: res.Figures, Data: res, Columns: []printer.Column[figure]{
		{Head: "FIGURE", Value: func(x figure) any { return x.Figure }},
		{Head: "ONE RUN SD PCT", Value: func(x figure) any { return 100 * x.PerRun }, Verb: "%.2f"},
		{Head: "INTERVAL PCT", Value: func(x figure) any { return 100 * x.HalfSize }, Verb: "± %.2f"},
		{Head: "ITSELF HOLDS 0", Value: func(x figure) any { return x.Held }},
		{Head: "PLANTED DETECTED", Value: func(x figure) any { return x.Detected }},
	}}
	table := l
	l.Text = func(w io.Writer) {
		fmt.Fprintf(w, "%d cases of %d days and draws each, intervals of %d values\n\n", res.Pairs, res.Runs, res.Units)
		_ = table.Print(w, printer.Table) // never fails: w is a buffer in memory
	}
	return l
}
