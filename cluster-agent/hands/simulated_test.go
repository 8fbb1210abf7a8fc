package hands

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/fgd"
	"github.com/gridbid/gridbid/cluster-agent/fleet"
	"github.com/gridbid/gridbid/cluster-agent/power"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/world"
)

func TestAPlayedJobUsesWhatItAskedFor(t *testing.T) {
	const noon protocol.Time = 1_649_851_200_000
	nodes := []fleet.Node{{Node: fgd.Node{Name: "n1", CPU: 64_000, GPUs: 4, Model: "V100"}, Host: power.DefaultHost(4)}}
	h := Simulate("oslo", world.NewHands("oslo", nodes, power.Default(), noon, nil))
	m := protocol.Mouth{Who: "agent/oslo"}
	h.Step(noon, m.Say(noon, "hands/oslo", protocol.Launch{
		Job: protocol.Job{ID: "train", GPUs: 1, Share: 1000, CPU: 4000, Memory: 1024, GPUMemory: 8000}, Epoch: 1, Node: "n1", Run: time.Hour, Power: 200_000,
	}))
	for _, x := range h.Tick(noon.Add(2 * time.Hour)) {
		if b, ok := x.Body.(protocol.Exited); ok {
			if want := (protocol.Use{GPU: 1000, GPUMemory: 8000, CPU: 4000, Memory: 1024}); b.Use != want {
				t.Errorf("it used %+v; want %+v", b.Use, want)
			}
			if len(h.asked) != 0 {
				t.Errorf("%d jobs are still remembered", len(h.asked))
			}
			return
		}
	}
	t.Error("the job did not end")
}
