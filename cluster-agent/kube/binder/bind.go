package binder

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// Bind binds a pod to the node and devices of its run; pods are all pods of the run.
//
// refused is the reason for which the whole run is to be terminated, if the pod must not
// or cannot run there. If both results are nil, the pod is bound, or it waits for an event
// (its claim, another pod's end), after which Bind is to be called once more. Bind is
// idempotent.
func (b *Binder) Bind(ctx context.Context, r *Run, p *corev1.Pod, pods []*corev1.Pod) (refused *protocol.Reason, err error) {
	if p.Spec.SchedulerName != kube.SchedulerName {
		return nil, nil // another scheduler binds it, to the node that its nodeSelector names
	}
	node, refused := b.openNode(r)
	if node == nil {
		return refused, nil
	}
	if refused := b.misfit(r, node, p, pods); refused != nil {
		return refused, nil
	}
	// What others took since the award may leave too little: count what is there now.
	there := b.inv.PodsOnNode(node)
	if slices.ContainsFunc(there, func(x *corev1.Pod) bool { return x.UID == p.UID }) {
		return nil, nil // bound a moment ago; p is from before the cache saw that
	}
	if why := b.inv.MissingCapacity(node, append(there, p)); why != "" {
		return refusal(protocol.TakenOver, why), nil
	}
	devices, refused := b.awardedDevices(r, node, p, pods)
	if refused != nil {
		return refused, nil
	}
	if b.inv.Sharing == kube.SharingDRA && len(devices) > 0 {
		if ready, refused, err := b.allocateDeviceClaim(ctx, r, p, devices); err != nil || !ready {
			return refused, err
		}
	}
	return nil, b.createBinding(ctx, r, node, p, devices, nil)
}

// openNode returns the node of a run if it is still the site's, and open. If it is nil,
// the reason is why the run is to be terminated; both are nil if the node was deleted,
// which triggers a reconcile.
func (b *Binder) openNode(r *Run) (*corev1.Node, *protocol.Reason) {
	node := b.inv.NodeByName(r.Launch.Node)
	switch {
	case node == nil:
		return nil, nil
	case node.Spec.Unschedulable:
		return nil, refusal(protocol.Evicted, "node "+node.Name+" was cordoned before the job began")
	case !b.inv.SiteUsesNode(node):
		return nil, refusal(protocol.Evicted, "node "+node.Name+" was given away before the job began: it is "+b.inv.ForeignNodeReason())
	}
	return node, nil
}

// misfit returns why a pod does not fit its node by its own rules, or its run exceeds the
// award; nil if neither.
func (b *Binder) misfit(r *Run, node *corev1.Node, p *corev1.Pod, pods []*corev1.Pod) *protocol.Reason {
	if why := inventory.PlacementConflict(node, p); why != "" {
		return refusal(protocol.ClusterRefused, why)
	}
	if why := b.requestsBeyondAward(r, pods); why != "" {
		return refusal(protocol.ClusterRefused, why)
	}
	return nil
}

// awardedDevices chooses a pod's devices within the award's own, which the agent has
// reserved, or returns why it cannot.
func (b *Binder) awardedDevices(r *Run, node *corev1.Node, p *corev1.Pod, pods []*corev1.Pod) ([]int, *protocol.Reason) {
	devices, ok := b.chooseDevices(r, p, pods)
	if !ok {
		return nil, refusal(protocol.ClusterRefused, "its pods request more GPUs than the job")
	}
	if cards := inventory.HAMiCards(node); b.inv.Sharing == kube.SharingHAMi && len(devices) > 0 && slices.Max(devices) >= len(cards) {
		return nil, refusal(protocol.TakenOver, fmt.Sprintf("HAMi registers %d cards on node %s; card %d was meant", len(cards), node.Name, slices.Max(devices)))
	}
	return devices, nil
}

