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

// Bind puts a pod of a run on the run's node and devices. Pods are all of the run.
// A pod that must not or cannot go there is refused, with the reason for which the
// whole run is to be taken down. Without a reason and without an error the pod is
// bound, or waits for what the cluster says next.
func (b *Binder) Bind(ctx context.Context, r *Run, p *corev1.Pod, pods []*corev1.Pod) (refused *protocol.Reason, err error) {
	if p.Spec.SchedulerName != kube.SchedulerName {
		return nil, nil // its own scheduler binds it, where its template was told to go
	}
	node := b.inv.NodeByName(r.Launch.Node)
	switch {
	case node == nil: // it went while the run's other pods were bound, and has us called again
		return nil, nil
	case node.Spec.Unschedulable:
		return newReason(protocol.Evicted, "node "+node.Name+" was cordoned before the job began"), nil
	case !b.inv.UsesNode(node):
		return newReason(protocol.Evicted, "node "+node.Name+" was given away before the job began: it is "+b.inv.ForeignNodeReason()), nil
	}
	if why := inventory.PlacementMismatch(node, p); why != "" {
		return newReason(protocol.ClusterRefused, why), nil
	}
	if why := b.excessRequest(r, pods); why != "" {
		return newReason(protocol.ClusterRefused, why), nil
	}
	there := b.inv.PodsOn(node)
	if slices.ContainsFunc(there, func(x *corev1.Pod) bool { return x.UID == p.UID }) {
		return nil, nil // it was bound a moment ago, and is known by how it was before
	}
	if why := b.inv.ShortageReason(node, append(there, p)); why != "" {
		return newReason(protocol.TakenOver, why), nil
	}
	devices, ok := b.chooseDevices(r, p, pods)
	if !ok {
		return newReason(protocol.ClusterRefused, "its pods request more GPUs than the job"), nil
	}
	if cards := inventory.HAMiCards(node); b.inv.Sharing == kube.SharingHAMi && len(devices) > 0 && slices.Max(devices) >= len(cards) {
		return newReason(protocol.TakenOver, fmt.Sprintf("HAMi registers %d cards on node %s; card %d was meant", len(cards), node.Name, slices.Max(devices))), nil
	}
	notes := b.bindingAnnotations(r, node, p, devices)
	if b.inv.Sharing == kube.SharingDRA && len(devices) > 0 {
		if ready, refused, err := b.allocateClaim(ctx, r, p, devices); err != nil || !ready {
			return refused, err
		}
	}
	err = b.cfg.Client.CoreV1().Pods(p.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: p.UID, Annotations: notes},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node.Name},
	}, metav1.CreateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil, nil // somebody was faster: what the cluster says next tells
	}
	return nil, err
}

// newReason makes a reason.
func newReason(code protocol.Code, note string) *protocol.Reason {
	return &protocol.Reason{Code: code, Note: note}
}

