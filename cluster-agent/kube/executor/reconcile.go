package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/external"
	"github.com/gridbid/gridbid/protocol"
)

// reconcileRun does the next step for a run, by the state of its objects in the caches,
// and returns after how long to reconcile it once more if no event comes first. The
// order is: create the object, detect its end, detect what makes the run impossible,
// bind and observe its pods, and finally delete what is to be terminated.
func (h *KubeExecutor) reconcileRun(ctx context.Context, name string) (requeueAfter time.Duration, err error) {
	h.mu.Lock()
	r := h.runs[name]
	createFailure := h.createFailures[name]
	h.mu.Unlock()
	if r == nil {
		return 0, nil
	}
	// First: does its object exist? Create it unless the run is to be terminated.
	switch {
	case r.createdAt != 0:
	case r.terminating.Load() == nil:
		err := h.createRunObject(ctx, r)
		if err != nil && r.firstSeen != 0 && h.cfg.Now().Sub(r.firstSeen) >= h.cfg.StartTimeout { // for example, an admission webhook is down
			h.terminateRun(r, protocol.NotStarted, fmt.Sprintf("it could not be created within %v: %v", h.cfg.StartTimeout, err))
		}
		return 0, err
	case r.firstSeen == 0: // terminated before anything was created
		h.reportInterrupted(r, *r.terminating.Load())
		return 0, nil
	} // otherwise a creation was tried, and may have succeeded without an answer
	// The object as the cache has it; nil: not seen yet, or deleted.
	u := h.objectOfRun(r)
	if r.external.Kueue != "" {
		return h.reconcileKueueRun(ctx, r, u)
	}
	pods := h.podsOfRun(r)
	h.readPodEnergyTallies(r, pods)
	r.observed = r.observed || u != nil
	if u != nil && !r.companionsCreated && r.terminating.Load() == nil {
		err = h.createCompanions(ctx, r, u)
		r.companionsCreated = err == nil
	}
	if u != nil && r.terminating.Load() == nil { // has the object ended?
		if _, ok := r.kind.succeeded.matchesObject(u); ok {
			if left := h.outcomeDelay(r, pods); left > 0 {
				return left, nil
			}
			return 0, h.reportFinished(ctx, r, u, pods, "")
		}
		if why, ok := r.kind.failed.matchesObject(u); ok {
			// Pods that the cluster ended explain a failure: it is then an interruption, for
			// which the job is requeued, and not a failure of its program.
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
	if u != nil && u.GetDeletionTimestamp() == nil && r.terminating.Load() == nil {
		if paused, left, err := h.pauseRun(ctx, r, u, pods); paused {
			return left, err
		}
	}
	// What makes the run impossible, unless it is already being terminated.
	switch {
	case r.terminating.Load() != nil:
	case createFailure != "":
		h.terminateRun(r, protocol.ClusterRefused, createFailure)
	case u == nil && r.observed || u != nil && u.GetDeletionTimestamp() != nil:
		h.terminateRun(r, protocol.TakenOver, "somebody deleted it")
	case h.lostNode(r) != "":
		h.terminateRun(r, protocol.NodeLost, "node "+h.lostNode(r)+" is gone")
	default:
		left, e := h.reconcilePods(ctx, r, u, pods)
		if err == nil {
			err = e
		}
		if left > 0 || err != nil && !h.startOverdue(r) {
			return left, err
		}
	}
	// Terminate, or report how much of StartTimeout is left.
	if r.terminating.Load() != nil {
		return h.deleteRunAndReportLost(ctx, r, pods)
	}
	if r.begun {
		return 0, nil
	}
	if h.startOverdue(r) {
		why := fmt.Sprintf("it did not begin within %v", h.cfg.StartTimeout)
		if what := pendingReason(pods); err != nil {
			why += ": " + err.Error()
		} else if what != "" {
			why += ": " + what
		} else if what := missingPods(r, pods); what != "" {
			why += ": " + what
		}
		h.terminateRun(r, protocol.NotStarted, why)
		return h.deleteRunAndReportLost(ctx, r, pods)
	}
	return h.cfg.StartTimeout - h.waitingToStart(r), nil
}

// startOverdue reports whether a run has not started within StartTimeout.
func (h *KubeExecutor) startOverdue(r *run) bool {
	return !r.begun && h.waitingToStart(r) >= h.cfg.StartTimeout
}

// waitingToStart returns for how long this process has seen a run not start. It counts
// from the restart for a run that was found then: its controller may just be replacing
// pods that ran before.
func (h *KubeExecutor) waitingToStart(r *run) time.Duration {
	return h.cfg.Now().Sub(max(r.createdAt, r.adoptedAt))
}

// pendingReason returns what keeps a pod of a run from starting, by its kubelet or by
// another scheduler, or "".
func pendingReason(pods []*corev1.Pod) string {
	for _, p := range pods {
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if w := c.State.Waiting; w != nil && w.Message != "" {
				return fmt.Sprintf("pod %s: %s: %s", p.Name, w.Reason, w.Message)
			}
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" && c.Reason != corev1.PodReasonSchedulingGated {
				return fmt.Sprintf("pod %s: %s: %s", p.Name, c.Reason, c.Message)
			}
		}
	}
	return ""
}

