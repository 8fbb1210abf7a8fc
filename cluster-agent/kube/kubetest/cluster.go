// Package kubetest has what tests of hands on a real cluster share: a control
// plane with fake GPU nodes, jobs as people write them, and an oracle that
// watches the cluster by itself. It knows nothing of package kube.
package kubetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gridbid/gridbid/internal/kubeenv"
	"github.com/gridbid/gridbid/protocol"
)

// A Cluster is a control plane with clients of its administrator. Its methods end
// the test on an error.
type Cluster struct {
	testing.TB
	*kubeenv.ControlPlane
	Config  *rest.Config // without limits of rate
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
}

// New starts a control plane that ends with the test.
func New(t testing.TB, o kubeenv.PlaneOptions) *Cluster {
	t.Helper()
	c := &Cluster{TB: t, ControlPlane: kubeenv.StartForTest(t, o)}
	cfg, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	c.FailOnError(err)
	cfg.QPS = -1
	c.Config, c.Client, c.Dynamic = cfg, kubernetes.NewForConfigOrDie(cfg), dynamic.NewForConfigOrDie(cfg)
	return c
}

// FailOnError ends the test on an error.
func (c *Cluster) FailOnError(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func resourceList(m map[corev1.ResourceName]string) corev1.ResourceList {
	l := make(corev1.ResourceList)
	for k, v := range m {
		l[k] = resource.MustParse(v)
	}
	return l
}

// AddNodes adds nodes gpu-000, gpu-001 and so on, and the class of their devices.
func (c *Cluster) AddNodes(n int, site string) {
	c.Helper()
	_, err := c.Client.ResourceV1().DeviceClasses().Create(c.Context(), &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu.nvidia.com"},
		Spec:       resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "gpu.nvidia.com"`}}}},
	}, metav1.CreateOptions{})
	c.FailOnError(err)
	for i := range n {
		c.AddNode(fmt.Sprintf("gpu-%03d", i), site)
	}
}

// AddNode adds a node of 96 cores, 768 GiB and eight H100s, which it offers by
// device plugin and by device claim. It is one site's alone, or "" anybody's.
func (c *Cluster) AddNode(name, site string) {
	c.Helper()
	var taints []corev1.Taint
	if site != "" {
		taints = []corev1.Taint{{Key: "gridbid.io/owned", Value: site, Effect: corev1.TaintEffectNoSchedule}}
	}
	have := resourceList(map[corev1.ResourceName]string{"cpu": "96", "memory": "768Gi", "pods": "110", "nvidia.com/gpu": "8"})
	_, err := c.Client.CoreV1().Nodes().Create(c.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81920", "kubernetes.io/hostname": name}},
		Spec:   corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{Capacity: have, Allocatable: have},
	}, metav1.CreateOptions{})
	c.FailOnError(err)
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.nvidia.com", NodeName: &name, Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1}}}
	for d := range 8 {
		slice.Spec.Devices = append(slice.Spec.Devices, sharableDevice(d))
	}
	_, err = c.Client.ResourceV1().ResourceSlices().Create(c.Context(), slice, metav1.CreateOptions{})
	c.FailOnError(err)
}

// sharableDevice is an H100 that can be shared by thousandths and MiB.
func sharableDevice(index int) resourcev1.Device {
	shared, product, uuid := true, "NVIDIA H100 80GB HBM3", fmt.Sprintf("GPU-%d", index)
	capacity := func(all, step string) resourcev1.DeviceCapacity {
		a, s := resource.MustParse(all), resource.MustParse(step)
		return resourcev1.DeviceCapacity{Value: a, RequestPolicy: &resourcev1.CapacityRequestPolicy{
			Default: &a, ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: &s, Step: &s}}}
	}
	return resourcev1.Device{
		Name: fmt.Sprintf("gpu%d", index), AllowMultipleAllocations: &shared,
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"productName": {StringValue: &product}, "uuid": {StringValue: &uuid}},
		Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"milli": capacity("1000", "10"), "memory": capacity("80Gi", "1Mi")},
	}
}

// BatchJobTask is a batch/v1 Job in JSON: so many pods at once, of four cores, 16 GiB and
// some GPUs each, that end after a while; 0 is never. Notes annotate the pods.
func BatchJobTask(run time.Duration, pods, gpus int, notes map[string]string) protocol.Task {
	all := map[string]any{}
	if run > 0 {
		all["plane.test/run"] = run.String()
	}
	for k, v := range notes {
		all[k] = v
	}
	limits := map[string]any{}
	if gpus > 0 {
		limits["nvidia.com/gpu"] = fmt.Sprint(gpus)
	}
	return EncodeTask(map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "mine"},
		"spec": map[string]any{
			"parallelism": pods, "completions": pods, "backoffLimit": 0,
			"template": map[string]any{"metadata": map[string]any{"annotations": all}, "spec": PodSpec(limits)},
		},
	})
}

// PodSpec is that of a pod of four cores and 16 GiB.
func PodSpec(limits map[string]any) map[string]any {
	return map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{
		"name": "main", "image": "registry.example.com/train:1",
		"resources": map[string]any{"requests": map[string]any{"cpu": "4", "memory": "16Gi"}, "limits": limits},
	}}}
}

// EncodeTask writes an object as a task.
func EncodeTask(object map[string]any) protocol.Task {
	data, err := json.Marshal(object)
	if err != nil {
		panic(err) // made of maps and strings
	}
	return protocol.Task(data)
}

// A FinishedPod is a pod that ran to its end; Job is "" if it is of others.
type FinishedPod struct{ Job, Pod, Node string }

// AllFinishedPods returns the pods that ran to their end, by name, and Ran those of our jobs.
func (c *Cluster) AllFinishedPods() (all []FinishedPod) {
	c.Helper()
	pods, err := c.Client.CoreV1().Pods("").List(c.Context(), metav1.ListOptions{})
	c.FailOnError(err)
	for _, p := range pods.Items {
		if p.Status.Phase == corev1.PodSucceeded {
			all = append(all, FinishedPod{p.Annotations["gridbid.io/job"], p.Name, p.Spec.NodeName})
		}
	}
	return all
}

// FinishedPodsOfJobs returns the pods of our jobs that ran to their end, by name.
func (c *Cluster) FinishedPodsOfJobs() []FinishedPod {
	c.Helper()
	return slices.DeleteFunc(c.AllFinishedPods(), func(r FinishedPod) bool { return r.Job == "" })
}
