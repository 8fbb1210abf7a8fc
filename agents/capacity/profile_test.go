package capacity

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A profile says which part of its nodes' cores and memory is in use, whoever uses them, from when a run
// begins until it ends; a cordoned node does not count.
func TestProfilesSayWhatIsUsedOfNodes(t *testing.T) {
	f := must(t, box("a", "V100", 4), box("b", "V100", 4), box("t", "T4", 4))
	expect := func(when string, cpu, memory protocol.Milli) {
		t.Helper()
		got := f.CapacityProfiles(noon, time.Hour, 4)
		if len(got) != 2 || got[1].CPUUsed != cpu || got[1].MemoryUsed != memory || got[0].CPUUsed != 0 {
			t.Errorf("%s: %+v; want %d and %d thousandths of the second", when, got, cpu, memory)
		}
	}
	expect("empty", 0, 0)
	j := job("a", 1)
	j.Models, j.CPU, j.Memory = []string{"V100"}, 4000, 16<<10
	start(t, f, noon, j, time.Hour)
	expect("a run of 4 of 32 cores and 16 of 128 GiB", 125, 125)
	if !f.EndRun(noon, "a") {
		t.Fatal("it does not run")
	}
	expect("after it", 0, 0)

	a, closed := machine("a"), machine("closed")
	a.OtherCPU, closed.OtherCPU, closed.Closed = 8000, 16_000, "cordoned"
	f = surveyed(t, a, closed, machine("b"))
	if got := f.CapacityProfiles(noon, time.Hour, 4); len(got) != 1 || got[0].CPUUsed != 125 || got[0].MemoryUsed != 0 {
		t.Errorf("others use 8 of 64 cores: %+v", got)
	}
}
