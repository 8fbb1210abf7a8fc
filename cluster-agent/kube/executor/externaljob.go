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

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/external"
	"github.com/gridbid/gridbid/protocol"
)

// podIndexKey is the key of a run's pods in the index of them.
func (r *run) podIndexKey() string {
	if r.external.Kueue != "" {
		return r.namespace + "/" + r.external.Object
	}
	return r.name
}

// runKeysOfPod are the keys of a pod: its run, or the Job that it belongs to.
func runKeysOfPod(p *corev1.Pod) []string {
	if name := p.Labels[kube.LabelRun]; name != "" {
		return []string{name}
	}
	if job := p.Labels[batchv1.JobNameLabel]; job != "" {
		return []string{p.Namespace + "/" + job}
	}
	return nil
}

// runOfPod returns the name of the run that a pod belongs to, or "".
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

// podBelongsToRun reports whether a pod on a node belongs to a run that has its place there.
func (h *KubeExecutor) podBelongsToRun(p *corev1.Pod, node string) bool {
	name := h.runOfPod(p)
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.runs[name]
	return r != nil && r.namespace == p.Namespace && (r.external.Kueue == "" || r.launch.Node == node)
}

// adoptExternalJob takes up a run whose task names a Job that is there, or will be, and
// reports whether it does.
func (h *KubeExecutor) adoptExternalJob(ctx context.Context, r *run) (lent bool, err error) {
	var t metav1.PartialObjectMetadata
	if json.Unmarshal([]byte(r.launch.Task), &t) != nil || t.Annotations[kube.AnnotationRelease] == "" && t.Annotations[kube.AnnotationKueueWorkload] == "" {
		return false, nil
	}
	h.recordRunObject(r, &jobKinds[0], t.Namespace, "", external.Loan{Object: t.Name, Kueue: t.Annotations[kube.AnnotationKueueWorkload]})
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

// onLoan is a run that consists of another's Job, for those who handle it.
func (r *run) onLoan() external.Run {
	return external.Run{Loan: r.external, Name: r.name, Namespace: r.namespace, Launch: r.launch}
}

// releaseExternalJob lets the suspended Job of a run go, or says why it cannot.
func (h *KubeExecutor) releaseExternalJob(ctx context.Context, r *run, uid string) (why string, err error) {
	patch, why, err := h.jobs.PrepareRelease(ctx, r.onLoan(), uid)
	if patch == nil {
		return why, err
	}
	if r.firstSeen == 0 {
		r.firstSeen = h.cfg.Now()
	}
	return "", h.jobs.ReleaseJob(ctx, r.onLoan(), patch)
}
