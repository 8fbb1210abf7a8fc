package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// scenarioFlags are the flags that select and change the scenario to replay.
type scenarioFlags struct {
	options spec.Options
	seed    uint64
	from    int64
	cmd     *cobra.Command
}

// dataFolder returns the default folder of recorded series and traces. What-ifs, which have
// no flag for it, replay with it.
func dataFolder() string { return cmp.Or(os.Getenv("GRIDBID_DATA"), "../shared/data") }

// registerGridFlags adds the flags that select the grids of a scenario.
func (s *scenarioFlags) registerGridFlags(cmd *cobra.Command) {
	s.cmd = cmd
	f, o := cmd.Flags(), &s.options
	f.StringVar(&o.Data, "data", dataFolder(), "folder of recorded series and traces, for scenarios that read them; also $GRIDBID_DATA")
	f.Uint64Var(&s.seed, "seed", 0, "seed, in place of the scenario's")
	f.StringVar(&o.Window, "window", "", "replay this `FILE.csv` of hourly prices and carbon by zone, in place of a scenario")
	f.BoolVar(&o.Fill, "fill", false, "fill missing hours of a window with the hour before, a week at most; the notes count them")
	f.StringVar(&o.Carbon, "carbon", "", "`KIND` of carbon intensity for bids and totals: average (default) or marginal")
}

// registerSkipBadFlag adds --skip-bad.
func registerSkipBadFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "skip-bad", false, "leave out malformed rows of the trace, and count and list them in the notes, in place of refusing it")
}

// registerFlags adds all flags: those of grids, jobs and fleets.
func (s *scenarioFlags) registerFlags(cmd *cobra.Command) {
	s.registerGridFlags(cmd)
	f, o := cmd.Flags(), &s.options
	registerKappaFlag(cmd, &o.Kappa)
	f.StringVar(&o.Jobs, "jobs", "", "take jobs from this trace: `FILE[.gz]` with columns of your own, in the Standard Workload Format, of sacct -P, a list of openb pods, or Philly's and Alibaba's (docs/own-jobs.md)")
	f.StringToStringVar(&o.JobsColumns, "jobs-columns", nil, "columns of the trace: `OWN=COLUMN,...` as duration_s=runtime,gpus=plan_gpu/100; OWN= takes none")
	registerSkipBadFlag(cmd, &o.SkipBad)
	f.Int64Var(&s.from, "jobs-from", 0, "first `SECOND` of the trace to take jobs from (default: where it gets dense, or its first job)")
	f.IntVar(&o.MaxJobs, "max-jobs", 0, "limit on jobs, spread over the same hours as all of them (default: the scenario's, or 2000)")
	f.IntVar(&o.Draw, "draw", 0, "take this draw of the day's jobs, `N` from 1, as \"gridbid bench days --draws\" does, in place of the first ones")
	f.Float64Var(&o.Gangs, "gangs", 0, "let this fraction of the jobs of 8 GPUs grow to gangs of 16 to 1024, and keep the jobs over 8 GPUs of a trace (docs/scenarios.md)")
	f.StringVar(&o.Fleet, "fleet", "", "take nodes from this list: `FILE.csv`")
	f.Float64Var(&o.FleetScale, "fleet-scale", 0, "keep this fraction of the nodes (default: so many that the load is 65 %)")
}

// loadScenario loads the scenario that the argument or --window names; without either the
// default one.
func (s *scenarioFlags) loadScenario(args []string) (spec.Scenario, error) {
	// Zero is a valid seed and second, so a flag counts if it was given.
	if s.cmd.Flags().Changed("seed") {
		s.options.Seed = &s.seed
	}
	if s.cmd.Flags().Changed("jobs-from") {
		s.options.JobsFrom = &s.from
	}
	var out spec.Scenario
	var err error
	switch {
	case s.options.Carbon != "" && s.options.Carbon != "average" && s.options.Carbon != spec.ByMarginal:
		err = fmt.Errorf("--carbon %s: want average or marginal", s.options.Carbon)
	case s.options.Window != "" && len(args) > 0:
		err = fmt.Errorf("SCENARIO and --window exclude each other: drop one of them")
	case s.options.Window != "":
		out, err = spec.LoadWindow(s.options)
	case len(args) > 0:
		out, err = spec.LoadScenario(args[0], s.options)
	default:
		out, err = spec.LoadScenario(spec.DefaultScenario, s.options)
	}
	if err != nil {
		return out, usageError{err}
	}
	return out, nil
}

// printNotes prints what was assumed, cut or filled when a scenario was loaded.
func printNotes(stderr io.Writer, s spec.Scenario) {
	for _, note := range s.Notes {
		fmt.Fprintf(stderr, "  note: %s\n", note)
	}
}

// usesOwnData reports whether flags name data of the user's own.
func (s *scenarioFlags) usesOwnData() bool {
	return s.options.Window != "" || s.options.Jobs != "" || s.options.Fleet != ""
}

// notesFile is the file of a run's folder that has what was assumed, cut or filled.
const notesFile = "notes.txt"

// writeNotes writes what was assumed, cut or filled when a scenario was loaded into the folder of
// its run, and prints where: they are the same at each run, and would hide what is new. Where the
// data are one's own it prints them all, as what was made of those is to be checked.
func writeNotes(stderr io.Writer, dir string, s spec.Scenario, own bool) error {
	if len(s.Notes) == 0 {
		return nil
	}
	file := filepath.Join(dir, notesFile)
	if err := os.WriteFile(file, []byte(strings.Join(s.Notes, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	if own {
		printNotes(stderr, s)
	}
	fmt.Fprintf(stderr, "  %s on what was assumed, cut or filled: %s\n", format.CountWithNoun(len(s.Notes), "note", "notes"), file)
	return nil
}

// printWarnings prints why the figures of a run mean less than they seem to.
func printWarnings(stderr io.Writer, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(stderr, "  warning: %s\n", w)
	}
}

// registerKappaFlag adds the flag --kappa, which sets *to; without the flag *to stays nil.
func registerKappaFlag(cmd *cobra.Command, to **float64) {
	cmd.Flags().Func("kappa", "price of carbon in `DOLLARS` per tonne (default: the scenario's, or 190)", func(text string) error {
		v, err := strconv.ParseFloat(text, 64)
		*to = &v
		return err
	})
}

// newScenarioCommand is `gridbid scenario`.
func newScenarioCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scenario",
		Short: "list, check and test scenarios, and score their forecasts",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "check FILE...",
		Short: "check scenario files, and print faults with their lines",
		Long: `Check scenario files, folders or shipped names, each by itself: their keys against the
published schema and against each other. The command replays nothing and reads no data.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var wrong []error
			for _, name := range args {
				if err := spec.CheckSyntax(name); err != nil {
					wrong = append(wrong, err)
					continue
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: ok\n", name)
			}
			if len(wrong) > 0 {
				return usageError{errors.Join(wrong...)}
			}
			return nil
		},
	})
	cmd.AddCommand(newScenarioListCommand(), newScenarioTestCommand(), newScenarioPartyCommand(), newJoinCommand(), newForecastsCommand(), &cobra.Command{
		Use:   "schema",
		Short: "print the JSON schema of scenario.yaml, for editors",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(spec.ScenarioSchema)
			return err
		},
	})
	return cmd
}
