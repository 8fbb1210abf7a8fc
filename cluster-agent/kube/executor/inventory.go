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

// surveyInventory says what the site consists of, in order of name. Where others came to
// hold what ours hold too, the run that began last gives way.
func (h *KubeExecutor) surveyInventory() []protocol.Node {
	h.mu.Lock()
	silent := h.silent
	h.mu.Unlock()
	var all []protocol.Node
	for _, o := range h.inv.NodeCache.List() {
		n := o.(*corev1.Node)
		p := h.inv.DescribeNode(n)
		ours := h.addForeignUsage.FillOthers(n, &p)
		h.yieldToForeignPods(n, ours)
		if pods := n.Status.Allocatable.Pods().Value(); p.Closed == "" && pods > 0 && int64(len(h.inv.PodsOn(n))) >= pods {
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

// logInventoryChanges logs which nodes take nothing new, take something again, or have GPUs of which
// no power is known: nobody else says why a node is not offered. Nodes that are not
// the site's are passed over.
func (h *KubeExecutor) logInventoryChanges(last, now []protocol.Node) {
	was := make(map[string]protocol.Node, len(last))
	for _, p := range last {
		was[p.Name] = p
	}
	for _, p := range now {
		before, known := was[p.Name]
		if _, ok := h.cfg.Power.LookupModel(p.Model); !ok && p.GPUs > 0 && p.Closed != h.inv.ForeignNodeReason() && (!known || before.Model != p.Model || before.Closed == h.inv.ForeignNodeReason()) {
			h.cfg.Log.Warn("a node is not offered: no power is known of its GPUs; say in models what they count as", "node", p.Name, "gpus", p.Model)
		}
		switch {
		case p.Closed == before.Closed || p.Closed == h.inv.ForeignNodeReason() || p.Closed == apiServerSilent:
		case p.Closed != "":
			h.cfg.Log.Info("a node takes nothing new", "node", p.Name, "why", p.Closed)
		case before.Closed != apiServerSilent:
			h.cfg.Log.Info("a node takes jobs again", "node", p.Name)
		}
	}
}

// apiServerSilent is why all nodes are closed while the API server is silent.
const apiServerSilent = "the API server does not answer"

func sameNodes(x, y []protocol.Node) bool { return reflect.DeepEqual(x, y) }

// yieldToForeignPods takes down the run of ours that gives way to others on a node, if there is
// one.
func (h *KubeExecutor) yieldToForeignPods(n *corev1.Node, ours []*corev1.Pod) {
	pod, why := h.addForeignUsage.GivesWay(n, ours)
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
