package capacity

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

func surveyed(t interface{ Fatal(...any) }, nodes ...protocol.Node) *Fleet {
	f, err := New(Config{Power: power.DefaultTable()})
	if err != nil {
		t.Fatal(err)
	}
	f.UpdateNodes(noon, nodes)
	return f
}

func machine(name string) protocol.Node {
	return protocol.Node{Name: name, Model: "V100", GPUs: 4, CPU: 32_000, Memory: 1 << 17, GPUMemory: 16 << 10}
}

func whole(id string, gpus int) protocol.Job {
	return protocol.Job{Urgency: protocol.UrgencyNow, ID: protocol.JobID(id), GPUs: gpus, Share: 1000, CPU: 1000, Memory: 1024, Run: time.Hour}
}

func TestWhatOthersHoldIsNotGiven(t *testing.T) {
	n := machine("n1")
	n.Others, n.OtherCPU = []protocol.Milli{1000, 0, 500}, 31_500
	f := surveyed(t, n)
	w, _, ok := f.Default(noon, whole("a", 2))
	if !ok {
		t.Fatal("an empty n1 could hold the job")
	}
	if _, ok := f.StartRun(noon, whole("a", 2), w, 0); ok {
		t.Error("started beside others who hold the cores")
	}
	n.OtherCPU = 0
	f.UpdateNodes(noon, []protocol.Node{n})
	r, ok := f.StartRun(noon, whole("a", 2), w, 0)
	if !ok || fmt.Sprint(r.DeviceIndexes()) != "[1 3]" {
		t.Errorf("started %v, %v; want on devices 1 and 3", r, ok)
	}
	if free := f.CapacityProfiles(noon, time.Hour, 2)[0].Free; free[0] != 500 || free[1] != 2500 {
		t.Errorf("free %v; want half a GPU, and two more in the next hour", free)
	}
}

// When others give back what they hold nobody knows, and a device that is broken stays
// so: no time is named for a job that needs it.
func TestCapacityOfOtherSchedulersHasNoFreeTime(t *testing.T) {
	n := machine("n1")
	n.Others = []protocol.Milli{1000}
	f := surveyed(t, n)
	w, _, _ := f.Default(noon, whole("runs", 1))
	if _, ok := f.StartRun(noon, whole("runs", 1), w, 0); !ok {
		t.Fatal("not started")
	}
	if at, ok := f.EarliestStart(noon, whole("all", 4), "V100", noon, time.Hour); ok {
		t.Errorf("all four GPUs are promised at %v", at)
	}
	if at, ok := f.ReserveNode(noon, whole("all", 4), "V100", noon, time.Hour); ok {
		t.Errorf("all four GPUs are kept from %v on", at)
	}
	if at, ok := f.EarliestStart(noon, whole("rest", 3), "V100", noon, time.Hour); !ok || at != noon.Add(time.Hour) {
		t.Errorf("the other three come free at %v, %v; want when what runs has ended", at, ok)
	}
}

func TestAClosedNodeTakesNothingAndKeepsWhatRuns(t *testing.T) {
	f := surveyed(t, machine("n1"))
	w, _, _ := f.Default(noon, whole("a", 1))
	if _, ok := f.StartRun(noon, whole("a", 1), w, 0); !ok {
		t.Fatal("not started")
	}
	closed := machine("n1")
	closed.Closed = "cordoned"
	f.UpdateNodes(noon, []protocol.Node{closed})
	f.ReserveNode(noon, whole("k", 2), "V100", noon, time.Hour)
	if _, ok := f.QuotePlacement(noon, whole("b", 1), "V100", time.Hour); ok {
		t.Error("a place is quoted on a closed node")
	}
	if _, ok := f.StartRun(noon, whole("b", 1), w, 0); ok || f.RunOf("a") == nil {
		t.Error("a closed node took a job, or lost one")
	}
	if free := f.CapacityProfiles(noon, time.Hour, 4)[0].Free; slices.Max(free) != 0 {
		t.Errorf("free %v on a closed node; its job ends, and nobody follows it", free)
	}
}

