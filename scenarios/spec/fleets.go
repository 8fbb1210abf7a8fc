package spec

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/generate"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// targetLoad is the utilization for which an automatic fleet is sized: high enough for
// sites to compete, low enough for deferral to pay.
const targetLoad = 0.65

// buildFleets gives every site its nodes: inline ones, or a share of the node list.
func (out *Scenario) buildFleets(s scenarioSpec) error {
	var bare []int
	for i := range out.Sites {
		racks := []rackSpec(nil)
		if i < len(s.Sites) {
			racks = s.Sites[i].Fleet
		}
		if len(racks) == 0 {
			bare = append(bare, i)
			continue
		}
		for k, r := range racks {
			if err := s.checkLabels(i, k); err != nil {
				return err
			}
			out.addInlineNodes(i, k, r, s.Sites[i].Topology)
		}
	}
	if len(bare) > 0 {
		if err := out.dealNodeList(s, bare); err != nil {
			return err
		}
	}
	return out.checkNodeModels()
}

// addInlineNodes adds the nodes of one entry of an inline fleet.
// Levels are those of the site's topology, the widest first.
func (out *Scenario) addInlineNodes(site, k int, r rackSpec, levels []string) {
	var stands []protocol.Label
	for _, level := range levels {
		if value := r.Labels[level]; value != "" {
			stands = append(stands, protocol.Label{Key: level, Value: value})
		}
	}
	memory := protocol.MiB(r.GPUMemory) * 1024
	if memory == 0 {
		memory = deviceMemoryOf(r.Model)
	}
	group := cmp.Or(r.Name, fmt.Sprintf("%s-%d-%s", out.Sites[site].Name, k+1, identifierSlug(cmp.Or(r.Model, "cpu"))))
	for n := range max(r.Count, 1) {
		name := fmt.Sprintf("%s-%02d", group, n+1)
		if r.Name != "" && r.Count <= 1 {
			name = r.Name
		}
		node := Node{
			Name: name,
			CPU:  protocol.Milli(math.Round(1000 * r.CPU)), Memory: protocol.MiB(r.Memory) * 1024,
			GPUs: r.GPUs, Model: r.Model, Topology: stands,
		}
		if r.GPUs > 0 {
			node.GPUMemory = memory
		}
		out.Sites[site].Nodes = append(out.Sites[site].Nodes, node)
	}
}

// dealNodeList reads the node list, samples a part of it and distributes that to the sites
// without an inline fleet.
func (out *Scenario) dealNodeList(s scenarioSpec, sites []int) error {
	r, err := openFile(s.Nodes.File)
	if err != nil {
		return err
	}
	all, err := trace.ReadNodes(r, s.Nodes.File)
	if err != nil {
		return err
	}
	// Nodes without GPUs are left out: nodes are distributed by their GPUs.
	with := slices.DeleteFunc(slices.Clone(all), func(n trace.TraceNode) bool { return n.GPUs == 0 })
	if len(with) < len(sites) {
		return fmt.Errorf("spec: %s: %d nodes with GPUs for %d sites: want at least one each", s.Nodes.File, len(with), len(sites))
	}
	total, fast, cores := 0, 0.0, 0.0
	for _, n := range with {
		total += n.GPUs
		fast += float64(n.GPUs) * relativeSpeed(n.Model)
		cores += float64(n.CPU) / 1000
	}
	// Scale 0 means auto: the fleet for which the jobs are the target load.
	scale, how := float64(s.Nodes.Scale), "as asked for"
	if scale == 0 {
		hours := out.End.Sub(out.Start).Hours()
		scale, how = totalGPUHours(out.Jobs)/(targetLoad*hours*fast), fmt.Sprintf("for %.0f %% load", 100*targetLoad)
		if scale == 0 { // no job has GPUs
			scale, how = totalCoreHours(out.Jobs)/(targetLoad*hours*cores), fmt.Sprintf("for %.0f %% load of the cores", 100*targetLoad)
		}
		if scale > 1 {
			scale, how = 1, "all of it: the jobs want more than 65 % of it"
		}
		if larger, widest := out.scaleForGangs(with, scale, sites); larger > scale {
			scale, how = larger, fmt.Sprintf("so that sites hold a gang of %d GPUs", widest)
		}
	}
	kept := sampleNodes(with, scale, len(sites), out.Seed)
	gpus := out.distributeNodes(kept, sites)
	out.addNote("fleets: %d of %d nodes with %d of %d GPUs (scale %.4f, %s), same mix of models; %d nodes without GPUs left out",
		len(kept), len(with), gpus, total, scale, how, len(all)-len(with))
	return nil
}

