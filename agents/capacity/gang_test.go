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

// gang returns a job of equal pods with so many GPUs and cores each.
func gang(id protocol.JobID, pods, gpus int, cores protocol.Milli) protocol.Job {
	j := job(id, 0)
	c := protocol.Component{Role: "worker", Pods: pods, GPUs: gpus, CPU: cores * 1000}
	if gpus > 0 {
		c.Share = 1000
	}
	return j.WithPods([]protocol.Component{c})
}

// way returns the first way to run a gang, for so long.
func way(t interface{ Fatalf(string, ...any) }, f *Fleet, j protocol.Job, run time.Duration) RunConfig {
	ways, why := f.RunConfigs(j)
	if len(ways) == 0 {
		t.Fatalf("%s has no way to run: %+v", j.ID, why)
	}
	ways[0].Run = run
	return ways[0]
}

// gpusOf returns the GPUs of a run by node.
func gpusOf(r *Run) map[string]int {
	out := make(map[string]int)
	for _, p := range r.Places() {
		out[p.Node] += len(p.Devices)
	}
	return out
}

func TestAGangStartsOnAllItsNodesOrNotAtAll(t *testing.T) {
	f := must(t, box("a", "V100", 8), box("b", "V100", 8), box("c", "V100", 8))
	start(t, f, noon, job("small", 1), time.Hour)
	g := gang("gang", 3, 8, 8)
	if _, ok := f.StartRun(noon, g, way(t, f, g, time.Hour), 0); ok {
		t.Fatal("three whole nodes were found, and one of them has a job")
	}
	if idle, _ := f.IdleGPUs(); idle != 23_000 {
		t.Fatalf("%d thousandths of a GPU are idle after a gang found no place; want 23000", idle)
	}
	g = gang("gang", 4, 4, 8)
	r, ok := f.StartRun(noon, g, way(t, f, g, time.Hour), 0)
	if !ok || len(gpusOf(r)) > 3 || r.Job.GPUs != 16 {
		t.Fatalf("StartRun of 4 x 4 = %+v, %v", r, ok)
	}
	if idle, _ := f.IdleGPUs(); idle != 7_000 {
		t.Errorf("%d thousandths of a GPU are idle beside the gang; want 7000", idle)
	}
	if !f.EndRun(noon.Add(time.Hour), "gang") {
		t.Error("the gang could not be ended")
	}
	if idle, _ := f.IdleGPUs(); idle != 23_000 {
		t.Errorf("%d thousandths of a GPU are idle after the gang; want 23000", idle)
	}
}

func TestAGangThatNoSiteHoldsSaysHowMuchWouldFit(t *testing.T) {
	f := must(t, box("a", "V100", 8), box("b", "V100", 8), box("c", "V100", 4))
	start(t, f, noon, job("small", 8), time.Hour)
	g := gang("gang", 3, 8, 8)
	if ways, why := f.RunConfigs(g); len(ways) != 0 || why.Code != protocol.FitsNoNode || f.LargestSet(&g) != 2 {
		t.Errorf("RunConfigs = %v, %+v, LargestSet = %d; want that 2 pods fit at most", ways, why, f.LargestSet(&g))
	}
	if g := gang("gang", 2, 8, 8); len(first(f.RunConfigs(g))) == 0 {
		t.Error("two whole nodes are there, and busy; want a way to run on them once they are free")
	}
	j := job("two", 0).WithPods([]protocol.Component{{Role: "x", Pods: 1, CPU: 30_000}, {Role: "y", Pods: 1, CPU: 50_000}})
	cpu := must(t, Node{Node: box("a", "", 0).Node}, Node{Node: box("b", "", 0).Node})
	cpu.nodes[0].CPU, cpu.nodes[1].CPU = 53_000, 31_000
	if ways, why := cpu.RunConfigs(j); len(ways) != 1 {
		t.Errorf("RunConfigs of 30 and 50 cores on 53 and 31 = %v, %+v; want one", ways, why)
	}
}

func first(ways []RunConfig, _ protocol.Reason) []RunConfig { return ways }

