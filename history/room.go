package history

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A Node is what one machine of a site can give.
type Node struct {
	Site, Name string
	CPU        protocol.Milli
	Memory     protocol.MiB
	GPUs       int
	Model      string // of its GPUs; "" without
}

type machine struct{ site, name string }

// An edge is a job coming to a machine, or leaving it.
type edge struct {
	at    protocol.Time
	job   protocol.Job
	run   *Run
	enter bool
}

// checkRoom replays every launch and exit, and looks at each instant between.
func (b *History) checkRoom(nodes []Node) {
	known := make(map[machine]Node, len(nodes))
	for _, n := range nodes {
		known[machine{n.Site, n.Name}] = n
	}
	edges := make(map[machine][]edge)
	for id, e := range b.allEntries() {
		r := e.rec
		for _, run := range r.allRuns() {
			m := machine{run.Site, run.Node}
			node, ok := known[m]
			if nodes != nil && !ok {
				b.addProblem("no-such-node", id, m.site, "launched on %q, which the site does not have", m.name)
			}
			b.checkDevices(r.Job, run, node, ok)
			enter, leave := run.Launched.At, run.Exited.At
			if leave != 0 && leave <= enter {
				continue // there is no instant at which it holds anything
			}
			edges[m] = append(edges[m], edge{enter, r.Job, run, true})
			if leave != 0 {
				edges[m] = append(edges[m], edge{leave, r.Job, run, false})
			}
		}
	}
	for _, m := range slices.SortedFunc(maps.Keys(edges), func(x, y machine) int {
		return cmp.Or(cmp.Compare(x.site, y.site), cmp.Compare(x.name, y.name))
	}) {
		node, ok := known[m]
		b.checkMachine(m, edges[m], node, ok)
	}
}

// allRuns returns every run of a job, lost ones first.
func (r JobRecord) allRuns() (all []*Run) {
	for i := range r.Lost {
		all = append(all, &r.Lost[i])
	}
	for i := range r.Parts {
		all = append(all, &r.Parts[i])
	}
	if r.Run != nil {
		all = append(all, r.Run)
	}
	return all
}

// checkDevices holds a launch to what its job asked for.
func (b *History) checkDevices(job protocol.Job, run *Run, node Node, known bool) {
	id := job.ID
	devices := slices.Clone(run.Devices)
	slices.Sort(devices)
	switch {
	case len(devices) != job.GPUs:
		b.addProblem("devices", id, run.Site, "wants %d GPUs, got devices %v", job.GPUs, run.Devices)
	case len(slices.Compact(devices)) != len(run.Devices):
		b.addProblem("devices", id, run.Site, "got a device twice: %v", run.Devices)
	case len(devices) > 0 && devices[0] < 0, known && len(devices) > 0 && devices[len(devices)-1] >= node.GPUs:
		b.addProblem("devices", id, run.Site, "got devices %v of %q, which has %d", run.Devices, run.Node, node.GPUs)
	case job.GPUs > 0 && len(job.Models) > 0 && !slices.Contains(job.Models, run.Model),
		known && job.GPUs > 0 && run.Model != node.Model:
		b.addProblem("model", id, run.Site, "runs on model %q of %q; node %q, allowed %v", run.Model, run.Node, node.Model, job.Models)
	}
}

// checkMachine goes through a machine's life. At one instant, what leaves makes room
// for what comes. Each kind of room is reported once for a machine.
func (b *History) checkMachine(m machine, edges []edge, node Node, known bool) {
	slices.SortStableFunc(edges, func(x, y edge) int {
		return cmp.Or(cmp.Compare(x.at, y.at), leavesFirst(x, y))
	})
	var cpu protocol.Milli
	var memory protocol.MiB
	gpu := make(map[int]protocol.Milli)
	said := make(map[string]bool)
	over := func(e edge, code string, used, have int64) {
		if used > have && !said[code] {
			said[code] = true
			b.addProblem(code, e.job.ID, m.site, "at %v node %q gives %d of %d", e.at, m.name, used, have)
		}
	}
	for _, e := range edges {
		if !e.enter {
			cpu -= e.job.CPU
			memory -= e.job.Memory
			for _, d := range e.run.Devices {
				gpu[d] -= e.job.Share
			}
			continue
		}
		cpu += e.job.CPU
		memory += e.job.Memory
		for _, d := range e.run.Devices {
			gpu[d] += e.job.Share
			over(e, "gpu-given-twice", int64(gpu[d]), 1000)
		}
		if known {
			over(e, "cpu-given-twice", int64(cpu), int64(node.CPU))
			over(e, "memory-given-twice", int64(memory), int64(node.Memory))
		}
	}
}

func leavesFirst(x, y edge) int {
	switch {
	case x.enter == y.enter:
		return 0
	case y.enter:
		return -1
	}
	return 1
}
