package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Paths of a configuration are relative to it, wherever the agent is started.
func TestAScenarioIsLookedForBesideItsConfiguration(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"agent.yaml":   "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\nsimulate: {scenario: day.yaml, data: traces}\n",
		"shipped.yaml": "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\nsimulate: {scenario: six-regions, as: hydro-north}\n",
		"day.yaml": `name: day
start: 2022-04-13T00:00:00Z
sites:
  - name: oslo
    region: {price: {mean: 50, swing: 40}, carbon: {mean: 300, swing: 120}, match: 0.4}
    fleet: [{count: 1, model: T4, gpus: 2, cpu: 16, memory: 64}]
jobs: {trace: "${data}/jobs.csv", from: 0}
`,
		"traces/jobs.csv": "job_id,submit_s,duration_s,gpus,vc\na,0,600,1,v\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"agent.yaml", "shipped.yaml"} {
		var out strings.Builder
		if code := run([]string{"--config", filepath.Join(dir, name), "--check"}, &out); code != 0 {
			t.Errorf("--check of %s = %d, %s", name, code, out.String())
		}
	}
}

// A site may be called as another one of the scenario that it plays.
func TestASitePlaysTheOneItIsToldTo(t *testing.T) {
	c := config{Site: "hydro-north", Folder: t.TempDir(), Simulate: &simulateConfig{Scenario: spec.Default, As: "wind-coast"}}
	s, err := spec.Load(spec.Default, spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := simulate(c, s, c.feed(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range cfg.Beside[protocol.Feed("hydro-north")].Tick(protocol.At(time.Now())) {
		if x, ok := m.Body.(protocol.Signal); ok && x.What == protocol.GridCarbon && x.Points[0].Value < 200_000 {
			t.Errorf("its grid emits %d mg/kWh, as hydro-north's; want that of wind-coast", x.Points[0].Value)
		}
	}
}
