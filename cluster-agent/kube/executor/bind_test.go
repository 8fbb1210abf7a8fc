package executor

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/protocol"
)

func TestPodOfDeletedNodeIsNotBound(t *testing.T) {
	now := noon
	h := bare(Config{}, &now)
	r := &run{launch: protocol.Launch{Node: "n1"}}
	p := &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: kube.SchedulerName}}
	if err := h.bindPod(t.Context(), r, p, []*corev1.Pod{p}); err != nil || r.terminating.Load() != nil {
		t.Errorf("%v, leaving because %v", err, r.terminating.Load())
	}
}

// Word that a pod was bound may come while its run is attended by how its pods were before.
// It takes its room once, also where its run fills the node.
func TestJustBoundPodIsCountedOnce(t *testing.T) {
	now := noon
	h := bare(Config{Nodes: kube.AllNodes}, &now)
	h.inv.PodCache = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{inventory.ByNode: func(o any) ([]string, error) { return []string{o.(*corev1.Pod).Spec.NodeName}, nil }})
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}}}
	if err := h.inv.NodeCache.Add(n); err != nil {
		t.Fatal(err)
	}
	was := holder("train-0", "r1", 0)
	was.UID, was.Spec.SchedulerName, was.Spec.NodeName = "u1", kube.SchedulerName, ""
	is := was.DeepCopy()
	is.Spec.NodeName = "n1"
	if err := h.inv.PodCache.Add(is); err != nil {
		t.Fatal(err)
	}
	r := &run{name: "r1", launch: protocol.Launch{Node: "n1"}}
	if err := h.bindPod(t.Context(), r, was, []*corev1.Pod{was}); err != nil || r.terminating.Load() != nil {
		t.Errorf("%v, leaving because %v", err, r.terminating.Load())
	}
}

// A pod that its kubelet would refuse is not bound: the job would be awarded to this
// site again at once, and again.
func TestMisplacedPodIsRefusedBeforeBinding(t *testing.T) {
	now := noon
	h := bare(Config{Nodes: kube.AllNodes}, &now)
	if err := h.inv.NodeCache.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		t.Fatal(err)
	}
	must := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: "Exists"}}}}}
	p := &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: kube.SchedulerName, Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: must}}}}
	r := &run{launch: protocol.Launch{Node: "n1"}}
	if err := h.bindPod(t.Context(), r, p, []*corev1.Pod{p}); err != nil || r.terminating.Load() == nil || r.terminating.Load().Code != protocol.ClusterRefused {
		t.Errorf("%v, leaving because %v", err, r.terminating.Load())
	}
}