// createRunObject creates the object of a run, or adopts an external Job. A run that
// the cluster refuses is reported as interrupted; a transient error is returned, so
// that it is retried.
func (h *KubeExecutor) createRunObject(ctx context.Context, r *run) error {
	if !r.isReplica() {
		if isExternal, err := h.adoptExternalJob(ctx, r); isExternal || err != nil {
			return err
		}
	}
	u, k, err := h.buildRunObject(r.launch)
	if err == nil {
		// A kind that the cluster does not serve is refused; any other failure to watch is retried.
		h.recordRunObject(r, k, u.GetNamespace(), u.GetName(), external.Loan{})
		if err = h.watchJobKind(ctx, k); apierrors.IsNotFound(err) {
			err = fmt.Errorf("%s %s is not installed in this cluster", u.GetAPIVersion(), u.GetKind())
		} else if err != nil {
			return err
		}
	}
	if err == nil {
		_, err = h.cfg.Dynamic.Resource(k.groupVersionResource()).Namespace(r.namespace).Create(ctx, u, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // by an earlier attempt of ours: the name contains a hash of the job's id
			err = nil
		}
		if r.firstSeen == 0 {
			r.firstSeen = h.cfg.Now()
		}
		// An API server that has just started refuses what RBAC allows until its authorizer
		// has loaded the rules.
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

// recordRunObject stores what object a run consists of, and where it is.
func (h *KubeExecutor) recordRunObject(r *run, k *jobKind, namespace, ownObject string, loan external.Loan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.kind, r.namespace, r.ownObject, r.external = k, namespace, ownObject, loan
}

// markRunCreated records when a run's object was created or released, from which
// StartTimeout counts.
func (h *KubeExecutor) markRunCreated(r *run) {
	h.mu.Lock()
	r.createdAt = h.cfg.Now()
	h.mu.Unlock()
	h.queue.AddAfter(r.name, h.cfg.StartTimeout)
	h.queue.Add(r.name)
}

// reconcilePods binds the run's unbound pods and records whether it has started. It
// terminates the run if the cluster has ended or misplaced one of its pods. It returns
// for how long to wait before anything else is done with the run.
func (h *KubeExecutor) reconcilePods(ctx context.Context, r *run, u *unstructured.Unstructured, pods []*corev1.Pod) (requeueAfter time.Duration, err error) {
	if r.isReplica() {
		return 0, h.reconcileReplicaPods(ctx, r, u, pods)
	}
	h.observeStart(r, pods)
	if requeueAfter = h.terminationReasonDelay(r, u, pods); requeueAfter > 0 || r.terminating.Load() != nil {
		return requeueAfter, nil
	}
	if r.launch.Job.IsGang() {
		err = h.bindGang(ctx, r, pods)
	} else {
		err = h.bindPods(ctx, r, pods)
	}
	if r.terminating.Load() != nil {
		return 0, nil
	}
	if lost := disruptedPod(pods); lost != "" {
		h.terminateRun(r, protocol.Evicted, lost)
		return 0, nil
	}
	if r.begun && !r.startReported.Swap(true) {
		h.sendToAgent(protocol.Started{Job: r.launch.Job.ID, Epoch: r.launch.Epoch})
	}
	return 0, err
}

// podTerminating reports whether a bound pod is being deleted; it holds its resources
// until it has ended.
func podTerminating(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil && p.Spec.NodeName != "" && !kube.PodEnded(p)
}

// podHasRun reports whether a container of a pod runs or has run. A pod that its
// kubelet rejected has no container statuses.
func podHasRun(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning || kube.PodEnded(p) && len(p.Status.ContainerStatuses) > 0
}

// podStartTime returns when the kubelet accepted a pod, or else when it was created.
func podStartTime(p *corev1.Pod) protocol.Time {
	if p.Status.StartTime != nil {
		return protocol.FromStdTime(p.Status.StartTime.Time)
	}
	return protocol.FromStdTime(p.CreationTimestamp.Time)
}

// disruptedPod returns which pod the cluster ended, and why, or "".
func disruptedPod(pods []*corev1.Pod) string {
	for _, p := range pods {
		if p.Status.Phase != corev1.PodFailed {
			continue
		}
		if why := evictionReason(p); why != "" {
			return why
		}
		if len(p.Status.ContainerStatuses) == 0 && p.Status.Reason != "" { // the kubelet rejected it
			return fmt.Sprintf("pod %s: %s: %s", p.Name, p.Status.Reason, p.Status.Message)
		}
	}
	return ""
}

// evictionReason returns why the cluster ends a pod (eviction, preemption, node
// failure), or "".
func evictionReason(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return fmt.Sprintf("pod %s: %s: %s", p.Name, c.Reason, c.Message)
		}
	}
	return ""
}

