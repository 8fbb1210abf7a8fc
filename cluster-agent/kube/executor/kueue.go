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

// attendKueue looks after a run that Kueue brings to this cluster: it makes the
// Job, admits it and ends it, and the cluster's own scheduler places its pods. We
// keep its room, and say how it does.
func (h *Hands) attendKueue(ctx context.Context, r *run, u *unstructured.Unstructured) (again time.Duration, err error) {
	r.seen = r.seen || u != nil
	if u == nil {
		h.mu.Lock()
		u = r.kueueEnd
		h.mu.Unlock()
	}
	if r.leaving.Load() == nil && u != nil {
		if _, ok := r.kind.done.is(u); ok {
			return 0, h.exit(ctx, r, u, h.podsOf(r), "")
		}
		if why, ok := r.kind.failed.is(u); ok {
			return 0, h.exit(ctx, r, u, h.podsOf(r), why)
		}
		h.noticeStart(r) // first: one that was found again has begun long ago
	}
	left := h.cfg.Patience - h.waited(r)
	switch {
	case r.leaving.Load() != nil:
	case u == nil && r.seen:
		h.leave(r, protocol.TakenOver, "Kueue took its Job back")
	case r.since == 0 && left <= 0:
		h.leave(r, protocol.Unfinished, fmt.Sprintf("Kueue did not begin it within %v", h.cfg.Patience))
	case u == nil:
		return 500 * time.Millisecond, h.jobs.ClaimFromKueue(ctx, r.onLoan())
	}
	if r.leaving.Load() != nil {
		return h.takeDown(ctx, r, nil)
	}
	return max(left, 0), nil
}

// final keeps the end of an object that Kueue may take away before we look.
func (h *Hands) final(k *kind, u *unstructured.Unstructured) {
	_, done := k.done.is(u)
	_, failed := k.failed.is(u)
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.runs[u.GetLabels()[kube.LabelRun]]; r != nil && r.lent.Kueue != "" && (done || failed) {
		r.kueueEnd = u
	}
}

// noticeStart says that a run has started when a pod of it runs.
func (h *Hands) noticeStart(r *run) {
	for _, p := range h.podsOf(r) {
		if p.Status.Phase == corev1.PodRunning && r.since == 0 {
			h.mu.Lock()
			r.since = started(p)
			h.mu.Unlock()
		}
	}
	if r.since != 0 && !r.told.Swap(true) {
		h.say(protocol.Started{Job: r.launch.Job.ID, Epoch: r.launch.Epoch})
	}
}
