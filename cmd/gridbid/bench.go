package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/lab/bench"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// benchFlags are the flags of `gridbid bench days`.
type benchFlags struct {
	outputFlags
	data     string
	policies []string
	seeds    []uint
	jobs     int
	draws    int
	kappa    *float64
	windows  []string
	fill     bool
	out      string
	stress   bool
	sweep    bool
	steps    int
	search   int

	drawsGiven bool // --draws was given, so that too short a trace is an error
}

// newBenchCommand is `gridbid bench`: the benchmarks of the repository.
func newBenchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "run benchmarks and write their tables",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var f benchFlags
	days := &cobra.Command{
		Use:   "days [SCENARIO...]",
		Short: "replay days under policies and compare each with the lower bound",
		Long: `Replay every scenario under every policy and seed, and write one table: the objective
of each replay and its gap to the lower bound. Without SCENARIO the command runs ten
recorded days, among them a price spike, a wind drought and negative prices, and the
ordinary day also as each stress day. With --window it runs those files instead; one
--window can be followed by several files, as from a shell pattern. Stress days have
a summary of their own.

A suffix of a policy sets what its sites know ahead of time: auction/perfect (the
future), auction/wrong (off by up to half), auction/none (nothing), auction/own (no
forecasts of services), auction/learned (forecasts that a net corrects). With auction/runtimes the stated run times of jobs are wrong by
up to 30 per cent; all others state them exactly. Without a suffix sites know what markets publish, what
services forecast and what they forecast themselves.

With --draws N each day is replayed N times, each time with another sample of its
jobs (for stress days: with the first sample alone), and tables have an interval for
each difference of two policies. What is within chance is marked so, and called
neither better nor worse. The row "chance" is the auction against itself, with costs
moved by at most 0.05 %. --draws 1 replays the first jobs of each day, as "gridbid
replay" does.

Finished rows are cached in the folder of --out: a repeat of the command runs only
rows that are missing, or whose scenario, weights or program changed.`,
		Example: `  gridbid bench days --data ../shared/data
  gridbid bench days real-days/ordinary_2022-04-13 --draws 40 --policies auction,chance,home-fifo
  gridbid bench days --jobs 5000 --policies auction,auction/perfect,home-fifo
  gridbid bench days --window joined/*.csv --seeds 1,2,3 --out frozen/
  gridbid bench days six-regions -o csv > rows.csv
  gridbid bench days real-days/ordinary_2022-04-13 --stress --sweep`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.drawsGiven = cmd.Flags().Changed("draws")
			return f.runBenchDays(cmd, args)
		},
	}
	fl := days.Flags()
	fl.StringVar(&f.data, "data", dataFolder(), "folder of recorded series and traces; also $GRIDBID_DATA")
	fl.StringSliceVar(&f.policies, "policies", nil, "policies to run (default: all, and auction with other forecasts)")
	fl.UintSliceVar(&f.seeds, "seeds", nil, "seeds to run, in place of the seed of each scenario")
	registerKappaFlag(days, &f.kappa)
	fl.IntVar(&f.jobs, "jobs", 0, "limit on jobs of each scenario, spread over the same hours as all of them (default: the scenario's, or 2000)")
	fl.IntVar(&f.draws, "draws", bench.DefaultDraws, "samples of each day's jobs to replay; 1 is the day's own jobs alone")
	fl.StringSliceVar(&f.windows, "window", nil, "`FILE.csv` of hourly prices and carbon by zone, run as a day; repeatable")
	fl.BoolVar(&f.fill, "fill", false, "fill missing hours of a window with the hour before, a week at most")
	fl.StringVar(&f.out, "out", ".gridbid/bench-days", "`FOLDER` for cached rows and tables")
	fl.BoolVar(&f.stress, "stress", false, "run each day also as stress days: "+fmt.Sprint(bench.StressNames()))
	fl.BoolVar(&f.sweep, "sweep", false, "also run auction at other prices of carbon and of waiting, for the trade-offs with cost")
	fl.IntVar(&f.steps, "steps", 200, "steps of the search for bounds")
	registerSearchFlag(days, &f.search)
	f.registerOutput(days)
	cmd.AddCommand(days, newBenchFrontCommand(), newBenchChanceCommand(), newBenchExplainCommand(), newBenchPaymentsCommand(), newBenchProfilesCommand(), newBenchServingCommand(), newBenchServicesCommand())
	return cmd
}

