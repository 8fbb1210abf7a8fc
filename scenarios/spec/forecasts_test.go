package spec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// said writes carbon bulletins to a scenario's folder: one every six hours from a start
// on, each for two days.
func said(t *testing.T, dir string, start protocol.Time, issues int) {
	t.Helper()
	var b strings.Builder
	b.WriteString("issue_time_utc,target_time_utc,g\n")
	for i := range issues {
		issued := start.Add(time.Duration(6*i) * time.Hour)
		for h := range 48 {
			fmt.Fprintf(&b, "%v,%v,%d\n", issued, issued.Add(time.Duration(h)*time.Hour), 10*i+h)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "said.csv"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

var theDay = protocol.FromStdTime(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))

func TestForecastsOfAServiceAreThoseOfHoursThatTheSignalsHave(t *testing.T) {
	dir := file(t, strings.Replace(smallest, "    fleet:", "    forecasts: {carbon: {file: said.csv, column: g}}\n    fleet:", 1))
	said(t, dir, theDay.Add(-96*time.Hour), 40) // of which signals have the day before to the day after
	s, err := spec.LoadScenario(dir, spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	facts, all := s.Sites[0].Signals[protocol.GridCarbon], s.Sites[0].Forecasts[protocol.GridCarbon]
	first, last := facts[0].At, facts[len(facts)-1].At
	if len(all) != 19 { // from 66 hours before the day to the end of the day after
		t.Errorf("%d bulletins; want 19", len(all))
	}
	for i, b := range all {
		if end := b.Points[len(b.Points)-1].At; end < first || end > last {
			t.Errorf("bulletin %d, of %v, speaks to %v; signals are of %v..%v", i, b.Issued, end, first, last)
		}
	}
	if plain, err := spec.LoadScenario(file(t, smallest), spec.Options{}); err != nil || plain.Hash == s.Hash {
		t.Errorf("what services said does not count in the hash (%v)", err)
	}
	if all := strings.Join(s.Notes, "\n"); !strings.Contains(all, "here: carbon is foretold by a service 19 times") {
		t.Errorf("no note of it in:\n%s", all)
	}
	if grids, err := spec.LoadScenario(dir, spec.Options{GridsOnly: true}); err != nil || len(grids.Sites) != 1 || len(grids.Jobs) != 0 {
		t.Errorf("grids only: %d sites, %d jobs, %v", len(grids.Sites), len(grids.Jobs), err)
	}
}

func TestForecastsOfAServiceThatCannotBeAreRefused(t *testing.T) {
	for _, tc := range []struct {
		key   string
		start time.Duration // of what was said
		want  string
	}{
		{"carbon: {file: said.csv, column: g}", -240 * time.Hour, "scenario.yaml:6: sites/0/forecasts/carbon: here: "},
		{"carbon: {file: said.csv, column: g}", 240 * time.Hour, "has no forecast of carbon after start, 2026-01-02T00:00:00Z: its bulletins were issued from 2026-01-12T00:00:00Z"},
		{"carbon: {file: said.csv, column: mg}", 0, `said.csv:1: missing column "mg"`},
		{"carbon: {file: never.csv, column: g}", 0, "never.csv: no such file"},
		{"marginal: {file: said.csv, column: g}", 0, "a forecast needs a series of marginal"},
		{"wind: {file: said.csv, column: g}", 0, "sites/0/forecasts/wind: unknown key: want carbon, marginal, price, pue"},
		{"carbon: {file: said.csv, column: g, fill: persist}", 0, "unknown key (did you mean \"file\"?): want column, ends, file, lead_hours, published"},
	} {
		dir := file(t, strings.Replace(smallest, "    fleet:", "    forecasts: {"+tc.key+"}\n    fleet:", 1))
		said(t, dir, theDay.Add(tc.start), 4)
		if _, err := spec.LoadScenario(dir, spec.Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s, said from %v on: %v; want an error with %q", tc.key, tc.start, err, tc.want)
		}
	}
}
