package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// armadaName is the name of Armada's rows.
const armadaName = "Armada's simulator"

// buildSimulator builds the simulator of the checkout, and returns its path.
func (s *scaleRun) buildSimulator(ctx context.Context) (string, error) {
	program, err := filepath.Abs(filepath.Join(s.out, "armada-simulator"))
	if err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/simulator")
	c.Dir = s.armada
	if said, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build Armada's simulator in %s: %w\n%s", s.armada, err, said)
	}
	return program, nil
}

// measureSimulator runs Armada's simulator, with its default configuration, on the jobs and nodes of
// a replay that was measured before.
func (s *scaleRun) measureSimulator(ctx context.Context, program string, jobs int) (m measurement, err error) {
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	files := filepath.Join(s.ledgerFolder(jobs), "armada")
	// In a process of its own: see measureProcess.
	if _, err := measureProcess(ctx, self, "-export", files, "-jobs", fmt.Sprint(jobs), "-policies", s.policies[len(s.policies)-1], "-data", s.data, "-day", s.day, "-out", s.out); err != nil {
		return m, err
	}
	m, err = measureProcess(ctx, program, "--clusters", filepath.Join(files, "clusters.yaml"), "--workloads", filepath.Join(files, "workload.yaml"),
		"--outputDir", filepath.Join(files, "out"), "--overwriteOutputDir")
	m.name, m.jobs = armadaName, jobs
	return m, err
}

// exportWorkload writes the nodes of a scenario and the jobs of its replay as Armada's simulator
// reads them.
func (s *scaleRun) exportWorkload(jobs int, folder string) error {
	o, err := s.optionsFor(jobs)
	if err != nil {
		return err
	}
	day, err := spec.LoadScenario(s.day, o)
	if err != nil {
		return err
	}
	ran, err := readRuns(s.ledgerFile(jobs, s.policies[len(s.policies)-1]))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return errors.Join(
		writeText(filepath.Join(folder, "clusters.yaml"), func(w io.Writer) { writeClusters(w, day.Sites) }),
		writeText(filepath.Join(folder, "workload.yaml"), func(w io.Writer) { writeWorkload(w, day.Start, day.Jobs, ran) }))
}

// readRuns returns how long each job of a ledger held its GPUs, in all its runs.
func readRuns(ledger string) (map[protocol.JobID]time.Duration, error) {
	r, err := wal.OpenReader(ledger)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	ran := make(map[protocol.JobID]time.Duration)
	for {
		m, err := r.ReadMessage()
		if err == io.EOF {
			return ran, nil
		}
		if err != nil {
			return nil, err
		}
		if d, ok := m.Body.(protocol.UsageReport); ok {
			ran[d.Job] += d.Ended.Sub(d.Started)
		}
	}
}

// writeText writes a file by a function that writes to memory.
func writeText(path string, write func(io.Writer)) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	write(w)
	return errors.Join(w.Flush(), file.Close())
}

// writeClusters writes a cluster for each site, all in the pool of Armada's default configuration.
// Nodes of one size are one template.
func writeClusters(w io.Writer, sites []spec.Site) {
	type size struct {
		cpu    protocol.Milli
		memory protocol.MiB
		gpus   int
	}
	fmt.Fprintf(w, "name: gridbid\nclusters:\n")
	for _, site := range sites {
		sizes := make(map[size]int)
		for _, n := range site.Nodes {
			sizes[size{n.CPU, n.Memory, n.GPUs}]++
		}
		fmt.Fprintf(w, "  - name: %q\n    pool: testPool\n    nodeTemplates:\n", site.Name)
		for _, z := range slices.SortedFunc(maps.Keys(sizes), func(a, b size) int {
			return slices.Compare([]int{a.gpus, int(a.cpu), int(a.memory)}, []int{b.gpus, int(b.cpu), int(b.memory)})
		}) {
			fmt.Fprintf(w, "      - number: %d\n        totalResources: {resources: {cpu: %q, memory: %q, nvidia.com/gpu: %q}}\n",
				sizes[z], fmt.Sprintf("%dm", z.cpu), fmt.Sprintf("%dMi", z.memory), fmt.Sprint(z.gpus))
		}
	}
}

// writeWorkload writes a template for each job that ran: it is submitted at its arrival, and runs as
// long as it did in the replay, which has faster and slower GPUs. Its seconds are whole ones, as
// Armada reads no others.
func writeWorkload(w io.Writer, start protocol.Time, jobs []protocol.Job, ran map[protocol.JobID]time.Duration) {
	fmt.Fprintf(w, "name: gridbid\nrandomSeed: 1\nqueues:\n  - name: gridbid\n    weight: 1\n    jobTemplates:\n")
	for _, j := range jobs {
		run := ran[j.ID]
		if run == 0 {
			continue
		}
		fmt.Fprintf(w, "      - {id: %q, number: 1, jobSet: gridbid, earliestSubmitTime: {seconds: %d}, runtimeDistribution: {minimum: {seconds: %d}, tailMean: {seconds: 0}}, requirements: {resourceRequirements: {requests: {cpu: %q, memory: %q, nvidia.com/gpu: %q}}}}\n",
			j.ID, max(j.Arrival.Sub(start), 0)/time.Second, max(run/time.Second, 1), fmt.Sprintf("%dm", j.CPU), fmt.Sprintf("%dMi", j.Memory), fmt.Sprintf("%dm", j.TotalGPUMilli()))
	}
}
