package capacity

import (
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/protocol"
)

// A shape is what a node must have for a job. Jobs of one shape find capacity on the same nodes at
// the same times, reservations aside.
type shape struct {
	cpu       protocol.Milli
	memory    protocol.MiB
	gpus      int
	share     protocol.Milli
	gpuMemory protocol.MiB
	model     string // "": any that the job allows
}

// A nodeIndex lists the nodes that could run jobs of one shape if they were empty, and when each
// has capacity for one. Reservations are left out: they are few, and the nodes that have some are
// looked at one by one. An index is kept from call to call; at each use the nodes that changed
// since are computed anew, so that a call costs what changed and not what there is.
type nodeIndex struct {
	shape  shape
	models []string        // that the jobs allow, if shape.model is ""; empty: any
	next   *nodeIndex      // of the same shape, for other models
	nodes  []int32         // ascending
	ready  []protocol.Time // by position in nodes: see readyTime
	read   int             // the changes before this one are in ready; -1: none
	skips  skipSets        // of the last search for a job without a reservation
}

const (
	readyNow   protocol.Time = math.MinInt64 // has capacity already
	readyNever protocol.Time = math.MaxInt64 // pods of other schedulers hold it, and their end is not known
)

// A changeLog lists the nodes on which runs began or ended, in order. It forgets the oldest; an
// index that has not read these is computed as a whole.
type changeLog struct {
	first int // number of nodes[0] since the start
	nodes []int32
}

// maxChanges bounds the memory of a changeLog.
const maxChanges = 4096

// appendChange records that runs of a node changed.
func (l *changeLog) appendChange(node int) {
	if len(l.nodes) == maxChanges {
		l.first += len(l.nodes)
		l.nodes = l.nodes[:0]
	}
	l.nodes = append(l.nodes, int32(node))
}

// end returns the number of the next change.
func (l *changeLog) end() int { return l.first + len(l.nodes) }

// maxIndexed bounds the memory of all indexes of a fleet, in nodes: about 8 MB. Beyond it all are
// dropped, and those in use are made again.
const maxIndexed = 1 << 19

// indexFor returns the current index for a job on a model, or on any that it allows. It does not
// ask whether the job allows the model: see allowsModel.
func (f *Fleet) indexFor(j *protocol.Job, model string) *nodeIndex {
	key, models := shape{j.CPU, j.Memory, j.GPUs, j.Share, j.GPUMemory, model}, j.Models
	if j.GPUs == 0 {
		key.model = "" // it runs on any node
	}
	if j.GPUs == 0 || model != "" {
		models = nil
	}
	x := f.indexes[key]
	for x != nil && !slices.Equal(x.models, models) {
		x = x.next
	}
	if x == nil {
		x = f.newIndex(key, models)
	}
	f.refreshIndex(x)
	return x
}

// newIndex returns an index in which no time is computed yet.
func (f *Fleet) newIndex(key shape, models []string) *nodeIndex {
	if f.indexes == nil || f.indexed > maxIndexed {
		f.indexes, f.indexed = make(map[shape]*nodeIndex), 0
	}
	x := &nodeIndex{shape: key, models: slices.Clone(models), next: f.indexes[key], read: -1}
	j := protocol.Job{CPU: key.cpu, Memory: key.memory, GPUs: key.gpus, Share: key.share, GPUMemory: key.gpuMemory, Models: models}
	for i := range f.nodes {
		if n := &f.nodes[i]; !n.removed && !n.unschedulable && n.canServe(&j, key.model) {
			x.nodes = append(x.nodes, int32(i))
		}
	}
	x.ready = make([]protocol.Time, len(x.nodes))
	f.indexes[key] = x
	f.indexed += len(x.nodes) + 16 // an index without nodes takes memory, too
	return x
}

// dropIndexes drops all indexes: nodes came, went or are cordoned.
func (f *Fleet) dropIndexes() { f.indexes, f.indexed = nil, 0 }

// refreshIndex computes the times of the nodes that changed since the last use of x.
func (f *Fleet) refreshIndex(x *nodeIndex) {
	end := f.changes.end()
	switch {
	case x.read == end:
		return
	case x.read < f.changes.first || end-x.read > len(x.nodes):
		for k, i := range x.nodes {
			x.ready[k] = f.readyTime(int(i), &x.shape)
		}
	default:
		for _, i := range f.changes.nodes[x.read-f.changes.first:] {
			if k, ok := slices.BinarySearch(x.nodes, i); ok {
				x.ready[k] = f.readyTime(int(i), &x.shape)
			}
		}
	}
	x.read = end
}

// readyTime returns when node i has capacity for a job of a shape beside the runs that are there,
// reservations aside: readyNow, or the planned end of the run that must end first, or readyNever.
// From then on it has capacity for good, because only reservations take some later.
func (f *Fleet) readyTime(i int, s *shape) protocol.Time {
	cpu, mem, gpus, _ := f.cluster.FreeResources(i)
	n := &f.nodes[i]
	var held [fgd.MaxGPUs]int64
	if n.GPUMemory > 0 && s.gpuMemory > 0 {
		held = n.heldGPUMemory()
	}
	fits := func() bool {
		if cpu < int64(s.cpu) || mem < int64(s.memory) {
			return false
		}
		room := 0
		for d := range n.GPUs {
			if int64(gpus[d]) >= int64(s.share) && (n.GPUMemory == 0 || held[d]+int64(s.gpuMemory) <= n.GPUMemory) {
				room++
			}
		}
		return room >= s.gpus
	}
	if fits() {
		return readyNow
	}
	for _, r := range n.jobs { // by planned end
		cpu += r.placement.Request.CPU
		mem += r.placement.Request.Memory
		for d := range n.GPUs {
			if r.placement.Devices.Has(d) {
				gpus[d] += int16(r.placement.Request.Milli)
				held[d] -= r.placement.Request.GPUMemory
			}
		}
		if r.isReplica {
			break // so are the rest
		}
		if fits() {
			return r.End
		}
	}
	return readyNever
}

// startAt returns the first start, at or after from, for which the node at position k has
// capacity, reservations aside. A run past its planned end is expected to end within a second.
func (x *nodeIndex) startAt(k int, now, from protocol.Time) protocol.Time {
	if ready := x.ready[k]; ready != readyNow {
		return max(from, ready, now.Add(time.Second))
	}
	return from
}

// allowsModel reports whether a job may run on a model; "" stands for any that it allows.
func allowsModel(j *protocol.Job, model string) bool {
	return j.GPUs == 0 || model == "" || len(j.Models) == 0 || slices.Contains(j.Models, model)
}

// AlwaysOpenFrom returns a time from which on a job finds capacity at any start on a model, because
// a node without reservations is free for good then; the end of time if there is no such node. A
// start before it must be looked for by EarliestStart.
func (f *Fleet) AlwaysOpenFrom(now protocol.Time, j *protocol.Job, model string, run time.Duration) (from protocol.Time) {
	if j.IsGang() {
		return f.setOpenFrom(now, j, model, run)
	}
	if !allowsModel(j, model) {
		return readyNever
	}
	f.headroomNodes()
	from, closed := readyNever, protocol.Time(0)
	if canWait(*j) {
		closed = LatestStart(*j, run) // until then to the headroom
	}
	x := f.indexFor(j, model)
	for k, i := range x.nodes {
		t := x.startAt(k, now, now)
		if t >= from {
			continue
		}
		if n := &f.nodes[i]; len(n.reservations) == 0 {
			if n.isHeadroom {
				t = max(t, closed)
			}
			from = min(from, t)
		}
	}
	return from
}
