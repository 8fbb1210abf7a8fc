package capacity

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// A diary is what is known of runs by listening alone: who came where, who left.
type oracle struct {
	nodes []Node
	runs  []*Run
}

// fits says whether node n has room for j beside some runs, and how: by
// counting, device by device.
func (d *oracle) fits(n Node, runs []*Run, j protocol.Job) bool {
	cpu, mem, devices := int64(j.CPU), int64(j.Memory), make([]struct{ share, mem int64 }, n.GPUs)
	for _, r := range runs {
		if r.Node != n.Name {
			continue
		}
		cpu += int64(r.Job.CPU)
		mem += int64(r.Job.Memory)
		for _, i := range r.DeviceIndexes() {
			devices[i].share += int64(r.Job.Share)
			devices[i].mem += int64(r.Job.GPUMemory)
		}
	}
	room := 0
	for _, x := range devices {
		if x.share+int64(j.Share) <= 1000 && (n.GPUMemory == 0 || x.mem+int64(j.GPUMemory) <= n.GPUMemory) {
			room++
		}
	}
	return cpu <= n.CPU && mem <= n.Memory && room >= j.GPUs
}

func (d *oracle) willDo(n Node, j protocol.Job, model string) bool {
	return j.GPUs == 0 || n.GPUs > 0 && (model == "" || n.Model == model) && (len(j.Models) == 0 || slices.Contains(j.Models, n.Model))
}

// earliest tries every end, soonest first, with those runs left that end later.
func (d *oracle) earliest(now protocol.Time, j protocol.Job, model string) (protocol.Time, bool) {
	ends := []protocol.Time{now}
	for _, r := range d.runs {
		ends = append(ends, max(r.End, now.Add(time.Second)))
	}
	slices.Sort(ends)
	for _, at := range ends {
		still := slices.DeleteFunc(slices.Clone(d.runs), func(r *Run) bool { return at > now && max(r.End, now.Add(time.Second)) <= at })
		for _, n := range d.nodes {
			if d.willDo(n, j, model) && d.fits(n, still, j) {
				return at, true
			}
		}
	}
	return 0, false
}

// free adds up what is idle of a model at one instant of a slot: its start, or
// now, which holds for the slot of now.
func (d *oracle) free(now, at protocol.Time, model string) (free protocol.Milli) {
	for _, n := range d.nodes {
		if n.Model == model {
			free += protocol.Milli(n.GPUs) * 1000
		}
	}
	for _, r := range d.runs {
		if r.RunConfig.Model == model && (at <= now || max(r.End, now+1) > at) {
			free -= r.Job.TotalGPUMilli()
		}
	}
	return free
}

// After any history of starts and ends, what the fleet says of room is what
// counting the diary gives.
func TestCapacityMatchesACountingOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &oracle{nodes: drawNodes(t)}
		f, err := New(Config{Nodes: d.nodes, Power: power.DefaultTable()})
		if err != nil {
			t.Fatal(err)
		}
		now := noon
		for i := range rapid.IntRange(1, 25).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "minutes")) * time.Minute)
			if len(d.runs) > 0 && rapid.IntRange(0, 2).Draw(t, "what") == 2 {
				k := rapid.IntRange(0, len(d.runs)-1).Draw(t, "which")
				if !f.EndRun(now, d.runs[k].Job.ID) {
					t.Fatalf("%s did not end", d.runs[k].Job.ID)
				}
				d.runs = slices.Delete(d.runs, k, k+1)
			} else {
				j := drawJob(t, i)
				fits := slices.ContainsFunc(d.nodes, func(n Node) bool { return d.willDo(n, j, "") && d.fits(n, d.runs, j) })
				if _, ok := f.QuotePlacement(now, j, "", j.Run); ok != fits {
					t.Fatalf("%+v: a place is there: %v; by counting: %v", j, ok, fits)
				}
				r, ok := f.StartRun(now, j, RunConfig{Run: j.Run}, 0)
				if ok != fits {
					t.Fatalf("%+v started: %v; by counting: %v", j, ok, fits)
				}
				if ok {
					n := d.nodes[slices.IndexFunc(d.nodes, func(n Node) bool { return n.Name == r.Node })]
					if !d.willDo(n, j, "") || !d.fits(n, d.runs, j) || len(r.DeviceIndexes()) != j.GPUs {
						t.Fatalf("%+v went to %s %v", j, r.Node, r.DeviceIndexes())
					}
					d.runs = append(d.runs, r)
				}
			}
			compare(t, d, f, now)
		}
	})
}

func compare(t *rapid.T, d *oracle, f *Fleet, now protocol.Time) {
	j := drawJob(t, 1000)
	for _, model := range []string{"", "V100", "T4"} {
		at, ok := f.EarliestStart(now, j, model, now, j.Run)
		want, wantOK := d.earliest(now, j, model)
		if at != want || ok != wantOK {
			t.Fatalf("%+v on %q fits at %v, %v; by counting at %v, %v", j, model, at, ok, want, wantOK)
		}
	}
	for _, r := range f.CapacityProfiles(now, 15*time.Minute, 12) {
		for i, free := range r.Free {
			if want := d.free(now, r.From.Add(time.Duration(i)*r.Slot), r.Model); free != want {
				t.Fatalf("at %v %s has %d in slot %d; by counting %d", now, r.Model, free, i, want)
			}
		}
	}
}

func drawNodes(t *rapid.T) (nodes []Node) {
	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		model := rapid.SampledFrom([]string{"", "V100", "T4"}).Draw(t, "model")
		gpus := 0
		if model != "" {
			gpus = rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "gpus")
		}
		n := box(fmt.Sprint("n", i), model, gpus)
		if rapid.Bool().Draw(t, "no memory") {
			n.GPUMemory = 0
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func drawJob(t *rapid.T, i int) protocol.Job {
	j := protocol.Job{
		Urgency: protocol.UrgencyNow, ID: protocol.JobID(fmt.Sprint("job-", i)), GPUs: rapid.SampledFrom([]int{0, 1, 1, 2, 4}).Draw(t, "gpus"),
		CPU: protocol.Milli(rapid.IntRange(1, 9).Draw(t, "cores")) * 1000, Memory: protocol.MiB(rapid.IntRange(0, 40).Draw(t, "memory")) << 10,
		Run: time.Duration(rapid.IntRange(1, 90).Draw(t, "run")) * time.Minute,
	}
	if j.GPUs > 0 {
		j.Share = 1000
		j.GPUMemory = rapid.SampledFrom([]protocol.MiB{0, 6 << 10, 16 << 10}).Draw(t, "gpuMemory")
		j.Models = rapid.SampledFrom([][]string{nil, {"V100"}, {"T4", "V100"}}).Draw(t, "models")
	}
	if j.GPUs == 1 {
		j.Share = protocol.Milli(rapid.SampledFrom([]int{100, 300, 1000}).Draw(t, "share"))
	}
	return j
}
