package executor

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// reconcileKueueRun does the next step for a run of a Job that Kueue brings to this
// cluster. Kueue creates, admits and ends that Job, and the cluster's own scheduler
// places its pods. The executor only keeps the awarded capacity reserved and reports
// how the run goes.
func (h *KubeExecutor) reconcileKueueRun(ctx context.Context, r *run, u *unstructured.Unstructured) (requeueAfter time.Duration, err error) {
	r.observed = r.observed || u != nil
	if u == nil {
		h.mu.Lock()
		u = r.kueueEnd
		h.mu.Unlock()
	}
	if r.terminating.Load() == nil && u != nil {
		if _, ok := r.kind.succeeded.matchesObject(u); ok {
			return 0, h.reportFinished(ctx, r, u, h.podsOfRun(r), "")
		}
		if why, ok := r.kind.failed.matchesObject(u); ok {
			return 0, h.reportFinished(ctx, r, u, h.podsOfRun(r), why)
		}
		h.reportStarted(r) // before the start timeout is checked: a run found after a restart may have started long ago
	}
	left := h.cfg.StartTimeout - h.waitingToStart(r)
	switch {
	case r.terminating.Load() != nil:
	case u == nil && r.observed:
		h.terminateRun(r, protocol.TakenOver, "Kueue took its Job back")
	case r.startedAt == 0 && left <= 0:
		h.terminateRun(r, protocol.NotStarted, fmt.Sprintf("Kueue did not begin it within %v", h.cfg.StartTimeout))
	case u == nil:
		return 500 * time.Millisecond, h.jobs.MarkKueueJob(ctx, r.asExternalRun())
	}
	if r.terminating.Load() != nil {
		return h.deleteRunAndReportLost(ctx, r, nil)
	}
	return max(left, 0), nil
}

// keepFinalState stores the final state of an object that Kueue may delete before the
// run is reconciled.
func (h *KubeExecutor) keepFinalState(k *jobKind, u *unstructured.Unstructured) {
	_, done := k.succeeded.matchesObject(u)
	_, failed := k.failed.matchesObject(u)
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.runs[u.GetLabels()[kube.LabelRun]]; r != nil && r.external.Kueue != "" && (done || failed) {
		r.kueueEnd = u
	}
}

// reportStarted sends Started once a pod of the run is running.
func (h *KubeExecutor) reportStarted(r *run) {
	for _, p := range h.podsOfRun(r) {
		if p.Status.Phase == corev1.PodRunning && r.startedAt == 0 {
			h.mu.Lock()
			r.startedAt = podStartTime(p)
			h.mu.Unlock()
		}
	}
	if r.startedAt != 0 && !r.startReported.Swap(true) {
		h.sendToAgent(protocol.Started{Job: r.launch.Job.ID, Epoch: r.launch.Epoch})
	}
}
