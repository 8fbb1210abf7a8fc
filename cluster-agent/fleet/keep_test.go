package fleet

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/cluster-agent/power"

	"github.com/gridbid/gridbid/protocol"
)

func TestKeepTakesTheNodeThatIsBusyLongestAndStillInTime(t *testing.T) {
	f := must(t, box("a", "V100", 2), box("b", "V100", 2), box("c", "V100", 2))
	start(t, f, noon, job("long", 2), 5*time.Hour)
	start(t, f, noon, job("short", 2), time.Hour)
	start(t, f, noon, job("middle", 2), 2*time.Hour)
	for _, c := range []struct {
		name string
		at   protocol.Time
		want protocol.Time
		node string
	}{
		{"no node is free at once", noon, noon.Add(time.Hour), "b"},
		{"two are free by three o'clock", noon.Add(3 * time.Hour), noon.Add(3 * time.Hour), "c"},
	} {
		from, ok := f.Keep(noon, job("gang", 2), "", c.at, time.Hour)
		if at := f.nodes[f.kept["gang"]].Name; !ok || from != c.want || at != c.node {
			t.Errorf("%s: kept %s from %v, %v; want %s from %v", c.name, at, from, ok, c.node, c.want)
		}
	}
	if _, ok := f.Keep(noon, job("impossible", 3), "", noon, time.Hour); ok {
		t.Error("a node is kept for a job that no node holds")
	}
}

func TestJobsThatEndInTimeMayUseAKeptNode(t *testing.T) {
	f := must(t, box("a", "V100", 2))
	if from, ok := f.Keep(noon, job("gang", 2), "V100", noon.Add(time.Hour), time.Hour); !ok || from != noon.Add(time.Hour) {
		t.Fatalf("kept from %v, %v", from, ok)
	}
	small := job("small", 1)
	if _, ok := f.Place(noon, small, "V100", time.Hour); !ok {
		t.Error("a job that is done by then finds no room")
	}
	if _, ok := f.Place(noon, small, "V100", time.Hour+time.Second); ok {
		t.Error("a job that takes longer is let in")
	}
	if at, ok := f.Opening(noon, small, "V100", noon, 2*time.Hour); !ok || at != noon.Add(2*time.Hour) {
		t.Errorf("the longer job fits at %v, %v; want when the gang has run", at, ok)
	}
	if free := f.Room(noon, time.Hour, 3)[0].Free; free[0] != 2000 || free[1] != 0 || free[2] != 2000 {
		t.Errorf("room %v, want none in the second hour", free)
	}
	again := f.Free("gang")
	if _, kept := f.Kept("gang"); kept {
		t.Error("a node is still kept")
	}
	if _, ok := f.Place(noon, small, "V100", 9*time.Hour); !ok {
		t.Error("the node is still closed")
	}
	again()
	if from, ok := f.Kept("gang"); !ok || from != noon.Add(time.Hour) {
		t.Errorf("set aside again from %v, %v", from, ok)
	}
}

// Whatever is kept, started and ended: what is kept on a node does not overlap,
// and nothing that starts there runs into it.
func TestWhatIsKeptIsLeftAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := New(Config{Nodes: drawNodes(t), Power: power.Default()})
		if err != nil {
			t.Fatal(err)
		}
		now := noon
		for i := range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "minutes")) * time.Minute)
			j := drawJob(t, i)
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				at := now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "later")) * time.Minute)
				want, wantOK := f.Opening(now, j, "", at, j.Run)
				from, ok := f.Keep(now, j, "", at, j.Run)
				if ok != wantOK || from != want || ok && from < at {
					t.Fatalf("kept from %v, %v; the opening is %v, %v", from, ok, want, wantOK)
				}
			case 1:
				f.Free(protocol.JobID(fmt.Sprint("job-", rapid.IntRange(0, i).Draw(t, "freed"))))
			default:
				if r, ok := f.Start(now, j, Way{Run: j.Run}, 0); ok {
					for _, k := range f.nodes[r.placement.Node].keeps {
						if k.from < r.End {
							t.Fatalf("%s runs until %v on a node kept from %v", j.ID, r.End, k.from)
						}
					}
				}
			}
			for _, n := range f.nodes {
				for i := 1; i < len(n.keeps); i++ {
					if n.keeps[i].from < n.keeps[i-1].until {
						t.Fatalf("%s is kept twice at a time: %+v", n.Name, n.keeps)
					}
				}
			}
		}
	})
}
