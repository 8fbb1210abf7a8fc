package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/external"
	"github.com/gridbid/gridbid/protocol"
)

// reconcileRun does what a run needs next, by what the cluster says of it now, and
// returns when to look again if nothing happens before.
func (h *KubeExecutor) reconcileRun(ctx context.Context, name string) (again time.Duration, err error) {
	h.mu.Lock()
	r := h.runs[name]
	refused := h.refused[name]
	h.mu.Unlock()
	if r == nil {
		return 0, nil
	}
	switch {
	case r.created != 0:
	case r.terminating.Load() == nil:
		err := h.createRunObject(ctx, r)
		if err != nil && r.firstSeen != 0 && h.cfg.Now().Sub(r.firstSeen) >= h.cfg.StartTimeout { // a webhook is down, say
			h.terminateRun(r, protocol.NotStarted, fmt.Sprintf("it could not be created within %v: %v", h.cfg.StartTimeout, err))
		}
		return 0, err
	case r.firstSeen == 0:
		h.reportInterrupted(r, *r.terminating.Load())
		return 0, nil
	} // what was asked for may be there, though nobody answered
	u := h.objectOfRun(r)
	if r.external.Kueue != "" {
		return h.reconcileKueueRun(ctx, r, u)
	}
	pods := h.podsOfRun(r)
	h.readPodEnergyTallies(r, pods)
	r.observed = r.observed || u != nil
	if u != nil && !r.claimsCreated && r.terminating.Load() == nil && h.cfg.Sharing == kube.SharingDRA {
		err = h.createClaimTemplates(ctx, r, u)
		r.claimsCreated = err == nil
	}
	if u != nil && r.terminating.Load() == nil { // did it end?
		if _, ok := r.kind.succeeded.matchesObject(u); ok {
			if left := h.outcomeDelay(r, pods); left > 0 {
				return left, nil
			}
			return 0, h.reportFinished(ctx, r, u, pods, "")
		}
		if why, ok := r.kind.failed.matchesObject(u); ok {
			lost := disruptedPod(pods)
			if lost == "" {
				if left := h.outcomeDelay(r, pods); left > 0 {
					return left, nil
				}
				lost = preemptedPod(u, pods)
			}
			if lost == "" {
				return 0, h.reportFinished(ctx, r, u, pods, why)
			}
			h.terminateRun(r, protocol.Evicted, lost)
		}
	}
	switch {
	case r.terminating.Load() != nil:
	case refused != "":
		h.terminateRun(r, protocol.ClusterRefused, refused)
	case u == nil && r.observed || u != nil && u.GetDeletionTimestamp() != nil:
		h.terminateRun(r, protocol.TakenOver, "somebody deleted it")
	case h.inv.NodeByName(r.launch.Node) == nil:
		h.terminateRun(r, protocol.NodeLost, "node "+r.launch.Node+" is gone")
	default:
		left, e := h.reconcilePods(ctx, r, u, pods)
		if err == nil {
			err = e
		}
		if left > 0 || err != nil && !h.startOverdue(r) {
			return left, err
		}
	}
	if r.terminating.Load() != nil {
		return h.deleteRunAndReportLost(ctx, r, pods)
	}
	if r.since != 0 {
		return 0, nil
	}
	if h.startOverdue(r) {
		why := fmt.Sprintf("it did not begin within %v", h.cfg.StartTimeout)
		if what := pendingReason(pods); err != nil {
			why += ": " + err.Error()
		} else if what != "" {
			why += ": " + what
		}
		h.terminateRun(r, protocol.NotStarted, why)
		return h.deleteRunAndReportLost(ctx, r, pods)
	}
	return h.cfg.StartTimeout - h.waitingToStart(r), nil
}

// startOverdue reports whether a run should have begun by now.
func (h *KubeExecutor) startOverdue(r *run) bool {
	return r.since == 0 && h.waitingToStart(r) >= h.cfg.StartTimeout
}

