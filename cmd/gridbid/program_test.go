package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// What a user sees of the program itself: its output, its last words and its exit code.
func TestTheProgramEndsInPlainWords(t *testing.T) {
	at := liveAPI(t)
	for _, tc := range []struct {
		args        string
		code        int
		out, stderr string
	}{
		{"jobs -o name --limit 1 --api " + at, 0, "train-1\n", "2 more jobs; --limit 0 shows all\n"},
		{"jobs -o name --limit 1 -q --api " + at, 0, "train-1\n", ""},
		{"repaly --policy x", exitUsage, "", "gridbid: unknown command \"repaly\" (did you mean \"replay\"?); see `gridbid --help`\n"},
		{"job", exitUsage, "", "gridbid: gridbid job needs ID: the usage is `gridbid job ID`; see `gridbid job --help`\n"},
		{"job x --api " + at, exitUsage, "", "gridbid: unknown\n"},
		{"replay six-region", exitUsage, "", "gridbid: no scenario \"six-region\" (did you mean \"six-regions\"?): give a folder"},
		{"messages /nowhere.ledger", exitUsage, "", "gridbid: open /nowhere.ledger: no such file or directory\n"},
	} {
		out, stderr, code := runProgram(t, strings.Fields(tc.args)...)
		if code != tc.code || out != tc.out || !strings.HasPrefix(stderr, tc.stderr) || tc.stderr == "" && stderr != "" {
			t.Errorf("gridbid %s: code %d, %q, %q; want %d, %q, %q", tc.args, code, out, stderr, tc.code, tc.out, tc.stderr)
		}
	}
}

// measurements print a report, and their figures as JSON.
var measurements = map[string]bool{
	"gridbid bench explain": true, "gridbid bench chance": true, "gridbid bench payments": true, "gridbid bench profiles": true,
	"gridbid chat": true, // one answer after the other, each a line
}

// Whoever adds a command with --json gives it every format.
func TestEveryCommandWithJSONHasEveryFormat(t *testing.T) {
	checked := 0
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		asJSON := cmd.Flags().Lookup("json")
		if asJSON != nil && asJSON.NoOptDefVal != "" && !measurements[cmd.CommandPath()] {
			if checked++; cmd.Flags().Lookup("output") == nil {
				t.Errorf("%s has --json and no -o: use registerOutput", cmd.CommandPath())
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	if check(newRootCommand()); checked < 15 {
		t.Errorf("%d commands were checked; want more", checked)
	}
}
