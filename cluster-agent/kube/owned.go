package kube

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Nodes is which nodes of its cluster a site uses.
type Nodes string

// Which those are. The API server admits a binding whatever the node holds, so
// of two schedulers that bind to one node both may take its last GPU. Owned keeps
// the others away: they bind nothing where a taint is that the pod does not
// tolerate.
const (
	Owned Nodes = "owned" // those with TaintOwned of this site
	All   Nodes = "all"   // and all others that take pods: see docs/kubernetes.md
)

// Owns reports whether a taint says that a node is a site's.
func Owns(site string, n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return owns(site, t) })
}

// owns reports whether a taint says that its node is a site's.
func owns(site string, t corev1.Taint) bool {
	return t.Key == TaintOwned && t.Value == site && t.Effect != corev1.TaintEffectPreferNoSchedule
}

// owns reports whether a node is one that this site uses.
func (h *Hands) owns(n *corev1.Node) bool { return h.cfg.Nodes == All || Owns(h.cfg.Site, n) }

// foreign says why a node is not used that lacks our taint.
func (h *Hands) foreign() string {
	return "not " + h.cfg.Site + "'s alone: no taint " + TaintOwned + "=" + h.cfg.Site + ":NoSchedule"
}

// tolerations are what pods of ours need for the nodes of this site.
func (h *Hands) tolerations() []corev1.Toleration {
	return []corev1.Toleration{
		{Key: pluginGPU, Operator: corev1.TolerationOpExists},
		{Key: TaintOwned, Operator: corev1.TolerationOpEqual, Value: h.cfg.Site},
	}
}

// warnOfNone tells an operator who forgot to give the site any node.
func (h *Hands) warnOfNone() {
	all := h.nodes.List()
	if !slices.ContainsFunc(all, func(o any) bool { return h.owns(o.(*corev1.Node)) }) {
		h.cfg.Log.Warn("no node is this site's, so nothing is offered; kubectl taint node NAME "+TaintOwned+"="+h.cfg.Site+":NoSchedule gives it one", "nodes", len(all))
	}
}