// The nodes drain one after the other; the gang takes those that are ready, and holds as little as it can.
func TestAGangHoldsTheNodesThatAreReadyLatest(t *testing.T) {
	f := must(t, box("a", "V100", 8), box("b", "V100", 8), box("c", "V100", 8), box("d", "V100", 8), box("e", "V100", 8), box("f", "V100", 8))
	var on []string
	for i, hours := range []int{0, 0, 1, 2, 3, 5} {
		if hours == 0 {
			continue
		}
		on = append(on, start(t, f, noon, job(protocol.JobID(fmt.Sprint("busy-", i)), 8), time.Duration(hours)*time.Hour).Node)
	}
	g := gang("gang", 4, 8, 8)
	from, ok := f.ReserveNode(noon, g, "V100", noon, time.Hour)
	if !ok || from != noon.Add(2*time.Hour) {
		t.Fatalf("the gang is kept from %v, %v; want 14:00, when four nodes are free", from, ok)
	}
	held := make(map[string]bool)
	for i := range f.nodes {
		if len(f.nodes[i].reservations) > 0 {
			held[f.nodes[i].Name] = true
		}
	}
	if len(held) != 4 || !held[on[0]] || !held[on[1]] || held[on[2]] || held[on[3]] {
		t.Errorf("held are %v; want the four that are free at 14:00", held)
	}
	// A job that ends before may use a held node, one that does not may not.
	if _, ok := f.QuotePlacement(noon, job("short", 8), "", 2*time.Hour); !ok {
		t.Error("a job of 2 h found no place on held nodes that are idle until then")
	}
	if _, ok := f.QuotePlacement(noon, job("long", 8), "", 3*time.Hour); ok {
		t.Error("a job of 3 h found a place, and would delay the gang")
	}
	for i := range 6 {
		f.EndRun(from, protocol.JobID(fmt.Sprint("busy-", i)))
	}
	if r, ok := f.StartRun(from, g, way(t, f, g, time.Hour), 0); !ok || len(r.Places()) != 4 {
		t.Errorf("the gang did not start when its nodes were free: %+v, %v", r, ok)
	}
	for i := range f.nodes {
		if len(f.nodes[i].reservations) > 0 {
			t.Errorf("%s is still kept", f.nodes[i].Name)
		}
	}
}

func TestAnAdoptedGangHoldsWhatItHeld(t *testing.T) {
	f := must(t, box("a", "V100", 8), box("b", "V100", 8))
	g := gang("gang", 3, 4, 8)
	r, ok := f.StartRun(noon, g, way(t, f, g, time.Hour), 0)
	if !ok {
		t.Fatal("no place")
	}
	l := protocol.Launch{Job: g, Epoch: 1, Node: r.Node, Devices: r.DeviceIndexes(), Model: r.RunConfig.Model, Run: time.Hour, Power: r.RunConfig.Power, Places: r.Places()}
	again := must(t, box("a", "V100", 8), box("b", "V100", 8))
	if !again.AdoptRun(l, noon) || again.AdoptRun(l, noon) {
		t.Fatal("AdoptRun refused the launch, or took it twice")
	}
	if got, want := again.StateAt(noon), f.StateAt(noon); got.Idle != want.Idle || got.Runs != 1 || got.Power != want.Power {
		t.Errorf("StateAt = %+v after the restart, %+v before", got, want)
	}
	l.Job.ID, l.Places = "other", slices.Clone(l.Places)
	for _, change := range []func(){
		func() { l.Places[0].Node = "z" },
		func() { l.Places[0] = r.Places()[0]; l.Places = l.Places[:1] },
		func() { l.Places = append(r.Places(), r.Places()...) },
	} {
		change()
		if idle, _ := again.IdleGPUs(); again.AdoptRun(l, noon) || idle != 4_000 {
			t.Errorf("AdoptRun took %+v, or kept a part of it: %d idle", l.Places, idle)
		}
	}
}

// drawGang draws a gang for small fleets.
func drawGang(t *rapid.T, i int, now protocol.Time) protocol.Job {
	j := drawDue(t, i, now)
	var all []protocol.Component
	for c := range rapid.IntRange(1, 2).Draw(t, "components") {
		x := protocol.Component{Role: fmt.Sprint("role-", c), Pods: rapid.IntRange(1, 4).Draw(t, "pods"), GPUs: rapid.IntRange(0, 2).Draw(t, "gpus"), CPU: protocol.Milli(rapid.IntRange(1, 4).Draw(t, "cores")) * 1000}
		if x.GPUs > 0 {
			x.Share = 1000
		}
		if x.GPUs == 1 && rapid.IntRange(0, 3).Draw(t, "shared") == 0 {
			x.Share = 400
		}
		all = append(all, x)
	}
	all[0].Pods++
	j.Models = nil
	return j.WithPods(all)
}

// checkNothingIsSoldTwice checks the fleet against its own list of runs, and that what is reserved has
// room beside all else; a gang's also if a run lasts into it by no more than gangGrace.
func checkNothingIsSoldTwice(t *rapid.T, f *Fleet, now protocol.Time) {
	pods := make(map[protocol.JobID]int)
	for i := range f.nodes {
		n := &f.nodes[i]
		var gpu [8]protocol.Milli
		cpu := int64(0)
		for _, r := range n.jobs {
			cpu += r.placement.Request.CPU
			for d := range 8 {
				if r.placement.Devices.Has(d) {
					gpu[d] += protocol.Milli(r.placement.Request.Milli)
				}
				if gpu[d] > 1000 || gpu[d] > 0 && d >= n.GPUs {
					t.Fatalf("device %d of %s is sold twice", d, n.Name)
				}
			}
			pods[r.Job.ID] += max(r.pods, 1)
		}
		if cpu > n.CPU {
			t.Fatalf("%s gives %d of %d thousandths of a core", n.Name, cpu, n.CPU)
		}
		for _, k := range n.reservations {
			if k.from > now.Add(time.Second) && !f.staysFeasible(now, i, &k) {
				t.Fatalf("there is no room on %s for what is kept for %s", n.Name, k.job.ID)
			}
		}
	}
	for id, r := range f.running {
		if pods[id] != r.Job.PodCount() {
			t.Fatalf("%s runs with %d of %d pods", id, pods[id], r.Job.PodCount())
		}
	}
	for id, nodes := range f.setsOn {
		for _, i := range nodes {
			if !slices.ContainsFunc(f.nodes[i].reservations, func(k reservation) bool { return k.job.ID == id }) {
				t.Fatalf("a part of what is kept for %s is gone", id)
			}
		}
	}
}

