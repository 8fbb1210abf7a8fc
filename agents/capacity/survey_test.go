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
	f, err := New(Config{Power: power.Default()})
	if err != nil {
		t.Fatal(err)
	}
	f.Survey(noon, nodes)
	return f
}

func machine(name string) protocol.Node {
	return protocol.Node{Name: name, Model: "V100", GPUs: 4, CPU: 32_000, Memory: 1 << 17, GPUMemory: 16 << 10}
}

func whole(id string, gpus int) protocol.Job {
	return protocol.Job{ID: protocol.JobID(id), GPUs: gpus, Share: 1000, CPU: 1000, Memory: 1024, Run: time.Hour}
}

func TestWhatOthersHoldIsNotGiven(t *testing.T) {
	n := machine("n1")
	n.Others, n.OtherCPU = []protocol.Milli{1000, 0, 500}, 31_500
	f := surveyed(t, n)
	w, _, ok := f.Plain(noon, whole("a", 2))
	if !ok {
		t.Fatal("an empty n1 could hold the job")
	}
	if _, ok := f.Start(noon, whole("a", 2), w, 0); ok {
		t.Error("started beside others who hold the cores")
	}
	n.OtherCPU = 0
	f.Survey(noon, []protocol.Node{n})
	r, ok := f.Start(noon, whole("a", 2), w, 0)
	if !ok || fmt.Sprint(r.Devices()) != "[1 3]" {
		t.Errorf("started %v, %v; want on devices 1 and 3", r, ok)
	}
	if free := f.Room(noon, time.Hour, 2)[0].Free; free[0] != 500 || free[1] != 2500 {
		t.Errorf("free %v; want half a GPU, and two more in the next hour", free)
	}
}

// When others give back what they hold nobody knows, and a device that is broken stays
// so: no time is named for a job that needs it.
func TestRoomThatOthersHoldIsPromisedAtNoTime(t *testing.T) {
	n := machine("n1")
	n.Others = []protocol.Milli{1000}
	f := surveyed(t, n)
	w, _, _ := f.Plain(noon, whole("runs", 1))
	if _, ok := f.Start(noon, whole("runs", 1), w, 0); !ok {
		t.Fatal("not started")
	}
	if at, ok := f.Opening(noon, whole("all", 4), "V100", noon, time.Hour); ok {
		t.Errorf("all four GPUs are promised at %v", at)
	}
	if at, ok := f.Keep(noon, whole("all", 4), "V100", noon, time.Hour); ok {
		t.Errorf("all four GPUs are kept from %v on", at)
	}
	if at, ok := f.Opening(noon, whole("rest", 3), "V100", noon, time.Hour); !ok || at != noon.Add(time.Hour) {
		t.Errorf("the other three come free at %v, %v; want when what runs has ended", at, ok)
	}
}

func TestAClosedNodeTakesNothingAndKeepsWhatRuns(t *testing.T) {
	f := surveyed(t, machine("n1"))
	w, _, _ := f.Plain(noon, whole("a", 1))
	if _, ok := f.Start(noon, whole("a", 1), w, 0); !ok {
		t.Fatal("not started")
	}
	closed := machine("n1")
	closed.Closed = "cordoned"
	f.Survey(noon, []protocol.Node{closed})
	f.Keep(noon, whole("k", 2), "V100", noon, time.Hour)
	if _, ok := f.Place(noon, whole("b", 1), "V100", time.Hour); ok {
		t.Error("a place is quoted on a closed node")
	}
	if _, ok := f.Start(noon, whole("b", 1), w, 0); ok || f.Running("a") == nil {
		t.Error("a closed node took a job, or lost one")
	}
	if free := f.Room(noon, time.Hour, 4)[0].Free; slices.Max(free) != 0 {
		t.Errorf("free %v on a closed node; its job ends, and nobody follows it", free)
	}
}

func TestANodeThatIsGoneLeavesWithItsLastJob(t *testing.T) {
	f := surveyed(t, machine("n1"), machine("n2"))
	w, _, _ := f.Plain(noon, whole("a", 4))
	r, _ := f.Start(noon, whole("a", 4), w, 0)
	if r.Node != "n1" {
		t.Fatalf("on %s", r.Node)
	}
	f.Survey(noon, []protocol.Node{machine("n2")})
	if p := f.Pools(); p[0].Nodes != 2 {
		t.Errorf("%+v; n1 still runs a job", p)
	}
	if !f.End("a") || f.Pools()[0].Nodes != 1 {
		t.Errorf("%+v after the last job of n1", f.Pools())
	}
	again := machine("n1")
	again.GPUs = 8
	f.Survey(noon, []protocol.Node{machine("n2"), again})
	if p := f.Pools(); p[0].GPUs != 12 {
		t.Errorf("%+v; want n1 back with 8 GPUs", p)
	}
}

func TestANodeThatCannotBeUsedIsNamed(t *testing.T) {
	odd, many := machine("odd"), machine("many")
	odd.Model, many.GPUs = "Quantum9", 9
	f := surveyed(t)
	why := f.Survey(noon, []protocol.Node{odd, many, machine("n1"), machine("n1")})
	if len(why) != 3 || f.Pools()[0].Nodes != 1 {
		t.Errorf("unfit %v, pools %v", why, f.Pools())
	}
}

func TestAJobThatWasFoundRunningIsAdopted(t *testing.T) {
	f := surveyed(t, machine("n1"))
	l := protocol.Launch{Job: whole("a", 1), Node: "n1", Devices: []int{2}, Model: "V100", Cap: 150_000, Run: 3 * time.Hour, Power: 140_000}
	if !f.Adopt(l, noon.Add(-time.Hour)) || f.Adopt(l, noon) {
		t.Fatal("want it adopted once")
	}
	r := f.Running("a")
	if r.End != noon.Add(2*time.Hour) || fmt.Sprint(r.Devices()) != "[2]" || r.Way.Choice.Cap != 150_000 {
		t.Errorf("adopted as %+v", r)
	}
	l.Job.ID, l.Devices = "b", []int{2}
	if f.Adopt(l, noon) {
		t.Error("adopted onto a device that is taken")
	}
}

// Whatever comes, goes and changes, nothing is given twice, and an emptied fleet
// is as one that was surveyed at the end alone.
func TestSurveysLeaveNoTrace(t *testing.T) {
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
				f.Survey(noon, last)
			case 1, 2:
				j := whole(fmt.Sprint(step), rapid.IntRange(1, 3).Draw(t, "gpus"))
				if w, _, ok := f.Plain(noon, j); ok {
					if _, ok := f.Start(noon, j, w, 0); ok {
						live[j.ID] = true
					}
				}
			default:
				for id := range live {
					if !f.End(id) {
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
					for _, d := range r.Devices() {
						if held[d]++; held[d] > 1 || d >= n.GPUs {
							t.Fatalf("device %d of %s is held twice, or is none", d, n.Name)
						}
					}
				}
			}
		}
		for id := range live {
			f.End(id)
		}
		f.Survey(noon, last)
		want := surveyed(t, last...)
		if got := fmt.Sprint(f.Room(noon, time.Hour, 1), f.Pools()); got != fmt.Sprint(want.Room(noon, time.Hour, 1), want.Pools()) {
			t.Fatalf("left with %s, want %v %v", got, want.Room(noon, time.Hour, 1), want.Pools())
		}
	})
}
