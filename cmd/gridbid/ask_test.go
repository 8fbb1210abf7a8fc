package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAskAnswersFromTheLedger(t *testing.T) {
	dir := ledgerOf(t, "auction", "home-fifo")
	out, talk, err := execute(newAskCommand(), "why", "did", "train-1", "go", "to", "oslo?", "--run", dir)
	if err != nil || talk != "" {
		t.Fatalf("ask: %v, said %q", err, talk)
	}
	for _, want := range []string{"read as: why job train-1 at site oslo", "was awarded to oslo in round 1", "D-2", "again: gridbid why train-1 --run"} {
		if !strings.Contains(out, want) {
			t.Errorf("ask does not say %q:\n%s", want, out)
		}
	}
}

// What is offered to be asked instead is asked of the same run.
func TestAReadingIsOfferedWithItsRun(t *testing.T) {
	dir := ledgerOf(t, "auction", "home-fifo")
	out, _, err := execute(newAskCommand(), "train-1", "--run", dir, "--policy", "home-fifo")
	flags := ledgerSelector{run: dir, policy: "home-fifo"}.flagText()
	if !errors.Is(err, errAskOtherwise) || !strings.Contains(out, "  gridbid ask 'why job train-1'"+flags+"\n") {
		t.Errorf("readings: %v; want them with%s\n%s", err, flags, out)
	}
}

func TestAskAsJSON(t *testing.T) {
	out, _, err := execute(newAskCommand(), "how many jobs ran", "--run", ledgerOf(t, "home-fifo"), "--json")
	if err != nil {
		t.Fatal(err)
	}
	var got askAnswer
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != 1 || got.Kind != "answer" || got.Query == nil || got.Query.Ask != "jobs" || len(got.Figures) == 0 {
		t.Errorf("ask --json = %+v", got)
	}
}

// Exit codes: errors that usageError marks end in 2, others in 1.
func TestAskSaysWhetherToAskOtherwise(t *testing.T) {
	dir := ledgerOf(t, "auction")
	for _, tc := range []struct {
		name, q   string
		otherwise bool
		err       error
	}{
		{"answered", "late jobs", false, nil},
		{"known not to be here", "who preempted train-1", false, nil},
		{"ambiguous", "train-1", true, errAskOtherwise},
		{"not understood", "sing a song", true, errAskOtherwise},
		{"not found", "why train-11", true, errAskOtherwise},
		{"not recorded", "how much water did oslo use", false, errNotAnswered},
		{"nothing", " ", true, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, _, err := execute(newAskCommand(), tc.q, "--run", dir)
			if tc.err != nil && (!errors.Is(err, tc.err) || out == "") {
				t.Errorf("ask %q: %v, wrote %q; want %v, and why on standard output", tc.q, err, out, tc.err)
			}
			if got := errors.As(err, new(usageError)); got != tc.otherwise {
				t.Errorf("ask %q: %v; bad input %v, want %v", tc.q, err, got, tc.otherwise)
			}
			if tc.err == nil && !tc.otherwise && err != nil {
				t.Errorf("ask %q: %v", tc.q, err)
			}
		})
	}
}

func TestAskComparesPoliciesByTheTotalsBeside(t *testing.T) {
	dir := ledgerOf(t, "auction", "home-fifo")
	if err := os.WriteFile(filepath.Join(dir, "totals.json"), []byte(`[{"policy":"auction","carbon_kg":1.5},{"policy":"home-fifo","carbon_kg":2.5}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _, err := execute(newAskCommand(), "compare auction and home-fifo", "--run", dir)
	if err != nil || !strings.Contains(out, "1.5") || !strings.Contains(out, "2.5") {
		t.Errorf("ask: %v, wrote %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "totals.json"), []byte(`{`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, talk, err := execute(newAskCommand(), "late jobs", "--run", dir); err != nil || !strings.Contains(talk, "cannot be compared") {
		t.Errorf("ask beside broken totals: %v, said %q", err, talk)
	}
}
