package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatAReplayCannotDoIsSaidBeforeIt(t *testing.T) {
	dir := t.TempDir()
	file, run := filepath.Join(dir, "file"), filepath.Join(dir, "run")
	last := filepath.Join(run, "auction.ledger")
	if err := errors.Join(os.WriteFile(file, nil, 0o644), os.Mkdir(run, 0o755), os.WriteFile(last, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{
		{"--speed", "NaN"}, {"--speed", "-1"}, {"--max-jobs", "-1"}, {"--fleet-scale", "NaN"},
		{"--json", filepath.Join(dir, "no", "figures.json")}, {"--report", file},
	} {
		args := append([]string{"--policy", "home-fifo", "--bus", "mem", "--no-bound", "--run", run}, flags...)
		_, talk, err := execute(newReplayCommand(), args...)
		if !errors.As(err, new(badInput)) || strings.Contains(talk, "replaying") {
			t.Errorf("%v: %v, after %q; want bad input before anything is played", flags, err, talk)
		}
		if _, err := os.Stat(last); err != nil {
			t.Errorf("%v: the last run is gone: %v", flags, err)
		}
	}
}
