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

// Pods accounts for what pods and claims outside of the site's runs hold of its nodes.
type Pods struct {
	Inventory *inventory.Inventory
	// Ours reports whether a pod on a node belongs to a run that was awarded that node.
	Ours func(p *corev1.Pod, node string) bool
	// DevicesOfRun returns the device indexes that a run was awarded on a node, by the run's
	// name; false if there is no such run.
	DevicesOfRun func(name, node string) ([]int, bool)
}

// FillForeignUsage adds to p what foreign pods and claims hold of a node, and marks
// its unhealthy devices as taken. It returns the pods of the node that belong to the
// site's runs.
func (x *Pods) FillForeignUsage(n *corev1.Node, p *protocol.Node) (ours []*corev1.Pod) {
	list, _ := x.Inventory.PodCache.ByIndex(inventory.ByNode, n.Name)
	whole, taken := int64(0), make(map[int]protocol.Milli) // whole GPUs of the device plugin, whose indexes are unknown
	held := make(map[int]bool)                             // devices of our runs
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
	for d, milli := range x.ForeignClaimUsage(n.Name) {
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
	// Whole GPUs of foreign pods are placed on free devices first, and only then on those of
	// our runs: the kubelet gives no device twice.
	for pass := range 2 {
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

// ForeignClaimUsage returns how many thousandths of each device of a node foreign
// claims hold, by device index. Claims of our own runs count, too, on devices that
// have another index now than when they were awarded, which happens when a device
// before them disappears.
func (x *Pods) ForeignClaimUsage(node string) map[int]protocol.Milli {
	if x.Inventory.ClaimCache == nil {
		return nil
	}
	out := make(map[int]protocol.Milli)
	var index map[string]int
	list, _ := x.Inventory.ClaimCache.ByIndex(inventory.ByNode, node)
	for _, o := range list {
		c := o.(*resourcev1.ResourceClaim)
		awarded, ours := x.DevicesOfRun(c.Labels[kube.LabelRun], node)
		if index == nil {
			index = make(map[string]int)
			for i, d := range x.Inventory.DevicesOfNode(node) {
				index[d.Pool+"/"+d.Name] = i
			}
		}
		for _, got := range c.Status.Allocation.Devices.Results {
			i, ok := index[got.Pool+"/"+got.Device]
			if !ok || got.Driver != x.Inventory.Driver || ours && slices.Contains(awarded, i) {
				continue
			}
			out[i] += protocol.Milli(inventory.ClaimedMilli(got))
		}
	}
	return out
}

// PodToYield returns the pod of ours that has to yield because foreign pods and ours
// together no longer fit on a node, and what is missing; nil if they fit. It is the
// pod that was bound last. Which of the pods the kubelet would reject otherwise is not
// defined.
//
// If our pods alone exceed the node, no foreign pod is the reason: a node reports zero
// GPUs for a while when its device plugin restarts, and what runs there continues to
// run.
func (x *Pods) PodToYield(n *corev1.Node, ours []*corev1.Pod) (pod *corev1.Pod, why string) {
	why = x.Inventory.MissingCapacity(n, x.Inventory.PodsOnNode(n))
	if why == "" || len(ours) == 0 || x.Inventory.MissingCapacity(n, ours) != "" {
		return nil, ""
	}
	return slices.MaxFunc(ours, func(x, y *corev1.Pod) int { return podBoundTime(x).Compare(podBoundTime(y)) }), why
}

// podBoundTime returns when the kubelet accepted a pod, or else when it was created.
func podBoundTime(p *corev1.Pod) time.Time {
	if p.Status.StartTime != nil {
		return p.Status.StartTime.Time
	}
	return p.CreationTimestamp.Time
}
