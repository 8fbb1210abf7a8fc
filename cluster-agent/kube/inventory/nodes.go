package inventory

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// NodeByName returns a node from the cache, or nil.
func (v *Inventory) NodeByName(name string) *corev1.Node {
	o, ok, _ := v.NodeCache.GetByKey(name)
	if !ok {
		return nil
	}
	return o.(*corev1.Node)
}

// PowerPlanOf returns what the daemon of a launch's node needs to know about its GPUs:
// their power cap and idle power.
func (v *Inventory) PowerPlanOf(l protocol.Launch) podenergy.PowerPlan {
	g, _ := v.Power.LookupModel(l.Model)
	return podenergy.PowerPlan{Cap: l.Cap, Idle: g.Idle}
}

// SiteUsesNode reports whether a node belongs to the site's selection of nodes.
func (v *Inventory) SiteUsesNode(n *corev1.Node) bool {
	return v.Nodes == kube.AllNodes || kube.NodeOwnedBySite(v.Site, n)
}

// ForeignNodeReason is the reason for which a node without the site's taint is closed.
func (v *Inventory) ForeignNodeReason() string {
	return "not " + v.Site + "'s alone: no taint " + kube.TaintOwned + "=" + v.Site + ":NoSchedule"
}

// NodeTolerations returns the tolerations that pods of the site need on its nodes.
func (v *Inventory) NodeTolerations() []corev1.Toleration {
	return []corev1.Toleration{
		{Key: kube.PluginGPU, Operator: corev1.TolerationOpExists},
		{Key: kube.TaintOwned, Operator: corev1.TolerationOpEqual, Value: v.Site},
	}
}

// DescribeNode returns a node's capacity and GPUs, and why it is closed to new jobs,
// if it is.
func (v *Inventory) DescribeNode(n *corev1.Node) protocol.Node {
	p := protocol.Node{
		Name: n.Name, CPU: protocol.Milli(n.Status.Allocatable.Cpu().MilliValue()),
		Memory: protocol.MiB(n.Status.Allocatable.Memory().Value() >> 20), Closed: v.nodeClosedReason(n),
	}
	// Labels name model and memory; devices that are published one by one override them.
	product := firstLabel(n.Labels, gpuProductLabels)
	if mib, err := strconv.ParseInt(firstLabel(n.Labels, gpuMemoryLabels), 10, 64); err == nil {
		p.GPUMemory = protocol.MiB(mib)
	}
	if v.Sharing == kube.SharingDRA {
		devices := v.DevicesOfNode(n.Name)
		if p.Closed == "" {
			p.Closed = v.uncountableShares(devices)
		}
		for _, d := range devices {
			p.GPUs++
			if a := d.Attributes["productName"]; a.StringValue != nil {
				product = *a.StringValue
			}
			if m, ok := d.Capacity[MemoryCapacity]; ok {
				p.GPUMemory = protocol.MiB(m.Value.Value() >> 20)
			}
		}
	} else if v.Sharing == kube.SharingGPUShare {
		q := n.Status.Allocatable["aliyun.com/gpu-count"]
		p.GPUs = int(q.Value())
	} else if q := n.Status.Allocatable[kube.PluginGPU]; v.Sharing == kube.SharingHAMi {
		p.GPUs = len(HAMiCards(n))
	} else {
		p.GPUs = int(q.Value())
	}
	// Nodes without GPUs run CPU jobs and have neither model nor GPU memory.
	if p.GPUs == 0 {
		p.GPUMemory = 0
		return p
	}
	p.Model = v.powerModelOf(product)
	return p
}

// nodeClosedReason returns why a node accepts no new jobs, or "": cordoned, not in the
// site's selection, not ready, or tainted by others.
func (v *Inventory) nodeClosedReason(n *corev1.Node) string {
	if n.Spec.Unschedulable {
		return "cordoned"
	}
	if !v.SiteUsesNode(n) {
		return v.ForeignNodeReason()
	}
	// A node without the condition is not ready.
	notReady := "it has not said so"
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			notReady = c.Reason
			if c.Status == corev1.ConditionTrue {
				notReady = ""
			}
		}
	}
	if notReady != "" {
		return "not ready: " + notReady
	}
	// Pods of the site tolerate the GPU taint and the site's own, and no other.
	for _, t := range n.Spec.Taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule && t.Key != kube.PluginGPU && !kube.OwnsTaint(v.Site, t) {
			return "tainted " + t.Key
		}
	}
	return ""
}

// PodsOnNode returns the pods that hold resources of a node: bound there and not
// ended.
func (v *Inventory) PodsOnNode(n *corev1.Node) (pods []*corev1.Pod) {
	list, _ := v.PodCache.ByIndex(ByNode, n.Name)
	for _, o := range list {
		if p := o.(*corev1.Pod); !kube.PodEnded(p) {
			pods = append(pods, p)
		}
	}
	return pods
}

// MissingCapacity returns what a node lacks for all of the given pods together, or "".
func (v *Inventory) MissingCapacity(n *corev1.Node, pods []*corev1.Pod) string {
	cpu, mib, gpus := int64(0), int64(0), int64(0)
	for _, p := range pods {
		c, m := kube.PodRequests(p)
		cpu, mib, gpus = cpu+c, mib+m, gpus+kube.PodAmount(p, kube.PluginGPU)
	}
	// Compare with what the node can allocate: the kubelet would refuse the pod otherwise.
	have := n.Status.Allocatable
	most := have[kube.PluginGPU]
	switch {
	case cpu > have.Cpu().MilliValue():
		return fmt.Sprintf("others took CPU of node %s: %dm asked of %dm", n.Name, cpu, have.Cpu().MilliValue())
	case mib > have.Memory().Value()>>20:
		return fmt.Sprintf("others took memory of node %s: %d MiB asked of %d", n.Name, mib, have.Memory().Value()>>20)
	case have.Pods().Value() > 0 && int64(len(pods)) > have.Pods().Value():
		return fmt.Sprintf("node %s takes %d pods; it would have %d", n.Name, have.Pods().Value(), len(pods))
	case v.Sharing == kube.SharingDevicePlugin && gpus > most.Value():
		return fmt.Sprintf("others took GPUs of node %s: %d asked of %d", n.Name, gpus, most.Value())
	}
	return ""
}
