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

// benchFlags is what `gridbid bench days` was told.
type benchFlags struct {
	data     string
	policies []string
	seeds    []uint
	jobs     int
	kappa    *float64
	windows  []string
	fill     bool
	out      string
	stress   bool
	sweep    bool
	steps    int
}

// newBenchCommand is `gridbid bench`: many replays, one table.
func newBenchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "run the benchmark and write its tables",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var f benchFlags
	days := &cobra.Command{
		Use:   "days [SCENARIO...]",
		Short: "replay days under policies and compare them with the bound",
		Long: `Replay every scenario under every policy and seed, and write one table: what each
came to, and how far it is from what no policy can beat. Without a scenario the
ten recorded days are run, among them a price spike, a wind drought and negative
prices, and the ordinary one also as each stress day. With --window those files
are run instead: also several after one --window, as a shell spells them out.
Stress days have a summary of their own.

A policy may be followed by what its sites know ahead of time: auction/perfect
(what will be), auction/wrong (off by up to half), auction/none (nothing),
auction/own (no service's forecasts, where a scenario has any). The usual is what
markets publish, services foretell and sites forecast.

Rows are kept in the folder of --out: run again, and only what is missing is
run. A row is run again when the scenario, its weights or the program changed.`,
		Example: `  gridbid bench days --data ../shared/data
  gridbid bench days --jobs 5000 --policies auction,auction/perfect,home-fifo
  gridbid bench days --window joined/*.csv --seeds 1,2,3 --out frozen/
  gridbid bench days real-days/ordinary_2022-04-13 --stress --sweep`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.runBenchDays(cmd, args) },
	}
	fl := days.Flags()
	fl.StringVar(&f.data, "data", dataFolder(), "folder of recorded series and traces; also $GRIDBID_DATA")
	fl.StringSliceVar(&f.policies, "policies", nil, "policies to run (default: all, and auction with other signals)")
	fl.UintSliceVar(&f.seeds, "seeds", nil, "seeds to run, instead of each scenario's own")
	registerKappaFlag(days, &f.kappa)
	fl.IntVar(&f.jobs, "jobs", 0, "jobs of each scenario (default 2000, or what it says)")
	fl.StringSliceVar(&f.windows, "window", nil, "`FILE.csv` ... of hourly prices and carbon by zone, each a day of its own")
	fl.BoolVar(&f.fill, "fill", false, "take hours that a window lacks as the hour before, a week at most")
	fl.StringVar(&f.out, "out", ".gridbid/bench-days", "folder for rows and tables")
	fl.BoolVar(&f.stress, "stress", false, "run each day also as stress days: "+fmt.Sprint(bench.StressNames()))
	fl.BoolVar(&f.sweep, "sweep", false, "also run auction at other prices of carbon and of waiting, for the trade-off with money")
	fl.IntVar(&f.steps, "steps", 200, "of the search for bounds")
	cmd.AddCommand(days, newBenchExplainCommand(), newBenchPaymentsCommand(), newBenchProfilesCommand())
	return cmd
}

func (f *benchFlags) runBenchDays(cmd *cobra.Command, args []string) error {
	if f.jobs < 0 || f.steps < 1 || f.steps > 100_000 {
		return usageError{fmt.Errorf("--jobs %d, --steps %d: want 0 or more, and 1..100000", f.jobs, f.steps)}
	}
	all, err := f.loadDays(args)
	if err != nil {
		return usageError{err}
	}
	entries, err := f.policiesToRun(all)
	if err != nil {
		return err
	}
	if err := ensureWritableFolder(f.out); err != nil { // before the work
		return usageError{fmt.Errorf("--out: %w", err)}
	}
	program, err := buildFingerprint()
	if err != nil {
		return err
	}
	talk := cmd.ErrOrStderr()
	plan := bench.BenchPlan{
		Days: all, Entries: entries, Steps: f.steps, Program: program, Dir: f.out,
		Progress: func(format string, args ...any) { fmt.Fprintf(talk, format+"\n", args...) },
	}
	plans := []bench.BenchPlan{plan}
	if f.sweep {
		plans = append(plans, sweepPlan(plan))
	}
	var rows []bench.BenchRow
	var endless error // of runs that have no row
	for _, p := range plans {
		more, err := bench.RunPlan(cmd.Context(), p)
		rows = append(rows, more...)
		if err != nil && !errors.Is(err, scenarios.ErrJobsUnfinished) { // tables that are there stay: rows of another build could not fill them again
			if len(rows) > 0 {
				fmt.Fprintf(talk, "rows so far are kept in %s: the same command goes on with them, and writes the tables\n", f.out)
			}
			return errors.Join(endless, err)
		}
		endless = errors.Join(endless, err)
	}
	if len(rows) == 0 && endless != nil { // nor does nothing take their place
		return endless
	}
	if err := bench.WriteTables(f.out, rows); err != nil {
		return err
	}
	fmt.Fprintf(talk, "\nrows and tables: %s\n", filepath.Join(f.out, "index.html"))
	return errors.Join(bench.WriteMarkdown(cmd.OutOrStdout(), rows), endless)
}

// policiesToRun returns what to run: as asked for, or everything.
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

// loadDays reads the days: named ones, windows, or the recorded ones; each with every
// seed, and as every stress day if asked for, as the ordinary one of those is anyway.
func (f *benchFlags) loadDays(args []string) (out []bench.BenchDay, err error) {
	seeds := []*uint64{nil}
	if len(f.seeds) > 0 {
		seeds = nil
	}
	for _, s := range f.seeds {
		seed := uint64(s)
		seeds = append(seeds, &seed)
	}
	names, windows := args, f.windows
	stressed := func(day string) bool { return f.stress }
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
	add := func(s spec.Scenario, err error) error {
		if err != nil {
			return err
		}
		for _, x := range out {
			switch {
			case x.Hash == s.Hash:
				return fmt.Errorf("bench: %s with seed %d is named twice: it would count twice", s.Name, s.Seed)
			case x.Name == s.Name && x.Seed == s.Seed: // tables and trade-offs go by both
				return fmt.Errorf("bench: two scenarios are called %s: give one of them another name; that of a window is its file's", s.Name)
			}
		}
		out = append(out, bench.BenchDay{Scenario: s})
		if !stressed(s.Name) {
			return nil
		}
		for _, kind := range bench.StressNames() {
			x, err := bench.StressScenario(s, kind)
			if err != nil {
				return err
			}
			out = append(out, x)
		}
		return nil
	}
	for _, seed := range seeds {
		o := spec.Options{Data: f.data, Seed: seed, MaxJobs: f.jobs, Kappa: f.kappa, Fill: f.fill}
		for _, name := range names {
			if err := add(spec.LoadScenario(name, o)); err != nil {
				return nil, err
			}
		}
		for _, w := range windows {
			o.Window = w
			if err := add(spec.LoadWindow(o)); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// sweepPlan plans auction at other weights.
func sweepPlan(p bench.BenchPlan) bench.BenchPlan {
	days := p.Days
	p.Sweep = true
	p.Days, p.Entries = nil, []string{scenarios.PolicyAuction}
	for _, d := range days {
		for _, s := range bench.SweepScenarios(d.Scenario) {
			p.Days = append(p.Days, bench.BenchDay{Scenario: s, Stress: d.Stress})
		}
	}
	return p
}

// buildFingerprint names this build by its own bytes: a revision would not tell a
// changed working tree.
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
