// Package kubetest is what tests of the executor and the queue on a real control plane
// share: nodes with fake GPUs, Jobs as users write them, fake kubelets, Kueue, and an
// oracle that checks the cluster on its own. It does not import package kube: it
// spells labels and annotations out, so that a test fails when one of them changes.
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gridbid/gridbid/internal/kubeenv"
	"github.com/gridbid/gridbid/protocol"
)

// A Cluster is a control plane with an administrator's clients. Its methods end the
// test on an error.
type Cluster struct {
	testing.TB
	*kubeenv.ControlPlane
	Config  *rest.Config // without client-side rate limits
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
}

// New starts a control plane that is stopped when the test ends.
func New(t testing.TB, o kubeenv.PlaneOptions) *Cluster {
	t.Helper()
	c := &Cluster{TB: t, ControlPlane: kubeenv.StartForTest(t, o)}
	cfg, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	c.FailOnError(err)
	cfg.QPS = -1
	c.Config, c.Client, c.Dynamic = cfg, kubernetes.NewForConfigOrDie(cfg), dynamic.NewForConfigOrDie(cfg)
	return c
}

// FailOnError ends the test if err is not nil.
func (c *Cluster) FailOnError(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// resourceList parses quantities.
func resourceList(m map[corev1.ResourceName]string) corev1.ResourceList {
	l := make(corev1.ResourceList)
	for k, v := range m {
		l[k] = resource.MustParse(v)
	}
	return l
}

// AddNodes adds n nodes (gpu-000, gpu-001, ...) and the device class of their GPUs.
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

// AddNode adds a node with 96 cores, 768 GiB and eight H100s, offered both by device
// plugin and by device claims. It carries the taint of the site that owns it, unless
// site is "".
func (c *Cluster) AddNode(name, site string) {
	c.Helper()
	have := resourceList(map[corev1.ResourceName]string{"cpu": "96", "memory": "768Gi", "pods": "110", "nvidia.com/gpu": "8"})
	_, err := c.Client.CoreV1().Nodes().Create(c.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81920", "kubernetes.io/hostname": name}},
		Spec:   corev1.NodeSpec{Taints: ownerTaints(site)},
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

// sharableDevice returns an H100 that can be shared in steps of 10 thousandths and 1
// MiB.
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

// BatchJobTask returns a batch/v1 Job in JSON with some pods at once, each with four
// cores, 16 GiB and some GPUs. The pods end after run (0: never); notes are
// annotations of theirs.
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

// PodSpec returns the spec of a pod with four cores and 16 GiB.
func PodSpec(limits map[string]any) map[string]any {
	return map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{
		"name": "main", "image": "registry.example.com/train:1",
		"resources": map[string]any{"requests": map[string]any{"cpu": "4", "memory": "16Gi"}, "limits": limits},
	}}}
}

// EncodeTask encodes an object as a task.
func EncodeTask(object map[string]any) protocol.Task {
	data, err := json.Marshal(object)
	if err != nil {
		panic(err) // cannot happen: maps, lists, strings and numbers only
	}
	return protocol.Task(data)
}

// A FinishedPod is a pod that succeeded; Job is "" if it is not of a job of the
// market, and Owner if it is not of a Job of Kubernetes.
type FinishedPod struct {
	Job, Owner, Pod, Node string
	GPUs                  int       // whole devices that its first container is limited to
	Started, Ended        time.Time // of that container, in whole seconds; zero where its status does not say
}

// SetNodeOwner gives a node to a site by its taint, and for "" back to the cluster's scheduler.
func (c *Cluster) SetNodeOwner(node, site string) {
	c.Helper()
	taints, err := json.Marshal(ownerTaints(site))
	c.FailOnError(err)
	_, err = c.Client.CoreV1().Nodes().Patch(c.Context(), node, types.MergePatchType, []byte(`{"spec":{"taints":`+string(taints)+`}}`), metav1.PatchOptions{})
	c.FailOnError(err)
}

// ownerTaints returns the taints of a node that a site owns; "": of one that no site does.
func ownerTaints(site string) []corev1.Taint {
	if site == "" {
		return nil
	}
	return []corev1.Taint{{Key: "gridbid.io/owned", Value: site, Effect: corev1.TaintEffectNoSchedule}}
}

// DeleteAllJobs deletes the Jobs of the namespace default, and waits until their pods are gone.
func (p ClusterUser) DeleteAllJobs() {
	p.Helper()
	background := metav1.DeletePropagationBackground
	p.FailOnError(p.Client.BatchV1().Jobs("default").DeleteCollection(p.Context(), metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{}))
	left := func() []corev1.Pod {
		l, err := p.Client.CoreV1().Pods("default").List(p.Context(), metav1.ListOptions{})
		p.FailOnError(err)
		return l.Items
	}
	p.AwaitCondition("all pods are gone", func() bool { return len(left()) == 0 }, func() any { return len(left()) })
}

// AllFinishedPods returns all pods that succeeded.
func (c *Cluster) AllFinishedPods() (all []FinishedPod) {
	c.Helper()
	pods, err := c.Client.CoreV1().Pods("").List(c.Context(), metav1.ListOptions{})
	c.FailOnError(err)
	for _, p := range pods.Items {
		if p.Status.Phase == corev1.PodSucceeded {
			gpus := p.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"]
			f := FinishedPod{Job: p.Annotations["gridbid.io/job"], Owner: p.Labels["batch.kubernetes.io/job-name"], Pod: p.Name, Node: p.Spec.NodeName, GPUs: int(gpus.Value())}
			if x := p.Status.ContainerStatuses; len(x) > 0 && x[0].State.Terminated != nil {
				f.Started, f.Ended = x[0].State.Terminated.StartedAt.Time, x[0].State.Terminated.FinishedAt.Time
			}
			all = append(all, f)
		}
	}
	return all
}

// FinishedPodsOfJobs returns the pods of the market's jobs that succeeded.
func (c *Cluster) FinishedPodsOfJobs() []FinishedPod {
	c.Helper()
	return slices.DeleteFunc(c.AllFinishedPods(), func(r FinishedPod) bool { return r.Job == "" })
}
