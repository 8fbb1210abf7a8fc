package executor

import (
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// failingJobConditions is what a Job says that its controller is about to end, and has yet to end
// the pods of.
var failingJobConditions = conditionTypes(string(batchv1.JobFailureTarget), string(batchv1.JobSuccessCriteriaMet))

// terminationReasonDelay is how long to wait for word of why pods of a run are deleted, where the
// cluster does not say that it evicts them; 0 is not at all. A controller deletes the
// pods of a job that runs too long or has failed too often before it says that the
// job has ended: taken for lost, it would be sold again without end. A run whose
// pods go for no such reason is taken down.
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
		if r.going == "" && !podIsReplaceable(p) {
			r.going, r.goingSince, r.goingTry = p.Name, now, jobSetAttemptOf(p)
		}
	}
	if r.going == "" || r.goingTry < attempt { // or begun again by its controller
		r.going = ""
		return 0
	}
	if u != nil && preemptedPod(u, pods) == "" {
		if _, ok := failingJobConditions.matchesObject(u); ok {
			return maxPodStatusLag
		}
	}
	left := maxPodStatusLag - now.Sub(r.goingSince)
	if left <= 0 {
		h.terminateRun(r, protocol.Evicted, "pod "+r.going+" was evicted or deleted")
	}
	return max(left, 0)
}

// podIsReplaceable reports whether a pod is a worker that its own program lets go as it runs, and
// makes anew when one is lost: Spark's driver ends executors that are idle, or when it
// is done itself, and so does Ray's autoscaler with its workers.
func podIsReplaceable(p *corev1.Pod) bool {
	return p.Labels["spark-role"] == "executor" || p.Labels["ray.io/node-type"] == "worker"
}

// jobSetRestarts is how often a JobSet has begun again, as it may when its program fails:
// it deletes all pods of the attempts before.
func jobSetRestarts(u *unstructured.Unstructured) int64 {
	if u == nil || u.GetKind() != "JobSet" {
		return 0
	}
	n, _, _ := unstructured.NestedInt64(u.Object, "status", "restarts")
	return n
}

// jobSetAttemptOf is in which attempt a JobSet made a pod.
func jobSetAttemptOf(p *corev1.Pod) int64 {
	n, _ := strconv.ParseInt(p.Labels["jobset.sigs.k8s.io/restart-attempt"], 10, 64)
	return n
}

// preemptedPod says that a Job fails because its pods were deleted, or "": Kubernetes
// counts those as failed. Of pods that failed by themselves one is still there,
// unless they are started again in place.
func preemptedPod(u *unstructured.Unstructured, pods []*corev1.Pod) string {
	again, _, _ := unstructured.NestedString(u.Object, "spec", "template", "spec", "restartPolicy")
	if u.GetKind() != "Job" || again != string(corev1.RestartPolicyNever) || !backoffLimitExceeded(u) ||
		slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed && p.DeletionTimestamp == nil }) {
		return ""
	}
	return "its pods were evicted or deleted"
}

// backoffLimitExceeded reports whether a Job fails because too many of its pods did.
func backoffLimitExceeded(u *unstructured.Unstructured) bool {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	return slices.ContainsFunc(list, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["status"] == "True" && m["reason"] == batchv1.JobReasonBackoffLimitExceeded
	})
}
