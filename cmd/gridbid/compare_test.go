package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/lab/bench"
)

// Two policies of a run stand side by side, by figure and by job, and one run is called no proof.
func TestTwoPoliciesAreCompared(t *testing.T) {
	run := replayTwoPolicies(t)
	text, _, err := execute(newCompareCommand(), run, "--policy", "home-fifo,auction")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"auction against home-fifo", "FIGURE", "HOME-FIFO", "carbon with idle", "One run is no proof", "jobs ran at another site", "SITE BEFORE"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	out, _, err := execute(newCompareCommand(), run, "--policy", "home-fifo,auction", "-o", "json")
	var c runComparison
	if err = errors.Join(err, json.Unmarshal([]byte(out), &c)); err != nil {
		t.Fatal(err)
	}
	totals, err := readTotals(run)
	if err != nil {
		t.Fatal(err)
	}
	auction, fifo := totals[0], totals[1]
	if auction.Policy != "auction" {
		auction, fifo = fifo, auction
	}
	if c.AtOtherSite+c.Shifted+c.Same+c.Alone != auction.Jobs || len(c.Jobs) != c.AtOtherSite+c.Shifted || c.AtOtherSite == 0 {
		t.Errorf("%d + %d + %d + %d of %d jobs, %d listed", c.AtOtherSite, c.Shifted, c.Same, c.Alone, auction.Jobs, len(c.Jobs))
	}
	for _, f := range c.Figures {
		if f.Figure == "carbon_kg" && (f.Mean != auction.CarbonKg || f.MeanBefore != fifo.CarbonKg) {
			t.Errorf("carbon is %v and %v; want %v and %v", f.Mean, f.MeanBefore, auction.CarbonKg, fifo.CarbonKg)
		}
	}
	// What the jobs differ by adds up to what the runs differ by in carbon, but for corrections
	// and idle draw.
	sum := 0.0
	for _, j := range c.Jobs {
		sum += j.CarbonKg
	}
	if want := auction.CarbonKg - auction.IdleKg - fifo.CarbonKg + fifo.IdleKg; math.Abs(sum-want) > 0.5+0.1*math.Abs(want) {
		t.Errorf("jobs differ by %v kg, runs by %v", sum, want)
	}
}

// Draws are paired by the names of their folders; from six on a difference has an interval, and a
// run is within chance of itself.
func TestDrawsGiveAnInterval(t *testing.T) {
	root := t.TempDir()
	for n := range 6 {
		dir := filepath.Join(root, fmt.Sprint(n))
		if _, stderr, err := execute(newReplayCommand(), "--policy", "home-fifo,round-robin", "--bus", "mem", "--no-bound", "--max-jobs", "10", "--seed", fmt.Sprint(n), "--run", dir); err != nil {
			t.Fatalf("replay: %v\n%s", err, stderr)
		}
	}
	text, _, err := execute(newCompareCommand(), root, root, "--policy", "home-fifo")
	if err != nil || !strings.Contains(text, "95 % interval over 6 pairs") || !strings.Contains(text, "≈ +0.0 [+0.0, +0.0] %") {
		t.Errorf("draws against themselves: %v\n%s", err, text)
	}
	if text, _, err = execute(newCompareCommand(), root); err != nil || !strings.Contains(text, "round-robin against home-fifo") || !strings.Contains(text, "[") {
		t.Errorf("two policies over draws: %v\n%s", err, text)
	}
}

// A run under the policy chance tells how far one run of a policy lies from another: the auction is
// neither better nor worse than itself.
func TestOneRunIsComparedWithChance(t *testing.T) {
	run := t.TempDir()
	if _, stderr, err := execute(newReplayCommand(), "--policy", "home-fifo,auction,chance", "--bus", "mem", "--no-bound", "--max-jobs", "30", "--run", run); err != nil {
		t.Fatalf("replay: %v\n%s", err, stderr)
	}
	text, _, err := execute(newCompareCommand(), run, "--policy", "auction,chance")
	if err != nil || !strings.Contains(text, "BY CHANCE is how far two runs of one policy differ") || !strings.Contains(text, "± ") {
		t.Errorf("compare with the row chance: %v\n%s", err, text)
	}
	out, _, err := execute(newCompareCommand(), run, "--policy", "auction,chance", "-o", "json")
	var c runComparison
	if err = errors.Join(err, json.Unmarshal([]byte(out), &c)); err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Figures {
		if f.Verdict == bench.Better || f.Verdict == bench.Worse {
			t.Errorf("%s of the auction against itself is called %s: %+v", f.Name, f.Verdict, f)
		}
	}
	// Without the row nothing is said.
	if text, _, err := execute(newCompareCommand(), replayTwoPolicies(t)); err != nil || !strings.Contains(text, "Replay the policy chance beside them") {
		t.Errorf("compare without the row chance: %v\n%s", err, text)
	}
}

func TestCompareRefusesWhatItCannotCompare(t *testing.T) {
	run := replayTwoPolicies(t)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{t.TempDir()}, "is no finished run"},
		{[]string{run, "--policy", "auction"}, "want two policies of"},
		{[]string{run, run, "--policy", "auction,home-fifo"}, "two runs are compared under one policy"},
		{[]string{run, "--policy", "auction,random"}, "no ledger of policy"},
	} {
		if _, _, err := execute(newCompareCommand(), tc.args...); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("compare %v = %v; want %q", tc.args, err, tc.want)
		}
	}
	// Runs of other jobs are compared with a warning.
	other := replayTwoPolicies(t, "--seed", "7")
	if _, stderr, err := execute(newCompareCommand(), run, other); err != nil || !strings.Contains(stderr, "are replays of different inputs") {
		t.Errorf("runs of two seeds: %v, %q", err, stderr)
	}
}
