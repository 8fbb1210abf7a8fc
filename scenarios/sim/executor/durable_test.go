package executor

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/sim"
)

const noon protocol.Time = 1_649_851_200_000

func cluster() *DurableSimExecutor {
	nodes := []capacity.Node{{Node: fgd.Node{Name: "n1", CPU: 64_000, GPUs: 4, Model: "V100"}, Host: power.DefaultHost(4)}}
	return NewDurableSimExecutor("oslo", sim.NewSimExecutor("oslo", nodes, power.DefaultTable(), noon, nil))
}

// An agent that was down receives the end of a job late, or asks for it. The message
// still has the time at which the job ended.
func TestAPlayedJobEndedWhenItDid(t *testing.T) {
	m := protocol.Sender{Party: "agent/oslo"}
	launch := protocol.Launch{Job: protocol.Job{ID: "train", CPU: 4000}, Epoch: 1, Node: "n1", Run: time.Hour, Power: 200_000}
	ended := func(said []protocol.Message) (at protocol.Time) {
		for _, x := range said {
			if b, ok := x.Body.(protocol.Finished); ok {
				at = b.Ended
			}
		}
		return at
	}
	h := cluster()
	h.Step(noon, m.NewMessage(noon, "hands/oslo", launch))
	facts := append([]protocol.Message(nil), h.Events()...)
	later := noon.Add(2 * time.Hour)
	if at := ended(h.Tick(later)); at != noon.Add(time.Hour) {
		t.Errorf("heard late, it ended at %v", at)
	}
	if at := ended(h.Step(later, m.NewMessage(later, "hands/oslo", launch))); at != noon.Add(time.Hour) {
		t.Errorf("asked again, it ended at %v", at)
	}
	h = cluster()
	for _, f := range facts {
		if err := h.Restore(f); err != nil {
			t.Fatal(err)
		}
	}
	if at := ended(h.Step(later, m.NewMessage(later, "hands/oslo", launch))); at != noon.Add(time.Hour) {
		t.Errorf("asked after a restart, it ended at %v", at)
	}
}

func TestAPlayedJobUsesWhatItAskedFor(t *testing.T) {
	h := cluster()
	m := protocol.Sender{Party: "agent/oslo"}
	h.Step(noon, m.NewMessage(noon, "hands/oslo", protocol.Launch{
		Job: protocol.Job{ID: "train", GPUs: 1, Share: 1000, CPU: 4000, Memory: 1024, GPUMemory: 8000}, Epoch: 1, Node: "n1", Run: time.Hour, Power: 200_000,
	}))
	for _, x := range h.Tick(noon.Add(2 * time.Hour)) {
		if b, ok := x.Body.(protocol.Finished); ok {
			if want := (protocol.Utilization{GPU: 1000, GPUMemory: 8000, CPU: 4000, Memory: 1024}); b.Use != want {
				t.Errorf("it used %+v; want %+v", b.Use, want)
			}
			if len(h.requestedJobs) != 0 {
				t.Errorf("%d jobs are still remembered", len(h.requestedJobs))
			}
			return
		}
	}
	t.Error("the job did not end")
}

// A restored cluster has run its replicas on: it reports them as running without having been asked again, and
// its meter counts what they drew meanwhile.
func TestReplicasRunOnWhileTheAgentIsAway(t *testing.T) {
	m := protocol.Sender{Party: "agent/oslo"}
	order := m.NewMessage(noon, "hands/oslo", protocol.RunReplicas{
		Service: protocol.Service{ID: "chat", Wanted: 1, GPUs: 1, Share: 1000}, Revision: 1, Newest: 1,
		Replicas: []protocol.Replica{{Number: 1, Node: "n1", Devices: []int{0}, Model: "V100", Power: 250_000}},
	})
	total := func(h *DurableSimExecutor) (sum protocol.Millijoules) {
		for _, x := range h.Tick(noon.Add(3 * time.Hour)) {
			if b, ok := x.Body.(protocol.IdleReading); ok {
				sum += b.Total
			}
		}
		return sum
	}
	running := cluster()
	running.Step(noon, order)
	facts := append([]protocol.Message(nil), running.Events()...)
	restored, idle := cluster(), cluster()
	for _, f := range facts {
		if err := restored.Restore(f); err != nil {
			t.Fatal(err)
		}
	}
	idle.Tick(noon)
	want, got, none := total(running), total(restored), total(idle)
	if got != want || got == none {
		t.Errorf("restored, three hours count %v; want %v, and more than %v without replicas", got, want, none)
	}
}
