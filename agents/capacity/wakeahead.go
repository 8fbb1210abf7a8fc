package capacity

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/protocol"
)

// An urgentStart is the start of a job that cannot wait and takes a part of a node.
type urgentStart struct {
	at    protocol.Time
	model string
	gpus  protocol.Milli
}

const (
	// wakeAheadStarts is how many starts within the time of waking are a burst (decision 0448).
	wakeAheadStarts = 4
	// wakeAheadTimes is for how many times the GPUs of a burst room is kept (decision 0448).
	wakeAheadTimes = 2
)

// WakeAhead returns the nodes that are to be awake for jobs to come with a run that has just started, and
// counts them as awake from now, or the end of their waking, until they have lingered: those that
// wakeForBurst wakes, and those that keepRoomAwake keeps.
func (f *Fleet) WakeAhead(now protocol.Time, r *Run) []string {
	if !f.cfg.WakesAhead {
		return nil
	}
	names := f.wakeForBurst(now, r)
	for _, name := range f.keepRoomAwake(now, r) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// wakeForBurst wakes nodes for jobs that cannot wait, which come in bursts. If several started on a GPU
// model within the time that a node takes to wake, and its nodes that are awake or waking have no room for
// twice as many, further nodes are woken until they have: those of the headroom first, which jobs that can
// wait leave alone. A job that takes a whole node or several does not count: it wakes its own.
func (f *Fleet) wakeForBurst(now protocol.Time, r *Run) (names []string) {
	if r.Job.MayWait() || r.Job.GPUs == 0 || r.Job.IsGang() {
		return nil
	}
	on := &f.nodes[r.placement.Node]
	if on.Host.WakeTime == 0 {
		return nil
	}
	f.urgent = slices.DeleteFunc(f.urgent, func(u urgentStart) bool { return u.at.Add(on.Host.WakeTime) < now })
	if r.Job.TotalGPUMilli() < protocol.Milli(on.GPUs)*1000 {
		f.urgent = append(f.urgent, urgentStart{now, on.Model, r.Job.TotalGPUMilli()})
	}
	p, starts, need := f.poolOf(on.Model), 0, protocol.Milli(0)
	for _, u := range f.urgent {
		if u.model == on.Model {
			starts, need = starts+1, need+wakeAheadTimes*u.gpus
		}
	}
	if starts < wakeAheadStarts {
		return nil
	}
	f.headroomNodes()
	var asleep []int
	free := protocol.Milli(0)
	for _, i := range p.nodes {
		switch n := &f.nodes[i]; {
		case n.removed || n.unschedulable:
		case n.awakeUntil(now) != 0:
			free += n.freeGPUs()
		case len(n.reservations) == 0:
			asleep = append(asleep, i)
		}
	}
	slices.SortStableFunc(asleep, func(x, y int) int { return compareFirst(f.nodes[x].isHeadroom, f.nodes[y].isHeadroom) })
	for _, i := range asleep {
		if free >= need {
			break
		}
		n := &f.nodes[i]
		n.wakesAt = now.Add(n.Host.WakeTime)
		n.emptySince = n.wakesAt
		f.ahead = n.awakeUntil(now)
		f.noteChange(n)
		free += n.freeGPUs()
		names = append(names, n.Name)
	}
	return names
}

// compareFirst orders those that are first before others.
func compareFirst(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return -1
	}
	return 1
}

// freeGPUs returns the GPUs of n that neither jobs nor pods of other schedulers use, in thousandths.
func (n *node) freeGPUs() protocol.Milli {
	free := protocol.Milli(n.GPUs) * 1000
	for _, b := range n.others {
		free -= protocol.Milli(b.Request.TotalMilli())
	}
	for _, r := range n.jobs {
		free -= r.Job.TotalGPUMilli()
	}
	return free
}

// tryAwakeHeadroom calls try with nodes to skip, so that a job which cannot wait goes to a node that is
// awake, and else to one that wakes, before it wakes another: outside of the headroom if there is room, and
// else in it. It does so while nodes that were woken ahead may still be empty.
func (f *Fleet) tryAwakeHeadroom(x *nodeIndex, now protocol.Time, j *protocol.Job, run time.Duration, own int, try func(skip fgd.NodeSet) bool) bool {
	if now >= f.ahead {
		return false
	}
	for _, tooLate := range []func(*node) bool{
		func(n *node) bool { return n.wakeTime(now) > 0 },
		func(n *node) bool { return n.awakeUntil(now) == 0 },
	} {
		for _, aside := range []bool{true, false} {
			skip, _ := f.nodesWithoutRoom(nil, x, now, j, run, nil, own, aside)
			open := false
			for k, i := range x.nodes {
				switch {
				case x.ready[k] != readyNow || skip.Has(int(i)):
				case tooLate(&f.nodes[i]):
					skip = skip.Add(int(i))
				default:
					open = true
				}
			}
			if !open {
				continue
			}
			if leave := f.nodesToLeaveAsleep(nil, x, now, j, run, skip); len(leave) > 0 && try(leave) || try(skip) {
				return true
			}
		}
	}
	return false
}