// createBinding binds a pod, with the annotations by which device plugins and drivers
// learn which devices were chosen, and the pod its rank if it has one. The UID makes the
// API server refuse the binding of a later pod of the same name.
func (b *Binder) createBinding(ctx context.Context, r *Run, node *corev1.Node, p *corev1.Pod, devices []int, ranks map[types.UID]int) error {
	annotations := b.bindingAnnotations(r, node, p, devices)
	if rank, ok := ranks[p.UID]; ok {
		if annotations == nil {
			annotations = make(map[string]string)
		}
		annotations[kube.AnnotationRank] = strconv.Itoa(rank)
	}
	err := b.cfg.Client.CoreV1().Pods(p.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: p.UID, Annotations: annotations},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node.Name},
	}, metav1.CreateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // bound or deleted meanwhile: the pod's next event shows which
	}
	return err
}

// refusal returns a reason to terminate a run.
func refusal(code protocol.Code, note string) *protocol.Reason {
	return &protocol.Reason{Code: code, Note: note}
}

// requestsBeyondAward returns what the pods of a run that have not ended request in
// excess of the award, or "".
func (b *Binder) requestsBeyondAward(r *Run, pods []*corev1.Pod) string {
	cpu, mem := int64(0), int64(0)
	for _, p := range pods {
		if kube.PodEnded(p) {
			continue
		}
		if name := b.unawardedGPUResource(p); name != "" {
			return fmt.Sprintf("pod %s requests %s, which this site does not offer", p.Name, name)
		}
		c, m := kube.PodRequests(p)
		cpu, mem = cpu+c, mem+m
	}
	switch j := r.Launch.Job; {
	case cpu > int64(j.CPU):
		return fmt.Sprintf("its pods request %dm of CPU, more than the job's %dm", cpu, j.CPU)
	case mem > int64(j.Memory):
		return fmt.Sprintf("its pods request %d MiB of memory, more than the job's %d", mem, j.Memory)
	}
	return ""
}

// awardedGPUResources lists, for each sharing mechanism, the extended resources under
// which an award's GPUs are requested.
var awardedGPUResources = map[kube.GPUSharing][]corev1.ResourceName{
	kube.SharingDevicePlugin: {kube.PluginGPU}, kube.SharingHAMi: {kube.PluginGPU, kube.HAMiMemory, kube.HAMiCores, "nvidia.com/gpumem-percentage"}, kube.SharingGPUShare: {kube.ShareGiB},
}

// unawardedGPUResource returns a GPU resource that a pod requests under a name outside
// of awardedGPUResources, or "". A MIG slice, for example: the node's device plugin
// would grant it to any pod, although it is not part of any award.
func (b *Binder) unawardedGPUResource(p *corev1.Pod) corev1.ResourceName {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for name := range c.Resources.Limits { // the API server rejects extended resources without a limit
			gpu := slices.ContainsFunc([]string{"nvidia.com/gpu", "nvidia.com/mig-", "aliyun.com/gpu"}, func(s string) bool { return strings.HasPrefix(string(name), s) })
			if gpu && !slices.Contains(awardedGPUResources[b.inv.Sharing], name) {
				return name
			}
		}
	}
	return ""
}

// requestedDeviceCount returns how many devices a pod of a run requests.
func (b *Binder) requestedDeviceCount(p *corev1.Pod) int {
	switch b.inv.Sharing {
	case kube.SharingDRA:
		return claimedDeviceCount(p)
	case kube.SharingGPUShare:
		return int(min(kube.PodAmount(p, kube.ShareGiB), 1))
	}
	return int(kube.PodAmount(p, kube.PluginGPU))
}

