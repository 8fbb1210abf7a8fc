package sim

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A nodeChange is an instant at which nodes go down or come back.
type nodeChange struct {
	at    protocol.Time
	down  bool
	nodes []*simNode
	why   string // the agent shows it as the reason why a node takes no jobs
}

// ScheduleOutage schedules that nodes are down between two instants, without power: jobs that run
// there are lost, none can start, and they draw nothing. No names are all nodes of the site; a to of
// 0 is for good. Call it before the first step. A period that ends before the executor's start is
// ignored.
func (h *SimExecutor) ScheduleOutage(from, to protocol.Time, why string, names ...string) {
	if to != 0 && to <= h.at {
		return
	}
	nodes := h.inOrder
	if len(names) > 0 {
		nodes = nil
		for _, name := range names {
			if m := h.nodes[name]; m != nil {
				nodes = append(nodes, m)
			}
		}
	}
	h.changes = append(h.changes, nodeChange{at: max(from, h.at), down: true, nodes: nodes, why: why})
	if to != 0 {
		h.changes = append(h.changes, nodeChange{at: to, nodes: nodes})
	}
	// Of one instant downs go first, so that a node between two periods stays down.
	slices.SortStableFunc(h.changes, func(a, b nodeChange) int {
		switch {
		case a.at != b.at || a.down == b.down:
			return cmp.Compare(a.at, b.at)
		case a.down:
			return -1
		}
		return 1
	})
}

// nextNodeChange returns the next instant at which nodes go down or come back; 0: none.
func (h *SimExecutor) nextNodeChange() protocol.Time {
	if len(h.changes) == 0 {
		return 0
	}
	return h.changes[0].at
}

// applyNodeChanges applies what is due: it reports the jobs that are lost, and the nodes as they are
// then.
func (h *SimExecutor) applyNodeChanges(now protocol.Time) (said []protocol.Message) {
	if t := h.nextNodeChange(); t == 0 || now < t {
		return nil
	}
	for len(h.changes) > 0 && h.changes[0].at <= now {
		c := h.changes[0]
		h.changes = h.changes[1:]
		for _, m := range c.nodes {
			if !c.down {
				if m.downs--; m.downs == 0 {
					m.why = ""
					h.powerUpNode(m)
				}
				continue
			}
			if m.downs++; m.downs > 1 {
				continue
			}
			m.why = c.why
			if h.draw -= m.sleepingDraw; m.awake {
				h.setNodeAwake(m, false)
			}
		}
	}
	// A gang that loses a node is lost as a whole, unless enough of its pods are left.
	for _, j := range slices.Clone(h.jobs) {
		said = append(said, h.goOnWithFewer(now, j)...)
	}
	isLost := func(j *runningJob) bool { return slices.ContainsFunc(j.nodes, (*simNode).isDown) }
	lost := slices.DeleteFunc(slices.Clone(h.jobs), func(j *runningJob) bool { return !isLost(j) })
	h.jobs = slices.DeleteFunc(h.jobs, isLost)
	for _, j := range lost {
		why := j.nodes[slices.IndexFunc(j.nodes, (*simNode).isDown)].why
		said = append(said, h.reportInterrupted(now, j.launch.Job.ID, j.launch.Epoch, why, h.stopJob(now, j)))
		for _, m := range j.nodes {
			if m.isDown() {
				m.sleeps = 0
			}
		}
	}
	said = append(said, h.loseReplicas(now)...)
	return append(said, h.sender.NewMessage(now, h.agent, h.inventory()))
}

// inventory reports the nodes; those that are down are closed.
func (h *SimExecutor) inventory() (out protocol.Inventory) {
	for _, m := range h.inOrder {
		n := m.report
		n.Closed = m.why
		out.Nodes = append(out.Nodes, n)
		if len(m.topology) > 0 {
			out.Topology = append(out.Topology, protocol.NodeTopology{Node: n.Name, Labels: m.topology})
		}
	}
	return out
}

// reportInterrupted reports a job as interrupted because its node is down.
func (h *SimExecutor) reportInterrupted(now protocol.Time, id protocol.JobID, epoch uint64, why string, drew []protocol.HourlyEnergy) protocol.Message {
	h.epochs[id] = max(h.epochs[id], epoch)
	return h.rememberOutcome(h.sender.NewMessage(now, h.agent, protocol.Interrupted{
		Job: id, Epoch: epoch, Draw: drew, Why: protocol.Reason{Code: protocol.NodeLost, Note: why},
	}))
}
