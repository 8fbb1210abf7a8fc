package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

func TestTheFittedPowerIsThatOfTheRows(t *testing.T) {
	var rows []measurement
	for _, n := range []int{2000, 5000, 20000} {
		rows = append(rows, measurement{jobs: n, cpu: time.Duration(1000 * math.Pow(float64(n), 1.4))})
	}
	if got := fitPower(rows, measurement.cpuSeconds); math.Abs(got-1.4) > 1e-4 {
		t.Errorf("fitPower = %v; want 1.4", got)
	}
}

func TestNodesAreCopiedUnderNamesOfTheirOwn(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from.csv"), filepath.Join(t.TempDir(), "to.csv")
	if err := os.WriteFile(from, []byte("sn,gpu\na,8\nb,2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := copyNodes(from, to, 2); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(to)
	if want := "sn,gpu\na-0,8\na-1,8\nb-0,2\nb-1,2\n"; err != nil || string(got) != want {
		t.Errorf("copyNodes wrote %q, %v; want %q", got, err, want)
	}
}

// Armada's simulator gets each job that ran, with its arrival, its run and what it needs, and each
// node.
func TestTheWorkloadOfArmadaIsThatOfTheReplay(t *testing.T) {
	start := protocol.Time(1_000_000_000_000)
	var b strings.Builder
	writeClusters(&b, []spec.Site{{Name: "oslo", Nodes: []spec.Node{{Name: "a", CPU: 32000, Memory: 1024, GPUs: 2}, {Name: "b", CPU: 32000, Memory: 1024, GPUs: 2}, {Name: "c", CPU: 96000, Memory: 2048, GPUs: 8}}}})
	writeWorkload(&b, start, []protocol.Job{
		{ID: "one", GPUs: 1, Share: 500, CPU: 4000, Memory: 32, Arrival: start.Add(90 * time.Second)},
		{ID: "never", GPUs: 1, Share: 1000, Arrival: start},
		{ID: "two", GPUs: 2, Share: 1000, CPU: 8000, Memory: 64, Arrival: start.Add(-time.Second)},
	}, map[protocol.JobID]time.Duration{"one": 61 * time.Second, "two": 100 * time.Millisecond})
	want := `name: gridbid
clusters:
  - name: "oslo"
    pool: testPool
    nodeTemplates:
      - number: 2
        totalResources: {resources: {cpu: "32000m", memory: "1024Mi", nvidia.com/gpu: "2"}}
      - number: 1
        totalResources: {resources: {cpu: "96000m", memory: "2048Mi", nvidia.com/gpu: "8"}}
name: gridbid
randomSeed: 1
queues:
  - name: gridbid
    weight: 1
    jobTemplates:
      - {id: "one", number: 1, jobSet: gridbid, earliestSubmitTime: {seconds: 90}, runtimeDistribution: {minimum: {seconds: 61}, tailMean: {seconds: 0}}, requirements: {resourceRequirements: {requests: {cpu: "4000m", memory: "32Mi", nvidia.com/gpu: "500m"}}}}
      - {id: "two", number: 1, jobSet: gridbid, earliestSubmitTime: {seconds: 0}, runtimeDistribution: {minimum: {seconds: 1}, tailMean: {seconds: 0}}, requirements: {resourceRequirements: {requests: {cpu: "8000m", memory: "64Mi", nvidia.com/gpu: "2000m"}}}}
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
