package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/lab/bound"
)

func TestBoundProvesAndChecksItsProof(t *testing.T) {
	proof := filepath.Join(t.TempDir(), "proof.json")
	few := []string{"--max-jobs", "40", "--steps", "20"}
	out, stderr, err := execute(newBoundCommand(), append(few, "--schedule", "5", "--out", proof, "--json")...)
	if err != nil {
		t.Fatalf("bound: %v\n%s", err, stderr)
	}
	if !strings.Contains(stderr, "note: 40 jobs are invented") { // as each flag says that counts something in the notes
		t.Errorf("bound does not say what was assumed:\n%s", stderr)
	}
	var c bound.Certificate
	if err := json.Unmarshal([]byte(out), &c); err != nil || c.Jobs != 40 || c.BoundUSD <= 0 || c.KnownUSD < c.BoundUSD {
		t.Fatalf("bound --json: %v, %d jobs, $%v:\n%s", err, c.Jobs, c.BoundUSD, out)
	}
	if out, _, err := execute(newBoundCommand(), append(few, "--check", proof)...); err != nil || !strings.HasPrefix(out, "certificate is valid") || !strings.HasSuffix(out, "(of jobs)\n") {
		t.Errorf("bound --check: %v\n%s", err, out)
	}
	if out, _, err := execute(newBoundCommand(), append(few, "--check", proof, "--idle")...); !errors.As(err, new(usageError)) {
		t.Errorf("a proof of what jobs cost, checked as one with idle nodes: %v; want bad input\n%s", err, out)
	}
	if _, _, err := execute(newBoundCommand(), "--max-jobs", "41", "--check", proof); err == nil {
		t.Errorf("bound --check holds for another scenario")
	}
	if _, _, err := execute(newBoundCommand(), append(few, "--kappa", "100", "--check", proof)...); err == nil {
		t.Errorf("bound --check holds at another price of carbon")
	}
	if _, _, err := execute(newBoundCommand(), append(few, "--kappa", "-1")...); !errors.As(err, new(usageError)) {
		t.Errorf("bound --kappa -1: %v; want bad input", err)
	}
	if _, stderr, err := execute(newBoundCommand(), append(few, "--out", filepath.Join(t.TempDir(), "no", "proof.json"))...); !errors.As(err, new(usageError)) {
		t.Errorf("bound --out into a folder that is not there: %v, after %q; want bad input", err, stderr)
	}
	if err := os.WriteFile(proof, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := execute(newBoundCommand(), append(few, "--check", proof)...); !errors.As(err, new(usageError)) {
		t.Errorf("bound --check of half a file: %v; want bad input", err)
	}
}

// Jobs of other scenarios bear the same names: their run would be explained all
// the same, by figures that say nothing.
func TestBoundExplainsNoRunOfAnotherScenario(t *testing.T) {
	run := t.TempDir()
	ledger := filepath.Join(run, "home-fifo.ledger")
	if _, stderr, err := execute(newReplayCommand(), "--policy", "home-fifo", "--bus", "mem", "--no-bound", "--max-jobs", "40", "--run", run); err != nil {
		t.Fatalf("replay: %v\n%s", err, stderr)
	}
	few := []string{"--max-jobs", "40", "--steps", "20", "--explain", ledger}
	if out, _, err := execute(newBoundCommand(), few...); err != nil || !strings.Contains(out, "above the bound") {
		t.Errorf("bound --explain: %v\n%s", err, out)
	}
	torn := filepath.Join(run, "torn.ledger") // jobs past its end would count as never run
	if text, err := os.ReadFile(ledger); err != nil || os.WriteFile(torn, text[:len(text)/2], 0o600) != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{append(few, "--seed", "2"), append(few, "--kappa", "100"), {"--explain", ledger + ".no"}, {"--max-jobs", "40", "--steps", "20", "--explain", torn}} {
		if out, stderr, err := execute(newBoundCommand(), args...); !errors.As(err, new(usageError)) {
			t.Errorf("bound %v: %v, after %q; want bad input\n%s", args, err, stderr, out)
		}
	}
}

func TestABoundIsGivenUpWithItsFile(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := newBoundCommand()
	cmd.SetContext(ctx)
	proof := filepath.Join(t.TempDir(), "proof.json")
	if _, _, err := execute(cmd, "--max-jobs", "40", "--steps", "2000", "--out", proof); !errors.Is(err, context.Canceled) {
		t.Errorf("a bound that was given up: %v", err)
	}
	if _, err := os.Stat(proof); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file without a proof: %v", err)
	}
}

// Where power earns a bound may be below zero: nothing is so many per cent above it.
func TestASearchIsReportedForABoundBelowZero(t *testing.T) {
	for _, tc := range []struct {
		bound, usd float64
		want       string
	}{{4, 5, "25.00 % above it"}, {-4, -3.5, "$0.5000 above it"}, {0, 1, "$1.0000 above it"}} {
		if got := gapText(bound.Certificate{BoundUSD: tc.bound}, tc.usd); got != tc.want {
			t.Errorf("$%g against $%g: %q; want %q", tc.usd, tc.bound, got, tc.want)
		}
	}
}
