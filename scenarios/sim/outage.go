package sim

import (
	"slices"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// A powerOutage is a period in which the site has no power.
type powerOutage struct {
	from, to protocol.Time
	nodes    []protocol.Node // the site's nodes as reported with power
}

// ScheduleOutage schedules a loss of power between two instants: running jobs are lost, no
// job can start, and no node draws power. Call it before the first step, in order of
// time, for periods that do not overlap. A period that ends before the executor's
// start is ignored.
func (h *SimExecutor) ScheduleOutage(from, to protocol.Time, nodes []capacity.Node) {
	if to <= h.at {
		return
	}
	o := powerOutage{from: max(from, h.at), to: to}
	for _, n := range nodes {
		o.nodes = append(o.nodes, protocol.Node{
			Name: n.Name, Model: n.Model, GPUs: n.GPUs, CPU: protocol.Milli(n.CPU),
			Memory: protocol.MiB(n.Memory), GPUMemory: protocol.MiB(n.GPUMemory),
		})
	}
	h.outages = append(h.outages, o)
}

// nextPowerChange returns the next change of power; 0: none.
func (h *SimExecutor) nextPowerChange() protocol.Time {
	switch {
	case len(h.outages) == 0:
		return 0
	case h.dark:
		return h.outages[0].to
	}
	return h.outages[0].from
}

// applyPowerChange switches the power of the site off or on when it is due.
func (h *SimExecutor) applyPowerChange(now protocol.Time) (said []protocol.Message) {
	if t := h.nextPowerChange(); t == 0 || now < t {
		return nil
	}
	o := h.outages[0]
	nodes := slices.Clone(o.nodes)
	if h.dark {
		h.dark, h.outages = false, h.outages[1:]
	} else {
		h.dark = true
		for _, j := range h.jobs {
			said = append(said, h.reportInterrupted(now, j.launch.Job.ID, j.launch.Epoch, h.stopJob(now, j)))
		}
		h.jobs = nil
		for i := range nodes {
			// The agent shows this text as the reason why a node takes no jobs.
			nodes[i].Closed = "no power"
		}
	}
	h.draw = 0
	for _, m := range h.inOrder {
		m.awake, m.sleeps = false, 0
		if !h.dark {
			h.powerUpNode(m)
		}
	}
	return append(said, h.sender.NewMessage(now, h.agent, protocol.Inventory{Nodes: nodes}))
}

// reportInterrupted reports a job as interrupted by the outage.
func (h *SimExecutor) reportInterrupted(now protocol.Time, id protocol.JobID, epoch uint64, drew []protocol.HourlyEnergy) protocol.Message {
	h.epochs[id] = max(h.epochs[id], epoch)
	return h.rememberOutcome(h.sender.NewMessage(now, h.agent, protocol.Interrupted{
		Job: id, Epoch: epoch, Draw: drew, Why: protocol.Reason{Code: protocol.NodeLost, Note: "no power"},
	}))
}
