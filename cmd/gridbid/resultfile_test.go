package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// What is given up leaves the figures of the run before, and no file without
// figures.
func TestWorkThatIsGivenUpLeavesFilesAsTheyWere(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "old.json"), filepath.Join(dir, "fresh.json")
	if err := os.WriteFile(old, []byte("[]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{old, fresh} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		cmd := newReplayCommand()
		cmd.SetContext(ctx)
		_, stderr, err := execute(cmd, "--policy", "home-fifo", "--bus", "mem", "--no-bound", "--max-jobs", "5", "--run", filepath.Join(dir, "run"), "--json", file)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a replay that was given up: %v, after %q", err, stderr)
		}
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "[]\n" {
		t.Errorf("the figures of before: %v, %q", err, text)
	}
	if _, err := os.Stat(fresh); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file without figures: %v", err)
	}
}

func TestAPlaceHoldsWhatIsWrittenLast(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.json")
	for _, text := range []string{"a long text\n", "short\n"} {
		p, err := openResultFile(file, nil)
		if err == nil {
			err = p.writeResult(saying(text))
			p.discardIfUnused()
		}
		if got, bad := os.ReadFile(file); err != nil || bad != nil || string(got) != text {
			t.Errorf("wrote %q: %v; read %q, %v", text, err, got, bad)
		}
	}
}

// A pipe is written as it is: it has no length that could be cut.
func TestAPlaceMayBeAPipe(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	p, err := openResultFile("/dev/fd/"+strconv.Itoa(int(out.Fd())), nil)
	if err == nil {
		err = p.writeResult(saying("[]\n"))
		p.discardIfUnused()
	}
	got := make([]byte, 3)
	if _, bad := io.ReadFull(in, got); err != nil || bad != nil || string(got) != "[]\n" {
		t.Errorf("through a pipe: %v; read %q, %v", err, got, bad)
	}
}

func saying(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}
