package capacity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// UpdateNodes updates the fleet to the site's current nodes, and returns why some cannot be used,
// in their order. Jobs stay where they run: a node that is gone or has changed takes no new jobs,
// and is removed or replaced when its last job has ended.
//
// What pods of other schedulers use is subtracted from free capacity. Where they and the fleet's
// jobs together use more than the node has, nothing is free.
func (f *Fleet) UpdateNodes(now protocol.Time, nodes []protocol.Node) (unfit []protocol.Reason) {
	// Every node is leaving until the new list names it.
	index := make(map[string]int)
	for i := range f.nodes {
		if n := &f.nodes[i]; !n.removed {
			index[n.Name] = i
			n.leaving, n.replacement = true, nil
		}
	}
	var fresh []protocol.Node
	for _, p := range nodes {
		if why := f.unusableReason(p); why != "" {
			unfit = append(unfit, protocol.Reason{Code: protocol.NoSuchGPU, Note: p.Name + ": " + why})
			continue
		}
		i, known := index[p.Name]
		switch {
		case !known:
			fresh = append(fresh, p)
			index[p.Name] = -1
		case i < 0 || !f.nodes[i].leaving:
			unfit = append(unfit, protocol.Reason{Code: protocol.Duplicate, Note: p.Name + ": two nodes of one name"})
		case f.nodes[i].Node.Node != fgdNode(p):
			f.nodes[i].replacement = &p
		default:
			f.nodes[i].leaving = false
			f.applyNodeState(i, p)
		}
	}
	// A node that the list lacks leaves now, or when its last job has ended.
	for i := range f.nodes {
		f.removeIfDrained(i)
	}
	// After the removals, so that a new node can take a removed one's index.
	for _, p := range fresh {
		f.addNode(p)
	}
	f.rebuildPools()
	return unfit
}

// HasNoNodes reports whether no node is known.
func (f *Fleet) HasNoNodes() bool { return len(f.pools) == 0 }

// unusableReason returns why nothing can be placed on a node, or "".
func (f *Fleet) unusableReason(p protocol.Node) string {
	_, known := f.cfg.Power.LookupModel(p.Model)
	switch {
	case p.Name == "":
		return "no name"
	case p.GPUs < 0 || p.GPUs > fgd.MaxGPUs:
		return fmt.Sprintf("%d GPUs; want 0 to %d", p.GPUs, fgd.MaxGPUs)
	case p.GPUs > 0 && !known:
		return fmt.Sprintf("GPU model %q is not in the power table: add it there", p.Model)
	case p.CPU < 0 || p.Memory < 0 || p.GPUMemory < 0:
		return "negative CPU, memory or GPU memory"
	}
	return ""
}

// fgdNode returns a node as placement sees it.
func fgdNode(p protocol.Node) fgd.Node {
	n := fgd.Node{Name: p.Name, CPU: int64(p.CPU), Memory: int64(p.Memory), GPUs: p.GPUs, Model: p.Model, GPUMemory: int64(p.GPUMemory)}
	if n.GPUs == 0 {
		n.Model, n.GPUMemory = "", 0
	}
	return n
}

// addNode adds a node that the fleet does not have.
func (f *Fleet) addNode(p protocol.Node) {
	i, err := f.cluster.AddNode(fgdNode(p))
	if err != nil {
		return // cannot happen: unusableReason has checked it
	}
	host := power.DefaultHost(p.GPUs)
	if f.cfg.NodesSleep {
		host = power.SleepingHost(p.GPUs)
	}
	n := node{Node: Node{Node: fgdNode(p), Host: host}}
	if i == len(f.nodes) {
		f.nodes = append(f.nodes, n)
	} else {
		f.nodes[i] = n
	}
	f.applyNodeState(i, p)
}

// applyNodeState cordons or uncordons a node, says where it stands, and replaces what pods of other schedulers use of
// it.
func (f *Fleet) applyNodeState(i int, p protocol.Node) {
	n := &f.nodes[i]
	n.unschedulable, n.Topology = p.Closed != "", f.topology[p.Name]
	if n.unschedulable {
		f.dropReservations(n)
	}
	f.cluster.SetCordon(i, n.unschedulable)
	// Replace the others' use as a whole: the update states it anew.
	for _, b := range n.others {
		_ = f.cluster.ReleasePlacement(b) // cannot fail: it was taken below
	}
	n.others = n.others[:0]
	take := func(b fgd.Placement) {
		if f.cluster.TakePlacement(b) == nil {
			n.others = append(n.others, b)
		}
	}
	// Others and our jobs may together use more than the node has: take no more than is free.
	cpu, mem, gpus, _ := f.cluster.FreeResources(i)
	if r := (fgd.Request{CPU: clampToRange(int64(p.OtherCPU), cpu), Memory: clampToRange(int64(p.OtherMem), mem)}); r != (fgd.Request{}) {
		take(fgd.Placement{Node: i, Request: r})
	}
	for d := range min(n.GPUs, len(p.Others)) {
		if milli := clampToRange(int64(p.Others[d]), int64(gpus[d])); milli > 0 {
			take(fgd.Placement{Node: i, Devices: 1 << d, Request: fgd.Request{GPUs: 1, Milli: milli}})
		}
	}
}

