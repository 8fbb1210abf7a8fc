package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/external"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// podIndexKey returns the key of the run's pods in indexByRun. Pods of a Job that
// Kueue creates do not carry our label, so those are found by the Job's name.
func (r *run) podIndexKey() string {
	if r.external.Kueue != "" {
		return r.namespace + "/" + r.external.Object
	}
	return r.name
}

// runKeysOfPod returns a pod's keys in indexByRun: the run of its label, or else the
// Job that it belongs to.
func runKeysOfPod(p *corev1.Pod) []string {
	if name := p.Labels[kube.LabelRun]; name != "" {
		return []string{name}
	}
	if job := p.Labels[batchv1.JobNameLabel]; job != "" {
		return []string{p.Namespace + "/" + job}
	}
	return nil
}

// runOfPod returns the name of the run that a pod belongs to, or "". Anyone in the
// namespace can set the label, so the name need not be one of our runs.
func (h *KubeExecutor) runOfPod(p *corev1.Pod) string {
	if name := p.Labels[kube.LabelRun]; name != "" || p.Labels[batchv1.JobNameLabel] == "" {
		return name
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, r := range h.runs {
		if r.external.Kueue != "" && r.podIndexKey() == p.Namespace+"/"+p.Labels[batchv1.JobNameLabel] {
			return name
		}
	}
	return ""
}

// podBelongsToRun reports whether a pod on a node belongs to a run that was awarded
// capacity there. Its requests are then not counted as foreign usage.
func (h *KubeExecutor) podBelongsToRun(p *corev1.Pod, node string) bool {
	name := h.runOfPod(p)
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.runs[name]
	return r != nil && r.namespace == p.Namespace && (r.external.Kueue == "" || r.launch.Node == node)
}

// adoptExternalJob handles a run whose task refers to an existing object: one of this
// cluster's users, which it releases, or a Job that Kueue will create. It returns false
// if the task describes an object of its own, which is then to be created.
func (h *KubeExecutor) adoptExternalJob(ctx context.Context, r *run) (isExternal bool, err error) {
	var t metav1.PartialObjectMetadata
	if json.Unmarshal([]byte(r.launch.Task), &t) != nil || t.Annotations[kube.AnnotationRelease] == "" && t.Annotations[kube.AnnotationKueueWorkload] == "" {
		return false, nil
	}
	k, err := jobKindOf(&unstructured.Unstructured{Object: map[string]any{"apiVersion": t.APIVersion, "kind": t.Kind}}, false)
	if err != nil || podsets.KindOf(k.GroupVersionKind) == nil || t.Annotations[kube.AnnotationKueueWorkload] != "" && k.Kind != podsets.Job.Kind {
		return false, nil // of these kinds a task describes an object of its own
	}
	h.recordRunObject(r, k, t.Namespace, "", external.Loan{Object: t.Name, Kueue: t.Annotations[kube.AnnotationKueueWorkload]})
	why := ""
	if !slices.Contains(h.cfg.Namespaces, r.namespace) {
		why = fmt.Sprintf("namespace %q is not served by this site: want one of %s", r.namespace, strings.Join(h.cfg.Namespaces, ", "))
	} else if r.external.Kueue == "" {
		if why, err = h.releaseExternalJob(ctx, r, t.Annotations[kube.AnnotationRelease]); err != nil && isTransientError(err) {
			return true, err
		} else if err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		h.reportInterrupted(r, protocol.Reason{Code: protocol.ClusterRefused, Note: why})
		return true, nil
	}
	h.markRunCreated(r)
	return true, nil
}

// asExternalRun returns the view of a run that package external works with.
func (r *run) asExternalRun() external.Run {
	return external.Run{Loan: r.external, Name: r.name, Namespace: r.namespace, Launch: r.launch}
}

// releaseExternalJob unsuspends the object of a run, or returns why that is not possible
// (any more).
func (h *KubeExecutor) releaseExternalJob(ctx context.Context, r *run, uid string) (why string, err error) {
	if r.isUserSet() || r.launch.Job.IsGang() {
		return h.releaseSet(ctx, r, uid)
	}
	patch, why, err := h.jobs.PrepareRelease(ctx, r.asExternalRun(), uid)
	if patch == nil {
		return why, err
	}
	if r.firstSeen == 0 {
		r.firstSeen = h.cfg.Now()
	}
	return "", h.jobs.ReleaseJob(ctx, r.asExternalRun(), patch)
}
