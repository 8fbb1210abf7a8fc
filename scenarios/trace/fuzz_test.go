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
	f.Add([]byte(phillyHead + "a,1,x,1,1,v\n"))
	f.Add([]byte(openbHead + "a,1,1,1,1,1,500,T4|A10,1,1,LS,Running\n"))
	f.Add(packed(phillyHead + "a,1,x,1,1,v\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := trace.ReadJobs(bytes.NewReader(data), "f", trace.Selection{Max: 50})
		named(t, err)
		for _, r := range h.Records {
			r.Job.Arrival, r.Job.Deadline = 1, protocol.Time(1).Add(r.Job.Run)
			if why := r.Job.InvalidReason(); why != "" {
				t.Errorf("job %+v: %s", r.Job, why)
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
