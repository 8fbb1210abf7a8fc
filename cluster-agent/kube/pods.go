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

// PodEnded reports whether a pod has reached a final phase, so that no container of it
// runs any more.
func PodEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// PodResourceRequests returns what a pod of this spec requests of its node: milli-CPU,
// memory in MiB (rounded up), and whole GPUs of the device plugin. Init containers
// count where they request more than the containers that follow.
func PodResourceRequests(s corev1.PodSpec) (cpu protocol.Milli, mem protocol.MiB, gpus int) {
	p := &corev1.Pod{Spec: s}
	c, m := PodRequests(p)
	return protocol.Milli(c), protocol.MiB(m), int(PodAmount(p, PluginGPU))
}

// PodRequests returns what a pod requests of its node: milli-CPU, and memory in MiB
// (rounded up).
func PodRequests(p *corev1.Pod) (cpu, mib int64) {
	mem := sumPodRequest(p, corev1.ResourceMemory, (*resource.Quantity).Value)
	return sumPodRequest(p, corev1.ResourceCPU, (*resource.Quantity).MilliValue), (mem + 1<<20 - 1) >> 20
}

// sumPodRequest returns a pod's effective request of one resource, by the kubelet's
// rules. A restartable init container (a sidecar) runs beside the others to the end,
// so it is added; another init container runs alone and counts as a maximum. A request
// on pod level replaces the sum over containers, and the overhead of the runtime class
// is added. A container with a limit and no request requests its limit: the API server
// fills that in for pods, but not for pod templates, which are read here too.
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

// PodAmount returns how many units of an extended resource a pod requests.
func PodAmount(p *corev1.Pod, name corev1.ResourceName) int64 {
	return sumPodRequest(p, name, (*resource.Quantity).Value)
}

// ListDevices formats device indexes as the text of AnnotationDevices.
func ListDevices(devices []int) string {
	var list []string
	for _, d := range devices {
		list = append(list, strconv.Itoa(d))
	}
	return strings.Join(list, ",")
}

// DevicesOf returns the device indexes of a pod by its AnnotationDevices; nil if it
// has none. Elements that are not numbers are skipped.
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

// JobEnded reports whether a Job has completed or failed.
func JobEnded(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}
