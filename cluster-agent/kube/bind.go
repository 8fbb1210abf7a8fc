package kube

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// bind puts a pod on its node and devices. A pod that must not or cannot go
// there takes its whole run down.
func (h *Hands) bind(ctx context.Context, r *run, p *corev1.Pod, pods []*corev1.Pod) error {
	if p.Spec.SchedulerName != Scheduler {
		return nil // its own scheduler binds it, where its template was told to go
	}
	node := h.node(r.launch.Node)
	switch {
	case node == nil: // it went while the run's other pods were bound, and has us called again
		return nil
	case node.Spec.Unschedulable:
		h.leave(r, protocol.Evicted, "node "+node.Name+" was cordoned before the job began")
		return nil
	case !h.owns(node):
		h.leave(r, protocol.Evicted, "node "+node.Name+" was given away before the job began: it is "+h.foreign())
		return nil
	}
	if why := misplaced(node, p); why != "" {
		h.leave(r, protocol.Refused, why)
		return nil
	}
	if why := h.exceeds(r, pods); why != "" {
		h.leave(r, protocol.Refused, why)
		return nil
	}
	there := h.onNode(node)
	if slices.ContainsFunc(there, func(x *corev1.Pod) bool { return x.UID == p.UID }) {
		return nil // it was bound a moment ago, and is known by how it was before
	}
	if why := h.crowded(node, append(there, p)); why != "" {
		h.leave(r, protocol.TakenOver, why)
		return nil
	}
	devices, ok := h.choose(r, p, pods)
	if !ok {
		h.leave(r, protocol.Refused, "its pods ask for more GPUs than were sold")
		return nil
	}
	if cards := hamiNode(node); h.cfg.Sharing == HAMi && len(devices) > 0 && slices.Max(devices) >= len(cards) {
		h.leave(r, protocol.TakenOver, fmt.Sprintf("HAMi registers %d cards on node %s; card %d was meant", len(cards), node.Name, slices.Max(devices)))
		return nil
	}
	notes := h.notes(r, node, p, devices)
	if h.cfg.Sharing == DRA && len(devices) > 0 {
		if ready, err := h.allocate(ctx, r, p, devices); err != nil || !ready {
			return err
		}
	}
	err := h.cfg.Client.CoreV1().Pods(p.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: p.UID, Annotations: notes},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node.Name},
	}, metav1.CreateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // somebody was faster: what the cluster says next tells
	}
	return err
}

// exceeds says what the pods of a run ask beyond what was sold, or "".
func (h *Hands) exceeds(r *run, pods []*corev1.Pod) string {
	cpu, mem := int64(0), int64(0)
	for _, p := range pods {
		if over(p) {
			continue
		}
		if name := h.unsold(p); name != "" {
			return fmt.Sprintf("pod %s asks for %s, which this site does not sell", p.Name, name)
		}
		c, m := requests(p)
		cpu, mem = cpu+c, mem+m
	}
	switch j := r.launch.Job; {
	case cpu > int64(j.CPU):
		return fmt.Sprintf("its pods ask for %dm of CPU; %dm were sold", cpu, j.CPU)
	case mem > int64(j.Memory):
		return fmt.Sprintf("its pods ask for %d MiB of memory; %d were sold", mem, j.Memory)
	}
	return ""
}

// sold are the names by which a site gives GPUs.
var sold = map[Sharing][]corev1.ResourceName{
	Plugin: {pluginGPU}, HAMi: {pluginGPU, hamiMemory, hamiCores, "nvidia.com/gpumem-percentage"}, GPUShare: {shareGiB},
}

// unsold returns what a pod asks of GPUs by another name, or "": a slice of a card,
// say, that its node's device plugin would give to whoever asks.
func (h *Hands) unsold(p *corev1.Pod) corev1.ResourceName {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for name := range c.Resources.Limits { // an extended resource stands among the limits, or is none
			gpu := slices.ContainsFunc([]string{"nvidia.com/gpu", "nvidia.com/mig-", "aliyun.com/gpu"}, func(s string) bool { return strings.HasPrefix(string(name), s) })
			if gpu && !slices.Contains(sold[h.cfg.Sharing], name) {
				return name
			}
		}
	}
	return ""
}

// Asks is what a pod asks of a node: milli-CPU, MiB rounded up, and GPUs by device
// plugin. Containers that run before the others count where they ask for more.
func Asks(s corev1.PodSpec) (cpu protocol.Milli, mem protocol.MiB, gpus int) {
	p := &corev1.Pod{Spec: s}
	c, m := requests(p)
	return protocol.Milli(c), protocol.MiB(m), int(amount(p, pluginGPU))
}

func requests(p *corev1.Pod) (cpu, mib int64) {
	mem := request(p, corev1.ResourceMemory, (*resource.Quantity).Value)
	return request(p, corev1.ResourceCPU, (*resource.Quantity).MilliValue), (mem + 1<<20 - 1) >> 20
}

