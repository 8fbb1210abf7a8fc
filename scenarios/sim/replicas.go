package sim

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A simReplica is a replica of a service on its node. What it draws counts as the site's draw beside jobs:
// replicas have no bills.
type simReplica struct {
	service protocol.ServiceID
	spec    protocol.Service
	replica protocol.Replica
	node    *simNode
	start   protocol.Time // when its node is awake: from then on it draws
	ready   protocol.Time // when it has started, and serves
	draws   bool
	runs    bool
}

// runReplicas starts and stops replicas of a service, so that those of the list run and no others. An
// older list than one that was read changes nothing.
func (h *SimExecutor) runReplicas(now protocol.Time, b protocol.RunReplicas) []protocol.Message {
	id := b.Service.ID
	if b.Revision < h.orders[id] {
		return nil
	}
	h.meterUntil(now)
	h.orders[id] = b.Revision
	var lost []int
	h.replicas = slices.DeleteFunc(h.replicas, func(r *simReplica) bool {
		gone := r.service == id && !slices.ContainsFunc(b.Replicas, func(want protocol.Replica) bool { return want.Number == r.replica.Number })
		if gone {
			h.stopReplica(now, r)
		}
		return gone
	})
	for _, want := range b.Replicas {
		n := h.nodes[want.Node]
		switch {
		case n == nil || n.isDown():
			lost = append(lost, want.Number)
		case !slices.ContainsFunc(h.replicas, func(r *simReplica) bool { return r.service == id && r.replica.Number == want.Number }):
			start := max(now, h.occupyNode(now, n))
			h.replicas = append(h.replicas, &simReplica{service: id, spec: b.Service, replica: want, node: n, start: start, ready: start.Add(b.Service.VariantOn(want.Model).Start)})
		}
	}
	slices.SortFunc(h.replicas, func(x, y *simReplica) int {
		return cmp.Or(cmp.Compare(x.service, y.service), cmp.Compare(x.replica.Number, y.replica.Number))
	})
	h.startReplicas(now)
	return []protocol.Message{h.reportReplicas(now, id, lost)}
}

// A HeldReplica is a replica that the executor holds.
type HeldReplica struct {
	Service protocol.Service
	Replica protocol.Replica
	Runs    bool // it has started
}

// HeldReplicas returns the replicas of services, by service and number.
func (h *SimExecutor) HeldReplicas() (all []HeldReplica) {
	for _, r := range h.replicas {
		all = append(all, HeldReplica{r.spec, r.replica, r.runs})
	}
	return all
}

// startReplicas has those draw whose nodes are awake, and starts those that have loaded their model. It
// returns of which services it started some.
func (h *SimExecutor) startReplicas(now protocol.Time) (started []protocol.ServiceID) {
	for _, r := range h.replicas {
		if !r.draws && r.start <= now {
			r.draws = true
			h.draw += r.replica.Power
		}
		if !r.runs && r.ready <= now {
			r.runs = true
			started = append(started, r.service)
		}
	}
	return slices.Compact(started)
}

// beginReplicas starts replicas, and reports those that began to serve.
func (h *SimExecutor) beginReplicas(now protocol.Time) (said []protocol.Message) {
	for _, id := range h.startReplicas(now) {
		said = append(said, h.reportReplicas(now, id, nil))
	}
	return said
}

// stopReplica takes a replica from its node.
func (h *SimExecutor) stopReplica(now protocol.Time, r *simReplica) {
	if r.draws {
		h.draw -= r.replica.Power
	}
	r.node.release(now)
}

// loseReplicas reports the replicas on nodes that are down.
func (h *SimExecutor) loseReplicas(now protocol.Time) (said []protocol.Message) {
	lost := make(map[protocol.ServiceID][]int)
	var services []protocol.ServiceID
	h.replicas = slices.DeleteFunc(h.replicas, func(r *simReplica) bool {
		if !r.node.isDown() {
			return false
		}
		h.stopReplica(now, r)
		r.node.sleeps = 0
		if lost[r.service] == nil {
			services = append(services, r.service)
		}
		lost[r.service] = append(lost[r.service], r.replica.Number)
		return true
	})
	for _, id := range services {
		said = append(said, h.reportReplicas(now, id, lost[id]))
	}
	return said
}

// reportReplicas reports which replicas of a service run.
func (h *SimExecutor) reportReplicas(now protocol.Time, id protocol.ServiceID, lost []int) protocol.Message {
	b := protocol.ReplicasRunning{Service: id, Revision: h.orders[id], Lost: lost}
	for _, r := range h.replicas {
		if r.service == id && r.runs {
			b.Running = append(b.Running, r.replica.Number)
		}
	}
	return h.sender.NewMessage(now, h.agent, b)
}
