package kubetest

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/protocol"
)

// ServiceTask is a Deployment or a StatefulSet as a person writes it. Its pods carry a label app, have four
// cores, 16 GiB and some GPUs, and run until they are deleted.
func ServiceTask(kind, app string, gpus string) protocol.Task {
	spec := PodSpec(map[string]any{"nvidia.com/gpu": gpus})
	spec["restartPolicy"] = "Always"
	return EncodeTask(map[string]any{
		"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"name": app},
		"spec": map[string]any{
			"replicas": 7, "selector": map[string]any{"matchLabels": map[string]any{"app": app}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": app}}, "spec": spec},
		},
	})
}

// CreateService creates a Deployment or a StatefulSet that its user marked as a service, divided as the keys of a
// service file say. Its own pods wait behind a gate.
func (p ClusterUser) CreateService(kind, name, gpus string, replicas int64, divided string) *UserSet {
	p.Helper()
	u := &UserSet{}
	p.FailOnError(json.Unmarshal([]byte(ServiceTask(kind, name, gpus)), &u.Object))
	u.SetNamespace("default")
	u.SetLabels(map[string]string{"gridbid.io/queue": "night"})
	u.SetAnnotations(map[string]string{"gridbid.io/service": divided})
	p.FailOnError(unstructured.SetNestedField(u.Object, replicas, "spec", "replicas"))
	p.FailOnError(unstructured.SetNestedSlice(u.Object, []any{map[string]any{"name": "gridbid.io/service"}}, "spec", "template", "spec", "schedulingGates"))
	now, err := p.Dynamic.Resource(setResource(u)).Namespace("default").Create(p.Context(), u, metav1.CreateOptions{})
	p.FailOnError(err)
	return now
}

// CreateGroups creates a LeaderWorkerSet that its user marked as a service, of groups of four pods of one GPU each with
// a label app. Its own pods wait behind a gate.
func (p ClusterUser) CreateGroups(name string, replicas int64, divided string) *UserSet {
	p.Helper()
	u := &UserSet{Object: GroupOfPods()}
	u.SetName(name)
	u.SetNamespace("default")
	u.SetLabels(map[string]string{"gridbid.io/queue": "night"})
	u.SetAnnotations(map[string]string{"gridbid.io/service": divided})
	p.FailOnError(unstructured.SetNestedField(u.Object, replicas, "spec", "replicas"))
	template := []string{"spec", "leaderWorkerTemplate", "workerTemplate"}
	p.FailOnError(unstructured.SetNestedStringMap(u.Object, map[string]string{"app": name}, append(template, "metadata", "labels")...))
	p.FailOnError(unstructured.SetNestedSlice(u.Object, []any{map[string]any{"name": "gridbid.io/service"}}, append(template, "spec", "schedulingGates")...))
	now, err := p.Dynamic.Resource(setResource(u)).Namespace("default").Create(p.Context(), u, metav1.CreateOptions{})
	p.FailOnError(err)
	return now
}

// ScaleService scales an object by its subresource scale, as kubectl does.
func (p ClusterUser) ScaleService(u *UserSet, replicas int) {
	p.Helper()
	_, err := p.Dynamic.Resource(setResource(u)).Namespace("default").Patch(p.Context(), u.GetName(), types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), metav1.PatchOptions{}, "scale")
	p.FailOnError(err)
}

// RunningPodsOfApp returns how many pods with a label app run and are not being deleted.
func (c *Cluster) RunningPodsOfApp(app string) (n int) {
	c.Helper()
	l, err := c.Client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	c.FailOnError(err)
	for _, p := range l.Items {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}
