package kube

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// NodeSelection says which nodes of its cluster a site uses.
type NodeSelection string

// The two selections. The API server accepts a binding without checking what the node
// still has free, so two schedulers that bind to the same node may both take its last
// GPU. OwnedNodes avoids that: other schedulers do not bind pods to a node with a
// taint that those pods do not tolerate.
const (
	OwnedNodes NodeSelection = "owned" // nodes with this site's TaintOwned
	AllNodes   NodeSelection = "all"   // every node that accepts pods: see docs/kubernetes.md for the risk
)

// NodeOwnedBySite reports whether a node carries the site's TaintOwned.
func NodeOwnedBySite(site string, n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return OwnsTaint(site, t) })
}

// OwnsTaint reports whether a taint reserves its node for the site. PreferNoSchedule
// does not: it lets other schedulers place pods there.
func OwnsTaint(site string, t corev1.Taint) bool {
	return t.Key == TaintOwned && t.Value == site && t.Effect != corev1.TaintEffectPreferNoSchedule
}
