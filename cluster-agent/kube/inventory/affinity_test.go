package inventory

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPlacementConflict(t *testing.T) {
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
		if got := PlacementConflict(n, p); got != tc.want {
			t.Errorf("%v: %q; want %q", tc.terms, got, tc.want)
		}
	}
	for name, want := range map[string]string{"n1": "", "n2": no} {
		p := &corev1.Pod{}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: one("metadata.name", "In", name)}}}}}
		if got := PlacementConflict(n, p); got != want {
			t.Errorf("by name %s: %q; want %q", name, got, want)
		}
	}
}
