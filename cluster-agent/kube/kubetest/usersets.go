package kubetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A UserSet is an object of the cluster's users: a Job, or one of another kind that makes
// several pods.
type UserSet = unstructured.Unstructured

// setResource returns where the objects of a kind are.
func setResource(u *UserSet) schema.GroupVersionResource {
	gvk := u.GroupVersionKind()
	return gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s")
}

// JobSet returns a JobSet of a driver without GPUs and two Jobs of four workers of four GPUs.
func JobSet(driver, worker map[string]any) map[string]any {
	job := func(n int64, template map[string]any) map[string]any {
		return map[string]any{"spec": map[string]any{"backoffLimit": int64(6), "completionMode": "Indexed", "parallelism": n, "completions": n, "template": template}}
	}
	return map[string]any{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": map[string]any{}, "spec": map[string]any{
		"replicatedJobs": []any{
			map[string]any{"name": "driver", "replicas": int64(1), "template": job(1, driver)},
			map[string]any{"name": "worker", "replicas": int64(2), "template": job(4, worker)},
		},
	}}
}

// QueueSet has an object wait in the queue under a name, suspended, with pods for our binder.
func (p ClusterUser) QueueSet(object map[string]any, name string) *UserSet {
	p.Helper()
	u := &UserSet{Object: object}
	u.SetName(name)
	u.SetNamespace("default")
	u.SetLabels(map[string]string{"gridbid.io/queue": "night"})
	notes := map[string]string{"gridbid.io/run": "10m", "gridbid.io/within": "1h", "gridbid.io/urgency": "now"}
	suspend := []string{"spec", "suspend"}
	if _, ok, _ := unstructured.NestedMap(object, "spec", "runPolicy"); ok {
		suspend = []string{"spec", "runPolicy", "suspend"}
	}
	if u.GetKind() == "LeaderWorkerSet" {
		n, _, _ := unstructured.NestedInt64(object, "spec", "replicas")
		notes["gridbid.io/replicas"] = strconv.FormatInt(n, 10)
		p.FailOnError(unstructured.SetNestedField(object, int64(0), "spec", "replicas"))
	} else {
		p.FailOnError(unstructured.SetNestedField(object, true, suspend...))
	}
	u.SetAnnotations(notes)
	chooseScheduler(object)
	_, err := p.Dynamic.Resource(setResource(u)).Namespace("default").Create(p.Context(), u, metav1.CreateOptions{})
	p.FailOnError(err)
	return u
}

// chooseScheduler sets our scheduler in each spec of pods within v.
func chooseScheduler(v any) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			chooseScheduler(e)
		}
	case map[string]any:
		if x["containers"] != nil {
			x["schedulerName"] = "gridbid"
		}
		for _, e := range x {
			chooseScheduler(e)
		}
	}
}

// ViewSet reads an object from the API server; nil if it is gone.
func (p ClusterUser) ViewSet(u *UserSet) *UserSet {
	p.Helper()
	now, err := p.Dynamic.Resource(setResource(u)).Namespace("default").Get(context.Background(), u.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	p.FailOnError(err)
	return now
}

// AwaitSet reads an object until a condition of its state in the market holds, and returns
// the object.
func (p ClusterUser) AwaitSet(u *unstructured.Unstructured, what string, holds func(state string) bool) (now *UserSet) {
	p.Helper()
	p.AwaitCondition(u.GetKind()+" "+u.GetName()+" is "+what, func() bool {
		now = p.ViewSet(u)
		return now != nil && holds(now.GetAnnotations()["gridbid.io/state"])
	}, func() any { return p.DescribeSet(u) })
	return now
}

// ForgetNode removes what is left of a node that was deleted: its devices, and its pods, which
// no kubelet ends.
func (p ClusterUser) ForgetNode(name string) {
	p.Helper()
	p.FailOnError(p.Client.ResourceV1().ResourceSlices().Delete(p.Context(), name, metav1.DeleteOptions{}))
	l, err := p.Client.CoreV1().Pods("default").List(p.Context(), metav1.ListOptions{})
	p.FailOnError(err)
	for _, x := range l.Items {
		if x.Spec.NodeName != name {
			continue
		}
		if err := p.Client.CoreV1().Pods("default").Delete(p.Context(), x.Name, *metav1.NewDeleteOptions(0)); !apierrors.IsNotFound(err) {
			p.FailOnError(err)
		}
	}
}

// DescribeSet returns what a user sees of an object, for the message of a test that failed.
func (p ClusterUser) DescribeSet(u *UserSet) any {
	p.Helper()
	now := p.ViewSet(u)
	if now == nil {
		return "it is gone"
	}
	return []any{now.GetLabels(), now.GetFinalizers(), now.GetDeletionTimestamp(), now.GetAnnotations()["gridbid.io/state"], now.Object["status"], p.EventsOfJob(u.GetName()), p.NodesOfPods("")}
}

// DeleteSet deletes an object as its owner does.
func (p ClusterUser) DeleteSet(u *UserSet) {
	p.Helper()
	background := metav1.DeletePropagationBackground // as kubectl asks for
	p.FailOnError(p.Dynamic.Resource(setResource(u)).Namespace("default").Delete(p.Context(), u.GetName(), metav1.DeleteOptions{PropagationPolicy: &background}))
}

// ObjectsNamed returns the Jobs, StatefulSets and Services whose names begin with a name: what the
// controller of a set makes beside its pods.
func (p ClusterUser) ObjectsNamed(name string) (all []string) {
	p.Helper()
	add := func(x metav1.ObjectMeta) {
		if strings.HasPrefix(x.Name, name) {
			all = append(all, x.Name)
		}
	}
	jobs, err := p.Client.BatchV1().Jobs("default").List(context.Background(), metav1.ListOptions{})
	p.FailOnError(err)
	for _, x := range jobs.Items {
		add(x.ObjectMeta)
	}
	sets, err := p.Client.AppsV1().StatefulSets("default").List(context.Background(), metav1.ListOptions{})
	p.FailOnError(err)
	for _, x := range sets.Items {
		add(x.ObjectMeta)
	}
	services, err := p.Client.CoreV1().Services("default").List(context.Background(), metav1.ListOptions{})
	p.FailOnError(err)
	for _, x := range services.Items {
		add(x.ObjectMeta)
	}
	return all
}

// LabelNode sets a label of a node.
func (c *Cluster) LabelNode(node, key, value string) {
	c.Helper()
	_, err := c.Client.CoreV1().Nodes().Patch(c.Context(), node, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value), metav1.PatchOptions{})
	c.FailOnError(err)
}

// DomainsOfSet returns which values a label of nodes has for the pods with GPUs of a set, for all that
// have the same value of a label of theirs; "" takes all as one.
func (p ClusterUser) DomainsOfSet(u *UserSet, level, label string) map[string][]string {
	p.Helper()
	l, err := p.Client.CoreV1().Pods("default").List(p.Context(), metav1.ListOptions{LabelSelector: "gridbid.io/run=" + p.ViewSet(u).GetLabels()["gridbid.io/run"]})
	p.FailOnError(err)
	all := make(map[string][]string)
	for _, x := range l.Items {
		if x.Spec.Containers[0].Resources.Limits.Name("nvidia.com/gpu", "").IsZero() {
			continue
		}
		n, err := p.Client.CoreV1().Nodes().Get(p.Context(), x.Spec.NodeName, metav1.GetOptions{})
		p.FailOnError(err)
		if of := x.Labels[label]; !slices.Contains(all[of], n.Labels[level]) {
			all[of] = append(all[of], n.Labels[level])
		}
	}
	return all
}
