package inventory

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// NodeByName returns a node as it was last seen, or nil.
func (v *Inventory) NodeByName(name string) *corev1.Node {
	o, ok, _ := v.NodeCache.GetByKey(name)
	if !ok {
		return nil
	}
	return o.(*corev1.Node)
}

// PowerPlanFor is what the machine of a launch is told of its cards.
func (v *Inventory) PowerPlanFor(l protocol.Launch) podenergy.PowerPlan {
	g, _ := v.Power.LookupModel(l.Model)
	return podenergy.PowerPlan{Cap: l.Cap, Idle: g.Idle}
}

// UsesNode reports whether a node is one that this site uses.
func (v *Inventory) UsesNode(n *corev1.Node) bool {
	return v.Nodes == kube.AllNodes || kube.NodeOwnedBySite(v.Site, n)
}

// ForeignNodeReason says why a node is not used that lacks our taint.
func (v *Inventory) ForeignNodeReason() string {
	return "not " + v.Site + "'s alone: no taint " + kube.TaintOwned + "=" + v.Site + ":NoSchedule"
}

// PodTolerations are what pods of ours need for the nodes of this site.
func (v *Inventory) PodTolerations() []corev1.Toleration {
	return []corev1.Toleration{
		{Key: kube.PluginGPU, Operator: corev1.TolerationOpExists},
		{Key: kube.TaintOwned, Operator: corev1.TolerationOpEqual, Value: v.Site},
	}
}

// DescribeNode is what a node has, and whether it takes anything.
func (v *Inventory) DescribeNode(n *corev1.Node) protocol.Node {
	p := protocol.Node{
		Name: n.Name, CPU: protocol.Milli(n.Status.Allocatable.Cpu().MilliValue()),
		Memory: protocol.MiB(n.Status.Allocatable.Memory().Value() >> 20), Closed: v.closedReason(n),
	}
	product := firstLabel(n.Labels, gpuProductLabels)
	if mib, err := strconv.ParseInt(firstLabel(n.Labels, gpuMemoryLabels), 10, 64); err == nil {
		p.GPUMemory = protocol.MiB(mib)
	}
	if v.Sharing == kube.SharingDRA {
		for _, d := range v.DevicesOfNode(n.Name) {
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
	if p.GPUs == 0 {
		p.GPUMemory = 0
		return p
	}
	p.Model = v.modelOfProduct(product)
	return p
}

// closedReason says why a node takes nothing new, or "".
func (v *Inventory) closedReason(n *corev1.Node) string {
	if n.Spec.Unschedulable {
		return "cordoned"
	}
	if !v.UsesNode(n) {
		return v.ForeignNodeReason()
	}
	ready := "it has not said so"
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			ready = c.Reason
			if c.Status == corev1.ConditionTrue {
				ready = ""
			}
		}
	}
	if ready != "" {
		return "not ready: " + ready
	}
	for _, t := range n.Spec.Taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule && t.Key != kube.PluginGPU && !kube.OwnsTaint(v.Site, t) {
			return "tainted " + t.Key
		}
	}
	return ""
}

// PodsOn are the pods that hold something of a node.
func (v *Inventory) PodsOn(n *corev1.Node) (pods []*corev1.Pod) {
	list, _ := v.PodCache.ByIndex(ByNode, n.Name)
	for _, o := range list {
		if p := o.(*corev1.Pod); !kube.PodEnded(p) {
			pods = append(pods, p)
		}
	}
	return pods
}

// ShortageReason says what a node lacks for all of some pods, or "".
func (v *Inventory) ShortageReason(n *corev1.Node, pods []*corev1.Pod) string {
	cpu, mib, gpus := int64(0), int64(0), int64(0)
	for _, p := range pods {
		c, m := kube.PodRequests(p)
		cpu, mib, gpus = cpu+c, mib+m, gpus+kube.PodAmount(p, kube.PluginGPU)
	}
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
