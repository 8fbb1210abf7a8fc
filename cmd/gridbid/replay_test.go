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
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{
		{"--speed", "NaN"}, {"--speed", "-1"}, {"--max-jobs", "-1"}, {"--fleet-scale", "NaN"},
		{"--json", filepath.Join(dir, "no", "figures.json")}, {"--report", file},
	} {
		args := append([]string{"--policy", "home-fifo", "--bus", "mem", "--no-bound", "--run", filepath.Join(dir, "run")}, flags...)
		_, talk, err := execute(newReplayCommand(), args...)
		if !errors.As(err, new(badInput)) || strings.Contains(talk, "replaying") {
			t.Errorf("%v: %v, after %q; want bad input before anything is played", flags, err, talk)
		}
	}
}
