package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a shell offers after TAB comes from the live federation, the run, the scenarios and
// the configuration.
func TestNamesAreCompleted(t *testing.T) {
	at, run := liveAPI(t), ledgerOf(t, "auction")
	t.Setenv("GRIDBID_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("GRIDBID_API", "")
	if _, _, err := execute(newRootCommand(), "config", "set-context", "north", "--api", at); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ args, want string }{
		{"drain ", "oslo lyon"}, // by the context
		{"drain --api " + at + " o", "oslo"},
		{"drain --api 127.0.0.1:1 ", ""},
		{"sites remove ", "oslo lyon"},
		{"job ", "train-1 train-2 train-3"},
		{"cancel ", "train-2"}, // the others have ended
		{"jobs --tenant s", "speech"},
		{"jobs --site l", "lyon"},
		{"jobs --state pen", "pending"},
		{"jobs --sort kw", "kwh"},
		{"jobs --context ", "north"},
		{"jobs -o y", "yaml"},
		{"why --run " + run + " ", "train-1 train-2"},
		{"why --live train-", "train-1 train-2 train-3"},
		{"wait --for r", "running"},
		{"wait ", "train-2"},
		{"export --table b", "bids"},
		{"replay --policy auction,home-f", "auction,home-fifo auction,home-fifo/own auction,home-fifo/perfect auction,home-fifo/wrong auction,home-fifo/none auction,home-fifo/learned auction,home-fifo/runtimes"},
		{"replay six", "six-regions"},
		{"up real-days/ord", "real-days/ordinary_2022-04-13"},
		{"messages --kind pol", "policy"},
		{"config use-context ", "north"},
	} {
		words := strings.Split(tc.args, " ")
		out, _, err := execute(newRootCommand(), append([]string{"__complete"}, words...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		got, last := lines[:len(lines)-1], lines[len(lines)-1]
		slices.Sort(got)
		want := strings.Fields(tc.want)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) || last != ":4" { // 4: no names of files
			t.Errorf("%q: %v: %q, then %s; want %q", tc.args, err, got, last, want)
		}
	}
}
