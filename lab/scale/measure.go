package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gridbid/gridbid/scenarios/spec"
)

// A measurement is what one run took.
type measurement struct {
	name        string // of the policy, or of the other program
	jobs        int
	cpu         time.Duration // user and system time
	peakBytes   int64         // of resident memory
	ledgerBytes int64         // as written, compressed; 0: it has none
}

// cpuSeconds returns the CPU time in seconds.
func (m measurement) cpuSeconds() float64 { return m.cpu.Seconds() }

// peakMB returns the peak of resident memory.
func (m measurement) peakMB() float64 { return float64(m.peakBytes) / 1e6 }

// The trace has 45,166 jobs from where it gets dense, and the node list has GPUs for 65 % load of
// 25,000 of them. More jobs are taken from the trace's first second on, and their nodes from so many
// copies of the list that the load stays 65 %.
const (
	mostJobsOfDensePart = 40_000
	mostJobsOfNodeList  = 25_000
	copiesOfNodeList    = 3
)

// optionsFor returns how a scenario with so many jobs is read.
func (s *scaleRun) optionsFor(jobs int) (o spec.Options, err error) {
	o = spec.Options{Data: s.data, MaxJobs: jobs}
	if jobs > mostJobsOfDensePart {
		o.JobsFrom = new(int64)
	}
	if jobs > mostJobsOfNodeList {
		o.Fleet = filepath.Join(s.out, "nodes.csv")
		err = copyNodes(filepath.Join(s.data, "workload", "nodes_alibaba_gpu_v2023.csv"), o.Fleet, copiesOfNodeList)
	}
	return o, err
}

// copyNodes writes a node list with each node several times, under names of their own.
func copyNodes(from, to string, copies int) error {
	in, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	rows, err := csv.NewReader(bytes.NewReader(in)).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for i, row := range rows {
		if i == 0 {
			_ = w.Write(row) // to memory
			continue
		}
		name := row[0]
		for k := range copies {
			row[0] = fmt.Sprintf("%s-%d", name, k)
			_ = w.Write(row)
		}
	}
	w.Flush()
	return os.WriteFile(to, b.Bytes(), 0o644)
}

// measureReplay replays the day with so many jobs under a policy.
func (s *scaleRun) measureReplay(ctx context.Context, jobs int, policy string) (m measurement, err error) {
	o, err := s.optionsFor(jobs)
	if err != nil {
		return m, err
	}
	run := filepath.Join(s.ledgerFolder(jobs), policy)
	args := []string{"replay", s.day, "--policy", policy, "--bus", "mem", "--no-bound", "--quiet", "--data", s.data, "--max-jobs", fmt.Sprint(jobs), "--run", run}
	if o.Fleet != "" {
		args = append(args, "--fleet", o.Fleet)
	}
	if o.JobsFrom != nil {
		args = append(args, "--jobs-from", fmt.Sprint(*o.JobsFrom))
	}
	if m, err = measureProcess(ctx, s.gridbid, args...); err != nil {
		return m, err
	}
	m.name, m.jobs = policy, jobs
	info, err := os.Stat(s.ledgerFile(jobs, policy))
	if err != nil {
		return m, err
	}
	m.ledgerBytes = info.Size()
	return m, nil
}

// ledgerFile returns the ledger of a replay.
func (s *scaleRun) ledgerFile(jobs int, policy string) string {
	return filepath.Join(s.ledgerFolder(jobs), policy, policy+".ledger")
}

// measureProcess runs a program with one thread, and returns what it took. Linux begins the peak
// memory of a process with that of its parent, so this program must stay small: what needs memory
// runs in processes of its own.
func measureProcess(ctx context.Context, program string, args ...string) (m measurement, err error) {
	c := exec.CommandContext(ctx, program, args...)
	c.Env = append(os.Environ(), "GOMAXPROCS=1")
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return m, fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, lines[len(lines)-1])
	}
	used, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return m, errors.New("this system does not say what a process took: use Linux")
	}
	m.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	m.peakBytes = used.Maxrss * 1024 // Linux counts in KiB
	return m, nil
}
