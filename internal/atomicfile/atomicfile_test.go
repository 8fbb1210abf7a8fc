package atomicfile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gridbid/gridbid/internal/atomicfile"
)

// Who has the old one open, or has another name of it, keeps it; who could read it
// can read the new one.
func TestReplaceKeepsOwnerAndMode(t *testing.T) {
	dir := t.TempDir()
	file, old := filepath.Join(dir, "people.json"), filepath.Join(dir, "old")
	write := func(text string) {
		t.Helper()
		if err := atomicfile.ReplaceFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(path, text string, mode os.FileMode) {
		t.Helper()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("%s: %q, %v; want %q", filepath.Base(path), got, err, text)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want mode %v", filepath.Base(path), info, err, mode)
		}
	}
	write("one")
	holds(file, "one", 0o600)
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(file, old); err != nil {
		t.Skip(err)
	}
	write("two")
	holds(file, "two", 0o640)
	holds(old, "one", 0o640)
}

// Whatever fails, what was there stays, and nothing is left beside it.
func TestFailedReplaceKeepsFile(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "taken", "inside")
	if err := os.MkdirAll(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(dir, "taken"), filepath.Join(dir, "nowhere", "file")} {
		if err := atomicfile.ReplaceFile(file, []byte("text"), 0o600); err == nil {
			t.Errorf("%s is written", file)
		}
	}
	if _, err := os.Stat(inside); err != nil {
		t.Error(err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 1 {
		t.Errorf("left behind: %v", all)
	}
}

// Of several who write a file at once each writes it whole, and one is the last.
func TestConcurrentReplace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "row.json")
	texts := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 3<<16)}
	intact := func() {
		got, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, texts[0]) && !bytes.Equal(got, texts[1]) {
			t.Errorf("%d bytes that no writer wrote, %v", len(got), err)
		}
	}
	var all sync.WaitGroup
	for _, text := range texts {
		all.Go(func() {
			for range 8 {
				if err := atomicfile.ReplaceFile(file, text, 0o644); err != nil {
					t.Error(err)
				}
				intact()
			}
		})
	}
	all.Wait()
}
