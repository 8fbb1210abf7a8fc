package executor

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
)

// holder is a pod on node n1 with GPUs; of a run, or of others.
func holder(name, run string, gpus int64) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{kube.LabelRun: run}, CreationTimestamp: metav1.NewTime(noon.StdTime())}}
	p.Spec.NodeName = "n1"
	p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{kube.PluginGPU: *resource.NewQuantity(gpus, resource.DecimalSI)}}}}
	return p
}

func TestRunYieldsToForeignPodsOnly(t *testing.T) {
	for _, tc := range []struct {
		name   string
		gpus   string // that the node says it has
		others int64
		gives  bool
	}{
		{"there is room", "8", 2, false},
		{"others came", "8", 5, true},
		{"its device plugin begins anew", "0", 0, false},
		{"the same beside others", "0", 2, false},
	} {
		now := noon
		h := bare(Config{}, &now)
		h.inv.PodCache = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{inventory.ByNode: func(o any) ([]string, error) { return []string{o.(*corev1.Pod).Spec.NodeName}, nil }})
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{kube.PluginGPU: resource.MustParse(tc.gpus)}}}
		for _, o := range []*corev1.Pod{holder("train", "r1", 4), holder("notebook", "", tc.others)} {
			if err := h.inv.PodCache.Add(o); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.inv.NodeCache.Add(n); err != nil {
			t.Fatal(err)
		}
		r := &run{name: "r1", kind: &jobKinds[0], namespace: "default"}
		h.runs["r1"] = r
		h.surveyInventory()
		if gives := r.terminating.Load() != nil; gives != tc.gives {
			t.Errorf("%s: ours gives way %v, want %v", tc.name, gives, tc.gives)
		}
	}
}

// Whoever copies a pod into a namespace of his own copies its labels.
func TestPodInOtherNamespaceIsNotOfRun(t *testing.T) {
	now := noon
	h := bare(Config{}, &now)
	h.inv.PodCache = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{indexByRun: func(o any) ([]string, error) { return runKeysOfPod(o.(*corev1.Pod)), nil }})
	r := &run{name: "r1", kind: &jobKinds[0], namespace: "default"}
	h.runs["r1"] = r
	own, copied := holder("train", "r1", 1), holder("train", "r1", 1)
	copied.Namespace = "debug"
	for _, p := range []*corev1.Pod{own, copied} {
		if err := h.inv.PodCache.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if pods := h.podsOfRun(r); len(pods) != 1 || pods[0] != own || !h.podBelongsToRun(own, "n1") || h.podBelongsToRun(copied, "n1") {
		t.Errorf("its pods are %v; ours %v and %v", pods, h.podBelongsToRun(own, "n1"), h.podBelongsToRun(copied, "n1"))
	}
}

// A kubelet takes so many pods and no more, however small they are. What it refuses
// would be awarded to it again at once.
func TestNodeAtPodLimitIsClosed(t *testing.T) {
	now := noon
	h := bare(Config{Nodes: kube.AllNodes}, &now)
	h.inv.PodCache = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{inventory.ByNode: func(o any) ([]string, error) { return []string{o.(*corev1.Pod).Spec.NodeName}, nil }})
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")},
		Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
	if err := h.inv.NodeCache.Add(n); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "it has 2 pods, which is all that it takes"} {
		p := holder(string(rune('a'+i)), "", 0)
		if got := h.inv.MissingCapacity(n, append(h.inv.PodsOnNode(n), p)); got != "" {
			t.Errorf("pod %d: %s", i, got)
		}
		if err := h.inv.PodCache.Add(p); err != nil {
			t.Fatal(err)
		}
		if got := h.surveyInventory()[0].Closed; got != want {
			t.Errorf("%d pods: closed %q, want %q", i+1, got, want)
		}
	}
	if got := h.inv.MissingCapacity(n, append(h.inv.PodsOnNode(n), holder("c", "", 0))); !strings.Contains(got, "takes 2 pods") {
		t.Errorf("a third pod: %q", got)
	}
}
