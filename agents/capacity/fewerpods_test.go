package capacity

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A gang that goes on with fewer pods frees what the others held, ends later by as much, and leaves nothing when
// it ends.
func TestAGangGoesOnWithFewerPods(t *testing.T) {
	f := must(t, box("a", "V100", 4), box("b", "V100", 4), box("c", "V100", 4))
	g := gang("gang", 6, 2, 1)
	g.MinPods = 3
	r, ok := f.StartRun(noon, g, way(t, f, g, time.Hour), 0)
	if !ok || len(r.Places()) != 3 {
		t.Fatalf("it starts: %v, %+v", ok, r)
	}
	places, long := r.Places(), r.End.Sub(r.Start)
	half := r.Start.Add(long / 2)
	if f.GoOnWithFewer(half, g.ID, places[:1]) {
		t.Error("it goes on with 2 pods, and wants 3")
	}
	if f.GoOnWithFewer(half, g.ID, []protocol.Place{places[0], {Pods: 2, Node: "elsewhere", Devices: []int{0, 1, 2, 3}}}) {
		t.Error("it goes on where it did not run")
	}
	if !f.GoOnWithFewer(half, g.ID, places[:2]) {
		t.Fatal("it does not go on with 4 pods")
	}
	if got, want := r.End.Sub(half), long/2*6/4; got < want-time.Second || got > want+time.Second {
		t.Errorf("half of the work takes %v with 4 of 6 pods, want %v", got, want)
	}
	if got := r.Places(); len(got) != 2 || r.Job.PodCount() != 4 {
		t.Errorf("it goes on at %+v as %+v", got, r.Job)
	}
	small := gang("small", 2, 2, 1)
	if _, ok := f.StartRun(half, small, way(t, f, small, time.Hour), 0); !ok {
		t.Error("the node that it lost takes no other job")
	}
	f.EndRun(half, small.ID)
	f.EndRun(half, g.ID)
	if idle, _ := f.IdleGPUs(); idle != 12_000 {
		t.Errorf("%v of 12 GPUs are idle after all", idle)
	}
}
