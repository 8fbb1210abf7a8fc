package inventory

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// PlacementConflict returns why a pod must not run on a node by its own nodeSelector
// or node affinity, or "". Bindings bypass the scheduler's checks: the API server
// accepts such a binding, and the kubelet then rejects the pod.
func PlacementConflict(n *corev1.Node, p *corev1.Pod) string {
	if !labels.SelectorFromSet(p.Spec.NodeSelector).Matches(labels.Set(n.Labels)) {
		return "its nodeSelector does not match node " + n.Name
	}
	a := p.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if !slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool { return nodeMatchesTerm(t, n) }) {
		return "its nodeAffinity does not match node " + n.Name
	}
	return ""
}

// nodeSelectorOperators translates operators of node affinity for the labels package.
var nodeSelectorOperators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

// nodeMatchesTerm reports whether a node meets all requirements of a term. By
// Kubernetes' rule an empty term matches no node.
func nodeMatchesTerm(t corev1.NodeSelectorTerm, n *corev1.Node) bool {
	for _, q := range t.MatchExpressions {
		r, err := labels.NewRequirement(q.Key, nodeSelectorOperators[q.Operator], q.Values)
		if err != nil || !r.Matches(labels.Set(n.Labels)) {
			return false
		}
	}
	for _, q := range t.MatchFields { // metadata.name is the only field that Kubernetes supports here
		if slices.Contains(q.Values, n.Name) != (q.Operator == corev1.NodeSelectorOpIn) {
			return false
		}
	}
	return len(t.MatchExpressions)+len(t.MatchFields) > 0
}
