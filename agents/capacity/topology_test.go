package capacity

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

const zoneLevel = "topology.kubernetes.io/zone"

// inRack returns a node of 8 GPUs in a rack of a zone.
func inRack(name, zone, rack string) Node {
	n := box(name, "V100", 8)
	for _, l := range []protocol.Label{{Key: zoneLevel, Value: zone}, {Key: "rack", Value: rack}} {
		if l.Value != "" {
			n.Topology = append(n.Topology, l)
		}
	}
	return n
}

// required returns a gang that requires one domain of a level.
func required(g protocol.Job, level string) protocol.Job {
	g.RequiredTopology = level
	return g
}

func TestATopologyThatIsRequiredWaitsAndOneThatIsPreferredWidens(t *testing.T) {
	f := must(t, inRack("a1", "a", "r1"), inRack("a2", "a", "r2"), inRack("b1", "b", "r1"), inRack("none", "", ""))
	g := gang("gang", 2, 8, 1)
	if ways, why := f.RunConfigs(required(g, "rack")); len(ways) != 0 || why.Code != protocol.FitsNoNode {
		t.Fatalf("RunConfigs = %v, %+v; the racks r1 of two zones are two, and each holds one pod", ways, why)
	}
	if wants := required(g, "rack"); f.LargestSet(&wants) != 1 {
		t.Errorf("LargestSet = %d; want 1", f.LargestSet(&wants))
	}
	if wants := required(g, "no-such-label"); f.LargestSet(&wants) != 0 {
		t.Errorf("LargestSet = %d of a level that no node has; want 0", f.LargestSet(&wants))
	}
	g.PreferredTopology = "rack"
	r, ok := f.StartRun(noon, g, way(t, f, g, time.Hour), 0)
	if !ok || gpusOf(r)["a1"] != 8 || gpusOf(r)["a2"] != 8 {
		t.Fatalf("it runs on %v; no rack holds it, so want the zone that does", gpusOf(r))
	}
	if d := f.DomainOf(&g, r.Places()); d != "" {
		t.Errorf("DomainOf = %q; want none, it is in two racks", d)
	}
	next := gang("next", 2, 8, 1)
	zone := required(next, zoneLevel)
	if _, ok := f.StartRun(noon, zone, way(t, f, zone, time.Hour), 0); ok {
		t.Fatal("two pods started in zone b, which has one node")
	}
	if at, ok := f.EarliestStart(noon, zone, "V100", noon, time.Hour); !ok || at != noon.Add(time.Hour) {
		t.Errorf("EarliestStart = %v, %v; want the end of the gang in zone a", at, ok)
	}
	next.PreferredTopology = zoneLevel
	if r, ok := f.StartRun(noon, next, way(t, f, next, time.Hour), 0); !ok {
		t.Error("a topology that is only preferred kept a gang waiting")
	} else if on := gpusOf(r); on["b1"] != 8 || on["none"] != 8 {
		t.Errorf("it runs on %v; want what is free", on)
	}
}

// A fleet in a random state agrees with the definition: a gang goes into the domain with the least free GPUs
// of those that hold it, and there where F grows least over all ways to divide its pods.
func TestATopologyIsKeptAsExhaustiveSearchWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []Node
		for i := range rapid.IntRange(2, 6).Draw(t, "nodes") {
			zone, rack := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone"), rapid.SampledFrom([]string{"r1", "r2", ""}).Draw(t, "rack")
			nodes = append(nodes, inRack(string(rune('k'+i)), zone, rack))
		}
		f, err := New(Config{Nodes: nodes, Power: power.DefaultTable()})
		if err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "jobs") {
			j := job(protocol.JobID(rune('A'+i)), rapid.IntRange(1, 6).Draw(t, "gpus"))
			f.ObserveArrival(j)
			f.StartRun(noon, j, RunConfig{Run: time.Hour}, 0)
		}
		level := rapid.SampledFrom([]string{zoneLevel, "rack", protocol.HostnameLevel}).Draw(t, "level")
		g := required(gang("gang", rapid.IntRange(2, 5).Draw(t, "pods"), rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "gpus"), 1), level)
		q, ok := f.quoteGang(noon, &g, "V100", time.Hour)
		domain, cost := exhaustiveDomain(f, &g)
		if ok != (domain != "") {
			t.Fatalf("it fits: %v; by exhaustive search: domain %q", ok, domain)
		}
		if at, calendar := f.setAt(noon, &g, "V100", noon, time.Hour, nil); calendar != ok {
			t.Fatalf("by the calendar it fits now: %v, %v; by placement: %v", at, calendar, ok)
		}
		if !ok {
			return
		}
		places, _ := f.SpreadAt(noon, &g, "V100", noon, time.Hour)
		if got := f.DomainOf(&g, places); got != domain || q.DeltaF != cost {
			t.Fatalf("it goes into %q, and F grows by %d; want %q and %d", got, q.DeltaF, domain, cost)
		}
	})
}

