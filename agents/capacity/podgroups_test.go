package capacity

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// A gang whose pods go in groups of so many in a rack, and these in groups of so many on a node, finds a place
// exactly if trying every node for every group finds one, and its places are whole groups.
func TestGroupsOfPodsArePlacedAsExhaustiveSearchWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []Node
		for i := range rapid.IntRange(2, 5).Draw(t, "nodes") {
			nodes = append(nodes, inRack(string(rune('k'+i)), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone"), rapid.SampledFrom([]string{"r1", "r2", ""}).Draw(t, "rack")))
		}
		f, err := New(Config{Nodes: nodes, Power: power.DefaultTable()})
		if err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(0, 6).Draw(t, "jobs") {
			j := job(protocol.JobID(rune('A'+i)), rapid.IntRange(1, 6).Draw(t, "gpus"))
			f.ObserveArrival(j)
			f.StartRun(noon, j, RunConfig{Run: time.Hour}, 0)
		}
		onNode, perRack, racks := rapid.IntRange(1, 3).Draw(t, "on a node"), rapid.IntRange(1, 2).Draw(t, "of these in a rack"), rapid.IntRange(1, 3).Draw(t, "racks")
		pods := onNode * perRack * racks
		if pods < 2 {
			return
		}
		g := gang("gang", pods, rapid.SampledFrom([]int{1, 2, 3}).Draw(t, "gpus"), 1)
		g.Groups = []protocol.PodGroup{{Level: "rack", Pods: onNode * perRack}, {Level: protocol.HostnameLevel, Pods: onNode}}
		_, ok := f.quoteGang(noon, &g, "V100", time.Hour)
		if want := groupsFit(f, &g, onNode, perRack, racks); ok != want {
			t.Fatalf("%d racks of %d nodes of %d pods of %d GPUs fit: %v; by exhaustive search: %v", racks, perRack, onNode, g.Pods[0].GPUs, ok, want)
		}
		if !ok {
			return
		}
		r, started := f.StartRun(noon, g, RunConfig{Model: "V100", Run: time.Hour}, 0)
		if !started {
			t.Fatal("it was quoted, and does not start")
		}
		inRacks := make(map[string]int)
		var rackOf, nodeOf []string // by pod
		for _, p := range f.PlacesByDomain(&g, r.Places()) {
			domain := ""
			for i := range f.nodes {
				if f.nodes[i].Name == p.Node {
					domain, _ = protocol.DomainOf(p.Node, f.nodes[i].Topology, "rack")
				}
			}
			if inRacks[domain] += p.Pods; p.Pods%onNode != 0 {
				t.Fatalf("%d pods on %s, in groups of %d", p.Pods, p.Node, onNode)
			}
			for range p.Pods {
				rackOf, nodeOf = append(rackOf, domain), append(nodeOf, p.Node)
			}
		}
		for i := range rackOf {
			if first := i - i%(onNode*perRack); rackOf[i] != rackOf[first] {
				t.Fatalf("pods %d and %d of a group of %d are in racks %q and %q", first, i, onNode*perRack, rackOf[first], rackOf[i])
			}
			if first := i - i%onNode; nodeOf[i] != nodeOf[first] {
				t.Fatalf("pods %d and %d of a group of %d are on %q and %q", first, i, onNode, nodeOf[first], nodeOf[i])
			}
		}
		for domain, n := range inRacks {
			if domain == "" || n%(onNode*perRack) != 0 {
				t.Fatalf("%d pods in rack %q, in groups of %d", n, domain, onNode*perRack)
			}
		}
	})
}

// Nodes of two racks by turns: pods 0 and 1 go to one rack, and 2 and 3 to the other.
func TestPodsOfAGroupAreCountedTogether(t *testing.T) {
	var nodes []Node
	for i, rack := range []string{"r2", "r1", "r2", "r1"} {
		nodes = append(nodes, inRack(string(rune('k'+i)), "a", rack))
	}
	f, err := New(Config{Nodes: nodes, Power: power.DefaultTable()})
	if err != nil {
		t.Fatal(err)
	}
	g := gang("gang", 4, nodes[0].GPUs, 1)
	g.Groups = []protocol.PodGroup{{Level: "rack", Pods: 2}}
	r, ok := f.StartRun(noon, g, RunConfig{Model: "V100", Run: time.Hour}, 0)
	if !ok {
		t.Fatal("it does not start")
	}
	var on string
	for _, p := range f.PlacesByDomain(&g, r.Places()) {
		on += p.Node
	}
	if on != "lnkm" {
		t.Errorf("its pods are on %s, in their order; want on lnkm", on)
	}
}

// groupsFit reports whether some choice of a node for each group on a node makes whole groups in racks.
func groupsFit(f *Fleet, g *protocol.Job, onNode, perRack, racks int) bool {
	free := make([]int, len(f.nodes))
	for i := range f.nodes {
		_, _, gpus, _ := f.cluster.FreeResources(i)
		for _, milli := range gpus {
			if milli == 1000 {
				free[i]++
			}
		}
	}
	var choose func(group, inRack int, rack string) bool
	choose = func(group, inRack int, rack string) bool {
		if inRack == perRack {
			group, inRack, rack = group+1, 0, ""
		}
		if group == racks {
			return true
		}
		for i := range f.nodes {
			domain, ok := protocol.DomainOf(f.nodes[i].Name, f.nodes[i].Topology, "rack")
			if !ok || rack != "" && domain != rack || free[i] < onNode*g.Pods[0].GPUs {
				continue
			}
			free[i] -= onNode * g.Pods[0].GPUs
			found := choose(group, inRack+1, domain)
			free[i] += onNode * g.Pods[0].GPUs
			if found {
				return true
			}
		}
		return false
	}
	return choose(0, 0, "")
}
