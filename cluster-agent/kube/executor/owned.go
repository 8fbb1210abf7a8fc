package executor

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
)

// warnIfNoNodesOwned logs a warning with the command to run if no node of the cluster
// belongs to the site, which then offers nothing.
func (h *KubeExecutor) warnIfNoNodesOwned() {
	all := h.inv.NodeCache.List()
	if !slices.ContainsFunc(all, func(o any) bool { return h.inv.SiteUsesNode(o.(*corev1.Node)) }) {
		h.cfg.Log.Warn("no node belongs to this site, so it offers nothing; assign one with: kubectl taint node NAME "+kube.TaintOwned+"="+h.cfg.Site+":NoSchedule", "nodes", len(all))
	}
}
