package executor

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// A replica of a service is a run whose object is a Deployment or a StatefulSet of one pod, or a
// LeaderWorkerSet of one group: each has a node and devices of its own, which no template for several
// replicas could say. Its controller makes a pod anew when it ends, or the whole group, and the new pods are
// bound where the old ones were. What a run is to a job, RunReplicas and ReplicasRunning say for all replicas
// of a service at once.

// replicaEpoch is the epoch of every replica's run: their numbers are never reused.
const replicaEpoch = 1

// A heldService is a service of which replicas run here.
type heldService struct {
	revision uint64         // of the newest RunReplicas
	numbers  map[string]int // of the replicas of its list, by run name
	lost     map[string]bool
	failures int // replicas that could not run, since one did
}

// service returns the service of which a run is a replica; "" of a job's.
func (r *run) service() protocol.ServiceID { return protocol.ServiceOfReplica(r.launch.Job.ID) }

// isReplica reports whether a run is a replica of a service.
func (r *run) isReplica() bool { return r.service() != "" }

// runReplicas starts and stops replicas of a service, so that those of the list run and no others. An
// older list than one that was read changes nothing; the same once more is answered.
func (h *KubeExecutor) runReplicas(b protocol.RunReplicas) {
	id := b.Service.ID
	h.mu.Lock()
	s := h.services[id]
	if s == nil {
		s = &heldService{}
		h.services[id] = s
	}
	if b.Revision < s.revision {
		h.mu.Unlock()
		return
	}
	before := s.lost
	s.revision, s.numbers, s.lost = b.Revision, make(map[string]int, len(b.Replicas)), make(map[string]bool)
	for _, want := range b.Replicas {
		l := launchOfReplica(&b.Service, want)
		name := kube.RunName(l.Job.ID, l.Epoch)
		s.numbers[name] = want.Number
		switch r := h.runs[name]; {
		case before[name]:
			s.lost[name] = true
		case r == nil:
			h.runs[name] = &run{name: name, launch: l}
			h.queue.Add(name)
		case r.launch.Node != want.Node || !slices.Equal(r.launch.Devices, want.Devices) || r.terminating.Load() != nil: // the agent has lost its log, and counts anew
			s.lost[name] = true
			h.endReplica(r)
		}
	}
	for name, r := range h.runs {
		if _, wanted := s.numbers[name]; r.service() == id && !wanted {
			h.endReplica(r)
		}
	}
	h.mu.Unlock()
	h.reportReplicas(id)
}

// endReplica terminates a replica that is not to run any more. The caller holds h.mu.
func (h *KubeExecutor) endReplica(r *run) {
	r.cancelled.Store(true)
	h.terminateRun(r, protocol.Cancelled, "")
	h.queue.Add(r.name)
}

// launchOfReplica returns a replica as the launch of a job that never ends by plan.
func launchOfReplica(s *protocol.Service, want protocol.Replica) protocol.Launch {
	j := s.Replica()
	j.ID = protocol.ReplicaName(s.ID, want.Number)
	return protocol.Launch{Job: j, Epoch: replicaEpoch, Node: want.Node, Devices: want.Devices, Model: want.Model, Power: want.Power, Run: protocol.MaxRun, Task: s.Task}
}

// adoptReplica takes in a replica that ran before this process started. Until the agent's list comes it
// runs on. The caller holds h.mu.
func (h *KubeExecutor) adoptReplica(r *run) {
	if h.services[r.service()] == nil {
		h.services[r.service()] = &heldService{lost: make(map[string]bool)}
	}
}

// reportReplicas tells the agent which replicas of a service run, and which were lost.
func (h *KubeExecutor) reportReplicas(id protocol.ServiceID) {
	h.mu.Lock()
	s := h.services[id]
	b := protocol.ReplicasRunning{Service: id, Revision: s.revision}
	for name, number := range s.numbers {
		switch r := h.runs[name]; {
		case s.lost[name]:
			b.Lost = append(b.Lost, number)
		case r != nil && r.startReported.Load() && r.terminating.Load() == nil:
			b.Running = append(b.Running, number)
		}
	}
	h.mu.Unlock()
	slices.Sort(b.Running)
	slices.Sort(b.Lost)
	h.sendToAgent(b)
}

// reportReplicaEnd tells the agent that a replica runs no more. One whose node is gone is replaced at
// once; one that could not run, as its image or its task is wrong, would fail in the same way elsewhere, so
// that its agent hears of it after a while that doubles up to five minutes.
func (h *KubeExecutor) reportReplicaEnd(r *run, why protocol.Reason) {
	if r.cancelled.Load() {
		return // the list without it was answered
	}
	h.mu.Lock()
	wait := time.Duration(0)
	s := h.services[r.service()]
	if why.Code != protocol.NodeLost && why.Code != protocol.Evicted {
		wait = min(10*time.Second<<min(s.failures, 5), 5*time.Minute)
		s.failures++
	}
	h.mu.Unlock()
	h.cfg.Log.Warn("a replica of a service does not run", "service", r.service(), "node", r.launch.Node, "reason", why.Code, "note", why.Note, "looked for another place in", wait)
	time.AfterFunc(wait, func() {
		h.mu.Lock()
		s.lost[r.name] = true
		h.mu.Unlock()
		h.reportReplicas(r.service())
	})
}

// reconcileReplicaPods binds the pods of a replica, which runs once all of them do. Their controller replaces
// pods that were deleted or evicted, so that no such pod ends the run; one that can no longer be bound there
// does.
func (h *KubeExecutor) reconcileReplicaPods(ctx context.Context, r *run, u *unstructured.Unstructured, pods []*corev1.Pod) error {
	h.observeStart(r, pods)
	err := h.bindPods(ctx, r, pods)
	if r.terminating.Load() == nil && r.begun && u != nil && !r.startReported.Load() && r.allPodsRun(u, pods) {
		r.startReported.Store(true)
		h.mu.Lock()
		h.services[r.service()].failures = 0
		h.mu.Unlock()
		h.reportReplicas(r.service())
	}
	return err
}

// allPodsRun reports whether as many pods run at the place of a run as its object u is to have.
func (r *run) allPodsRun(u *unstructured.Unstructured, pods []*corev1.Pod) bool {
	all, err := r.kind.podTemplatesOf(u.DeepCopy().Object) // which adds what is missing
	missing := 0
	for _, t := range all {
		missing += int(t.count)
	}
	for _, p := range pods {
		if podHasRun(p) && r.isAtItsPlace(p) && p.DeletionTimestamp == nil {
			missing--
		}
	}
	return err == nil && missing <= 0
}

// shapeReplica makes the object of a task one of a single pod, which it selects by its run alone, and whose
// successor waits until it has left its devices; or of a single group.
func shapeReplica(u *unstructured.Unstructured, run string) error {
	if err := unstructured.SetNestedField(u.Object, int64(1), "spec", "replicas"); err != nil || u.GetKind() == podsets.LeaderWorkerSet.Kind {
		return err // its controller selects pods by its name
	}
	if err := unstructured.SetNestedField(u.Object, map[string]any{"matchLabels": map[string]any{kube.LabelRun: run}}, "spec", "selector"); err != nil {
		return err
	}
	if u.GetKind() == "Deployment" {
		return unstructured.SetNestedField(u.Object, map[string]any{"type": "Recreate"}, "spec", "strategy")
	}
	return nil
}
