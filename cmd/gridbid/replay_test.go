package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

func TestReplayRefusesWrongFlagsBeforeTheWork(t *testing.T) {
	dir := t.TempDir()
	file, run := filepath.Join(dir, "file"), filepath.Join(dir, "run")
	last := filepath.Join(run, "auction.ledger")
	if err := errors.Join(os.WriteFile(file, nil, 0o644), os.Mkdir(run, 0o755), os.WriteFile(last, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{
		{"--speed", "NaN"}, {"--speed", "-1"}, {"--max-jobs", "-1"}, {"--fleet-scale", "NaN"},
		{"--json", filepath.Join(dir, "no", "figures.json")}, {"--report", file}, {"--report", "/proc/self"}, {"--bus", "mqtt"},
	} {
		args := append([]string{"--policy", "home-fifo", "--bus", "mem", "--no-bound", "--run", run}, flags...)
		_, stderr, err := execute(newReplayCommand(), args...)
		if !errors.As(err, new(usageError)) || strings.Contains(stderr, "replaying") {
			t.Errorf("%v: %v, after %q; want bad input before anything is played", flags, err, stderr)
		}
		if _, err := os.Stat(last); err != nil {
			t.Errorf("%v: the last run is gone: %v", flags, err)
		}
	}
}

func TestFiguresMayLieInTheFolderOfTheirRun(t *testing.T) {
	run := filepath.Join(t.TempDir(), "new")
	figures := filepath.Join(run, "figures.json")
	_, stderr, err := execute(newReplayCommand(), "--policy", "home-fifo", "--bus", "mem", "--no-bound", "--max-jobs", "5", "--run", run, "--json", figures)
	if text, bad := os.ReadFile(figures); err != nil || bad != nil || !strings.Contains(string(text), `"policy": "home-fifo"`) {
		t.Errorf("replay: %v; figures: %v, %q\n%s", err, bad, text, stderr)
	}
}

func TestTwoReplaysDoNotShareAFolder(t *testing.T) {
	run := t.TempDir()
	last := filepath.Join(run, "auction.ledger")
	release, err := lockFolder(run)
	if err = errors.Join(err, os.WriteFile(last, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	again := func() error {
		_, _, err := execute(newReplayCommand(), "--policy", "home-fifo", "--bus", "mem", "--no-bound", "--max-jobs", "5", "--run", run)
		return err
	}
	if err := again(); !errors.As(err, new(usageError)) {
		t.Errorf("beside another: %v; want bad input", err)
	}
	if _, err := os.Stat(last); err != nil {
		t.Errorf("the other's ledger is gone: %v", err)
	}
	release()
	if err := again(); err != nil {
		t.Errorf("after another: %v", err)
	}
}

// A folder's name is no pattern.
func TestARunLiesInAFolderOfAnyName(t *testing.T) {
	run := filepath.Join(t.TempDir(), "monday [1]*")
	for range 2 { // the second replaces the first
		if _, stderr, err := execute(newReplayCommand(), "--policy", "home-fifo", "--bus", "mem", "--no-bound", "--max-jobs", "5", "--run", run); err != nil {
			t.Fatalf("replay: %v\n%s", err, stderr)
		}
	}
	if out, _, err := execute(newMessagesCommand(), "--run", run, "--kind", "submit"); err != nil || strings.Count(out, "\n") != 5 {
		t.Errorf("messages: %v\n%s", err, out)
	}
}

// What sites know is part of a policy's name, from the flag to the ledger: who plays a
// ledger again plays it by what its sites knew.
func TestAReplayMayTellSitesMoreThanIsUsual(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("day", 0o700), os.WriteFile(filepath.Join("day", "scenario.yaml"), []byte(`name: day
start: 2022-04-13T00:00:00Z
sites:
  - name: oslo
    region: {price: {mean: 50, swing: 90}, carbon: {mean: 300, swing: 220}, match: 0.1}
    fleet: [{count: 2, model: T4, gpus: 4, cpu: 16, memory: 64}]
  - name: graz
    region: {price: {mean: 60, swing: 90}, carbon: {mean: 300, swing: 220}, match: 0.1}
    fleet: [{count: 2, model: T4, gpus: 4, cpu: 16, memory: 64}]
jobs: {count: 40, deferrable: 1}
`), 0o600)); err != nil {
		t.Fatal(err)
	}
	out, stderr, err := execute(newReplayCommand(), "day", "--policy", "auction/forecast,auction/perfect", "--bus", "mem", "--json", "-")
	var all []history.Totals
	if bad := json.Unmarshal([]byte(out), &all); err != nil || bad != nil || len(all) != 2 || all[0].Policy != "auction" || all[1].Policy != "auction/perfect" || all[0].JobsUSD == all[1].JobsUSD {
		t.Fatalf("replay: %v, %v, %+v\n%s", err, bad, all, stderr)
	}
	for i, flag := range []string{"auction/forecast", "auction/perfect"} {
		path, err := ledgerSelector{run: lastRunFolder, policy: flag}.ledgerPath()
		if err != nil {
			t.Fatal(err)
		}
		stage := whatIfReplay(t.Context(), recordSource{path: path}, io.Discard)
		if !slices.Contains(stage.Policies, "auction/none") {
			t.Errorf("who asks what auction/none would have done is not understood: %q", stage.Policies)
		}
		again, err := stage.Replay(query.DayChange{Carbon: -1})
		if err != nil || again.Totals.Policy != all[i].Policy || again.Totals.JobsUSD != all[i].JobsUSD {
			t.Errorf("%s again: %v, %s, $%f; it was $%f", flag, err, again.Totals.Policy, again.Totals.JobsUSD, all[i].JobsUSD)
		}
	}
	if _, stderr, err := execute(newReplayCommand(), "day", "--policy", "gaia/none", "--bus", "mem", "--no-bound"); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if left, err := ledgerPolicies(lastRunFolder); err != nil || !slices.Equal(left, []string{"gaia-none"}) {
		t.Errorf("the next run leaves %q, %v; want its own ledger alone", left, err)
	}
}

// What is said to be next can be run as it is said.
func TestNextStepsOfAReplayCanBeRun(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, run := range []string{lastRunFolder, "a run"} {
		_, stderr, err := execute(newReplayCommand(), "--policy", "home-fifo,random", "--bus", "mem", "--no-bound", "--max-jobs", "5", "--run", run)
		said := regexp.MustCompile(`gridbid why (\S+)(?: --run '(.*)')? --policy (\S+)`).FindStringSubmatch(stderr)
		if err != nil || said == nil {
			t.Fatalf("replay: %v\n%s", err, stderr)
		}
		if said[2] == "" {
			said[2] = lastRunFolder
		}
		if _, _, err := execute(newWhyCommand(), said[1], "--run", said[2], "--policy", said[3]); err != nil {
			t.Errorf("%s: %v", said[0], err)
		}
	}
}

// A trace may name its jobs as it likes, and what is said to be next is no replay of
// another day.
func TestWhatIsNextIsOneWordForEachName(t *testing.T) {
	var stderr strings.Builder
	f := replayFlags{run: lastRunFolder}
	f.printNextSteps(&stderr, spec.Scenario{Jobs: []protocol.Job{{ID: "Ada's job"}}}, nil)
	if !strings.Contains(stderr.String(), `gridbid why 'Ada'\''s job'  `) || strings.Contains(stderr.String(), "gridbid replay") {
		t.Errorf("next:\n%s", stderr.String())
	}
	for name, want := range map[string]string{"job-0007": "job-0007", ".gridbid/up": ".gridbid/up", "": "''", "a b": "'a b'", "$(x)": "'$(x)'", "ü/a_b": "ü/a_b"} {
		if got := shellWord(name); got != want {
			t.Errorf("%q is spelled %s; want %s", name, got, want)
		}
	}
}

// Half a day is not taken for a day.
func TestTheLedgerOfAReplayThatWasGivenUpHasNoEnd(t *testing.T) {
	run := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := newReplayCommand()
	cmd.SetContext(ctx)
	if _, _, err := execute(cmd, "--policy", "home-fifo", "--bus", "mem", "--no-bound", "--max-jobs", "5", "--run", run); !errors.Is(err, context.Canceled) {
		t.Fatalf("a replay that was given up: %v", err)
	}
	if _, stderr, err := execute(newMessagesCommand(), "--run", run); err != nil || !strings.Contains(stderr, "was cut off") {
		t.Errorf("its ledger: %v, said %q; want that it was cut off", err, stderr)
	}
}

// A ledger under a name that no policy has was put there by somebody: a copy, or
// what a coordinator noted.
func TestAReplayRemovesNoLedgerButItsOwn(t *testing.T) {
	run := t.TempDir()
	old, kept := filepath.Join(run, "auction.ledger"), filepath.Join(run, "00001-20260311T075600.ledger")
	if err := errors.Join(os.WriteFile(old, nil, 0o644), os.WriteFile(kept, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := execute(newReplayCommand(), "--policy", "home-fifo", "--bus", "mem", "--no-bound", "--max-jobs", "5", "--run", run); err != nil {
		t.Fatalf("replay: %v\n%s", err, stderr)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the ledger of an older run: %v; want it gone", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("a ledger that no replay wrote is gone: %v", err)
	}
}

// A run whose figures say little says so on standard error, in the JSON and on the page.
func TestAReplayOfFiveJobsWarnsThatItsFiguresSayLittle(t *testing.T) {
	dir := t.TempDir()
	out, stderr, err := execute(newReplayCommand(), "--policy", "home-fifo,random", "--bus", "mem", "--no-bound", "--max-jobs", "5",
		"--run", filepath.Join(dir, "run"), "--report", filepath.Join(dir, "page"), "--json", "-")
	if err != nil {
		t.Fatalf("replay: %v\n%s", err, stderr)
	}
	const want = "5 jobs are worth 3 by GPU-hours"
	if n := strings.Count(stderr, "warning: "+want); n != 2 {
		t.Errorf("standard error has the warning %d times; want it before and after the replays:\n%s", n, stderr)
	}
	page, err := os.ReadFile(filepath.Join(dir, "page", "index.html"))
	if err != nil || !strings.Contains(string(page), want) {
		t.Errorf("the page lacks the warning (%v)", err)
	}
	var rows []struct {
		Warnings []string `json:"warnings"`
	}
	if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) != 2 || len(rows[1].Warnings) != 1 || !strings.Contains(rows[1].Warnings[0], want) {
		t.Errorf("warnings of the JSON are %+v (%v); want one for each of two policies", rows, err)
	}
}
