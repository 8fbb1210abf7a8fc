package capacity

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
	"pgregory.net/rapid"
)

// replica is a replica of so many whole GPUs.
func replica(id string, gpus int) protocol.Job {
	s := protocol.Service{ID: protocol.ServiceID(id), GPUs: gpus, Share: 1000, CPU: 1000, Memory: 1024}
	return s.Replica()
}

// nodesOf returns nodes with so many GPUs each.
func nodesOf(gpus ...int) (nodes []Node) {
	for i, n := range gpus {
		nodes = append(nodes, Node{Node: fgd.Node{Name: fmt.Sprintf("n%d", i), CPU: 64_000, Memory: 1 << 19, GPUs: n, Model: "V100"}, Host: power.SleepingHost(n)})
	}
	return nodes
}

// ACKONE E1: nodes with 4, 3 and 1 free GPUs hold 2, 1 and no replicas of 2 GPUs.
func TestReplicasAreCountedNodeByNode(t *testing.T) {
	f, err := New(Config{Nodes: nodesOf(4, 3, 1), Power: power.DefaultTable(), HeadroomOneIn: 1, PreferAwake: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(f.QuoteReplicas(1e9, replica("two", 2), 100)); got != 3 {
		t.Errorf("%d replicas of 2 GPUs fit on 4, 3 and 1; want 3", got)
	}
}

// What is quoted is what can be started, one after the other, and a quote changes nothing.
func TestAQuoteIsWhatStarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 8), 1, 6).Draw(t, "nodes")
		f, err := New(Config{Nodes: nodesOf(sizes...), Power: power.DefaultTable(), HeadroomOneIn: rapid.IntRange(0, 3).Draw(t, "headroom"), PreferAwake: rapid.Bool().Draw(t, "awake")})
		if err != nil {
			t.Fatal(err)
		}
		now := protocol.Time(1e9)
		job := func(i int) protocol.Job {
			gpus := rapid.IntRange(1, 4).Draw(t, "gpus")
			return protocol.Job{ID: protocol.JobID(fmt.Sprint("job", i)), GPUs: gpus, Share: 1000, CPU: 1000, Memory: 1024, Arrival: now, Run: time.Hour, Deadline: now.Add(8 * time.Hour)}
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "jobs") {
			j := job(i)
			if w, _, ok := f.Default(now, j); ok {
				if _, ok := f.StartRun(now, j, w, 0); !ok {
					f.ReserveNode(now, j, "", now, time.Hour)
				}
			}
		}
		reserved := len(f.reservedOn)
		size := rapid.IntRange(1, 4).Draw(t, "size")
		before := f.StateAt(now)
		quotes := f.QuoteReplicas(now, replica("r", size), 1000)
		if after := f.StateAt(now); !reflect.DeepEqual(before, after) {
			t.Fatalf("a quote changed %+v to %+v", before, after)
		}
		for i, q := range quotes {
			r, ok := f.StartReplica(now, replica(fmt.Sprint("r", i), size))
			if !ok || r.RunConfig.Power != q.Power {
				t.Fatalf("replica %d of %d quoted: started %v, %+v; quoted %+v", i, len(quotes), ok, r, q)
			}
		}
		if r, ok := f.StartReplica(now, replica("more", size)); ok {
			t.Fatalf("one more than quoted starts: %+v", r)
		}
		if len(f.reservedOn) != reserved {
			t.Fatalf("replicas took %d of %d reservations away", reserved-len(f.reservedOn), reserved)
		}
	})
}

// A replica has no end that a job could wait for.
func TestNoJobWaitsForTheEndOfAReplica(t *testing.T) {
	f, err := New(Config{Nodes: nodesOf(4), Power: power.DefaultTable()})
	if err != nil {
		t.Fatal(err)
	}
	now := protocol.Time(1e9)
	if _, ok := f.StartReplica(now, replica("r", 3)); !ok {
		t.Fatal("the replica does not start")
	}
	j := protocol.Job{ID: "j", GPUs: 2, Share: 1000, CPU: 1000, Memory: 1024, Arrival: now, Run: time.Hour, Deadline: now.Add(8 * time.Hour)}
	if at, ok := f.EarliestStart(now, j, "V100", now, time.Hour); ok {
		t.Errorf("a job of 2 GPUs beside a replica of 3 on a node of 4 is to start at %v; want never", at)
	}
	if at, ok := f.ReserveNode(now, j, "V100", now, time.Hour); ok {
		t.Errorf("it reserves the node at %v; want never", at)
	}
	gang := protocol.Job{ID: "g", Arrival: now, Run: time.Hour, Deadline: now.Add(8 * time.Hour)}.WithPods([]protocol.Component{{Pods: 2, GPUs: 1, Share: 1000, CPU: 1000, Memory: 1024}})
	if at, ok := f.EarliestStart(now, gang, "V100", now, time.Hour); ok {
		t.Errorf("a gang of 2 GPUs is to start at %v; want never", at)
	}
	f.EndRun(now, "r")
	if at, ok := f.EarliestStart(now, j, "V100", now, time.Hour); !ok || at != now {
		t.Errorf("after the replica the job starts at %v, %v; want now", at, ok)
	}
}