func TestANodeThatIsGoneLeavesWithItsLastJob(t *testing.T) {
	f := surveyed(t, machine("n1"), machine("n2"))
	w, _, _ := f.Default(noon, whole("a", 4))
	r, _ := f.StartRun(noon, whole("a", 4), w, 0)
	if r.Node != "n1" {
		t.Fatalf("on %s", r.Node)
	}
	f.UpdateNodes(noon, []protocol.Node{machine("n2")})
	if p := f.PoolTotals(); p[0].Nodes != 2 {
		t.Errorf("%+v; n1 still runs a job", p)
	}
	if !f.EndRun(noon, "a") || f.PoolTotals()[0].Nodes != 1 {
		t.Errorf("%+v after the last job of n1", f.PoolTotals())
	}
	again := machine("n1")
	again.GPUs = 8
	f.UpdateNodes(noon, []protocol.Node{machine("n2"), again})
	if p := f.PoolTotals(); p[0].GPUs != 12 {
		t.Errorf("%+v; want n1 back with 8 GPUs", p)
	}
}

func TestANodeThatCannotBeUsedIsNamed(t *testing.T) {
	odd, many := machine("odd"), machine("many")
	odd.Model, many.GPUs = "Quantum9", 9
	f := surveyed(t)
	why := f.UpdateNodes(noon, []protocol.Node{odd, many, machine("n1"), machine("n1")})
	if len(why) != 3 || f.PoolTotals()[0].Nodes != 1 {
		t.Errorf("unfit %v, pools %v", why, f.PoolTotals())
	}
}

func TestAJobThatWasFoundRunningIsAdopted(t *testing.T) {
	f := surveyed(t, machine("n1"))
	l := protocol.Launch{Job: whole("a", 1), Node: "n1", Devices: []int{2}, Model: "V100", Cap: 150_000, Run: 3 * time.Hour, Power: 140_000}
	if !f.AdoptRun(l, noon.Add(-time.Hour)) || f.AdoptRun(l, noon) {
		t.Fatal("want it adopted once")
	}
	r := f.RunOf("a")
	if r.End != noon.Add(2*time.Hour) || fmt.Sprint(r.DeviceIndexes()) != "[2]" || r.RunConfig.Choice.Cap != 150_000 {
		t.Errorf("adopted as %+v", r)
	}
	l.Job.ID, l.Devices = "b", []int{2}
	if f.AdoptRun(l, noon) {
		t.Error("adopted onto a device that is taken")
	}
}

// Whatever comes, goes and changes, nothing is given twice, and an emptied fleet
// is as one that was surveyed at the end alone.
func TestUpdateNodesLeavesNoTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := surveyed(t)
		var last []protocol.Node
		live := map[protocol.JobID]bool{}
		for step := range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				last = nil
				for _, name := range []string{"n1", "n2", "n3"} {
					if !rapid.Bool().Draw(t, "here") {
						continue
					}
					n := machine(name)
					n.GPUs = rapid.SampledFrom([]int{2, 4}).Draw(t, "gpus")
					n.Closed = rapid.SampledFrom([]string{"", "", "cordoned"}).Draw(t, "closed")
					n.OtherCPU = protocol.Milli(rapid.Int64Range(0, 40_000).Draw(t, "cpu"))
					n.Others = []protocol.Milli{protocol.Milli(rapid.Int64Range(0, 1000).Draw(t, "other"))}
					last = append(last, n)
				}
				f.UpdateNodes(noon, last)
			case 1, 2:
				j := whole(fmt.Sprint(step), rapid.IntRange(1, 3).Draw(t, "gpus"))
				if w, _, ok := f.Default(noon, j); ok {
					if _, ok := f.StartRun(noon, j, w, 0); ok {
						live[j.ID] = true
					}
				}
			default:
				for id := range live {
					if !f.EndRun(noon, id) {
						t.Fatalf("%s did not end", id)
					}
					delete(live, id)
					break
				}
			}
			for i := range f.nodes {
				n := &f.nodes[i]
				var held [8]int
				for _, r := range n.jobs {
					for _, d := range r.DeviceIndexes() {
						if held[d]++; held[d] > 1 || d >= n.GPUs {
							t.Fatalf("device %d of %s is held twice, or is none", d, n.Name)
						}
					}
				}
			}
		}
		for id := range live {
			f.EndRun(noon, id)
		}
		f.UpdateNodes(noon, last)
		want := surveyed(t, last...)
		if got := fmt.Sprint(f.CapacityProfiles(noon, time.Hour, 1), f.PoolTotals()); got != fmt.Sprint(want.CapacityProfiles(noon, time.Hour, 1), want.PoolTotals()) {
			t.Fatalf("left with %s, want %v %v", got, want.CapacityProfiles(noon, time.Hour, 1), want.PoolTotals())
		}
	})
}