// Whatever is kept, started and ended beside each other: no node is sold twice, and no gang has half of
// its pods or of its nodes.
func TestGangsAndJobsNeverShareWhatIsSold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := New(Config{Nodes: drawNodes(t), Power: power.DefaultTable(), HeadroomOneIn: rapid.IntRange(0, 4).Draw(t, "standby"), PreferAwake: rapid.Bool().Draw(t, "awake")})
		if err != nil {
			t.Fatal(err)
		}
		now := noon
		for i := range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "minutes")) * time.Minute)
			j := drawDue(t, i, now)
			if rapid.Bool().Draw(t, "gang") {
				j = drawGang(t, i, now)
			}
			model := ""
			if ways, _ := f.RunConfigs(j); j.IsGang() && len(ways) == 0 {
				continue
			} else if j.IsGang() {
				model = ways[0].Model
			}
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				at := now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "later")) * time.Minute)
				want, wantOK := f.EarliestStart(now, j, model, at, j.Run)
				from, ok := f.ReserveNode(now, j, model, at, j.Run)
				if ok != wantOK || from != want {
					t.Fatalf("%+v is kept from %v, %v; the opening is %v, %v", j, from, ok, want, wantOK)
				}
			case 1:
				f.CancelReservation(protocol.JobID(fmt.Sprint("job-", rapid.IntRange(0, i).Draw(t, "freed"))))
			case 2:
				f.EndRun(now, protocol.JobID(fmt.Sprint("job-", rapid.IntRange(0, i).Draw(t, "ended"))))
			default:
				before := f.version
				quote, fits := f.QuotePlacement(now, j, model, j.Run)
				if again, _ := f.QuotePlacement(now, j, model, j.Run); f.version != before || again.FragmentationDelta != quote.FragmentationDelta {
					t.Fatal("a quote changed what the next one says")
				}
				if r, ok := f.StartRun(now, j, RunConfig{Run: j.Run, Model: model}, 0); ok != fits && j.IsGang() {
					t.Fatalf("StartRun = %+v, %v; the quote said %v", r, ok, fits)
				}
			}
			checkNothingIsSoldTwice(t, f, now)
		}
	})
}

// The earliest start of equal pods is the first instant at which the nodes' room adds up, by a look at
// each instant at which something ends.
func TestTheOpeningOfAGangIsThatOfALookAtEachInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := New(Config{Nodes: drawNodes(t), Power: power.DefaultTable(), HeadroomOneIn: rapid.IntRange(0, 4).Draw(t, "standby")})
		if err != nil {
			t.Fatal(err)
		}
		now := noon
		for i := range rapid.IntRange(1, 20).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "minutes")) * time.Minute)
			if j := drawDue(t, i, now); rapid.Bool().Draw(t, "keep") {
				f.ReserveNode(now, j, "", now.Add(time.Hour), j.Run)
			} else {
				f.StartRun(now, j, RunConfig{Run: j.Run}, 0)
			}
			g := drawGang(t, 1000+i, now).WithPods([]protocol.Component{{Pods: rapid.IntRange(2, 6).Draw(t, "pods"), GPUs: rapid.IntRange(1, 2).Draw(t, "gpus"), Share: 1000, CPU: 1000}})
			ways, _ := f.RunConfigs(g)
			if len(ways) == 0 {
				continue
			}
			model, at := ways[0].Model, now.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "later"))*time.Minute)
			f.headroomNodes()
			times := []protocol.Time{at, max(at, LatestStart(g, g.Run))}
			for k := range f.nodes {
				for _, r := range f.nodes[k].jobs {
					times = append(times, max(r.End, now.Add(time.Second)))
				}
				for _, k := range f.nodes[k].reservations {
					times = append(times, k.until)
				}
			}
			slices.Sort(times)
			want, found := protocol.Time(0), false
			for _, x := range times {
				room := 0
				for k := range f.nodes {
					n := &f.nodes[k]
					if n.Model == model && !(n.isHeadroom && canWait(g) && x < LatestStart(g, g.Run)) {
						room += f.podsThroughout(now, k, &g, 0, x, g.Run, nil)
					}
				}
				if x >= at && room >= g.Pods[0].Pods {
					want, found = x, true
					break
				}
			}
			if got, ok := f.earliestSet(now, &g, model, at, g.Run, nil); ok != found || got != want {
				t.Fatalf("the opening is %v, %v; want %v, %v", got, ok, want, found)
			}
			if from := f.setOpenFrom(now, &g, model, g.Run); from < readyNever {
				if got, ok := f.earliestSet(now, &g, model, from, g.Run, nil); !ok || got > max(from, now) {
					t.Fatalf("the gang starts whenever it likes from %v on, and finds no room before %v", from, got)
				}
			}
		}
	})
}
