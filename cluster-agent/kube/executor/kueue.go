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

// reconcileKueueRun looks after a run that Kueue brings to this cluster: it makes the
// Job, admits it and ends it, and the cluster's own scheduler places its pods. We
// keep its room, and say how it does.
func (h *KubeExecutor) reconcileKueueRun(ctx context.Context, r *run, u *unstructured.Unstructured) (again time.Duration, err error) {
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
		h.reportStarted(r) // first: one that was found again has begun long ago
	}
	left := h.cfg.StartTimeout - h.waitingToStart(r)
	switch {
	case r.terminating.Load() != nil:
	case u == nil && r.observed:
		h.terminateRun(r, protocol.TakenOver, "Kueue took its Job back")
	case r.since == 0 && left <= 0:
		h.terminateRun(r, protocol.NotStarted, fmt.Sprintf("Kueue did not begin it within %v", h.cfg.StartTimeout))
	case u == nil:
		return 500 * time.Millisecond, h.jobs.ClaimFromKueue(ctx, r.onLoan())
	}
	if r.terminating.Load() != nil {
		return h.deleteRunAndReportLost(ctx, r, nil)
	}
	return max(left, 0), nil
}

// keepFinalState keeps the end of an object that Kueue may take away before we look.
func (h *KubeExecutor) keepFinalState(k *jobKind, u *unstructured.Unstructured) {
	_, done := k.succeeded.matchesObject(u)
	_, failed := k.failed.matchesObject(u)
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.runs[u.GetLabels()[kube.LabelRun]]; r != nil && r.external.Kueue != "" && (done || failed) {
		r.kueueEnd = u
	}
}

// reportStarted says that a run has started when a pod of it runs.
func (h *KubeExecutor) reportStarted(r *run) {
	for _, p := range h.podsOfRun(r) {
		if p.Status.Phase == corev1.PodRunning && r.since == 0 {
			h.mu.Lock()
			r.since = podStartTime(p)
			h.mu.Unlock()
		}
	}
	if r.since != 0 && !r.startReported.Swap(true) {
		h.sendToAgent(protocol.Started{Job: r.launch.Job.ID, Epoch: r.launch.Epoch})
	}
}