// waitingToStart is for how long a run has been seen not to begin. One that was found again may
// have begun before: its controller may just be putting other pods in the place of those
// that ran.
func (h *KubeExecutor) waitingToStart(r *run) time.Duration {
	return h.cfg.Now().Sub(max(r.created, r.adoptedAt))
}

// pendingReason says what keeps a pod of a run from starting, as its kubelet has it, or
// another's scheduler, or "".
func pendingReason(pods []*corev1.Pod) string {
	for _, p := range pods {
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if w := c.State.Waiting; w != nil && w.Message != "" {
				return fmt.Sprintf("pod %s: %s: %s", p.Name, w.Reason, w.Message)
			}
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" {
				return fmt.Sprintf("pod %s: %s: %s", p.Name, c.Reason, c.Message)
			}
		}
	}
	return ""
}

// createRunObject asks for the object of a run. What the cluster refuses is lost; what
// may go away by itself is tried again.
func (h *KubeExecutor) createRunObject(ctx context.Context, r *run) error {
	if lent, err := h.adoptExternalJob(ctx, r); lent || err != nil {
		return err
	}
	u, k, err := h.buildRunObject(r.launch)
	if err == nil {
		h.recordRunObject(r, k, u.GetNamespace(), u.GetName(), external.Loan{})
		if err = h.watchJobKind(ctx, k); apierrors.IsNotFound(err) {
			err = fmt.Errorf("%s %s is not installed in this cluster", u.GetAPIVersion(), u.GetKind())
		} else if err != nil {
			return err
		}
	}
	if err == nil {
		_, err = h.cfg.Dynamic.Resource(k.groupVersionResource()).Namespace(r.namespace).Create(ctx, u, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // by us: nobody else makes such a name
			err = nil
		}
		if r.firstSeen == 0 {
			r.firstSeen = h.cfg.Now()
		}
		// A server that was just started forbids what it will allow in a moment.
		early := apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot create resource") && h.cfg.Now().Sub(r.firstSeen) < 30*time.Second
		if err != nil && (isTransientError(err) || early) {
			return err
		}
	}
	if err != nil {
		h.reportInterrupted(r, protocol.Reason{Code: protocol.ClusterRefused, Note: err.Error()})
		return nil
	}
	h.markRunCreated(r)
	return nil
}

// recordRunObject notes what a run consists of, and where.
func (h *KubeExecutor) recordRunObject(r *run, k *jobKind, space, made string, lent external.Loan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.kind, r.namespace, r.objectID, r.external = k, space, made, lent
}

// markRunCreated notes that a run was asked for.
func (h *KubeExecutor) markRunCreated(r *run) {
	h.mu.Lock()
	r.created = h.cfg.Now()
	h.mu.Unlock()
	h.queue.AddAfter(r.name, h.cfg.StartTimeout)
	h.queue.Add(r.name)
}

// reconcilePods binds the pods that wait, and notes how the others do. It returns how long to
// wait before anything else is done.
func (h *KubeExecutor) reconcilePods(ctx context.Context, r *run, u *unstructured.Unstructured, pods []*corev1.Pod) (again time.Duration, err error) {
	for _, p := range pods {
		if r.since == 0 && podHasRun(p) && p.Spec.NodeName == r.launch.Node {
			h.mu.Lock()
			r.since = podStartTime(p)
			h.mu.Unlock()
		}
	}
	if again = h.terminationReasonDelay(r, u, pods); again > 0 || r.terminating.Load() != nil {
		return again, nil
	}
	for _, p := range pods {
		switch {
		case kube.PodEnded(p) || p.DeletionTimestamp != nil:
			continue
		case p.Spec.NodeName == "" && slices.ContainsFunc(pods, podTerminating):
			continue // until there is room for it
		case p.Spec.NodeName == "":
			if e := h.bindPod(ctx, r, p, pods); err == nil {
				err = e
			}
		case p.Spec.NodeName != r.launch.Node:
			h.terminateRun(r, protocol.TakenOver, fmt.Sprintf("another scheduler put pod %s on node %s", p.Name, p.Spec.NodeName))
		}
		if r.terminating.Load() != nil {
			return 0, nil
		}
	}
	if lost := disruptedPod(pods); lost != "" {
		h.terminateRun(r, protocol.Evicted, lost)
		return 0, nil
	}
	if r.since != 0 && !r.startReported.Swap(true) {
		h.sendToAgent(protocol.Started{Job: r.launch.Job.ID, Epoch: r.launch.Epoch})
	}
	return 0, err
}

