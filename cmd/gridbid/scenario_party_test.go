package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const processCase = `name: apart
start: 2026-01-05T00:00:00Z
sites:
  - name: west
    region: {price: {mean: 20, swing: 0}, carbon: {mean: 50, swing: 0}, match: 0}
    host: {wake: 1}
    fleet: [{count: 2, model: A100, gpus: 3, cpu: 64, memory: 512}]
  - name: east
    region: {price: {mean: 40, swing: 0}, carbon: {mean: 100, swing: 0}, match: 0}
    host: {wake: 1}
    fleet: [{count: 2, model: A100, gpus: 4, cpu: 64, memory: 512}]
jobs:
  list:
    - {id: gang, components: [{pods: 8, gpus: 1, cpu: 2, memory: 8}], run: RUN, within: 12h, urgency: now}
expect:
  - {job: gang, placed: {site: east, by: 1h}}
  - {job: gang, nodes: 2}
  - {job: gang, ends: {as: done}}
`

// caseFile writes a case whose gang runs for a while.
func caseFile(t *testing.T, run string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "apart.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(processCase, "RUN", run, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A gang goes over processes of this program: the coordinator, and two sites.
func TestACaseHoldsOverProcesses(t *testing.T) {
	out, stderr, code := runProgram(t, "scenario", "test", caseFile(t, "4m"), "--live=processes")
	if code != 0 || !strings.Contains(out, "3 expectations, all met") {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
}

// childrenOf returns the processes that the threads of a process have started.
func childrenOf(pid int) (all []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(word); err == nil {
				all = append(all, n)
			}
		}
	}
	slices.Sort(all)
	return all
}

// The coordinator is a process, which can be killed: then the case is not judged, and no process stays.
func TestACaseOverProcessesSaysWhichProcessDied(t *testing.T) {
	if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())); err != nil {
		t.Skip("the kernel does not list the children of a process")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "scenario", "test", caseFile(t, "10h"), "--live=processes", "--speed", "1")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all []int
	for end := time.Now().Add(2 * time.Minute); len(all) < 3; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			t.Fatalf("%d processes run: %s", len(all), stderr.String())
		}
		all = childrenOf(cmd.Process.Pid)
	}
	if err := syscall.Kill(all[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), "signal: killed") || !strings.Contains(stderr.String(), "coordinator") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
	for _, pid := range all {
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("process %d still runs", pid)
		}
	}
}