// exhaustiveDomain returns the domain in which a gang of one component belongs, and the least growth of F there
// over all ways to divide its pods over the domain's nodes.
func exhaustiveDomain(f *Fleet, g *protocol.Job) (domain string, cost int64) {
	least := -1
	rooms, members := make(map[string]int), make(map[string][]int)
	for i := range f.nodes {
		name, ok := protocol.DomainOf(f.nodes[i].Name, f.nodes[i].Topology, g.RequiredTopology)
		if !ok {
			continue
		}
		members[name] = append(members[name], i)
		_, _, gpus, _ := f.cluster.FreeResources(i)
		for _, milli := range gpus {
			rooms[name] += int(milli)
		}
	}
	for name, nodes := range members {
		best, fits := int64(0), false
		limits := make([]fgd.NodeLimit, len(f.nodes))
		for i := range limits {
			limits[i].Node = i
		}
		var divide func(at, left int)
		divide = func(at, left int) {
			if at == len(nodes) {
				// With as many pods allowed as there are, this is the only way.
				if q := f.cluster.QuoteSets(podSets(g, "V100"), limits); left == 0 && q.Fits && (!fits || q.DeltaF < best) {
					best, fits = q.DeltaF, true
				}
				return
			}
			for k := range left + 1 {
				limits[nodes[at]].Pods = k
				divide(at+1, left-k)
			}
			limits[nodes[at]].Pods = 0
		}
		divide(0, g.Pods[0].Pods)
		if fits && (least < 0 || rooms[name] < least || rooms[name] == least && name < domain) {
			domain, cost, least = name, best, rooms[name]
		}
	}
	return domain, cost
}

func TestLabelsOfAnInventoryAreFollowed(t *testing.T) {
	f, err := New(Config{Power: power.DefaultTable()})
	if err != nil {
		t.Fatal(err)
	}
	report := []protocol.Node{machine("n1"), machine("n2"), machine("n3")}
	stands := func(racks ...string) (all []protocol.NodeTopology) {
		for i, r := range racks {
			all = append(all, protocol.NodeTopology{Node: report[i].Name, Labels: []protocol.Label{{Key: "rack", Value: r}}})
		}
		return all
	}
	g := required(gang("gang", 2, 4, 1), "rack")
	for _, c := range []struct {
		racks []string
		fits  bool
	}{{[]string{"r1", "r2", "r2"}, true}, {[]string{"r1", "r2"}, false}, {nil, false}, {[]string{"r1", "r1"}, true}} {
		f.SetTopology(stands(c.racks...))
		f.UpdateNodes(noon, report)
		if ways, _ := f.RunConfigs(g); (len(ways) > 0) != c.fits {
			t.Errorf("racks %v: fits = %v; want %v", c.racks, len(ways) > 0, c.fits)
		}
	}
	if slices.ContainsFunc(f.nodes, func(n node) bool { return n.Name == "n3" && n.Topology != nil }) {
		t.Error("n3 keeps the rack that it had")
	}
}
