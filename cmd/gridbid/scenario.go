package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/scenarios/spec"
)

// scenarioFlags is the flags that say what to replay.
type scenarioFlags struct {
	options spec.Options
	seed    uint64
	from    int64
	cmd     *cobra.Command
}

// dataFolder is where recorded series and traces are looked for where no flag says
// it: also by what replays a run again.
func dataFolder() string { return cmp.Or(os.Getenv("GRIDBID_DATA"), "../shared/data") }

// registerGridFlags are those that say of what grids.
func (s *scenarioFlags) registerGridFlags(cmd *cobra.Command) {
	s.cmd = cmd
	f, o := cmd.Flags(), &s.options
	f.StringVar(&o.Data, "data", dataFolder(), "folder of recorded series and traces, for scenarios that read them; also $GRIDBID_DATA")
	f.Uint64Var(&s.seed, "seed", 0, "instead of the scenario's own")
	f.StringVar(&o.Window, "window", "", "replay this `FILE.csv` of hourly prices and carbon by zone, without a scenario")
	f.BoolVar(&o.Fill, "fill", false, "take hours that a window lacks as the hour before, a week at most; counted in the notes")
	f.StringVar(&o.Carbon, "carbon", "", "bid and count by the `average` intensity of the grid (default) or the marginal one")
}

// registerFlags are all of them.
func (s *scenarioFlags) registerFlags(cmd *cobra.Command) {
	s.registerGridFlags(cmd)
	f, o := cmd.Flags(), &s.options
	registerKappaFlag(cmd, &o.Kappa)
	f.StringVar(&o.Jobs, "jobs", "", "take jobs from this trace (`FILE.csv[.gz]`: Philly or Alibaba columns)")
	f.Int64Var(&s.from, "jobs-from", 0, "start at this `second` of the trace's own clock")
	f.IntVar(&o.MaxJobs, "max-jobs", 0, "take so many jobs at most (default 2000, or what the scenario says)")
	f.StringVar(&o.Fleet, "fleet", "", "take nodes from this list (`FILE.csv`)")
	f.Float64Var(&o.FleetScale, "fleet-scale", 0, "keep this fraction of the nodes (default: as many as keep 65 % busy)")
}

// loadScenario reads what the flags and the arguments name: a shipped scenario, a
// folder or file, or a window.
func (s *scenarioFlags) loadScenario(args []string) (spec.Scenario, error) {
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
		err = fmt.Errorf("give a scenario or --window, not both")
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

// printNotes says what of a scenario was assumed, cut or filled.
func printNotes(talk io.Writer, s spec.Scenario) {
	for _, note := range s.Notes {
		fmt.Fprintf(talk, "  note: %s\n", note)
	}
}

// registerKappaFlag adds the flag --kappa, which sets to; without it to stays nil.
func registerKappaFlag(cmd *cobra.Command, to **float64) {
	cmd.Flags().Func("kappa", "price of carbon, `dollars` per tonne (default 190, or what the scenario says)", func(text string) error {
		v, err := strconv.ParseFloat(text, 64)
		*to = &v
		return err
	})
}

func newScenarioCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scenario",
		Short: "list, check and look at scenarios",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "check FILE...",
		Short: "say what is wrong with a scenario file, line by line",
		Long: `Check scenario files, folders or shipped names, each by itself: its keys against the
published schema and against each other. Nothing is replayed and no data is read.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var wrong []error
			for _, what := range args {
				if err := spec.CheckSyntax(what); err != nil {
					wrong = append(wrong, err)
					continue
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: fine\n", what)
			}
			if len(wrong) > 0 {
				return usageError{errors.Join(wrong...)}
			}
			return nil
		},
	})
	var asJSON bool
	list := &cobra.Command{
		Use:   "list",
		Short: "name the scenarios that ship with gridbid",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), spec.ShippedNames())
			}
			for _, name := range spec.ShippedNames() {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.AddCommand(list, newForecastsCommand(), &cobra.Command{
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
