package executor

import (
	"context"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/external"
	"github.com/gridbid/gridbid/protocol"
)

// gcLoop collects garbage six times per FinishedTTL (at most once a second) until ctx
// ends.
func (h *KubeExecutor) gcLoop(ctx context.Context) {
	reportedSince := make(map[types.UID]protocol.Time)
	for {
		h.garbageCollect(ctx, reportedSince)
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(h.cfg.FinishedTTL/6, time.Second)):
		}
	}
}

// garbageCollect deletes objects that have carried LabelOutcomeReported for FinishedTTL.
// Jobs that have finished are excluded: reportFinished sets their ttlSecondsAfterFinished. So are
// objects of the cluster's users. The controllers
// of the other kinds keep finished objects, with all their pods, without limit.
// reportedSince says when this process first saw the label on each object; entries of
// deleted objects are dropped.
func (h *KubeExecutor) garbageCollect(ctx context.Context, reportedSince map[types.UID]protocol.Time) {
	now, there := h.cfg.Now(), make(map[types.UID]bool)
	background := metav1.DeletePropagationBackground
	for i := range jobKinds {
		k := &jobKinds[i]
		h.mu.Lock()
		all := h.allRunObjects(k)
		h.mu.Unlock()
		for _, u := range all {
			id := u.GetUID()
			_, paused := parsePauseRecord(u)
			if k.Kind == "Job" && !paused || u.GetLabels()[kube.LabelOutcomeReported] == "" || external.LoanOf(u).Object != "" {
				continue
			}
			there[id] = true
			if reportedSince[id] == 0 {
				reportedSince[id] = now
			}
			if now.Sub(reportedSince[id]) < h.cfg.FinishedTTL {
				continue
			}
			// The UID protects a later object of the same name.
			err := h.cfg.Dynamic.Resource(k.groupVersionResource()).Namespace(u.GetNamespace()).Delete(ctx, u.GetName(),
				metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: metav1.NewUIDPreconditions(string(id))})
			if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
				h.cfg.Log.Warn("a finished object could not be deleted; tried again later", "object", u.GetName(), "error", err)
			}
		}
	}
	maps.DeleteFunc(reportedSince, func(id types.UID, _ protocol.Time) bool { return !there[id] })
}