// podTerminating reports whether a pod is being ended, and holds what it has until then.
func podTerminating(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil && p.Spec.NodeName != "" && !kube.PodEnded(p)
}

// podHasRun reports whether a pod runs or has run. One that its kubelet would not have
// says nothing of its containers.
func podHasRun(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning || kube.PodEnded(p) && len(p.Status.ContainerStatuses) > 0
}

func podStartTime(p *corev1.Pod) protocol.Time {
	if p.Status.StartTime != nil {
		return protocol.FromStdTime(p.Status.StartTime.Time)
	}
	return protocol.FromStdTime(p.CreationTimestamp.Time)
}

// disruptedPod says which pod the cluster ended, and why, or "".
func disruptedPod(pods []*corev1.Pod) string {
	for _, p := range pods {
		if p.Status.Phase != corev1.PodFailed {
			continue
		}
		if why := evictionReason(p); why != "" {
			return why
		}
		if len(p.Status.ContainerStatuses) == 0 && p.Status.Reason != "" { // the kubelet would not have it
			return fmt.Sprintf("pod %s: %s: %s", p.Name, p.Status.Reason, p.Status.Message)
		}
	}
	return ""
}

// evictionReason says why the cluster ended a pod, or "".
func evictionReason(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return fmt.Sprintf("pod %s: %s: %s", p.Name, c.Reason, c.Message)
		}
	}
	return ""
}

// terminateRun decides that a run is taken down.
func (h *KubeExecutor) terminateRun(r *run, code protocol.Code, note string) {
	r.terminating.CompareAndSwap(nil, &protocol.Reason{Code: code, Note: note})
}

// deleteRunAndReportLost deletes a run's object and says that it is lost when its pods are
// gone. Pods of a node that is no more count as gone.
func (h *KubeExecutor) deleteRunAndReportLost(ctx context.Context, r *run, pods []*corev1.Pod) (again time.Duration, err error) {
	if !r.deleted {
		if err := h.deleteRunObject(ctx, r, pods); err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
		r.deleted = true
	}
	if h.objectOfRun(r) != nil {
		return time.Second, nil
	}
	for _, p := range pods {
		if !kube.PodEnded(p) && p.Spec.NodeName != "" && h.inv.NodeByName(p.Spec.NodeName) != nil {
			return time.Second, nil
		}
	}
	h.reportInterrupted(r, *r.terminating.Load())
	return 0, nil
}

// deleteRunObject deletes a run's object, or gives it back if it is another's.
func (h *KubeExecutor) deleteRunObject(ctx context.Context, r *run, pods []*corev1.Pod) error {
	if r.external.Object != "" {
		return h.jobs.GiveBack(ctx, r.onLoan(), h.objectOfRun(r), pods, r.created != 0)
	}
	background := metav1.DeletePropagationBackground
	return h.cfg.Dynamic.Resource(r.kind.groupVersionResource()).Namespace(r.namespace).Delete(ctx, r.objectName(), metav1.DeleteOptions{PropagationPolicy: &background})
}

