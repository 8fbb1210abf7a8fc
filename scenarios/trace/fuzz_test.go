package trace_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// An error of any loader begins with the package and names the file.
func named(t *testing.T, err error) {
	t.Helper()
	if err != nil && !strings.HasPrefix(err.Error(), "trace: f: ") && !strings.HasPrefix(err.Error(), "trace: f:") {
		t.Errorf("error %q does not name the file", err)
	}
}

func FuzzWindow(f *testing.F) {
	f.Add([]byte(windowHead+row("DE", 0, "1", "2", "1.1")+row("DE", 3, "1", "2", "")), true)
	f.Add(packed(windowHead+row("DE", 0, "1", "2", "1.1")), false)
	f.Fuzz(func(t *testing.T, data []byte, fill bool) {
		how := trace.RejectGaps
		if fill {
			how = trace.PersistGaps
		}
		zones, err := trace.ReadWindow(bytes.NewReader(data), "f", how)
		named(t, err)
		for _, z := range zones {
			if len(z.Price) == 0 || len(z.Price) != len(z.Carbon) || len(z.PUE) != 0 && len(z.PUE) != len(z.Price) {
				t.Errorf("zone %s has series of %d, %d, %d hours", z.Name, len(z.Price), len(z.Carbon), len(z.PUE))
			}
			for i, p := range z.Price {
				if i > 0 && p.At.Sub(z.Price[i-1].At) != time.Hour {
					t.Errorf("hour %v follows %v", p.At, z.Price[i-1].At)
				}
			}
		}
	})
}

func FuzzSeries(f *testing.F) {
	f.Add([]byte("time_utc,v\n2022-04-13T00:00:00Z,1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		points, _, err := trace.ReadSeries(bytes.NewReader(data), "f", "v", protocol.GridPrice, trace.PersistGaps)
		named(t, err)
		if err == nil && len(points) == 0 {
			t.Error("no points and no error")
		}
	})
}

func FuzzJobs(f *testing.F) {
	f.Add([]byte(phillyHead+"a,1,x,1,1,v\n"), "", "")
	f.Add([]byte(openbHead+"a,1,1,1,1,1,500,T4|A10,1,1,LS,Running\n"), "", "")
	f.Add(packed(phillyHead+"a,1,x,1,1,v\n"), "", "")
	f.Add([]byte(ownText), "", "")
	f.Add([]byte("id,begin,mins,n\na,2024-03-11 08:00:00,\"1.5\",0.25\n"), "duration_s", "mins*60")
	f.Add([]byte(swfText), "gpus", "allocated_processors")
	f.Add([]byte(sacctText), "home", "")
	f.Add([]byte(podsText), "deadline_s", "deletion_time*2")
	f.Fuzz(func(t *testing.T, data []byte, own, from string) {
		columns := trace.JobColumns{}
		if own != "" {
			columns[own] = from
		}
		h, err := trace.ReadJobs(bytes.NewReader(data), "f", trace.Selection{Max: 50, From: -1}, columns)
		if len(columns) == 0 {
			named(t, err)
		}
		for _, r := range h.Records {
			r.Job.Arrival, r.Job.Deadline = 1, protocol.Time(1).Add(r.Job.Run)
			if r.Given.Deadline {
				r.Job.Deadline = r.Job.Arrival.Add(r.Within)
			}
			if r.Job.Pause > 0 {
				r.Job.Urgency = protocol.UrgencyStandard
			}
			if why := r.Job.InvalidReason(); why != "" {
				t.Errorf("job %+v: %s", r.Job, why)
			}
		}
	})
}

func FuzzPods(f *testing.F) {
	f.Add([]byte(podsText))
	f.Fuzz(func(t *testing.T, data []byte) {
		pods, err := trace.ReadPods(bytes.NewReader(data), "f")
		named(t, err)
		for _, p := range pods {
			if err == nil && (p.Name == "" || p.GPUs < 0 || p.GPUs > trace.MaxGPUs || (p.GPUs == 0) != (p.Share == 0) || p.Share > 1000) {
				t.Errorf("pod %+v cannot be", p)
			}
		}
	})
}

func FuzzNodes(f *testing.F) {
	f.Add([]byte(nodesHead + "b,96000,393216,8,G2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		nodes, err := trace.ReadNodes(bytes.NewReader(data), "f")
		named(t, err)
		for _, n := range nodes {
			if n.Name == "" || n.CPU < 1 || n.Memory < 1 || n.GPUs < 0 || n.GPUs > trace.MaxGPUs || (n.GPUs == 0) != (n.Model == "") {
				t.Errorf("node %+v cannot be", n)
			}
		}
	})
}