// sampleNodes samples a fraction of nodes. Each kind (model and number of GPUs) keeps its
// share by largest remainder, so that the mix stays the same. It keeps at least one
// node for each site, and one of the largest nodes, because large jobs fit nowhere
// else.
func sampleNodes(nodes []trace.TraceNode, scale float64, sites int, seed uint64) []trace.TraceNode {
	nodes = slices.Clone(nodes)
	dice := generate.SeededRand(seed, "fleet")
	dice.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	slices.SortStableFunc(nodes, func(a, b trace.TraceNode) int {
		return cmp.Or(cmp.Compare(b.GPUs, a.GPUs), strings.Compare(a.Model, b.Model))
	})
	want := min(max(int(math.Round(scale*float64(len(nodes)))), sites), len(nodes))
	type kind struct {
		nodes []trace.TraceNode // shuffled
		// keep is the kind's share rounded down; rest decides which kinds get one
		// node more.
		keep  int
		rest  float64
		first bool // the kind with most GPUs a node
	}
	var kinds []kind
	left := want
	for i := 0; i < len(nodes); {
		j := i
		for j < len(nodes) && nodes[j].GPUs == nodes[i].GPUs && nodes[j].Model == nodes[i].Model {
			j++
		}
		k := kind{nodes: nodes[i:j], first: i == 0}
		exact := float64(want) * float64(j-i) / float64(len(nodes))
		k.keep = int(exact)
		k.rest = exact - float64(k.keep)
		left -= k.keep
		kinds, i = append(kinds, k), j
	}
	slices.SortStableFunc(kinds, func(a, b kind) int {
		// The largest kind comes first if rounding left it with no node.
		big := func(k kind) int {
			if k.first && k.keep == 0 {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(big(a), big(b)), cmp.Compare(b.rest, a.rest))
	})
	var kept []trace.TraceNode
	for i, k := range kinds {
		if i < left && k.keep < len(k.nodes) {
			k.keep++
		}
		kept = append(kept, k.nodes[:k.keep]...)
	}
	return kept
}

// distributeNodes gives each node, large ones first, to the site with fewest GPUs, so that sites
// end with similar numbers. It returns the number of GPUs.
func (out *Scenario) distributeNodes(kept []trace.TraceNode, sites []int) (gpus int) {
	// The seed decides which kinds a site gets; nodes of equal size are in shuffled
	// order.
	dice := generate.SeededRand(out.Seed, "deal")
	kept = slices.Clone(kept)
	slices.SortFunc(kept, func(a, b trace.TraceNode) int { return strings.Compare(a.Name, b.Name) })
	dice.Shuffle(len(kept), func(i, j int) { kept[i], kept[j] = kept[j], kept[i] })
	slices.SortStableFunc(kept, func(a, b trace.TraceNode) int { return cmp.Compare(b.GPUs, a.GPUs) })
	has := make([]int, len(sites))
	for _, n := range kept {
		to := 0
		for k := range sites {
			if has[k] < has[to] {
				to = k
			}
		}
		has[to] += n.GPUs
		gpus += n.GPUs
		site := &out.Sites[sites[to]]
		site.Nodes = append(site.Nodes, Node{
			Name: n.Name, CPU: n.CPU, Memory: n.Memory,
			GPUs: n.GPUs, Model: n.Model, GPUMemory: deviceMemoryOf(n.Model),
		})
	}
	for _, k := range sites {
		slices.SortFunc(out.Sites[k].Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	}
	return gpus
}

// checkNodeModels checks that node names are unique and GPU models known, and notes the
// models whose speed or power is an assumption.
func (out *Scenario) checkNodeModels() error {
	seen := make(map[string]string)
	var models []string
	for _, site := range out.Sites {
		for _, n := range site.Nodes {
			if other, dup := seen[n.Name]; dup {
				return fmt.Errorf("spec: duplicate node name %s, at sites %s and %s: rename one", n.Name, other, site.Name)
			}
			seen[n.Name] = site.Name
			if n.Model != "" && !slices.Contains(models, n.Model) {
				models = append(models, n.Model)
			}
		}
	}
	slices.Sort(models)
	var assumed []string
	for _, m := range models {
		g, known := power.DefaultTable().LookupModel(m)
		if !known {
			return fmt.Errorf("spec: %s", unknownModelReason(m))
		}
		if g.Assumed {
			assumed = append(assumed, m)
		}
	}
	if len(assumed) > 0 {
		out.addNote("speed or draw is assumed, not measured, of %s: package power has the sources", strings.Join(assumed, ", "))
	}
	return nil
}

// unknownModelReason returns the error text for a GPU model without power data.
func unknownModelReason(model string) string {
	return fmt.Sprintf("unknown GPU model %q (no power data): want one of %s", model, strings.Join(power.DefaultTable().ModelNames(), ", "))
}

// deviceMemoryOf returns the memory of one GPU of a model, from its vendor's data; of a
// model sold in several sizes the smallest. An unknown model has 16 GiB.
func deviceMemoryOf(model string) protocol.MiB {
	gib := map[string]protocol.MiB{
		"T4": 16, "P100": 16, "V100": 16, "V100M16": 16, "V100M32": 32,
		"A10": 24, "L4": 24, "RTX6000": 24, "A40": 48, "A100": 40, "A100-40": 40, "A100-80": 80,
		"H100": 80, "H200": 141, "B200": 180,
		"G2": 24, "G3": 40, // anonymous in the Alibaba list; like package power, treated as an A10 and an A100
	}[model]
	return cmp.Or(gib, 16) * 1024
}