// reportInterrupted says that nothing of a run is left.
func (h *KubeExecutor) reportInterrupted(r *run, why protocol.Reason) {
	h.forgetRun(r)
	if r.interruptedReported.Load() {
		return
	}
	x := protocol.Interrupted{Job: r.launch.Job.ID, Epoch: r.launch.Epoch, Why: why}
	if len(x.Why.Note) > 500 {
		x.Why.Note = x.Why.Note[:500]
	}
	if r.since != 0 {
		x.Draw, x.Estimated = h.energyOfRun(r, r.since, h.cfg.Now())
		x.Draw = h.finalEnergy(r, x.Draw)
	}
	if r.stopped.Load() {
		h.reportOutcome(x.Job, x.Epoch, protocol.Finished{Job: x.Job, Epoch: x.Epoch, Draw: x.Draw, Failed: "cancelled", Estimated: x.Estimated})
		return
	}
	h.reportOutcome(x.Job, x.Epoch, x)
}

// outcomeDelay is how long to wait for word of a run that has ended, from its pods
// and from machines; 0 is not at all.
func (h *KubeExecutor) outcomeDelay(r *run, pods []*corev1.Pod) time.Duration {
	return max(h.podStatusLag(r, pods), h.energyTallyDelay(r, pods))
}

// maxPodStatusLag is how long the pods of a run that has ended may be seen running.
const maxPodStatusLag = 5 * time.Second

// podStatusLag is how long to wait for the pods of a run that has ended to be seen to have
// ended; 0 is not at all. Word of them comes by another way than word of the run,
// and what they hold counts as taken until then: who is told that it is free would
// be refused. What a controller leaves running is not waited for longer.
func (h *KubeExecutor) podStatusLag(r *run, pods []*corev1.Pod) time.Duration {
	now := h.cfg.Now()
	if r.endedSeenAt == 0 {
		r.endedSeenAt = now
	}
	if now.Sub(r.endedSeenAt) >= maxPodStatusLag || !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return !kube.PodEnded(p) }) {
		return 0
	}
	return maxPodStatusLag / 50
}

// reportFinished says that a run has ended by itself, and lets the cluster forget it.
func (h *KubeExecutor) reportFinished(ctx context.Context, r *run, u *unstructured.Unstructured, pods []*corev1.Pod, failed string) error {
	since, until := r.since, protocol.Time(0)
	for _, p := range pods {
		if since == 0 || podStartTime(p) < since {
			since = podStartTime(p)
		}
		for _, c := range p.Status.ContainerStatuses {
			if t := c.State.Terminated; t != nil {
				until = max(until, protocol.FromStdTime(t.FinishedAt.Time))
			}
		}
	}
	if since == 0 {
		since = r.created
	}
	if until < since { // its pods are gone; it may have ended while we were away
		until = h.cfg.Now()
		if at := r.kind.objectEndTime(u); at != 0 {
			until = min(until, at)
		}
		until = max(until, since)
	}
	if !r.startReported.Swap(true) {
		h.sendToAgent(protocol.Started{Job: r.launch.Job.ID, Epoch: r.launch.Epoch})
	}
	h.mu.Lock()
	spent := r.spent
	h.mu.Unlock()
	if !spent { // or it was said, and only the cluster has yet to take that in
		draw, estimated := h.energyOfRun(r, since, until)
		h.reportOutcome(r.launch.Job.ID, r.launch.Epoch, protocol.Finished{Job: r.launch.Job.ID, Epoch: r.launch.Epoch, Draw: h.finalEnergy(r, draw), Failed: failed, Estimated: estimated, Use: h.utilizationOfRun(r, pods, since, until), Ended: until})
	}
	patch := map[string]any{"metadata": map[string]any{"labels": map[string]any{kube.LabelReported: "true"}}}
	if r.kind.Kind == "Job" && r.external.Object == "" {
		patch["spec"] = map[string]any{"ttlSecondsAfterFinished": int64(h.cfg.FinishedTTL / time.Second)}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = h.cfg.Dynamic.Resource(r.kind.groupVersionResource()).Namespace(r.namespace).Patch(ctx, r.objectName(), types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) && isTransientError(err) {
		return err
	}
	h.forgetRun(r)
	return nil
}

// forgetRun ends our care for a run.
func (h *KubeExecutor) forgetRun(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.runs, r.name)
	delete(h.refused, r.name)
	h.signalInventoryChange()
}
