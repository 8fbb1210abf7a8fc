package main

import (
	"errors"
	"io"
	"path/filepath"
	"syscall"
	"testing"
)

// A full takes nothing, as a disk that is full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// Exit code 0 promises that all output was written.
func TestAFailedWriteIsAnError(t *testing.T) {
	run, fed := ledgerOf(t, "auction"), filepath.Join(t.TempDir(), "fed")
	t.Chdir(t.TempDir())
	t.Setenv("GRIDBID_API", "")
	if _, _, err := execute(newRootCommand(), "federation", "init", "--host", "127.0.0.1", "--dir", fed); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"why", "train-1", "--run", run}, {"why", "train-1", "--run", run, "--json"}, {"why", "train-1", "--run", run, "--record"}, {"messages", "--run", run},
		{"ask", "summary", "--run", run}, {"chart", "--list"}, {"chart", "day", "--figures", "--run", run}, {"chart", "day", "--json", "--run", run},
		{"policy", "say", "avoid oslo", "--no-impact", "--run", run}, {"federation", "show", "--dir", fed}, {"federation", "add-site", "oslo", "--dir", fed},
		{"scenario", "list"}, {"scenario", "schema"}, {"version"},
	} {
		root := newRootCommand()
		root.SetOut(full{})
		root.SetErr(io.Discard)
		root.SetArgs(args)
		if err := root.Execute(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("gridbid %v on a full disk: %v", args, err)
		}
	}
}
