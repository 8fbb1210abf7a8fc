package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gridbid/gridbid/protocol"
)

func amounts(cpu, mem string) corev1.ResourceList {
	return corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(mem)}
}

func TestPodRequestsFollowKubeletRules(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	asks := func(cpu, mem string) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: amounts(cpu, mem)}}
	}
	sidecar := asks("2", "2Gi")
	sidecar.RestartPolicy = &always
	limited := corev1.Container{Resources: corev1.ResourceRequirements{Limits: amounts("4", "16Gi")}}
	main := []corev1.Container{asks("4", "16Gi")}
	for _, tc := range []struct {
		name string
		spec corev1.PodSpec
		cpu  protocol.Milli
		mem  protocol.MiB
	}{
		{"one container", corev1.PodSpec{Containers: main}, 4000, 16 << 10},
		{"a limit without a request is the request", corev1.PodSpec{Containers: []corev1.Container{limited}}, 4000, 16 << 10},
		{"an init container counts if it requests more", corev1.PodSpec{InitContainers: []corev1.Container{asks("8", "1Gi")}, Containers: main}, 8000, 16 << 10},
		{"a sidecar is added", corev1.PodSpec{InitContainers: []corev1.Container{sidecar}, Containers: main}, 6000, 18 << 10},
		{"a sidecar is added to later init containers", corev1.PodSpec{InitContainers: []corev1.Container{asks("8", "1Gi"), sidecar, asks("7", "1Gi")}, Containers: main}, 9000, 18 << 10},
		{"a request on pod level", corev1.PodSpec{Resources: &corev1.ResourceRequirements{Requests: amounts("9", "32Gi")}, Containers: main}, 9000, 32 << 10},
		{"a limit on pod level without requests", corev1.PodSpec{Resources: &corev1.ResourceRequirements{Limits: amounts("9", "32Gi")}, Containers: make([]corev1.Container, 1)}, 9000, 32 << 10},
		{"overhead is added", corev1.PodSpec{Overhead: amounts("500m", "1Mi"), Containers: main}, 4500, 16<<10 + 1},
	} {
		if cpu, mem, _ := PodResourceRequests(tc.spec); cpu != tc.cpu || mem != tc.mem {
			t.Errorf("%s: %d and %d; want %d and %d", tc.name, cpu, mem, tc.cpu, tc.mem)
		}
	}
}