// chooseDevices returns as many devices of the run's award as the pod requests, none
// of which another pod of the run holds; false if there are too few. The choice is
// recorded at once: the next pod may be bound before the cache shows this one's
// devices.
func (b *Binder) chooseDevices(r *Run, p *corev1.Pod, pods []*corev1.Pod) (devices []int, ok bool) {
	n := b.requestedDeviceCount(p)
	if n == 0 {
		return nil, true
	}
	if devices = r.devicesByPod[p.UID]; len(devices) == n {
		return devices, true
	}
	devices = nil
	// Devices of the run's other pods: as the cache shows them, and as chosen here before.
	held := make(map[int]bool)
	for _, q := range pods {
		if q.UID == p.UID || kube.PodEnded(q) {
			continue
		}
		for _, d := range append(kube.DevicesOf(q), r.devicesByPod[q.UID]...) {
			held[d] = true
		}
	}
	for _, d := range r.Launch.Devices {
		if !held[d] && len(devices) < n {
			devices = append(devices, d)
		}
	}
	if len(devices) < n {
		return nil, false
	}
	if r.devicesByPod == nil {
		r.devicesByPod = make(map[types.UID][]int)
	}
	r.devicesByPod[p.UID] = devices
	return devices, true
}

// bindingAnnotations returns the annotations that are set with the binding: ours, and
// those by which HAMi's and Alibaba's device plugins learn which device was chosen.
func (b *Binder) bindingAnnotations(r *Run, node *corev1.Node, p *corev1.Pod, devices []int) map[string]string {
	if len(devices) == 0 {
		return nil
	}
	annotations := map[string]string{kube.AnnotationDevices: kube.ListDevices(devices)}
	if cards := b.inv.DeviceUUIDs(node, devices); cards != "" {
		annotations[podenergy.AnnotationGPUs] = cards
	}
	now := b.cfg.Now().StdTime()
	switch b.inv.Sharing {
	case kube.SharingHAMi:
		chosen := formatHAMiDevices(node, p, r.Launch.Job, devices)
		annotations["hami.io/vgpu-node"] = node.Name
		annotations["hami.io/vgpu-time"] = strconv.FormatInt(now.Unix(), 10)
		annotations["hami.io/vgpu-devices-to-allocate"], annotations["hami.io/vgpu-devices-allocated"] = chosen, chosen
		annotations["hami.io/bind-phase"], annotations["hami.io/bind-time"] = "allocating", strconv.FormatInt(now.Unix(), 10)
	case kube.SharingGPUShare:
		annotations["ALIYUN_COM_GPU_MEM_IDX"] = strconv.Itoa(devices[0])
		annotations["ALIYUN_COM_GPU_MEM_POD"] = strconv.FormatInt(GiB(r.Launch.Job), 10)
		annotations["ALIYUN_COM_GPU_MEM_DEV"] = strconv.FormatInt(inventory.DeviceGiB(node), 10)
		annotations["ALIYUN_COM_GPU_MEM_ASSIGNED"] = "false"
		annotations["ALIYUN_COM_GPU_MEM_ASSUME_TIME"] = strconv.FormatInt(now.UnixNano(), 10)
	}
	return annotations
}

// formatHAMiDevices encodes which cards a pod gets, and how much of each, in the
// format of HAMi's device plugin: "UUID,NVIDIA,MiB,percent" for each card, cards
// separated by ":" and containers by ";".
func formatHAMiDevices(n *corev1.Node, p *corev1.Pod, j protocol.Job, devices []int) string {
	cards := inventory.HAMiCards(n)
	var b strings.Builder
	// An entry for every container, in their order; that of one without GPUs is empty.
	for _, c := range p.Spec.Containers {
		q := c.Resources.Limits[kube.PluginGPU]
		for range min(int(q.Value()), len(devices)) {
			d := devices[0]
			devices = devices[1:]
			if d >= len(cards) {
				continue
			}
			memory := int64(j.GPUMemory)
			if memory == 0 { // the job named none: the same share of the card's memory
				memory = cards[d].Memory * int64(j.Share) / 1000
			}
			fmt.Fprintf(&b, "%s,NVIDIA,%d,%d:", cards[d].ID, memory, j.Share/10)
		}
		b.WriteByte(';')
	}
	return b.String()
}

// GiB returns the GPU memory of a job in whole GiB, rounded up, as GPU-share counts
// it; at least 1.
func GiB(j protocol.Job) int64 { return max(1, (int64(j.GPUMemory)+1023)/1024) }
