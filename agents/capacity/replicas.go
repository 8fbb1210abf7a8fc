package capacity

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// replicaRun is for how long a replica holds its node by the calendar: it has no planned end. No job
// is planned into its place, whatever the horizon.
const replicaRun = 10 * 365 * 24 * time.Hour

// A ReplicaQuote is where the next replica would go.
type ReplicaQuote struct {
	Model      string              // of its GPUs
	Power      protocol.Milliwatts // that it adds, without the facility's overhead
	WakesDrawn protocol.Milliwatts // idle draw of the node, if the replica wakes it
}

// StartReplica places a replica of a service and holds its capacity until EndRun. False if no node has
// room for it beside the jobs that run and those that wait with a reservation: a replica takes no
// reservation away.
func (f *Fleet) StartReplica(now protocol.Time, j protocol.Job) (*Run, bool) {
	if f.running[j.ID] != nil {
		return nil, false
	}
	r, ok := f.placeReplica(now, &j)
	if !ok {
		return nil, false
	}
	n := &f.nodes[r.placement.Node]
	n.wakesAt = max(n.wakesAt, r.Start)
	f.running[j.ID] = r
	f.recordRun(now, n, r)
	return r, true
}

// placeReplica takes the capacity of a replica in the cluster, and records nothing else.
func (f *Fleet) placeReplica(now protocol.Time, j *protocol.Job) (*Run, bool) {
	x := f.indexFor(j, "")
	// Large nodes that are kept for jobs which cannot wait are open to replicas, which cannot either.
	f.headroomNodes()
	skip, open := f.nodesWithoutRoom(nil, x, now, j, replicaRun, nil, -1, false)
	if !open {
		return nil, false
	}
	request := fgdRequest(*j, "")
	var p fgd.Placement
	ok := false
	if asleep := f.nodesToLeaveAsleep(nil, x, now, j, replicaRun, skip); len(asleep) > 0 {
		p, ok = f.cluster.PlaceExcept(request, asleep)
	}
	if !ok {
		if p, ok = f.cluster.PlaceExcept(request, skip); !ok {
			return nil, false
		}
	}
	n := &f.nodes[p.Node]
	r := &Run{Job: *j, RunConfig: f.runConfigFor(f.poolOf(n.Model), j, power.Choice{}), Start: now.Add(n.wakeTime(now)), Node: n.Name, placement: p, isReplica: true}
	r.End = r.Start.Add(replicaRun)
	return r, true
}

// QuoteReplicas returns where further replicas would go, one after the other, at most so many: as many
// quotes as replicas fit now. It changes nothing.
func (f *Fleet) QuoteReplicas(now protocol.Time, j protocol.Job, most int) (quotes []ReplicaQuote) {
	type trial struct {
		run                 *Run
		emptySince, wakesAt protocol.Time
	}
	var trials []trial
	for len(quotes) < most {
		r, ok := f.placeReplica(now, &j)
		if !ok {
			break
		}
		n := &f.nodes[r.placement.Node]
		q := ReplicaQuote{Model: r.RunConfig.Model, Power: r.RunConfig.Power}
		if n.awakeUntil(now) == 0 {
			q.WakesDrawn = n.sleepPower()
		}
		quotes, trials = append(quotes, q), append(trials, trial{r, n.emptySince, n.wakesAt})
		n.wakesAt = max(n.wakesAt, r.Start)
		f.recordRun(now, n, r)
	}
	for _, t := range slices.Backward(trials) {
		n := &f.nodes[t.run.placement.Node]
		f.noteChange(n)
		n.jobs = slices.DeleteFunc(n.jobs, func(x *Run) bool { return x == t.run })
		n.emptySince, n.wakesAt = t.emptySince, t.wakesAt
		_ = f.cluster.ReleasePlacement(t.run.placement) // cannot fail: it was taken above
		f.changes.appendChange(t.run.placement.Node)
	}
	return quotes
}

// AdoptReplica records a replica that was placed before, where it is. It reports false if its node is
// unknown or lacks the room.
func (f *Fleet) AdoptReplica(now protocol.Time, j protocol.Job, p protocol.Replica) bool {
	ok := f.AdoptRun(protocol.Launch{Job: j, Node: p.Node, Devices: p.Devices, Model: p.Model, Run: replicaRun, Power: p.Power}, now)
	if ok {
		f.running[j.ID].isReplica = true
		f.dropIndexes() // what they say of its node takes it for a job
	}
	return ok
}

// JobsGPUs returns how many GPUs of a model jobs hold now or have reserved, in thousandths.
func (f *Fleet) JobsGPUs(model string) (all protocol.Milli) {
	for _, i := range f.poolOf(model).nodes {
		n := &f.nodes[i]
		for _, r := range n.jobs {
			if !r.isReplica {
				all += r.Job.TotalGPUMilli()
			}
		}
		for k := range n.reservations {
			all += n.reservations[k].job.TotalGPUMilli()
		}
	}
	return all
}

// Version counts the changes of runs, reservations and nodes: between two equal ones no capacity came
// or went.
func (f *Fleet) Version() int { return f.version }