// terminateRun marks a run for termination. The first reason wins; reconcileRun
// does the rest.
func (h *KubeExecutor) terminateRun(r *run, code protocol.Code, note string) {
	r.terminating.CompareAndSwap(nil, &protocol.Reason{Code: code, Note: note})
}

// deleteRunAndReportLost deletes a run's object and, once that and all its pods are
// gone, reports the run as interrupted. Pods of a node that no longer exists count as
// gone. Until then it returns when to check once more. Invariant: a job is requeued
// only when no pod of its last run can run any more.
func (h *KubeExecutor) deleteRunAndReportLost(ctx context.Context, r *run, pods []*corev1.Pod) (requeueAfter time.Duration, err error) {
	if r.awaitsCancel(h.objectOfRun(r)) {
		return maxPodStatusLag, nil
	}
	if !r.deleted {
		if err := h.deleteRunObject(ctx, r, pods); err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
		r.deleted = true
	}
	if h.objectOfRun(r) != nil {
		return time.Second, nil
	}
	// A deleted object's pods may still be terminating on nodes that exist.
	for _, p := range pods {
		if !kube.PodEnded(p) && p.Spec.NodeName != "" && h.inv.NodeByName(p.Spec.NodeName) != nil {
			return time.Second, nil
		}
	}
	h.reportInterrupted(r, *r.terminating.Load())
	return 0, nil
}

// deleteRunObject deletes a run's object, or returns an external one to its owner.
func (h *KubeExecutor) deleteRunObject(ctx context.Context, r *run, pods []*corev1.Pod) error {
	if r.isUserSet() {
		return h.returnSet(ctx, r, h.objectOfRun(r))
	}
	if r.external.Object != "" {
		return h.jobs.ReturnJob(ctx, r.asExternalRun(), h.objectOfRun(r), pods, r.createdAt != 0)
	}
	background := metav1.DeletePropagationBackground
	return h.cfg.Dynamic.Resource(r.kind.groupVersionResource()).Namespace(r.namespace).Delete(ctx, r.objectName(), metav1.DeleteOptions{PropagationPolicy: &background})
}

