package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// Exit codes are part of the interface: 2 means that other flags or files are needed.
func TestWrongArgumentsAreUsageErrors(t *testing.T) {
	none, file := filepath.Join(t.TempDir(), "none"), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"no-such-command"}, {"policy", "no-such-command"}, {"version", "--no-such-flag"},
		{"why"}, {"why", "a", "b"}, {"replay", "a", "b"}, {"bound", "a", "b"}, {"chat", "a"}, {"drain"}, {"sites", "remove"}, {"sites", "remove", "oslo"},
		{"federation", "init"}, {"federation", "add-site"}, {"placement"}, {"placement", "study", "trace.csv"},
		{"why", "job", "--run", none}, {"ask", "late jobs", "--run", none}, {"chat", "--run", none}, {"page", "--run", none}, {"mcp", "--run", none},
		{"chart", "day", "--run", none}, {"messages", none}, {"why", "job", "--policy", "a/b"},
		{"placement", "--nodes", none, "--pods", none}, {"placement", "--nodes", none, "--pods", none, "--policy", "luck"}, {"placement", "parity", none},
		{"placement", "study", none, "--nodes", none}, {"placement", "study", none, "--nodes", none, "--days", "0"},
		{"page", none}, {"mcp", none}, {"bench", "explain", "--auctions", "0"},
		{"bench", "days", "six-regions", "--jobs", "1", "--policies", "random", "--steps", "1", "--out", file},
		{"bench", "payments", "six-regions", "--jobs", "1", "--sites", "atlantis"},
	} {
		if _, _, err := execute(newRootCommand(), args...); !errors.As(err, new(usageError)) {
			t.Errorf("gridbid %v: %v; want bad input", args, err)
		}
	}
}

// A ledger is untrusted: text that an error quotes from it must not control the terminal.
func TestAnErrorMovesNoCursor(t *testing.T) {
	err := errors.Join(errors.New("tap"), &protocol.UnknownKindError{Kind: "hum", Version: 9, From: "agent/\x1b[2J\u202e\xff"})
	if got, want := legibleError(err), fmt.Sprintf("tap\nprotocol: agent/·[2J·· sent kind \"hum\" in version 9; this program's version %d does not know it", protocol.Current); got != want {
		t.Errorf("shown as %q; want %q", got, want)
	}
}
