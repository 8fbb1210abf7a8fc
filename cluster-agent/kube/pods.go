package kube

import (
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gridbid/gridbid/protocol"
)

// PodEnded reports whether nothing of a pod runs any more.
func PodEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// PodResourceRequests is what a pod asks of a node: milli-CPU, MiB rounded up, and GPUs by device
// plugin. Containers that run before the others count where they ask for more.
func PodResourceRequests(s corev1.PodSpec) (cpu protocol.Milli, mem protocol.MiB, gpus int) {
	p := &corev1.Pod{Spec: s}
	c, m := PodRequests(p)
	return protocol.Milli(c), protocol.MiB(m), int(PodAmount(p, PluginGPU))
}

// PodRequests is what a pod asks of a node: milli-CPU, and MiB rounded up.
func PodRequests(p *corev1.Pod) (cpu, mib int64) {
	mem := sumPodRequest(p, corev1.ResourceMemory, (*resource.Quantity).Value)
	return sumPodRequest(p, corev1.ResourceCPU, (*resource.Quantity).MilliValue), (mem + 1<<20 - 1) >> 20
}

// sumPodRequest adds up as the kubelet does: an init container that is always restarted
// runs beside the others to the end, and what the pod as a whole asks counts
// instead of what its containers do. Where only a limit is said, that is the
// request: the API server writes it into pods, but not into templates.
func sumPodRequest(p *corev1.Pod, name corev1.ResourceName, of func(*resource.Quantity) int64) int64 {
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

// PodAmount is what a pod asks of an extended resource.
func PodAmount(p *corev1.Pod, name corev1.ResourceName) int64 {
	return sumPodRequest(p, name, (*resource.Quantity).Value)
}

// ListDevices writes device indexes as the text of AnnotationDevices.
func ListDevices(devices []int) string {
	var list []string
	for _, d := range devices {
		list = append(list, strconv.Itoa(d))
	}
	return strings.Join(list, ",")
}

// DevicesOf reads which devices a pod of ours was given, by AnnotationDevices; nil if it
// does not say.
func DevicesOf(p *corev1.Pod) (devices []int) {
	text := p.Annotations[AnnotationDevices]
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

// JobEnded reports whether a Job has ended, well or not.
func JobEnded(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}
