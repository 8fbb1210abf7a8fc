package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/protocol"
)

func TestAPodWhoseNodeHasJustGoneIsNotBound(t *testing.T) {
	now := noon
	h := bare(Config{}, &now)
	r := &run{launch: protocol.Launch{Node: "n1"}}
	p := &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: Scheduler}}
	if err := h.bind(t.Context(), r, p, []*corev1.Pod{p}); err != nil || r.leaving.Load() != nil {
		t.Errorf("%v, leaving because %v", err, r.leaving.Load())
	}
}

// Word that a pod was bound may come while its run is attended by how its pods were before.
// It takes its room once, also where its run fills the node.
func TestAPodThatWasBoundAMomentAgoTakesItsRoomOnce(t *testing.T) {
	now := noon
	h := bare(Config{Nodes: All}, &now)
	h.pods = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byNode: func(o any) ([]string, error) { return []string{o.(*corev1.Pod).Spec.NodeName}, nil }})
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}}}
	if err := h.nodes.Add(n); err != nil {
		t.Fatal(err)
	}
	was := holder("train-0", "r1", 0)
	was.UID, was.Spec.SchedulerName, was.Spec.NodeName = "u1", Scheduler, ""
	is := was.DeepCopy()
	is.Spec.NodeName = "n1"
	if err := h.pods.Add(is); err != nil {
		t.Fatal(err)
	}
	r := &run{name: "r1", launch: protocol.Launch{Node: "n1"}}
	if err := h.bind(t.Context(), r, was, []*corev1.Pod{was}); err != nil || r.leaving.Load() != nil {
		t.Errorf("%v, leaving because %v", err, r.leaving.Load())
	}
}

func TestAPodIsKeptFromNodesThatItDoesNotWant(t *testing.T) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"zone": "a", "rank": "7"}}}
	type term = []corev1.NodeSelectorRequirement
	one := func(key string, op corev1.NodeSelectorOperator, values ...string) term {
		return term{{Key: key, Operator: op, Values: values}}
	}
	no := "its nodeAffinity does not match node n1"
	for _, tc := range []struct {
		terms []term // one of them must hold
		want  string
	}{
		{[]term{one("zone", "In", "a", "b")}, ""},
		{[]term{one("zone", "In", "b")}, no},
		{[]term{one("zone", "In", "b"), one("zone", "Exists")}, ""},
		{[]term{append(one("zone", "In", "a"), one("disk", "Exists")...)}, no},
		{[]term{one("zone", "NotIn", "a")}, no},
		{[]term{one("disk", "DoesNotExist")}, ""},
		{[]term{one("rank", "Gt", "6")}, ""},
		{[]term{one("rank", "Lt", "7")}, no},
		{[]term{{}}, no},
	} {
		p := &corev1.Pod{}
		must := &corev1.NodeSelector{}
		for _, t := range tc.terms {
			must.NodeSelectorTerms = append(must.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: t})
		}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: must}}
		if got := misplaced(n, p); got != tc.want {
			t.Errorf("%v: %q; want %q", tc.terms, got, tc.want)
		}
	}
	for name, want := range map[string]string{"n1": "", "n2": no} {
		p := &corev1.Pod{}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: one("metadata.name", "In", name)}}}}}
		if got := misplaced(n, p); got != want {
			t.Errorf("by name %s: %q; want %q", name, got, want)
		}
	}
}

// A pod that its kubelet would refuse is not bound: the job would be sold to this
// site again at once, and again.
func TestAPodThatMustNotGoToItsNodeIsRefusedBeforeItIsBound(t *testing.T) {
	now := noon
	h := bare(Config{Nodes: All}, &now)
	if err := h.nodes.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		t.Fatal(err)
	}
	must := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: "Exists"}}}}}
	p := &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: Scheduler, Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: must}}}}
	r := &run{launch: protocol.Launch{Node: "n1"}}
	if err := h.bind(t.Context(), r, p, []*corev1.Pod{p}); err != nil || r.leaving.Load() == nil || r.leaving.Load().Code != protocol.Refused {
		t.Errorf("%v, leaving because %v", err, r.leaving.Load())
	}
}

// A device plugin gives slices of cards to whoever asks, sold or not.
func TestAPodThatAsksForGPUsByAnotherNameIsRefused(t *testing.T) {
	for _, tc := range []struct {
		sharing Sharing
		name    corev1.ResourceName
		sold    bool
	}{
		{Plugin, pluginGPU, true}, {Plugin, "nvidia.com/mig-1g.5gb", false}, {Plugin, "nvidia.com/gpu.shared", false}, {Plugin, "nvidia.com/hostdev", true},
		{DRA, pluginGPU, false}, {HAMi, hamiMemory, true}, {GPUShare, shareGiB, true}, {GPUShare, pluginGPU, false},
	} {
		h := New(Config{Site: "oslo", Sharing: tc.sharing})
		p := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{tc.name: resource.MustParse("1")}}}}}}
		if why := h.exceeds(&run{}, []*corev1.Pod{p}); (why == "") != tc.sold {
			t.Errorf("%s by %s: %q", tc.name, tc.sharing, why)
		}
	}
}
