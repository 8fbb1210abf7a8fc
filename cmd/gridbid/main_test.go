package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/spf13/cobra"

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
		{"federation", "init", "here"}, {"federation", "add-site"}, {"federation", "add-site", "oslo", "--as", "rome"}, {"wait"}, {"wait", "a", "--for", "glory"}, {"placement"}, {"placement", "study", "trace.csv"},
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

// Back quotes in the help of a flag name its value: a command quoted there would be shown
// as the value that the flag takes, as in "--run gridbid replay".
func TestHelpNamesTheValueOfEachFlagInCapitals(t *testing.T) {
	flagWithValue := regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+) (\S.*?)  +\S`)
	value := regexp.MustCompile(`^([A-Z]\S*|duration|float|int|string|strings|uint|uints)$`)
	checked := 0
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, m := range flagWithValue.FindAllStringSubmatch(cmd.LocalFlags().FlagUsages(), -1) {
			if checked++; !value.MatchString(m[2]) {
				t.Errorf("help of %s has %s %s; want the name of a value in capitals, or a type", cmd.CommandPath(), m[1], m[2])
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	if check(newRootCommand()); checked < 100 {
		t.Errorf("%d flags with values were found in the help; want all, which are more than 100", checked)
	}
}

// A ledger is untrusted: text that an error quotes from it must not control the terminal.
func TestAnErrorMovesNoCursor(t *testing.T) {
	err := errors.Join(errors.New("tap"), &protocol.UnknownKindError{Kind: "hum", Version: 9, From: "agent/\x1b[2J\u202e\xff"})
	if got, want := legibleError(err), fmt.Sprintf("tap\nagent/·[2J·· sent kind \"hum\" in version 9; this program's version %d does not know it", protocol.Current); got != want {
		t.Errorf("shown as %q; want %q", got, want)
	}
}