// clampToRange returns v within [0, most].
func clampToRange(v, most int64) int64 { return max(0, min(v, most)) }

// dropReservations cancels all reservations on a node.
func (f *Fleet) dropReservations(n *node) {
	for _, k := range n.reservations {
		f.CancelReservation(k.job.ID)
	}
	f.noteChange(n)
}

// removeIfDrained removes a leaving node once nothing runs there, and adds what it became. Until
// then the node is cordoned.
func (f *Fleet) removeIfDrained(i int) {
	n := &f.nodes[i]
	if n.removed || !n.leaving {
		return
	}
	// A leaving node starts no further jobs, so its reservations are void.
	f.dropReservations(n)
	n.unschedulable = true
	f.cluster.SetCordon(i, true)
	if len(n.jobs) > 0 {
		return
	}
	f.cluster.RemoveNode(i)
	next := n.replacement
	*n = node{removed: true}
	if next != nil {
		f.addNode(*next)
	}
}

// rebuildPools computes the pools from the nodes, and drops what was computed of the former ones. Call
// it after every change of which nodes there are, or are cordoned.
func (f *Fleet) rebuildPools() {
	f.pools = f.pools[:0]
	f.noteChange(nil)
	f.domains = nil
	f.dropIndexes()
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.removed {
			continue
		}
		p, ok := slices.BinarySearchFunc(f.pools, n.Model, func(p pool, m string) int { return strings.Compare(p.model, m) })
		if !ok {
			gpu, _ := f.cfg.Power.LookupModel(n.Model)
			f.pools = slices.Insert(f.pools, p, pool{model: n.Model, gpu: gpu, choices: gpu.CapChoices()})
		}
		f.pools[p].nodes = append(f.pools[p].nodes, i)
		n.idle = n.Host.IdlePower(f.pools[p].gpu, n.GPUs)
		f.pools[p].total += protocol.Milli(n.GPUs) * 1000
	}
}

// AdoptRun records a job that already runs, as it was launched. It reports false if the job is
// recorded already, its node is unknown, or its devices are not free.
func (f *Fleet) AdoptRun(l protocol.Launch, since protocol.Time) bool {
	i := slices.IndexFunc(f.nodes, func(n node) bool { return !n.removed && n.Name == l.Node })
	switch {
	case f.running[l.Job.ID] != nil:
		return false
	case l.Job.IsGang():
		return f.adoptGang(l, since)
	}
	devices, ok := deviceSet(l.Devices)
	p := fgd.Placement{Node: i, Devices: devices, Request: fgdRequest(l.Job, l.Model)}
	if i < 0 || !ok || f.cluster.TakePlacement(p) != nil {
		return false
	}
	r := &Run{Job: l.Job, RunConfig: f.adoptedConfig(f.poolOf(f.nodes[i].Model), &l), Start: since, End: since.Add(l.Run), Node: l.Node, placement: p}
	f.running[l.Job.ID] = r
	f.recordRun(r.Start, &f.nodes[i], r)
	return true
}

// adoptedConfig returns the configuration of a launch on a pool.
func (f *Fleet) adoptedConfig(pool *pool, l *protocol.Launch) RunConfig {
	// The cap of the launch may have left the power table since; then it counts as none.
	choice := power.Choice{}
	if c, ok := pool.gpu.ChoiceAt(l.Cap); ok && l.Cap > 0 {
		choice = c
	}
	w := f.runConfigFor(pool, &l.Job, choice)
	// What was promised stays: run time and power are those of the launch.
	w.Run, w.Power = l.Run, l.Power
	return w
}

// recordRun records on its node a run, or the part of one, whose capacity is already taken in the
// cluster, and drops the reservations that it leaves no room for.
func (f *Fleet) recordRun(now protocol.Time, n *node, r *Run) {
	f.insertRun(n, r)
	f.dropInfeasible(now, r.placement.Node, "")
}

// insertRun is recordRun for a run that takes no reservation's room.
func (f *Fleet) insertRun(n *node, r *Run) {
	at, _ := slices.BinarySearchFunc(n.jobs, r, func(x, y *Run) int {
		return cmp.Or(cmp.Compare(x.End, y.End), strings.Compare(string(x.Job.ID), string(y.Job.ID)))
	})
	n.jobs = slices.Insert(n.jobs, at, r)
	f.noteChange(n)
	f.changes.appendChange(r.placement.Node)
}
