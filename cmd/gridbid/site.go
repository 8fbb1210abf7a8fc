package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/cluster-agent/program"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/cluster-agent/signals"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

const aboutSite = `gridbid site runs one simulated site of a live federation. It joins with a key of its own
and bids as every site does, but a scenario gives it its cluster and its grid. Use it to
try a federation before real clusters join, or to see how the market changes with one
more site.

  gridbid site --config oslo.yaml
  gridbid site --config oslo.yaml --check

  # oslo.yaml
  site: oslo                          # name of the site in the federation
  folder: state/oslo                  # state that must survive restarts
  nats_file: fed/sites/oslo/nats.yaml # written by gridbid federation add-site oslo
  simulate:
    scenario: six-regions             # a shipped name, a folder or a scenario.yaml
    as: hydro-north                   # site of the scenario; default: the one named as site
  # grid: {price: 70, carbon: 400, sources: [...]} bids by a real grid instead

The first day of the scenario is mapped to the day on which the site first started; its
last day repeats from then on. Jobs take their time but execute nothing. For jobs on a
real cluster run cluster-agent, whose configuration has a section kubernetes in place of
simulate and is otherwise the same.

SIGTERM and SIGINT end the process. Simulated jobs go on in simulated time: a restart with
the same folder finds them as far as the clock has brought them. Exit codes: 0 success;
1 failure; 2 a flag or the configuration is wrong.`

// siteProgram is the name of the command in errors and logs.
const siteProgram = "gridbid site"

// An exitCode is an error of a command that has already printed what failed: main prints
// nothing more and exits with it.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

// newSiteCommand is `gridbid site`: a simulated site. Package program parses its flags and
// environment variables as it does for cluster-agent, so cobra must not parse them.
func newSiteCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "site --config FILE",
		Short:              "run a simulated site of a live federation",
		Long:               aboutSite,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if code := runSite(args, cmd.ErrOrStderr()); code != 0 {
				return exitCode(code)
			}
			return nil
		},
	}
}

// runSite runs the site as cluster-agent runs its own, and returns the exit code.
func runSite(args []string, out io.Writer) int {
	return program.Program{Name: siteProgram, About: aboutSite, Prepare: prepareSite}.Run(args, out)
}

// prepareSite loads the scenario of a configuration and finds the site in it. It returns
// the function that builds the site's parties.
func prepareSite(c program.Config, _ *slog.Logger, feed *signals.Poller) (program.Builder, error) {
	if c.Simulate == nil {
		section := "kubernetes"
		if c.Kubernetes == nil {
			section = "queue"
		}
		return nil, c.FaultAt([]string{section}, "gridbid site runs simulated sites only: for a real cluster run `cluster-agent --config FILE` with this file, or replace the section by simulate")
	}
	name := c.Simulate.Scenario
	if !slices.Contains(spec.ShippedNames(), name) {
		name = daemon.ResolveUnder(c.Simulate.Dir, name)
	}
	s, err := spec.LoadScenario(name, spec.Options{Data: c.Simulate.Data})
	if err != nil {
		return nil, err
	}
	if err := scenarios.CheckLiveEvents(s); err != nil {
		return nil, err
	}
	as := cmp.Or(c.Simulate.As, c.Site)
	i := slices.IndexFunc(s.Sites, func(x spec.Site) bool { return x.Name == as })
	if i < 0 {
		return nil, c.FaultAt([]string{"simulate"}, "scenario %s has no site %q: set as to one of its sites", s.Name, as)
	}
	s.Sites = slices.Clone(s.Sites[i : i+1]) // drop the others: one of them may bear the name that ours gets below
	s.Sites[0].Name = c.Site
	return func() (runtime.Config, error) { return buildSimulatedSite(c, s, feed) }, nil
}

// gridLasts is how long, from the site's first start, a simulated grid repeats the last day
// of its scenario.
const gridLasts = 400 * 24 * time.Hour

// buildSimulatedSite builds the parties of a simulated site. Its days are those of the
// scenario, shifted to begin on the day on which the site first started. If feed is not nil,
// the site bids by the real grid that feed reports.
func buildSimulatedSite(c program.Config, s spec.Scenario, feed *signals.Poller) (runtime.Config, error) {
	began, err := firstStart(c.Folder)
	if err != nil {
		return runtime.Config{}, err
	}
	// Shift by whole days, so that hours of the day stay what they were.
	s = scenarios.ShiftScenario(s, began.Floor(24*time.Hour).Sub(s.Start.Floor(24*time.Hour)))
	x, err := scenarios.SimulateSite(s, c.Site, began, began.Add(gridLasts))
	if err != nil {
		return runtime.Config{}, err
	}
	// Cluster and jobs stay simulated; only the grid is real.
	if feed != nil {
		x.Forecast = c.Grid.ForecastConfig()
		x.Signals = runtime.LocalParty{Service: feed.Run}
	}
	if !c.Terms.IsEmpty() {
		x.Terms = c.SiteTerms()
	}
	if !c.Location.IsZero() {
		x.Location = c.Location
	}
	return x.Build(c.Folder)
}

// firstStart returns when a simulated site was started for the first time, which it keeps
// in the folder, at a resolution of a second. The site's meters count from then.
func firstStart(folder string) (protocol.Time, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return 0, fmt.Errorf("%s: %w", siteProgram, err)
	}
	file := filepath.Join(folder, "begun")
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		now := time.Now().UTC().Truncate(time.Second)
		return protocol.FromStdTime(now), os.WriteFile(file, []byte(now.Format(time.RFC3339)+"\n"), 0o600)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", siteProgram, err)
	}
	t, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s: %s: %w: restore the file, or start with an empty folder", siteProgram, file, err)
	}
	return protocol.FromStdTime(t), nil
}
