package capacity

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// G-B4 and G-B5: nodes drain at 0, 0, 1, 2, 3 and 5 h; a gang of four whole nodes starts at 2 h on the four
// that are free by then and keeps five node-hours, which cost what is not expected to be used.
func TestAHoleCostsWhatNobodyIsExpectedToUse(t *testing.T) {
	f := must(t, box("a", "V100", 8), box("b", "V100", 8), box("c", "V100", 8), box("d", "V100", 8), box("e", "V100", 8), box("f", "V100", 8))
	for i, hours := range []int{1, 2, 3, 5} {
		start(t, f, noon, job(protocol.JobID(fmt.Sprint("busy-", i)), 8), time.Duration(hours)*time.Hour)
	}
	g := gang("gang", 4, 8, 8)
	at := noon.Add(2 * time.Hour)
	places, ok := f.SpreadAt(noon, &g, "V100", at, time.Hour)
	if !ok || len(places) != 4 {
		t.Fatalf("SpreadAt = %v, %v; want four nodes", places, ok)
	}
	q := f.HoleAt(noon, &g, places, at)
	if q.GPUHours != 40_000 || q.From != noon {
		t.Errorf("HoleAt = %+v; want 40 GPU-hours, from noon on", q)
	}
	price := func(from, until protocol.Time) protocol.Microdollars { return 6_000 }
	if got := f.Cost(q, price); got != 240_000 {
		t.Errorf("the hole costs %d; want 240000, as nobody has used one yet", got)
	}
	f.backfilled = 600
	if got := f.Cost(q, price); got != 96_000 {
		t.Errorf("the hole costs %d when others use six tenths of holes; want 96000", got)
	}
	if got := f.PodsThatFit(noon, &g, "V100", time.Hour); got != 2 {
		t.Errorf("%d pods fit now; want the two on the idle nodes", got)
	}
}

// What others use of holes is learned when the gang starts: a job of one node for an hour of the five that are
// kept is a fifth, and a fifth of that is believed at once.
func TestWhatOthersUseOfAHoleIsLearned(t *testing.T) {
	f := must(t, box("a", "V100", 8), box("b", "V100", 8), box("c", "V100", 8), box("d", "V100", 8), box("e", "V100", 8), box("f", "V100", 8))
	for i, hours := range []int{1, 2, 3, 5} {
		start(t, f, noon, job(protocol.JobID(fmt.Sprint("busy-", i)), 8), time.Duration(hours)*time.Hour)
	}
	g := gang("gang", 4, 8, 8)
	at, ok := f.ReserveNode(noon, g, "V100", noon, time.Hour)
	if !ok || at != noon.Add(2*time.Hour) {
		t.Fatalf("ReserveNode = %v, %v", at, ok)
	}
	start(t, f, noon, job("short", 8), time.Hour)
	// A late reservation that is put back keeps what is known of it.
	f.CancelReservation("gang")()
	for _, id := range []protocol.JobID{"busy-0", "short"} {
		f.EndRun(noon.Add(time.Hour), id)
	}
	f.EndRun(at, "busy-1")
	if _, ok := f.StartRun(at, g, way(t, f, g, time.Hour), 0); !ok {
		t.Fatal("the gang found no room at the start that it was promised")
	}
	if f.backfilled != 40 || len(f.holes) != 0 {
		t.Errorf("%d thousandths are expected to be used, %d holes are kept; want 40 and none", f.backfilled, len(f.holes))
	}
}

// Jobs that run in the holes before a reserved start never delay it: whatever comes and starts meanwhile, if
// it has time to wait and ends when it was planned to, the gang starts at the instant that it was promised.
func TestBackfillNeverDelaysAReservedStart(t *testing.T) {
	waited, filled := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var nodes []Node
		wakes := rapid.Bool().Draw(t, "nodes sleep")
		for i := range rapid.IntRange(3, 6).Draw(t, "nodes") {
			n := box(fmt.Sprint("n", i), "V100", rapid.SampledFrom([]int{2, 4}).Draw(t, "gpus"))
			if wakes {
				n.Host.Linger, n.Host.WakeTime = 5*time.Minute, 4*time.Minute
			}
			nodes = append(nodes, n)
		}
		f, err := New(Config{Nodes: nodes, Power: power.DefaultTable()})
		if err != nil {
			t.Fatal(err)
		}
		now, number := noon, 0
		ends := make(map[protocol.JobID]protocol.Time)
		draw := func(longest int) (protocol.Job, time.Duration) {
			number++
			id, run := protocol.JobID(fmt.Sprint("job-", number)), time.Duration(rapid.IntRange(1, longest).Draw(t, "quarters"))*15*time.Minute
			if rapid.Bool().Draw(t, "several pods") {
				return gang(id, rapid.IntRange(2, 4).Draw(t, "pods"), rapid.IntRange(1, 2).Draw(t, "pod gpus"), 1), run
			}
			return job(id, rapid.IntRange(1, 4).Draw(t, "job gpus")), run
		}
		place := func(j protocol.Job, run time.Duration) bool {
			ways, _ := f.RunConfigs(j)
			if len(ways) == 0 {
				return false
			}
			ways[0].Run = run
			r, ok := f.StartRun(now, j, ways[0], 0)
			if ok {
				ends[j.ID] = r.End
			}
			return ok
		}
		for range rapid.IntRange(1, 8).Draw(t, "before") {
			place(draw(12))
		}
		g := gang("gang", rapid.IntRange(2, 4).Draw(t, "gang pods"), rapid.IntRange(1, 4).Draw(t, "gang gpus"), 1)
		if len(first(f.RunConfigs(g))) == 0 {
			return // it fits nowhere, even when all is empty
		}
		promised, ok := f.ReserveNode(now, g, "V100", now, time.Hour)
		if !ok {
			t.Fatalf("the gang fits an empty site, and has no start")
		}
		if promised > noon {
			waited++
		}
		for ; now < promised; now = min(now.Add(15*time.Minute), promised) {
			for id, end := range ends {
				if end <= now {
					f.EndRun(now, id)
					delete(ends, id)
				}
			}
			for range rapid.IntRange(0, 4).Draw(t, "arrivals") {
				j, run := draw(4)
				if rapid.IntRange(0, 3).Draw(t, "reserved") == 0 {
					f.ReserveNode(now, j, "V100", now, run)
				} else if place(j, run) {
					filled++
				}
			}
			if at, kept := f.ReservedFrom("gang"); !kept || at != promised {
				t.Fatalf("at %v the gang is promised %v, %v; it was %v", now, at, kept, promised)
			}
		}
		for id, end := range ends {
			if end <= now {
				f.EndRun(now, id)
			}
		}
		if _, ok := f.StartRun(now, g, way(t, f, g, time.Hour), 0); !ok {
			t.Fatalf("the gang found no room at %v, which it was promised", promised)
		}
	})
	if waited < 10 || filled < 20 {
		t.Errorf("%d gangs waited, %d jobs ran meanwhile: the test shows little", waited, filled)
	}
}
