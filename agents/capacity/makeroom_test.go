package capacity

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// printed is a fleet's runs, reservations and free room.
func (f *Fleet) printed() (s string) {
	for i := range f.nodes {
		n := &f.nodes[i]
		cpu, mem, gpus, _ := f.cluster.FreeResources(i)
		s += fmt.Sprint(n.Name, cpu, mem, gpus, n.emptySince, n.wakesAt)
		for _, r := range n.jobs {
			s += fmt.Sprint(" ", r.Job.ID, r.Start, r.End, r.placement)
		}
		for _, k := range n.reservations {
			s += fmt.Sprint(" kept ", k.job.ID, k.from, k.until)
		}
		s += "\n"
	}
	return s + fmt.Sprint(f.reservedOn, f.setsOn)
}

// What is said of two jobs without a run is what happens when it ends and they start; and it was only said.
func TestRoomThatIsMadeIsThere(t *testing.T) {
	made, not := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		f, err := New(Config{Nodes: drawNodes(t), Power: power.DefaultTable(), PreferAwake: rapid.Bool().Draw(t, "awake")})
		if err != nil {
			t.Fatal(err)
		}
		var running []protocol.JobID
		for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			j := drawDue(t, i, noon)
			if rapid.Bool().Draw(t, "gang") {
				j = drawGang(t, i, noon)
			}
			ways, _ := f.RunConfigs(j)
			if len(ways) == 0 {
				continue
			}
			if rapid.IntRange(0, 3).Draw(t, "kept") == 0 {
				f.ReserveNode(noon, j, ways[0].Model, noon.Add(time.Hour), j.Run)
			} else if _, ok := f.StartRun(noon, j, RunConfig{Run: j.Run, Model: ways[0].Model}, 0); ok {
				running = append(running, j.ID)
			}
		}
		first := drawDue(t, 100, noon)
		if rapid.Bool().Draw(t, "gang") {
			first = drawGang(t, 100, noon)
		}
		ways, _ := f.RunConfigs(first)
		if len(running) == 0 || len(ways) == 0 {
			return
		}
		gone := rapid.SampledFrom(running).Draw(t, "gone")
		r := f.RunOf(gone)
		before := f.printed()
		both := f.BothStartWithout(noon, JobStart{first, ways[0].Model, first.Run}, JobStart{r.Job, r.RunConfig.Model, r.RunConfig.Run}, gone)
		if after := f.printed(); after != before {
			t.Fatalf("the fleet was\n%s\nand is\n%s", before, after)
		}
		f.EndRun(noon, gone)
		_, starts := f.StartRun(noon, first, RunConfig{Run: first.Run, Model: ways[0].Model}, 0)
		_, goesOn := f.StartRun(noon, r.Job, RunConfig{Run: r.RunConfig.Run, Model: r.RunConfig.Model}, 0)
		if both != (starts && goesOn) {
			t.Fatalf("both start: %v; the first did: %v, the second beside it: %v", both, starts, goesOn)
		}
		if both {
			made++
		} else {
			not++
		}
	})
	if made == 0 || not == 0 {
		t.Errorf("room was made %d times, and %d times not", made, not)
	}
}
