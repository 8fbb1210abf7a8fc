package kube

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// NodeSelection is which nodes of its cluster a site uses.
type NodeSelection string

// Which those are. The API server admits a binding whatever the node holds, so
// of two schedulers that bind to one node both may take its last GPU. Owned keeps
// the others away: they bind nothing where a taint is that the pod does not
// tolerate.
const (
	OwnedNodes NodeSelection = "owned" // those with TaintOwned of this site
	AllNodes   NodeSelection = "all"   // and all others that take pods: see docs/kubernetes.md
)

// NodeOwnedBySite reports whether a taint says that a node is a site's.
func NodeOwnedBySite(site string, n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return OwnsTaint(site, t) })
}

// OwnsTaint reports whether a taint says that its node is a site's.
func OwnsTaint(site string, t corev1.Taint) bool {
	return t.Key == TaintOwned && t.Value == site && t.Effect != corev1.TaintEffectPreferNoSchedule
}
