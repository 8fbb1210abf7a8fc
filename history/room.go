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

// A machine is the key of a node: names are unique within a site only.
type machine struct{ site, name string }

// An edge is the instant at which a run takes a node's resources, or frees them. Of a gang, the job is
// its pods there.
type edge struct {
	at      protocol.Time
	job     protocol.Job
	devices []int
	enter   bool
}

// checkRoom replays all launches and exits in the order of their times, and checks that no
// node or device holds more than it has at any instant. A run without an exit holds its
// resources to the end. Nodes without a capacity on record are checked for devices alone.
func (b *History) checkRoom(nodes []Node) {
	known := make(map[machine]Node, len(nodes))
	for _, n := range nodes {
		known[machine{n.Site, n.Name}] = n
	}
	edges := make(map[machine][]edge)
	for id, e := range b.allEntries() {
		r := e.rec
		for _, run := range r.allRuns() {
			job := r.JobIn(run)
			b.checkPods(r.Asked(), run)
			for _, p := range run.PlacesOf() {
				m, part := machine{run.Site, p.Node}, partAt(job, p)
				node, ok := known[m]
				if nodes != nil && !ok {
					b.addProblem("no-such-node", id, m.site, "launched on %q, which the site does not have", m.name)
				}
				b.checkDevices(part, run, p, node, ok)
				enter, leave := run.Launched.At, run.Exited.At
				if leave != 0 && leave <= enter {
					continue // there is no instant at which it holds anything
				}
				edges[m] = append(edges[m], edge{enter, part, p.Devices, true})
				if leave != 0 {
					edges[m] = append(edges[m], edge{leave, part, p.Devices, false})
				}
			}
		}
	}
	// Machines go by name, so that the same record gives the same list of problems.
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

// partAt returns a job as it is at one of its places. A place of a component that it lacks has none of
// it; checkPods says so.
func partAt(j protocol.Job, p protocol.Place) protocol.Job {
	if !j.IsGang() || p.Component < 0 || p.Component >= len(j.Pods) {
		return j
	}
	return j.PodsOf(p.Component, p.Pods)
}

// checkPods checks that a gang was launched with all its pods, or as many as it may start with: half a gang
// is none.
func (b *History) checkPods(job protocol.Job, run *Run) {
	at := job.AtPlaces(run.Places)
	if n := run.pods(); job.IsElastic() && n > 0 && n != at.PodCount() {
		b.addProblem("out-of-range", job.ID, run.Site, "launched with %d pods, which are out of its range", n)
		return
	}
	pods := make([]int, len(job.Pods))
	for _, p := range run.Places {
		if p.Component < 0 || p.Component >= len(pods) || p.Pods < 1 {
			b.addProblem("half-a-gang", job.ID, run.Site, "launched %d pods of component %d on %q; it has %d components", p.Pods, p.Component, p.Node, len(pods))
			return
		}
		pods[p.Component] += p.Pods
	}
	for i, n := range pods {
		if want := at.Pods[i].Pods; n != want {
			b.addProblem("half-a-gang", job.ID, run.Site, "launched with %d of the %d pods %q", n, job.Pods[i].Pods, job.Pods[i].Role)
		}
	}
}

// pods returns how many pods a run has.
func (r *Run) pods() (n int) {
	for _, p := range r.Places {
		n += p.Pods
	}
	return n
}

// checkDevices checks that a launch got as many GPUs at a place as its job asks for there, each once,
// each on the node, and of an allowed model.
func (b *History) checkDevices(job protocol.Job, run *Run, p protocol.Place, node Node, known bool) {
	id := job.ID
	devices := slices.Clone(p.Devices)
	slices.Sort(devices)
	switch {
	case len(devices) != job.GPUs:
		b.addProblem("devices", id, run.Site, "wants %d GPUs, got devices %v", job.GPUs, p.Devices)
	case len(slices.Compact(devices)) != len(p.Devices):
		b.addProblem("devices", id, run.Site, "got a device twice: %v", p.Devices)
	case len(devices) > 0 && devices[0] < 0, known && len(devices) > 0 && devices[len(devices)-1] >= node.GPUs:
		b.addProblem("devices", id, run.Site, "got devices %v of %q, which has %d", p.Devices, p.Node, node.GPUs)
	case job.GPUs > 0 && len(job.Models) > 0 && !slices.Contains(job.Models, run.Model),
		known && job.GPUs > 0 && run.Model != node.Model:
		b.addProblem("model", id, run.Site, "runs on model %q of %q; node %q, allowed %v", run.Model, p.Node, node.Model, job.Models)
	}
}

// checkMachine adds up what runs hold on one machine after each edge, in thousandths of a core
// and of a GPU, and MiB. At one instant exits come before launches: what is freed may be taken.
// Each kind of overuse is reported once per machine.
func (b *History) checkMachine(m machine, edges []edge, node Node, known bool) {
	slices.SortStableFunc(edges, func(x, y edge) int {
		return cmp.Or(cmp.Compare(x.at, y.at), leavesFirst(x, y))
	})
	var cpu protocol.Milli
	var memory protocol.MiB
	// Keyed by device: shares of several jobs on one device add up to at most 1000.
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
			for _, d := range e.devices {
				gpu[d] -= e.job.Share
			}
			continue
		}
		cpu += e.job.CPU
		memory += e.job.Memory
		for _, d := range e.devices {
			gpu[d] += e.job.Share
			over(e, "gpu-given-twice", int64(gpu[d]), 1000)
		}
		if known {
			over(e, "cpu-given-twice", int64(cpu), int64(node.CPU))
			over(e, "memory-given-twice", int64(memory), int64(node.Memory))
		}
	}
}

// leavesFirst orders edges of one instant: exits before launches.
func leavesFirst(x, y edge) int {
	switch {
	case x.enter == y.enter:
		return 0
	case y.enter:
		return -1
	}
	return 1
}
