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

// Jobs that wake a node for themselves leave the share as it was at first, twice their part. Where others
// keep the node awake, or jobs fill the node that they open, it falls to nothing. After two idle weeks a
// site is as at its beginning.
func TestTheShareFollowsWhatStartsWereCharged(t *testing.T) {
	part := protocol.Milliwatts(745_000 / 4)
	for _, c := range []struct {
		what        string
		gpus        int
		others      bool // another job keeps the node awake
		least, most protocol.Milliwatts
	}{
		{"alone", 1, false, 2 * part, 2 * part},
		{"filling their node", 4, false, 0, part / 10},
		{"beside another", 1, true, 0, part / 2},
	} {
		f, err := New(Config{Nodes: []Node{sleeper("n", 4)}, Power: power.DefaultTable()})
		if err != nil {
			t.Fatal(err)
		}
		share := func(now protocol.Time) protocol.Milliwatts { return f.IdlePowerShare(now, whole("next", 1), "V100") }
		if got := share(noon); got != 2*part {
			t.Errorf("at first %d mW, want %d", got, 2*part)
		}
		now := noon
		if c.others {
			f.StartRun(now, whole("long", 1), RunConfig{Model: "V100", Run: 300 * time.Hour}, 0)
		}
		for range 20 {
			if _, ok := f.StartRun(now, whole("runs", c.gpus), RunConfig{Model: "V100", Run: 12 * time.Hour}, 0); !ok {
				t.Fatal("it does not start")
			}
			f.EndRun(now.Add(time.Minute), "runs") // sooner than planned
			now = now.Add(20 * time.Minute)        // the node sleeps, unless another job keeps it awake
		}
		if got := share(now); got < c.least || got > c.most {
			t.Errorf("after jobs %s %d mW, want %d to %d", c.what, got, c.least, c.most)
		}
		if got := share(now.Add(14 * 24 * time.Hour)); got != 2*part {
			t.Errorf("two weeks later %d mW, want %d", got, 2*part)
		}
	}
}

// By hand, for a record of so many times what a site without one counts, four hours of an idle node, of
// which nothing was charged: a part was charged two, one and half a time lately, so the share is twice,
// half and an eighth of the part.
func TestTheShareFallsWithTheSquareOfWhatStartsWereCharged(t *testing.T) {
	part := protocol.Milliwatts(745_000 / 4)
	for times, want := range map[protocol.Millijoules]protocol.Milliwatts{0: 2 * part, 1: part / 2, 3: part / 8} {
		f, err := New(Config{Nodes: []Node{sleeper("n", 4)}, Power: power.DefaultTable()})
		if err != nil {
			t.Fatal(err)
		}
		f.awake = awakeRecord{hour: noon, part: times * energyOver(745_000, 4*time.Hour)}
		if got := f.IdlePowerShare(noon, whole("next", 1), "V100"); got != want {
			t.Errorf("%d times: %d mW, want %d", times, got, want)
		}
	}
}

// A job on a node that another has just woken waits for the rest of the waking, also if that other
// is gone by then.
func TestAJobOnAWakingNodeWaitsForIt(t *testing.T) {
	f := sleepyFleet(t, true)
	f.StartRun(noon, whole("first", 2), RunConfig{Model: "V100", Run: time.Hour}, 0)
	for _, c := range []struct {
		after, want time.Duration
	}{{0, 200 * time.Second}, {50 * time.Second, 150 * time.Second}, {200 * time.Second, 0}, {time.Hour, 0}} {
		now := noon.Add(c.after)
		q, ok := f.QuotePlacement(now, whole("next", 1), "V100", time.Minute)
		if !ok || q.WakeTime != c.want {
			t.Errorf("after %v a job waits for %v (%v), want %v", c.after, q.WakeTime, ok, c.want)
		}
	}
	f.EndRun(noon.Add(50*time.Second), "first")
	r, ok := f.StartRun(noon.Add(50*time.Second), whole("next", 2), RunConfig{Model: "V100", Run: time.Minute}, 0)
	if !ok || r.Start != noon.Add(200*time.Second) || r.End != r.Start.Add(time.Minute) {
		t.Errorf("on the node that still wakes: %v, %+v", ok, r)
	}
}