// excessRequest says what the pods of a run ask beyond what was sold, or "".
func (b *Binder) excessRequest(r *Run, pods []*corev1.Pod) string {
	cpu, mem := int64(0), int64(0)
	for _, p := range pods {
		if kube.PodEnded(p) {
			continue
		}
		if name := b.foreignGPUResource(p); name != "" {
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

// awardedGPUResources are the names by which a site gives GPUs.
var awardedGPUResources = map[kube.GPUSharing][]corev1.ResourceName{
	kube.SharingDevicePlugin: {kube.PluginGPU}, kube.SharingHAMi: {kube.PluginGPU, kube.HAMiMemory, kube.HAMiCores, "nvidia.com/gpumem-percentage"}, kube.SharingGPUShare: {kube.ShareGiB},
}

// foreignGPUResource returns what a pod asks of GPUs by another name, or "": a slice of a card,
// say, that its node's device plugin would give to whoever asks.
func (b *Binder) foreignGPUResource(p *corev1.Pod) corev1.ResourceName {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for name := range c.Resources.Limits { // an extended resource stands among the limits, or is none
			gpu := slices.ContainsFunc([]string{"nvidia.com/gpu", "nvidia.com/mig-", "aliyun.com/gpu"}, func(s string) bool { return strings.HasPrefix(string(name), s) })
			if gpu && !slices.Contains(awardedGPUResources[b.inv.Sharing], name) {
				return name
			}
		}
	}
	return ""
}

// requestedDeviceCount is how many devices a pod of ours asks for.
func (b *Binder) requestedDeviceCount(p *corev1.Pod) int {
	switch b.inv.Sharing {
	case kube.SharingDRA:
		return claimedDeviceCount(p)
	case kube.SharingGPUShare:
		return int(min(kube.PodAmount(p, kube.ShareGiB), 1))
	}
	return int(kube.PodAmount(p, kube.PluginGPU))
}

// chooseDevices gives a pod devices of its run that no other pod of the run holds. What
// it gave counts at once: the cluster's own word comes later than the next pod.
func (b *Binder) chooseDevices(r *Run, p *corev1.Pod, pods []*corev1.Pod) (devices []int, ok bool) {
	n := b.requestedDeviceCount(p)
	if n == 0 {
		return nil, true
	}
	if devices = r.given[p.UID]; len(devices) == n {
		return devices, true
	}
	devices = nil
	held := make(map[int]bool)
	for _, q := range pods {
		if q.UID == p.UID || kube.PodEnded(q) {
			continue
		}
		for _, d := range append(kube.DevicesOf(q), r.given[q.UID]...) {
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
	if r.given == nil {
		r.given = make(map[types.UID][]int)
	}
	r.given[p.UID] = devices
	return devices, true
}

// bindingAnnotations are the annotations that come with a binding: ours, and those by which
// the device plugins of others know which device was chosen.
func (b *Binder) bindingAnnotations(r *Run, node *corev1.Node, p *corev1.Pod, devices []int) map[string]string {
	if len(devices) == 0 {
		return nil
	}
	notes := map[string]string{kube.AnnotationDevices: kube.ListDevices(devices)}
	if cards := b.inv.CardUUIDs(node, devices); cards != "" {
		notes[podenergy.AnnotationGPUs] = cards
	}
	now := b.cfg.Now().StdTime()
	switch b.inv.Sharing {
	case kube.SharingHAMi:
		chosen := formatHAMiDevices(node, p, r.Launch.Job, devices)
		notes["hami.io/vgpu-node"] = node.Name
		notes["hami.io/vgpu-time"] = strconv.FormatInt(now.Unix(), 10)
		notes["hami.io/vgpu-devices-to-allocate"], notes["hami.io/vgpu-devices-allocated"] = chosen, chosen
		notes["hami.io/bind-phase"], notes["hami.io/bind-time"] = "allocating", strconv.FormatInt(now.Unix(), 10)
	case kube.SharingGPUShare:
		notes["ALIYUN_COM_GPU_MEM_IDX"] = strconv.Itoa(devices[0])
		notes["ALIYUN_COM_GPU_MEM_POD"] = strconv.FormatInt(GiB(r.Launch.Job), 10)
		notes["ALIYUN_COM_GPU_MEM_DEV"] = strconv.FormatInt(inventory.DeviceGiB(node), 10)
		notes["ALIYUN_COM_GPU_MEM_ASSIGNED"] = "false"
		notes["ALIYUN_COM_GPU_MEM_ASSUME_TIME"] = strconv.FormatInt(now.UnixNano(), 10)
	}
	return notes
}

// formatHAMiDevices writes which cards a pod gets and how much of each, as HAMi's
// plugin reads it: containers end in ";", their cards in ":".
func formatHAMiDevices(n *corev1.Node, p *corev1.Pod, j protocol.Job, devices []int) string {
	cards := inventory.HAMiCards(n)
	var b strings.Builder
	for _, c := range p.Spec.Containers {
		q := c.Resources.Limits[kube.PluginGPU]
		for range min(int(q.Value()), len(devices)) {
			d := devices[0]
			devices = devices[1:]
			if d >= len(cards) {
				continue
			}
			memory := int64(j.GPUMemory)
			if memory == 0 {
				memory = cards[d].Memory * int64(j.Share) / 1000
			}
			fmt.Fprintf(&b, "%s,NVIDIA,%d,%d:", cards[d].ID, memory, j.Share/10)
		}
		b.WriteByte(';')
	}
	return b.String()
}

// GiB is the memory of a share in whole GiB, as GPU-share counts.
func GiB(j protocol.Job) int64 { return max(1, (int64(j.GPUMemory)+1023)/1024) }