// runBenchDays runs the plan and, with --sweep, the plan at other weights, and writes the tables.
func (f *benchFlags) runBenchDays(cmd *cobra.Command, args []string) error {
	if f.jobs < 0 || f.draws < 1 || f.steps < 1 || f.steps > 100_000 {
		return usageError{fmt.Errorf("--jobs %d, --draws %d, --steps %d: want 0 or more, 1 or more, and 1..100000", f.jobs, f.draws, f.steps)}
	}
	if err := checkSearchSteps(f.search); err != nil {
		return err
	}
	all, err := f.loadDays(args)
	if err != nil {
		return usageError{err}
	}
	entries, err := f.policiesToRun(all)
	if err != nil {
		return err
	}
	if err := ensureWritableFolder(f.out); err != nil { // checked before the replays
		return usageError{fmt.Errorf("--out: %w", err)}
	}
	program, err := buildFingerprint()
	if err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	plan := bench.BenchPlan{
		Days: all, Entries: entries, Steps: f.steps, SearchSteps: f.search, Program: program, Dir: f.out,
		Progress: func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) },
	}
	plans := []bench.BenchPlan{plan}
	if f.sweep {
		plans = append(plans, sweepPlan(plan))
	}
	var rows []bench.BenchRow
	var unfinished error // of replays whose jobs never all ended: they have no row
	// A day whose jobs never all end has no row; the other days still count.
	for _, p := range plans {
		more, err := bench.RunPlan(cmd.Context(), p)
		rows = append(rows, more...)
		if err != nil && !errors.Is(err, scenarios.ErrJobsUnfinished) { // leave older tables alone: with another build their rows may be missing
			if len(rows) > 0 {
				fmt.Fprintf(stderr, "finished rows are cached in %s: repeat the command to run the rest and write the tables\n", f.out)
			}
			return errors.Join(unfinished, err)
		}
		unfinished = errors.Join(unfinished, err)
	}
	if len(rows) == 0 && unfinished != nil { // do not replace older tables by empty ones
		return unfinished
	}
	if err := bench.WriteTables(f.out, rows); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "\nrows and tables: %s\n", filepath.Join(f.out, "index.html"))
	err = printObjects(cmd, &f.outputFlags, rows, "scenario", bench.ReportOf(rows), func(w io.Writer) { _ = bench.WriteMarkdown(w, rows) })
	return errors.Join(err, unfinished)
}

// policiesToRun returns the policies of --policies, or all.
func (f *benchFlags) policiesToRun(days []bench.BenchDay) ([]string, error) {
	if len(f.policies) > 0 {
		return parsePolicyNames("--policies", f.policies)
	}
	var of []spec.Scenario
	for _, d := range days {
		of = append(of, d.Scenario)
	}
	return scenarios.DefaultPolicies(of...), nil
}

