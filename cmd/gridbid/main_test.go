package main

import (
	"errors"
	"path/filepath"
	"testing"
)

// Exit codes are part of the interface: 2 says that something else has to be
// given.
func TestWhatIsGivenWrongIsToldAsThat(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{
		{"no-such-command"}, {"policy", "no-such-command"}, {"version", "--no-such-flag"},
		{"why"}, {"why", "a", "b"}, {"replay", "a", "b"}, {"bound", "a", "b"}, {"chat", "a"}, {"drain"}, {"site-gone", "oslo"},
		{"federation", "init"}, {"federation", "add-site"}, {"pack"}, {"pack", "study", "trace.csv"},
		{"why", "job", "--run", none}, {"ask", "late jobs", "--run", none}, {"chat", "--run", none}, {"page", "--run", none}, {"mcp", "--run", none},
		{"chart", "day", "--run", none}, {"tap", none}, {"why", "job", "--policy", "a/b"},
		{"pack", "--nodes", none, "--pods", none}, {"pack", "--nodes", none, "--pods", none, "--policy", "luck"}, {"pack", "parity", none},
		{"pack", "study", none, "--nodes", none}, {"pack", "study", none, "--nodes", none, "--days", "0"},
	} {
		if _, _, err := execute(newRootCommand(), args...); !errors.As(err, new(badInput)) {
			t.Errorf("gridbid %v: %v; want bad input", args, err)
		}
	}
}
