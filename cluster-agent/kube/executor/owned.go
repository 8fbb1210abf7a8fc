package executor

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
)

// warnIfNoNodesOwned tells an operator who forgot to give the site any node.
func (h *KubeExecutor) warnIfNoNodesOwned() {
	all := h.inv.NodeCache.List()
	if !slices.ContainsFunc(all, func(o any) bool { return h.inv.UsesNode(o.(*corev1.Node)) }) {
		h.cfg.Log.Warn("no node is this site's, so nothing is offered; kubectl taint node NAME "+kube.TaintOwned+"="+h.cfg.Site+":NoSchedule gives it one", "nodes", len(all))
	}
}
