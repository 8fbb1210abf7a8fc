package capacity

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

func sleeper(name string, gpus int) Node {
	return Node{
		Node: fgd.Node{Name: name, CPU: 16_000, Memory: 64 << 10, GPUs: gpus, Model: "V100"},
		Host: power.SleepingHost(gpus),
	}
}

// sleepyFleet has a node of a single V100 and one of four. By its policy alone a job of one GPU goes
// to the small node.
func sleepyFleet(t *testing.T, preferAwake bool) *Fleet {
	f, err := New(Config{Nodes: []Node{sleeper("small", 1), sleeper("big", 4)}, Power: power.DefaultTable(), PreferAwake: preferAwake})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A job goes where it adds least awake time: to the node that another job keeps awake, for as long
// as it does, and else to the node that draws least.
func TestAJobLeavesNodesAsleep(t *testing.T) {
	for _, c := range []struct {
		prefer bool
		at     time.Duration // after the first job's start
		run    time.Duration
		want   string
	}{
		{false, time.Minute, time.Hour, "small"},
		{true, time.Minute, time.Hour, "big"},                   // while the first job runs
		{true, 4*time.Hour + 5*time.Minute, time.Minute, "big"}, // while the node lingers
		{true, 5 * time.Hour, time.Hour, "small"},               // both sleep
	} {
		f := sleepyFleet(t, c.prefer)
		first := whole("first", 2)
		r, ok := f.StartRun(noon, first, RunConfig{Model: "V100", Run: 4 * time.Hour}, 0)
		if !ok || r.Node != "big" || r.Start != noon.Add(200*time.Second) {
			t.Fatalf("the first job starts: %v, %+v", ok, r)
		}
		now := noon.Add(c.at)
		if now >= r.End {
			f.EndRun(r.End, first.ID)
		}
		r, ok = f.StartRun(now, whole("next", 1), RunConfig{Model: "V100", Run: c.run}, 0)
		if !ok || r.Node != c.want {
			t.Errorf("%+v: it starts: %v, on %+v", c, ok, r)
		}
	}
}

// By hand: the node is awake until 13:03:20 for its job, lingers until 13:13:20, and is reserved
// from 14:00 to 15:00, after which it lingers, too.
func TestAddedAwakeTimeIsWhatNothingElseKeepsAwake(t *testing.T) {
	f, err := New(Config{Nodes: []Node{sleeper("n", 2)}, Power: power.DefaultTable()})
	if err != nil {
		t.Fatal(err)
	}
	f.StartRun(noon, whole("runs", 1), RunConfig{Model: "V100", Run: time.Hour}, 0)
	if at, ok := f.ReserveNode(noon, whole("reserved", 1), "V100", noon.Add(2*time.Hour), time.Hour); !ok || at != noon.Add(2*time.Hour) {
		t.Fatalf("reserved %v, %v", at, ok)
	}
	minute := func(m int) protocol.Time { return noon.Add(time.Duration(m) * time.Minute) }
	for _, c := range []struct{ start, finish, want int }{ // minutes; want in seconds
		{0, 60, 0},
		{0, 90, 100*60 - 4400},
		{0, 180, 120*60 - 4400},
		{180, 240, 3600}, // in its linger
		{300, 360, 4200},
	} {
		if got := f.nodes[0].addedAwakeTime(noon, minute(c.start), minute(c.finish), nil); got != time.Duration(c.want)*time.Second {
			t.Errorf("from minute %d to %d it adds %v, want %d s", c.start, c.finish, got, c.want)
		}
	}
	if f.nodes[0].Host.Linger = 0; f.nodes[0].addedAwakeTime(noon, minute(300), minute(360), nil) != 0 {
		t.Error("a node that never sleeps is kept awake")
	}
}

// Jobs that fill their node bring the share down to their part of it, those that leave it empty up
// to three times that, and a site that has been idle for a week is as at its beginning.
func TestTheShareFollowsHowFullNodesWere(t *testing.T) {
	part := protocol.Milliwatts(745_000 / 4)
	for _, c := range []struct {
		gpus int
		want protocol.Milliwatts
	}{{4, part * 17 / 10}, {1, part * 22 / 10}} {
		f, err := New(Config{Nodes: []Node{sleeper("n", 4)}, Power: power.DefaultTable()})
		if err != nil {
			t.Fatal(err)
		}
		share := func(now protocol.Time) protocol.Milliwatts { return f.IdlePowerShare(now, whole("next", 1), "V100") }
		if got := share(noon); got != 2*part {
			t.Errorf("at first %d mW, want %d", got, 2*part)
		}
		now := noon
		for range 20 {
			r, ok := f.StartRun(now, whole("runs", c.gpus), RunConfig{Model: "V100", Run: 12 * time.Hour}, 0)
			if !ok {
				t.Fatal("it does not start")
			}
			now = r.End
			f.EndRun(now, "runs")
		}
		if got := share(now); (got > c.want) != (c.gpus == 1) || got > 3*part {
			t.Errorf("after jobs of %d GPUs %d mW, want beyond %d", c.gpus, got, c.want)
		}
		if got := share(now.Add(7 * 24 * time.Hour)); got != 2*part {
			t.Errorf("a week later %d mW, want %d", got, 2*part)
		}
	}
}
