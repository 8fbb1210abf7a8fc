package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// asProgram has this test binary be gridbid itself.
const asProgram = "GRIDBID_TEST_AS_PROGRAM"

// TestMain keeps the configuration of whoever runs the tests out of them.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	for _, name := range []string{"GRIDBID_API", "GRIDBID_OUTPUT", "GRIDBID_CONTEXT"} {
		_ = os.Unsetenv(name)
	}
	_ = os.Setenv("GRIDBID_CONFIG", filepath.Join(os.TempDir(), "gridbid-tests-have-no-configuration.yaml"))
	os.Exit(m.Run())
}

// runProgram runs gridbid in a process of its own.
func runProgram(t *testing.T, args ...string) (out, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var a, b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &a, &b
	var ended *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return a.String(), b.String(), cmd.ProcessState.ExitCode()
}
