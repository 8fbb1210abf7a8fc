package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/cluster-agent/signals"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// lasts is how long a played grid repeats the last day of its scenario.
const lasts = 400 * 24 * time.Hour

// simulate makes the parties of a site that is played. Its days are those of the
// scenario, from the day on which the site was first begun; its grid is a real one
// where one is configured.
func simulate(c config, s spec.Scenario, live *signals.Feed) (runtime.Config, error) {
	born, err := birth(c.Folder)
	if err != nil {
		return runtime.Config{}, err
	}
	s = scenarios.Moved(s, born.Floor(24*time.Hour).Sub(s.Start.Floor(24*time.Hour)))
	as := cmp.Or(c.Simulate.As, c.Site)
	i := 0
	for i < len(s.Sites) && s.Sites[i].Name != as {
		i++
	}
	if i == len(s.Sites) {
		return runtime.Config{}, fmt.Errorf("cluster-agent: scenario %s has no site %q: say simulate: as", s.Name, as)
	}
	s.Sites = s.Sites[i : i+1] // another one may have the name of ours
	s.Sites[0].Name = c.Site
	x, err := scenarios.SimulateSite(s, c.Site, born, born.Add(lasts))
	if err != nil {
		return runtime.Config{}, err
	}
	if live != nil {
		x.Forecast, x.ChargeIdle = c.Grid.rules(), c.Grid.Idle
		x.Signals = runtime.LocalParty{Service: live.Run}
	}
	return x.Build(c.Folder)
}

// birth returns when a played site was first begun. Its meters count from then.
func birth(folder string) (protocol.Time, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return 0, fmt.Errorf("cluster-agent: %w", err)
	}
	file := filepath.Join(folder, "begun")
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		now := time.Now().UTC().Truncate(time.Second)
		return protocol.At(now), os.WriteFile(file, []byte(now.Format(time.RFC3339)+"\n"), 0o600)
	}
	if err != nil {
		return 0, fmt.Errorf("cluster-agent: %w", err)
	}
	t, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("cluster-agent: %s: %w: restore the file, or begin with an empty folder", file, err)
	}
	return protocol.At(t), nil
}
