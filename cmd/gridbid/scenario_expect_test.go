package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// oneJob is a scenario of a job that starts at once.
const oneJob = `name: one-job
start: 2026-01-05T00:00:00Z
sites:
  - name: oslo
    region: {price: {mean: 40, swing: 0}, carbon: {mean: 100, swing: 0}, match: 0}
    fleet: [{count: 1, model: A100, gpus: 8, cpu: 64, memory: 512}]
jobs:
  list:
    - {id: train, gpus: 8, cpu: 8, run: 1h, urgency: now}
`

func writeFile(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestScenarioTestSaysWhichExpectationFailedAndWhy(t *testing.T) {
	dir := t.TempDir()
	met := writeFile(t, filepath.Join(dir, "met.yaml"), oneJob+"expect:\n  - {job: train, starts: 1}\n")
	failed := writeFile(t, filepath.Join(dir, "more", "failed.yaml"), oneJob+"expect:\n  - {job: train, starts: 1}\n  - {job: train, waits: {until: 2h}}\n  - {job: train, starts: 0}\n")
	writeFile(t, filepath.Join(dir, "more", "other.yaml"), oneJob) // expects nothing
	stdout, _, err := execute(newScenarioCommand(), "test", dir)
	if err == nil || errors.As(err, new(usageError)) || err.Error() != "2 of 4 expectations failed" {
		t.Errorf("error %v; want 2 of 4 failed", err)
	}
	want := met + ": 1 expectation, all met\n" + failed + ": 2 of 3 expectations failed\n  line 12: train waits from 0s until 2h; it runs at oslo from 3m21s on\n    Job train wants 8 GPUs"
	if !strings.HasPrefix(stdout, want) || !strings.Contains(stdout, "\n  line 13: train never starts; it started once, at oslo after 3m21s\n") || strings.Count(stdout, "Job train wants") != 1 {
		t.Errorf("printed\n%s\nwant\n%s ...", stdout, want)
	}
	stdout, _, err = execute(newScenarioCommand(), "test", failed, "-o", "json")
	var rows []expectationRow
	if bad := json.Unmarshal([]byte(stdout), &rows); bad != nil || err == nil || len(rows) != 3 || !rows[0].Holds || rows[0].Why != "" || rows[1].Holds || rows[1].Line != 12 || rows[1].Why == "" {
		t.Errorf("%v, %v: rows %+v", err, bad, rows)
	}
	stdout, _, err = execute(newScenarioCommand(), "test", failed, "-o", "csv", "-l", "holds=false")
	if err == nil || strings.Count(stdout, "\n") != 3 || !strings.HasPrefix(stdout, "file,holds,job,expected,got,policy\n"+failed+":12,false,train,") {
		t.Errorf("%v: printed\n%s", err, stdout)
	}
	if stdout, _, err := execute(newScenarioCommand(), "test", met); err != nil || stdout != met+": 1 expectation, all met\n" {
		t.Errorf("%v: printed\n%s", err, stdout)
	}
}

// What cannot be tested is a usage error, and nothing is played before all files are read.
func TestScenarioTestRefusesWhatItCannotTest(t *testing.T) {
	dir := t.TempDir()
	met := writeFile(t, filepath.Join(dir, "met", "a.yaml"), oneJob+"expect:\n  - {job: train, starts: 1}\n")
	for _, tc := range []struct{ name, file, text, want string }{
		{"a file that expects nothing", "b.yaml", oneJob, "b.yaml: lacks expect"},
		{"a file that is wrong", "c.yaml", oneJob + "expect:\n  - {job: tarin, starts: 1}\n", `c.yaml:11: expect/0/job: unknown job "tarin" (did you mean "train"?)`},
		{"a folder that expects nothing", "d/e.yaml", oneJob, "d: no scenario below it expects anything"},
		{"a folder with a file that is wrong", "f/g.yaml", "colour: red\n", "g.yaml:1: colour: unknown key"},
		{"no file", "", "", `no scenario "` + filepath.Join(dir, "none")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			arg := filepath.Join(dir, "none")
			if tc.file != "" {
				arg = filepath.Join(dir, strings.Split(tc.file, "/")[0])
				writeFile(t, filepath.Join(dir, tc.file), tc.text)
			}
			stdout, _, err := execute(newScenarioCommand(), "test", met, arg)
			if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), tc.want) || stdout != "" {
				t.Errorf("%v, printed %q; want a usage error with %q", err, stdout, tc.want)
			}
		})
	}
}

func TestScenarioTestRefusesFlagsThatDoNotFit(t *testing.T) {
	file := writeFile(t, filepath.Join(t.TempDir(), "case.yaml"), oneJob+"expect:\n  - {job: train, starts: 1}\n")
	for _, c := range []struct{ flags, want string }{
		{"--speed 2", "--speed and --parallel are for --live"},
		{"--live --speed 0", "--speed 0: want 1 to 600"},
		{"--live --speed NaN", "--speed NaN: want 1 to 600"},
		{"--live --parallel 0", "--parallel 0: want 1 to 64"},
	} {
		_, _, err := execute(newScenarioCommand(), append([]string{"test", file}, strings.Fields(c.flags)...)...)
		if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.flags, err, c.want)
		}
	}
	if stdout, _, err := execute(newScenarioCommand(), "test", file, "--live", "--speed", "600"); err != nil || stdout != file+": 1 expectation, all met\n" {
		t.Errorf("--live: %v: printed\n%s", err, stdout)
	}
}
