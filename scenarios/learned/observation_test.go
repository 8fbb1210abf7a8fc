package learned

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/internal/net"
	"github.com/gridbid/gridbid/protocol"
)

// observationOf returns what is seen of a job for which oslo bids an H100 now. Its nodes use a fourth of
// their cores and half of their memory.
func observationOf(j protocol.Job) (o Observation) {
	const now = protocol.Time(1_773_187_200_000)
	j.ID, j.Arrival, j.Run, j.Deadline = "a", now, time.Hour, now.Add(9*time.Hour)
	model := "H100"
	if j.TotalGPUMilli() == 0 {
		model = ""
	}
	pool := protocol.CapacityProfile{Model: "H100", From: now, Slot: time.Hour, Total: 8000, Free: []protocol.Milli{6000}, CPUUsed: 250, MemoryUsed: 500}
	NewRule(func(q *Question) (int, string) { o = q.Observation; return Hold, "" }, false).Clear(auction.Round{
		Now: now, Sites: []auction.Site{{Name: "oslo", Capacity: []protocol.CapacityProfile{pool}}},
		Lots: []auction.Lot{{Job: j, Bids: []auction.SiteBids{{Site: "oslo", Options: []protocol.BidOption{{Start: now, Finish: now.Add(time.Hour), Model: model, Energy: 1}}}}}},
	})
	return o
}

// The type of a job, what it needs of a node's cores and memory, and what of these and of the GPUs is in
// use, are in the observation.
func TestAnObservationHasTheJobsTypeAndTheUseOfNodes(t *testing.T) {
	for _, tc := range []struct {
		what string
		job  protocol.Job
		want map[string]float32 // of the features of its type, those that are not 0
	}{
		{"one GPU", protocol.Job{GPUs: 1, Share: 1000}, nil},
		{"half a GPU", protocol.Job{GPUs: 1, Share: 500}, map[string]float32{"part_gpu": 1}},
		{"no GPU", protocol.Job{CPU: 8000}, map[string]float32{"cpu_only": 1, "cpu": 0.5}},
		{"a gang", protocol.Job{GPUs: 16, Memory: 64 << 10, Pods: []protocol.Component{{Pods: 2, GPUs: 8, Share: 1000}}}, map[string]float32{"gang": 1, "memory": 0.5}},
		{"an elastic job", protocol.Job{GPUs: 2, Pods: []protocol.Component{{Pods: 2, GPUs: 1, Share: 1000}}, Speed: []protocol.SpeedPoint{{Pods: 1}, {Pods: 2}}}, map[string]float32{"gang": 1, "elastic": 1}},
		{"one that may be paused", protocol.Job{GPUs: 1, Share: 1000, Pause: time.Minute}, map[string]float32{"pausable": 1}},
	} {
		o := observationOf(tc.job)
		for i, name := range JobFeatures {
			if i >= slices.Index(JobFeatures, "cpu_only") && o.Job[i] != tc.want[name] {
				t.Errorf("%s: %s is %v; want %v", tc.what, name, o.Job[i], tc.want[name])
			}
		}
		want := map[string]float32{"node_cpu": 0.25, "node_memory": 0.5, "free_now": 0.75}
		if tc.job.GPUs == 0 {
			want = map[string]float32{"free_now": 1} // no profile says it of nodes without GPUs
		}
		for _, name := range []string{"node_cpu", "node_memory", "free_now"} {
			if got := o.optionRow(0)[slices.Index(OptionFeatures, name)]; got != want[name] {
				t.Errorf("%s: %s is %v; want %v", tc.what, name, got, want[name])
			}
		}
	}
}

// A net reads the inputs that its file names, in its order, so weights of an older observation go on.
func TestANetReadsTheInputsThatItNames(t *testing.T) {
	f := net.File{Name: Name, Features: []string{"starts_now", "cost"}, Net: *net.New(2, 1)}
	f.Layers[0].Weights = []float64{6, 0}
	if err := CheckWeights(f); err != nil {
		t.Fatal(err)
	}
	o := threeOptions()
	c := newChooser(f)
	if got := c.choose(&o); got != 2 {
		t.Errorf("action %d; want the one that starts now", got)
	}
	f.Features[1] = "starts_now"
	if CheckWeights(f) == nil {
		t.Error("an input that is named twice is accepted")
	}
}
