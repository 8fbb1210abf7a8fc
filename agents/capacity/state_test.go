package capacity

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// What metrics show is what jobs hold and draw, and it returns to what it was when they end.
func TestTheStateIsWhatJobsHoldAndDraw(t *testing.T) {
	f := must(t, box("a", "V100", 4), box("b", "T4", 1), box("c", "", 0))
	empty := f.StateAt(noon)
	if len(empty.Pools) != 3 || empty.Pools[2] != (PoolState{"V100", 4000, 0}) || empty.Idle != 5000 || empty.Runs != 0 {
		t.Fatalf("an empty fleet is %+v", empty)
	}
	idle := power.DefaultHost(4).Awake + 4*35_000 + power.DefaultHost(1).Awake + 10_000 + power.DefaultHost(0).Awake
	if empty.Power != idle {
		t.Errorf("it draws %d mW; want %d", empty.Power, idle)
	}
	j, half := job("a", 2), job("b", 1)
	half.Share = 500
	for _, x := range []struct {
		job protocol.Job
		way RunConfig
	}{{j, RunConfig{Model: "V100", Run: time.Hour, Power: 250_000, Choice: power.Choice{Cap: 175_000}}}, {half, RunConfig{Model: "V100", Run: time.Hour, Power: 60_000}}} {
		if _, ok := f.StartRun(noon, x.job, x.way, 0); !ok {
			t.Fatalf("no room for %s", x.job.ID)
		}
	}
	got := f.StateAt(noon)
	if got.Pools[2].Held != 2500 || got.Idle != 2500 || got.Runs != 2 || got.Capped != 1 || got.Power != idle+310_000 {
		t.Errorf("with two jobs it is %+v", got)
	}
	f.EndRun(noon.Add(time.Hour), "a")
	f.EndRun(noon.Add(time.Hour), "b")
	if again := f.StateAt(noon.Add(time.Hour)); again.Pools[2].Held != 0 || again.Idle != 5000 || again.Power != idle {
		t.Errorf("after them it is %+v", again)
	}
}
