package executor

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// surveyInventory returns the site's nodes, sorted by name, with what foreign pods
// hold of them. Where foreign pods and ours no longer fit on a node together, it
// terminates the run of ours that started last. All nodes are closed while the API
// server does not answer.
func (h *KubeExecutor) surveyInventory() []protocol.Node {
	h.mu.Lock()
	silent := h.apiSilent
	h.mu.Unlock()
	var all []protocol.Node
	for _, o := range h.inv.NodeCache.List() {
		n := o.(*corev1.Node)
		p := h.inv.DescribeNode(n)
		ours := h.foreignPods.FillForeignUsage(n, &p)
		h.yieldToForeignPods(n, ours)
		if pods := n.Status.Allocatable.Pods().Value(); p.Closed == "" && pods > 0 && int64(len(h.inv.PodsOnNode(n))) >= pods {
			p.Closed = fmt.Sprintf("it has %d pods, which is all that it takes", pods)
		}
		if silent {
			p.Closed = apiServerSilent
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(x, y protocol.Node) int { return strings.Compare(x.Name, y.Name) })
	return all
}

// logInventoryChanges logs which nodes were closed or opened, and which have GPUs
// without a known power model: this log is the only place where an operator learns why
// a node is not offered. Nodes that do not belong to the site are skipped.
func (h *KubeExecutor) logInventoryChanges(last, now []protocol.Node) {
	was := make(map[string]protocol.Node, len(last))
	for _, p := range last {
		was[p.Name] = p
	}
	for _, p := range now {
		before, known := was[p.Name]
		if _, ok := h.cfg.Power.LookupModel(p.Model); !ok && p.GPUs > 0 && p.Closed != h.inv.ForeignNodeReason() && (!known || before.Model != p.Model || before.Closed == h.inv.ForeignNodeReason()) {
			h.cfg.Log.Warn("a node is not offered: its GPU model has no power curve; map it to a known model under models in the configuration, or give its figures under power", "node", p.Name, "gpus", p.Model)
		}
		switch {
		case p.Closed == before.Closed || p.Closed == h.inv.ForeignNodeReason() || p.Closed == apiServerSilent:
		case p.Closed != "":
			h.cfg.Log.Info("a node is closed to new jobs", "node", p.Name, "why", p.Closed)
		case before.Closed != apiServerSilent:
			h.cfg.Log.Info("a node is open to new jobs again", "node", p.Name)
		}
	}
}

// apiServerSilent is the reason with which all nodes are closed while the API server
// does not answer.
const apiServerSilent = "the API server does not answer"

// sameNodes reports whether two surveys are equal, so that only changes are sent.
func sameNodes(x, y []protocol.Node) bool { return reflect.DeepEqual(x, y) }

// yieldToForeignPods terminates the run of ours that has to yield to foreign pods on a
// node, if there is one.
func (h *KubeExecutor) yieldToForeignPods(n *corev1.Node, ours []*corev1.Pod) {
	pod, why := h.foreignPods.PodToYield(n, ours)
	if pod == nil {
		return
	}
	h.mu.Lock()
	r := h.runs[pod.Labels[kube.LabelRun]]
	h.mu.Unlock()
	if r != nil {
		h.terminateRun(r, protocol.TakenOver, why)
		h.queue.Add(r.name)
	}
}