// reportInterrupted reports that a run ended without finishing and stops managing it.
// A cancelled run is reported as Finished, with "cancelled".
func (h *KubeExecutor) reportInterrupted(r *run, why protocol.Reason) {
	h.forgetRun(r)
	if r.interruptedReported.Load() {
		return
	}
	if r.isReplica() {
		h.reportReplicaEnd(r, why)
		return
	}
	x := protocol.Interrupted{Job: r.launch.Job.ID, Epoch: r.launch.Epoch, Why: why}
	if len(x.Why.Note) > 500 { // bytes; the note travels with every message about the job
		x.Why.Note = x.Why.Note[:500]
	}
	// A run that never started drew nothing.
	if r.startedAt != 0 {
		x.Draw, x.Estimated = h.energyOfRun(r, r.startedAt, h.cfg.Now())
		x.Draw = h.finalEnergy(r, x.Draw)
	}
	if r.cancelled.Load() {
		h.reportOutcome(x.Job, x.Epoch, protocol.Finished{Job: x.Job, Epoch: x.Epoch, Draw: x.Draw, Failed: "cancelled", Estimated: x.Estimated, Stopped: true})
		return
	}
	h.reportOutcome(x.Job, x.Epoch, x)
}

// outcomeDelay returns for how long to wait for the pods' final status and energy
// tallies after the object of a run has ended; 0 is not at all.
func (h *KubeExecutor) outcomeDelay(r *run, pods []*corev1.Pod) time.Duration {
	return max(h.podStatusLag(r, pods), h.energyTallyDelay(r, pods))
}

// maxPodStatusLag is for how long after its object has ended the pods of a run may
// still be seen running.
const maxPodStatusLag = 5 * time.Second

// podStatusLag returns for how long to wait until the pods of an ended run are seen to
// have ended; 0 is not at all. Pods and objects come from separate watches, and the
// requests of a pod count as used until its end is seen: if we reported the outcome
// earlier, the agent would offer that capacity and the binder refuse it. Pods that a
// controller leaves running are waited for no longer than maxPodStatusLag.
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

// reportFinished reports that a run ended by itself, successfully or (with failed)
// not, labels its object as reported and stops managing it. The report comes first: if
// the label is not written, the next incarnation reports the outcome once more, which
// the agent recognizes; the other way round it could be lost.
func (h *KubeExecutor) reportFinished(ctx context.Context, r *run, u *unstructured.Unstructured, pods []*corev1.Pod, failed string) error {
	// The run lasted from its first pod's start to its last container's end.
	since, until := r.startedAt, protocol.Time(0)
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
		since = r.createdAt
	}
	if until < since { // its pods are gone; it may have ended while this process was down
		until = h.cfg.Now()
		if at := r.kind.objectEndTime(u); at != 0 {
			until = min(until, at)
		}
		until = max(until, since)
	}
	// A short run may end before its start was reported: report that first.
	if !r.startReported.Swap(true) {
		h.sendToAgent(protocol.Started{Job: r.launch.Job.ID, Epoch: r.launch.Epoch})
	}
	h.mu.Lock()
	reported := r.energyReported
	h.mu.Unlock()
	if !reported { // otherwise the report was sent, and only the label failed
		draw, estimated := h.energyOfRun(r, since, until)
		h.reportOutcome(r.launch.Job.ID, r.launch.Epoch, protocol.Finished{Job: r.launch.Job.ID, Epoch: r.launch.Epoch, Draw: h.finalEnergy(r, draw), Failed: failed, Estimated: estimated, Use: h.utilizationOfRun(r, pods, since, until), Ended: until})
	}
	// The label tells a later incarnation, and the garbage collector, that the outcome was reported.
	var spec map[string]any
	if r.kind.Kind == "Job" && r.external.Object == "" {
		spec = map[string]any{"ttlSecondsAfterFinished": int64(h.cfg.FinishedTTL / time.Second)}
	}
	if err := h.labelReported(ctx, r, spec); err != nil {
		return err
	}
	h.forgetRun(r)
	return nil
}

// forgetRun stops managing a run.
func (h *KubeExecutor) forgetRun(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.runs, r.name)
	delete(h.createFailures, r.name)
	h.signalInventoryChange()
}
