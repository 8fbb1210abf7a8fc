package executor

import (
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// failingJobConditions are conditions of a Job whose controller has decided that it
// ends, but has yet to end its pods.
var failingJobConditions = conditionTypes(string(batchv1.JobFailureTarget), string(batchv1.JobSuccessCriteriaMet))

// terminationReasonDelay returns for how long to wait until the cluster says why pods
// of a run are being deleted; 0 is not at all. It matters because a controller deletes
// the pods of a job that exceeded its time or its retries before it sets the condition
// for that. If we took this for an eviction, the job would be requeued and fail in the
// same way without end. A run whose pods still have no such explanation after
// maxPodStatusLag is terminated as evicted.
func (h *KubeExecutor) terminationReasonDelay(r *run, u *unstructured.Unstructured, pods []*corev1.Pod) time.Duration {
	now, attempt := h.cfg.Now(), jobSetRestarts(u)
	for _, p := range pods {
		if p.DeletionTimestamp == nil || kube.PodEnded(p) || jobSetAttemptOf(p) < attempt {
			continue
		}
		if why := evictionReason(p); why != "" {
			h.terminateRun(r, protocol.Evicted, why)
			return 0
		}
		if r.deletingPod == "" && !podIsReplaceable(p) {
			r.deletingPod, r.deletingSince, r.deletingAttempt = p.Name, now, jobSetAttemptOf(p)
		}
	}
	if r.deletingPod == "" || r.deletingAttempt < attempt { // the controller restarted the job: a new attempt
		r.deletingPod = ""
		return 0
	}
	if u != nil && preemptedPod(u, pods) == "" {
		if _, ok := failingJobConditions.matchesObject(u); ok {
			return maxPodStatusLag
		}
	}
	left := maxPodStatusLag - now.Sub(r.deletingSince)
	if left <= 0 {
		h.terminateRun(r, protocol.Evicted, "pod "+r.deletingPod+" was evicted or deleted")
	}
	return max(left, 0)
}

// podIsReplaceable reports whether a pod is a worker that its own framework removes
// and re-creates at run time, so that its deletion says nothing about the run: Spark's
// driver ends idle executors, and all of them when it finishes; Ray's autoscaler does
// the same with workers; a LeaderWorkerSet makes the whole group of a pod anew.
func podIsReplaceable(p *corev1.Pod) bool {
	return p.Labels["spark-role"] == "executor" || p.Labels["ray.io/node-type"] == "worker" || podsets.MadeAnewAsGroup(p)
}

// jobSetRestarts returns how many times a JobSet has restarted after failures, 0 for
// other kinds. At a restart it deletes all pods of earlier attempts, which is no
// eviction.
func jobSetRestarts(u *unstructured.Unstructured) int64 {
	if u == nil || u.GetKind() != "JobSet" {
		return 0
	}
	n, _, _ := unstructured.NestedInt64(u.Object, "status", "restarts")
	return n
}

// jobSetAttemptOf returns the attempt for which a JobSet created a pod, counted from
// 0.
func jobSetAttemptOf(p *corev1.Pod) int64 {
	n, _ := strconv.ParseInt(p.Labels["jobset.sigs.k8s.io/restart-attempt"], 10, 64)
	return n
}

// preemptedPod returns why a Job failed if that is due to deleted pods, or "".
// Kubernetes counts a deleted pod as failed, so the Job alone looks as if its program
// had failed. A pod that failed by itself is still there, unless it restarts in place
// (restartPolicy other than Never), where this cannot be decided.
func preemptedPod(u *unstructured.Unstructured, pods []*corev1.Pod) string {
	policy, _, _ := unstructured.NestedString(u.Object, "spec", "template", "spec", "restartPolicy")
	if u.GetKind() != "Job" || policy != string(corev1.RestartPolicyNever) || !backoffLimitExceeded(u) ||
		slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed && p.DeletionTimestamp == nil }) {
		return ""
	}
	return "its pods were evicted or deleted"
}

// backoffLimitExceeded reports whether a Job failed because more of its pods failed
// than its backoffLimit allows.
func backoffLimitExceeded(u *unstructured.Unstructured) bool {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	return slices.ContainsFunc(list, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["status"] == "True" && m["reason"] == batchv1.JobReasonBackoffLimitExceeded
	})
}
