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

const aboutSite = `gridbid site runs one simulated site of a live federation: it joins with its own key
and bids like any other, but its cluster and its grid are those of a scenario. Use it to
try a federation before real clusters join, or to see how a market takes one more site.

  gridbid site --config oslo.yaml
  gridbid site --config oslo.yaml --check

  # oslo.yaml
  site: oslo                          # its name in the federation
  folder: state/oslo                  # what it must not forget, across restarts
  nats_file: fed/sites/oslo/nats.yaml # gridbid federation add-site oslo writes it
  simulate:
    scenario: six-regions             # a shipped name, a folder or a scenario.yaml
    as: hydro-north                   # its site there; default: the one of the same name
  # grid: {price: 70, carbon: 400, sources: [...]} has it bid by a real grid instead

The scenario's first day is the day on which the site first started; its last day is
repeated after it. Jobs run by the clock, and nothing is really executed: for jobs that
run on a real cluster use cluster-agent, whose configuration is the same but for the
section kubernetes in place of simulate.

SIGTERM and SIGINT end it. Its simulated jobs run on meanwhile: when it is started with the
same folder it takes them up where the clock has brought them. Exit codes: 0 done; 1
failed; 2 a flag or the configuration is wrong.`

// siteProgram is how errors and logs call the command.
const siteProgram = "gridbid site"

// An exitCode ends the program after a command has reported by itself what failed.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

// newSiteCommand makes `gridbid site`. Its flags, environment variables and exit
// codes are those of a daemon, so cobra leaves its arguments alone.
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

func runSite(args []string, out io.Writer) int {
	return program.Program{Name: siteProgram, About: aboutSite, Prepare: prepareSite}.Run(args, out)
}

// prepareSite reads the scenario of a configuration, and finds the site in it.
func prepareSite(c program.Config, _ *slog.Logger, feed *signals.Poller) (program.Builder, error) {
	if c.Simulate == nil {
		section := "kubernetes"
		if c.Kubernetes == nil {
			section = "queue"
		}
		return nil, c.FaultAt([]string{section}, "gridbid site runs simulated sites alone: for a real cluster run `cluster-agent --config FILE` with this file, or put simulate in its place")
	}
	name := c.Simulate.Scenario
	if !slices.Contains(spec.ShippedNames(), name) {
		name = daemon.ResolveUnder(c.Simulate.Dir, name)
	}
	s, err := spec.LoadScenario(name, spec.Options{Data: c.Simulate.Data})
	if err != nil {
		return nil, err
	}
	as := cmp.Or(c.Simulate.As, c.Site)
	i := slices.IndexFunc(s.Sites, func(x spec.Site) bool { return x.Name == as })
	if i < 0 {
		return nil, c.FaultAt([]string{"simulate"}, "scenario %s has no site %q: name one of its sites in as", s.Name, as)
	}
	s.Sites = slices.Clone(s.Sites[i : i+1]) // another one may have the name of ours
	s.Sites[0].Name = c.Site
	return func() (runtime.Config, error) { return buildSimulatedSite(c, s, feed) }, nil
}

// gridLasts is for how long a simulated grid repeats the last day of its scenario.
const gridLasts = 400 * 24 * time.Hour

// buildSimulatedSite builds the parties of a site that is simulated. Its days are
// those of the scenario, from the day on which the site first started; its grid is
// a real one where feed reports one.
func buildSimulatedSite(c program.Config, s spec.Scenario, feed *signals.Poller) (runtime.Config, error) {
	began, err := firstStart(c.Folder)
	if err != nil {
		return runtime.Config{}, err
	}
	s = scenarios.ShiftScenario(s, began.Floor(24*time.Hour).Sub(s.Start.Floor(24*time.Hour)))
	x, err := scenarios.SimulateSite(s, c.Site, began, began.Add(gridLasts))
	if err != nil {
		return runtime.Config{}, err
	}
	if feed != nil {
		x.Forecast, x.ChargeIdle = c.Grid.ForecastConfig(), c.Grid.Idle
		x.Signals = runtime.LocalParty{Service: feed.Run}
	}
	return x.Build(c.Folder)
}

// firstStart returns when a simulated site was started for the first time, and
// notes it in its folder. Its meters count from then.
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
		return 0, fmt.Errorf("%s: %s: %w: restore the file, or begin with an empty folder", siteProgram, file, err)
	}
	return protocol.FromStdTime(t), nil
}
