package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// A job that says what a pause costs is paused by suspending its Job: the Job controller deletes the
// pods, each container gets SIGTERM, and its program saves a checkpoint within the grace period of
// its pods. When all pods are gone the run has finished with what is left of it. The rest is another
// run, and so another Job, of the number of pods that it was sold on: how an elastic job changes its
// number. What was paused when, and what is left, is on the Job, so that an executor that is killed
// meanwhile goes on with it, and repeats what it reported.

// A pauseRecord is when a run began and was paused, and what was left of its run time then.
type pauseRecord struct {
	left       time.Duration
	began, was protocol.Time
}

// String encodes the record as the annotation [kube.AnnotationPaused].
func (p pauseRecord) String() string {
	return fmt.Sprintf("%v %s %s", p.left, p.began.StdTime().UTC().Format(time.RFC3339), p.was.StdTime().UTC().Format(time.RFC3339))
}

// parsePauseRecord decodes the annotation of an object; false if it was not paused.
func parsePauseRecord(u *unstructured.Unstructured) (p pauseRecord, ok bool) {
	words := strings.Fields(u.GetAnnotations()[kube.AnnotationPaused])
	if len(words) != 3 {
		return p, false
	}
	left, err1 := time.ParseDuration(words[0])
	began, err2 := time.Parse(time.RFC3339, words[1])
	was, err3 := time.Parse(time.RFC3339, words[2])
	return pauseRecord{left, protocol.FromStdTime(began), protocol.FromStdTime(was)}, err1 == nil && err2 == nil && err3 == nil && left > 0
}

// pauseOf returns the record of a pause now. It returns why the run cannot be paused, or "".
func (h *KubeExecutor) pauseOf(r *run, pods []*corev1.Pod) (p pauseRecord, why string) {
	now := h.cfg.Now()
	switch {
	case r.launch.Job.Pause == 0:
		return p, "its job does not say what a pause costs"
	case r.kind.Kind != podsets.Job.Kind || r.external.Object != "":
		return p, "only a Job that this site created is suspended and made anew"
	case !r.begun:
		return p, "it has not begun"
	}
	p = pauseRecord{began: r.startedAt, was: now}
	for _, pod := range pods { // a gang works since its last pod started
		if podHasRun(pod) && r.isAtItsPlace(pod) {
			p.began = max(p.began, podStartTime(pod))
		}
	}
	if p.left = r.launch.Run - now.Sub(p.began); p.left <= 0 {
		return p, "it runs longer than was planned, and may end at any time"
	}
	return p, ""
}

// pauseRun pauses a run that its agent wants to pause, or that an earlier incarnation has paused, and
// reports it when its pods are gone. It returns false if the run cannot be paused, and goes on.
func (h *KubeExecutor) pauseRun(ctx context.Context, r *run, u *unstructured.Unstructured, pods []*corev1.Pod) (isPaused bool, requeueAfter time.Duration, err error) {
	p, paused := parsePauseRecord(u)
	if !paused && !r.pauseAsked.Load() {
		return false, 0, nil
	}
	if !paused {
		h.observeStart(r, pods)
		p, why := h.pauseOf(r, pods)
		if why != "" {
			h.cfg.Log.Info("a run is not paused", "run", r.name, "why", why)
			r.pauseAsked.Store(false)
			r.startReported.Store(false) // Started says that it runs on
			return false, 0, nil
		}
		return true, 0, h.suspendJob(ctx, r, u, p)
	}
	for _, pod := range pods {
		if !kube.PodEnded(pod) && pod.Spec.NodeName != "" && h.inv.NodeByName(pod.Spec.NodeName) != nil {
			return true, time.Second, nil
		}
	}
	return true, 0, h.reportPaused(ctx, r, p)
}

// suspendJob suspends the Job of a run, and writes the record of the pause on it.
func (h *KubeExecutor) suspendJob(ctx context.Context, r *run, u *unstructured.Unstructured, p pauseRecord) error {
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": u.GetUID(), "resourceVersion": u.GetResourceVersion(), "annotations": map[string]any{kube.AnnotationPaused: p.String()}},
		"spec":     map[string]any{"suspend": true},
	})
	if err != nil {
		return err
	}
	_, err = h.cfg.Dynamic.Resource(r.kind.groupVersionResource()).Namespace(r.namespace).Patch(ctx, r.objectName(), types.MergePatchType, data, metav1.PatchOptions{})
	return err
}

// reportPaused reports that a run was paused, with what is left of it, and stops managing it. The Job
// stays for a while, suspended: see reportFinished and garbageCollect.
func (h *KubeExecutor) reportPaused(ctx context.Context, r *run, p pauseRecord) error {
	now := h.cfg.Now()
	if r.startedAt == 0 { // an earlier incarnation saw it start
		r.startedAt = p.began
	}
	h.mu.Lock()
	reported := r.energyReported
	h.mu.Unlock()
	if !reported {
		draw, estimated := h.energyOfRun(r, r.startedAt, now)
		h.reportOutcome(r.launch.Job.ID, r.launch.Epoch, protocol.Finished{Job: r.launch.Job.ID, Epoch: r.launch.Epoch, Draw: h.finalEnergy(r, draw), Estimated: estimated, Left: p.left, Ended: now})
	}
	if err := h.labelReported(ctx, r, nil); err != nil {
		return err
	}
	h.forgetRun(r)
	return nil
}

// labelReported writes on a run's object that its outcome was reported, and changes its spec. It
// returns an error only if that is to be tried again.
func (h *KubeExecutor) labelReported(ctx context.Context, r *run, spec map[string]any) error {
	patch := map[string]any{"metadata": map[string]any{"labels": map[string]any{kube.LabelOutcomeReported: "true"}}}
	if spec != nil {
		patch["spec"] = spec
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = h.cfg.Dynamic.Resource(r.kind.groupVersionResource()).Namespace(r.namespace).Patch(ctx, r.objectName(), types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) && isTransientError(err) {
		return err
	}
	return nil
}
