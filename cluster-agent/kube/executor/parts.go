package executor

import (
	"context"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// A part of a job at several sites is a Job of its own in its cluster. Its program is that of the whole job: the
// world counts the pods of all parts, and a rank is one among all of them. Rank 0 is in the part that leads; the
// others reach it by the name that the Multi-Cluster Services API of Kubernetes (KEP-1645) gives to a Service that
// its cluster exports, so clusters whose pods cannot reach each other need an address of the task's own.

// clusterSetDomain is the DNS domain of exported Services.
const clusterSetDomain = "svc.clusterset.local"

// serviceExports is the kind by which a cluster exports a Service, of clusters that have it.
var serviceExports = schema.GroupVersionResource{Group: "multicluster.x-k8s.io", Version: "v1alpha1", Resource: "serviceexports"}

// isPart reports whether j is a part whose pods are told where they stand in the whole job.
func isPart(j *protocol.Job) bool { return j.PartOf != "" && j.WholePods > 0 }

// leaderService returns the name of the Service of rank 0, whose part has a name as object.
func leaderService(part string) string { return part + "-leader" }

// rankVariables returns by which variables the pods of a Job find each other: the Job's pods alone, or of a part
// those of all parts. name is that of the Job, and of its headless Service; the part that leads has the epoch and
// the namespace of this one.
func rankVariables(name, namespace string, j *protocol.Job, epoch uint64) []map[string]any {
	master, world, rank := name+"-0."+name, j.PodCount(), batchv1.JobCompletionIndexAnnotation
	if isPart(j) {
		world, rank = j.WholePods, kube.AnnotationRank
		if j.Leader != j.ID {
			master = leaderService(objectNameOf(kube.RunName(j.Leader, epoch))) + "." + namespace + "." + clusterSetDomain
		}
	}
	return []map[string]any{
		{"name": "MASTER_ADDR", "value": master},
		{"name": "MASTER_PORT", "value": masterPort},
		{"name": "WORLD_SIZE", "value": strconv.Itoa(world)},
		{"name": "RANK", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.annotations['" + rank + "']"}}},
	}
}

// rankOf returns the rank of a pod of a gang among those of all parts; false if its run is no part.
func (r *run) rankOf(p *corev1.Pod) (rank int, ok bool) {
	j := &r.launch.Job
	component, index, ok := indexOfPod(p)
	if !ok || !isPart(j) {
		return 0, false
	}
	for i := range j.Pods[:component] {
		index += j.Pods[i].Pods
	}
	return j.FirstRank + index, true
}

// exportLeader creates the Service of rank 0 of a job in parts, in the cluster of the part that leads, and exports
// it. A cluster that exports no Services leaves it at the first.
func (h *KubeExecutor) exportLeader(ctx context.Context, r *run, u *unstructured.Unstructured) error {
	name := leaderService(u.GetName())
	if err := h.createHeadlessService(ctx, r, u, name, map[string]string{kube.LabelRun: r.name, batchv1.JobCompletionIndexAnnotation: "0"}); err != nil {
		return err
	}
	export := &unstructured.Unstructured{Object: map[string]any{}}
	export.SetAPIVersion(serviceExports.GroupVersion().String())
	export.SetKind("ServiceExport")
	export.SetName(name)
	export.SetLabels(map[string]string{kube.LabelSite: h.cfg.Site, kube.LabelRun: r.name})
	export.SetOwnerReferences(ownedBy(u))
	_, err := h.cfg.Dynamic.Resource(serviceExports).Namespace(r.namespace).Create(ctx, export, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		h.cfg.Log.Warn("the first pod of a job in parts is not exported to the clusters of its other parts: install the Multi-Cluster Services API (ServiceExport), or name MASTER_ADDR in the task", "job", r.launch.Job.PartOf, "service", name, "error", err)
		return nil
	}
	return err
}
