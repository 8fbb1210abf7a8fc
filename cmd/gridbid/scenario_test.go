package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A fault in one file keeps none after it from being looked at.
func TestEachScenarioIsChecked(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": "colour: red\n", "b.yaml": "shape: round\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, stderr, err := execute(newScenarioCommand(), "check", filepath.Join(dir, "a.yaml"), "six-regions", filepath.Join(dir, "b.yaml"))
	if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), "a.yaml:1: colour: unknown key") || !strings.Contains(err.Error(), "b.yaml:1: shape: unknown key") {
		t.Errorf("two files that are wrong: %v", err)
	}
	if stderr != "six-regions: ok\n" {
		t.Errorf("one between them that is not: %q", stderr)
	}
}