// request adds up as the kubelet does: an init container that is always restarted
// runs beside the others to the end, and what the pod as a whole asks counts
// instead of what its containers do. Where only a limit is said, that is the
// request: the API server writes it into pods, but not into templates.
func request(p *corev1.Pod, name corev1.ResourceName, of func(*resource.Quantity) int64) int64 {
	asks := func(r corev1.ResourceRequirements) int64 {
		if _, ok := r.Requests[name]; ok {
			return of(r.Requests.Name(name, resource.DecimalSI))
		}
		return of(r.Limits.Name(name, resource.DecimalSI))
	}
	sum, before := int64(0), int64(0)
	for _, c := range p.Spec.InitContainers {
		n := asks(c.Resources)
		before = max(before, sum+n)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sum += n
		}
	}
	for _, c := range p.Spec.Containers {
		sum += asks(c.Resources)
	}
	sum = max(sum, before)
	if whole := p.Spec.Resources; whole != nil {
		if _, ok := whole.Requests[name]; ok || sum == 0 {
			sum = asks(*whole)
		}
	}
	return sum + of(p.Spec.Overhead.Name(name, resource.DecimalSI))
}

// amount is what a pod asks of an extended resource.
func amount(p *corev1.Pod, name corev1.ResourceName) int64 {
	return request(p, name, (*resource.Quantity).Value)
}

// wants is how many devices a pod of ours asks for.
func (h *Hands) wants(p *corev1.Pod) int {
	switch h.cfg.Sharing {
	case DRA:
		return claimed(p)
	case GPUShare:
		return int(min(amount(p, shareGiB), 1))
	}
	return int(amount(p, pluginGPU))
}

// choose gives a pod devices of its run that no other pod of the run holds. What
// it gave counts at once: the cluster's own word comes later than the next pod.
func (h *Hands) choose(r *run, p *corev1.Pod, pods []*corev1.Pod) (devices []int, ok bool) {
	n := h.wants(p)
	if n == 0 {
		return nil, true
	}
	if devices = r.gave[p.UID]; len(devices) == n {
		return devices, true
	}
	devices = nil
	held := make(map[int]bool)
	for _, q := range pods {
		if q.UID == p.UID || over(q) {
			continue
		}
		for _, d := range append(indexes(q), r.gave[q.UID]...) {
			held[d] = true
		}
	}
	for _, d := range r.launch.Devices {
		if !held[d] && len(devices) < n {
			devices = append(devices, d)
		}
	}
	if len(devices) < n {
		return nil, false
	}
	if r.gave == nil {
		r.gave = make(map[types.UID][]int)
	}
	r.gave[p.UID] = devices
	return devices, true
}

// listed writes which devices a pod of ours was given, and indexes reads that.
func listed(devices []int) string {
	var list []string
	for _, d := range devices {
		list = append(list, strconv.Itoa(d))
	}
	return strings.Join(list, ",")
}

func indexes(p *corev1.Pod) (devices []int) {
	text := p.Annotations[NoteDevices]
	if text == "" {
		return nil
	}
	for _, s := range strings.Split(text, ",") {
		if d, err := strconv.Atoi(s); err == nil {
			devices = append(devices, d)
		}
	}
	return devices
}

// notes are the annotations that come with a binding: ours, and those by which
// the device plugins of others know which device was chosen.
func (h *Hands) notes(r *run, node *corev1.Node, p *corev1.Pod, devices []int) map[string]string {
	if len(devices) == 0 {
		return nil
	}
	notes := map[string]string{NoteDevices: listed(devices)}
	if cards := h.cards(node, devices); cards != "" {
		notes[podenergy.NoteCards] = cards
	}
	now := h.cfg.Now().Go()
	switch h.cfg.Sharing {
	case HAMi:
		chosen := hamiDevices(node, p, r.launch.Job, devices)
		notes["hami.io/vgpu-node"] = node.Name
		notes["hami.io/vgpu-time"] = strconv.FormatInt(now.Unix(), 10)
		notes["hami.io/vgpu-devices-to-allocate"], notes["hami.io/vgpu-devices-allocated"] = chosen, chosen
		notes["hami.io/bind-phase"], notes["hami.io/bind-time"] = "allocating", strconv.FormatInt(now.Unix(), 10)
	case GPUShare:
		notes["ALIYUN_COM_GPU_MEM_IDX"] = strconv.Itoa(devices[0])
		notes["ALIYUN_COM_GPU_MEM_POD"] = strconv.FormatInt(gib(r.launch.Job), 10)
		notes["ALIYUN_COM_GPU_MEM_DEV"] = strconv.FormatInt(deviceGiB(node), 10)
		notes["ALIYUN_COM_GPU_MEM_ASSIGNED"] = "false"
		notes["ALIYUN_COM_GPU_MEM_ASSUME_TIME"] = strconv.FormatInt(now.UnixNano(), 10)
	}
	return notes
}

// begun is when a pod was bound, as far as it says.
func begun(p *corev1.Pod) time.Time {
	if p.Status.StartTime != nil {
		return p.Status.StartTime.Time
	}
	return p.CreationTimestamp.Time
}