// loadDays loads the days to run: the named scenarios and windows, or the recorded days;
// each with every seed and draw of jobs and, with --stress, as every stress day. Of the recorded days the
// ordinary one is always run as every stress day.
func (f *benchFlags) loadDays(args []string) (out []bench.BenchDay, err error) {
	seeds := []*uint64{nil}
	if len(f.seeds) > 0 {
		seeds = nil
	}
	for _, s := range f.seeds {
		seed := uint64(s)
		seeds = append(seeds, &seed)
	}
	// A nil seed is that of the scenario itself.
	names, windows := args, f.windows
	stressed := func(day string) bool { return f.stress }
	// A shell pattern after --window ends up in args: tables among them are windows too.
	if len(windows) > 0 {
		names = nil
		for _, a := range args {
			if spec.IsTableFile(a) {
				windows = append(windows, a)
			} else {
				names = append(names, a)
			}
		}
	} else if len(names) == 0 {
		names = slices.DeleteFunc(spec.ShippedNames(), func(n string) bool { return n == spec.DefaultScenario })
		stressed = func(day string) bool { return f.stress || day == "ordinary-2022-04-13" }
	}
	add := func(draw int, s spec.Scenario) error {
		for _, x := range out {
			switch {
			case x.Hash == s.Hash:
				return fmt.Errorf("bench: %s with seed %d is named twice and would count twice: name it once", s.Name, s.Seed)
			case x.Name == s.Name && x.Seed == s.Seed && x.Draw == draw: // tables and trade-offs identify a day by name, seed and draw
				return fmt.Errorf("bench: two scenarios have the name %s: rename one of them; a window has the name of its file", s.Name)
			}
		}
		out = append(out, bench.BenchDay{Scenario: s, Draw: draw})
		if draw > 1 || !stressed(s.Name) {
			return nil
		}
		for _, kind := range bench.StressNames() {
			x, err := bench.StressScenario(s, kind)
			if err != nil {
				return err
			}
			x.Draw = draw
			out = append(out, x)
		}
		return nil
	}
	for _, seed := range seeds {
		o := spec.Options{Data: f.data, Seed: seed, MaxJobs: f.jobs, Kappa: f.kappa, Fill: f.fill}
		for _, name := range names {
			if err := f.loadDraws(o, func(o spec.Options) (spec.Scenario, error) { return spec.LoadScenario(name, o) }, add); err != nil {
				return nil, err
			}
		}
		for _, w := range windows {
			o.Window = w
			if err := f.loadDraws(o, spec.LoadWindow, add); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// loadDraws loads a day with each draw of its jobs, and adds it. A trace without enough jobs to
// draw from gives the day's own jobs, unless --draws was given.
func (f *benchFlags) loadDraws(o spec.Options, load func(spec.Options) (spec.Scenario, error), add func(draw int, s spec.Scenario) error) error {
	for _, draw := range bench.DrawNumbers(f.draws) {
		o.Draw = draw
		s, err := load(o)
		if errors.Is(err, spec.ErrTooFewJobs) && !f.drawsGiven {
			o.Draw = 0
			if s, err = load(o); err == nil {
				err = add(0, s)
			}
			return err
		}
		if err == nil {
			err = add(draw, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sweepPlan returns a plan that runs the auction on the same days at other weights.
func sweepPlan(p bench.BenchPlan) bench.BenchPlan {
	days := p.Days
	p.Sweep, p.SearchSteps = true, 0 // without home-fifo no share
	p.Days, p.Entries = nil, []string{scenarios.PolicyAuction}
	for _, d := range days {
		if d.Draw > 1 { // one draw shows the trade-off
			continue
		}
		for _, s := range bench.SweepScenarios(d.Scenario) {
			p.Days = append(p.Days, bench.BenchDay{Scenario: s, Stress: d.Stress, Draw: d.Draw})
		}
	}
	return p
}

// registerSearchFlag adds --search, the effort for best known schedules.
func registerSearchFlag(cmd *cobra.Command, to *int) {
	cmd.Flags().IntVar(to, "search", 30_000, "steps of the search for each day's best known schedule, for the share of savable; 0 for none")
}

// maxSearchSteps bounds --search.
const maxSearchSteps = 10_000_000

// checkSearchSteps returns a usage error if --search is out of range.
func checkSearchSteps(steps int) error {
	if steps < 0 || steps > maxSearchSteps {
		return usageError{fmt.Errorf("--search %d: want 0..%d", steps, maxSearchSteps)}
	}
	return nil
}

// buildFingerprint returns a hash of this program's own binary, the part of a cache key that
// names the build. A VCS revision would be the same for a changed working tree.
func buildFingerprint() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}
