package external

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/protocol"
)

// Pods tells what is held of nodes by pods and claims that are not of the site's own
// runs.
type Pods struct {
	Inventory *inventory.Inventory
	// Ours reports whether a pod on a node belongs to a run that has its place there.
	Ours func(p *corev1.Pod, node string) bool
	// DevicesOfRun returns which devices a run was sold, by the run's name; false if
	// there is no such run.
	DevicesOfRun func(name string) ([]int, bool)
}

// FillOthers fills into p what pods that are not of the site's runs hold of a node,
// and which of its devices are broken. It returns the pods that are.
func (x *Pods) FillOthers(n *corev1.Node, p *protocol.Node) (ours []*corev1.Pod) {
	list, _ := x.Inventory.PodCache.ByIndex(inventory.ByNode, n.Name)
	whole, taken := int64(0), make(map[int]protocol.Milli) // whole ones: on which devices is not known
	held := make(map[int]bool)                             // by ours
	for _, o := range list {
		q := o.(*corev1.Pod)
		if kube.PodEnded(q) {
			continue
		}
		if x.Ours(q, n.Name) {
			ours = append(ours, q)
			for _, d := range kube.DevicesOf(q) {
				held[d] = true
			}
			continue
		}
		cpu, mem := kube.PodRequests(q)
		p.OtherCPU, p.OtherMem = p.OtherCPU+protocol.Milli(cpu), p.OtherMem+protocol.MiB(mem)
		if ds := kube.DevicesOf(q); len(ds) > 0 {
			milli, err := strconv.ParseInt(q.Annotations[kube.AnnotationGPUMilli], 10, 64)
			if err != nil || milli <= 0 {
				milli = 1000
			}
			for _, d := range ds {
				taken[d] += protocol.Milli(milli)
			}
		} else {
			whole += kube.PodAmount(q, kube.PluginGPU)
			if gib := kube.PodAmount(q, kube.ShareGiB); gib > 0 {
				d, _ := strconv.Atoi(q.Annotations["ALIYUN_COM_GPU_MEM_IDX"])
				taken[d] += 1000
			}
		}
	}
	for d, milli := range x.ClaimedByOthers(n.Name) {
		taken[d] += milli
	}
	for _, d := range x.Inventory.UnhealthyDevices(n) {
		taken[d] = 1000
	}
	if p.GPUs == 0 {
		return ours
	}
	p.Others = make([]protocol.Milli, p.GPUs)
	for d := range p.Others {
		p.Others[d] = min(taken[d], 1000)
	}
	for pass := range 2 { // first where ours are not
		for d := p.GPUs - 1; d >= 0 && whole > 0; d-- {
			if p.Others[d] == 0 && (pass == 1 || !held[d]) {
				p.Others[d], whole = 1000, whole-1
			}
		}
	}
	if !slices.ContainsFunc(p.Others, func(m protocol.Milli) bool { return m > 0 }) {
		p.Others = nil
	}
	return ours
}

// ClaimedByOthers is what claims that are not of our runs hold of a node's
// devices, by index; and what claims of ours hold of devices that have another index
// than when they were sold, as after a card before them is gone.
func (x *Pods) ClaimedByOthers(node string) map[int]protocol.Milli {
	if x.Inventory.ClaimCache == nil {
		return nil
	}
	out := make(map[int]protocol.Milli)
	var index map[string]int
	list, _ := x.Inventory.ClaimCache.ByIndex(inventory.ByNode, node)
	for _, o := range list {
		c := o.(*resourcev1.ResourceClaim)
		sold, ours := x.DevicesOfRun(c.Labels[kube.LabelRun])
		if index == nil {
			index = make(map[string]int)
			for i, d := range x.Inventory.DevicesOfNode(node) {
				index[d.Pool+"/"+d.Name] = i
			}
		}
		for _, got := range c.Status.Allocation.Devices.Results {
			i, ok := index[got.Pool+"/"+got.Device]
			if !ok || got.Driver != x.Inventory.Driver || ours && slices.Contains(sold, i) {
				continue
			}
			out[i] += protocol.Milli(inventory.ClaimedMilli(got))
		}
	}
	return out
}

// GivesWay returns which pod of ours gives way if others came to a node that cannot
// hold all, and why: that of the run that began last. What the node's kubelet would
// do with them nobody knows. It is nil if there is room. Where ours alone are too
// much, no others came: the node says for a while that it has no GPUs when its device
// plugin begins anew, and what runs there runs on.
func (x *Pods) GivesWay(n *corev1.Node, ours []*corev1.Pod) (pod *corev1.Pod, why string) {
	why = x.Inventory.ShortageReason(n, x.Inventory.PodsOn(n))
	if why == "" || len(ours) == 0 || x.Inventory.ShortageReason(n, ours) != "" {
		return nil, ""
	}
	return slices.MaxFunc(ours, func(x, y *corev1.Pod) int { return podBoundTime(x).Compare(podBoundTime(y)) }), why
}

// podBoundTime is when a pod was bound, as far as it says.
func podBoundTime(p *corev1.Pod) time.Time {
	if p.Status.StartTime != nil {
		return p.Status.StartTime.Time
	}
	return p.CreationTimestamp.Time
}
