//go:build kube

package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// A workload is a kind as its own project documents it: a schema in our words of
// the fields that a task uses, what its controller makes pods of, and how it
// says that all is done.
type workload struct {
	schema.GroupVersionKind
	plural string
	spec   string // schema of spec: "a.b:type", lists as "a[]", maps as "a{}"
	task   map[string]any
	pods   func(spec map[string]any) []map[string]any // one template for each pod
	done   map[string]any                             // status
	gpus   int
}

type object = map[string]any

// template2 asks for two GPUs and ends after a while.
func template2() object {
	return object{"metadata": object{"annotations": object{"plane.test/run": "2s"}, "labels": object{"app": "mine"}},
		"spec": object{"restartPolicy": "Never", "containers": []any{object{"name": "main", "image": "registry.example.com/x:1", "resources": object{"limits": object{"nvidia.com/gpu": "2"}}}}}}
}

// times repeats a template.
func times(n any, template any) (all []map[string]any) {
	count := int64(1)
	switch v := n.(type) {
	case int64:
		count = v
	case float64:
		count = int64(v)
	}
	for range count {
		all = append(all, template.(object))
	}
	return all
}

// roles are the pods of Kubeflow's jobs: a template and a count for each role.
func roles(field string) func(object) []map[string]any {
	return func(spec object) (all []map[string]any) {
		specs := spec[field].(object)
		for _, role := range sortedKeys(specs) {
			r := specs[role].(object)
			all = append(all, times(r["replicas"], r["template"])...)
		}
		return all
	}
}

func condition(word string) object {
	return object{"conditions": []any{object{"type": word, "status": "True", "reason": "Done", "message": "all pods have ended", "lastTransitionTime": "2026-01-02T12:00:00Z", "lastUpdateTime": "2026-01-02T12:00:00Z"}}}
}

func kindOfGroup(group, version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

var workloads = []workload{
	{
		kindOfGroup("kubeflow.org", "v1", "PyTorchJob"), "pytorchjobs", "runPolicy.suspend:boolean pytorchReplicaSpecs{}.replicas:integer pytorchReplicaSpecs{}.template:object",
		object{"pytorchReplicaSpecs": object{"Master": object{"replicas": 1, "template": template2()}, "Worker": object{"replicas": 2, "template": template2()}}},
		roles("pytorchReplicaSpecs"), condition("Succeeded"), 6,
	},
	{
		kindOfGroup("kubeflow.org", "v1", "TFJob"), "tfjobs", "runPolicy.suspend:boolean tfReplicaSpecs{}.replicas:integer tfReplicaSpecs{}.template:object",
		object{"tfReplicaSpecs": object{"Worker": object{"replicas": 4, "template": template2()}}}, roles("tfReplicaSpecs"), condition("Succeeded"), 8,
	},
	{
		kindOfGroup("kubeflow.org", "v2beta1", "MPIJob"), "mpijobs", "runPolicy.suspend:boolean slotsPerWorker:integer mpiReplicaSpecs{}.replicas:integer mpiReplicaSpecs{}.template:object",
		object{"slotsPerWorker": 2, "mpiReplicaSpecs": object{"Launcher": object{"replicas": 1, "template": template2()}, "Worker": object{"replicas": 2, "template": template2()}}},
		roles("mpiReplicaSpecs"), condition("Succeeded"), 6,
	},
	{
		kindOfGroup("jobset.x-k8s.io", "v1alpha2", "JobSet"), "jobsets", "suspend:boolean replicatedJobs[].name:string replicatedJobs[].replicas:integer replicatedJobs[].template:object",
		object{"replicatedJobs": []any{object{"name": "workers", "replicas": 2, "template": object{"spec": object{"parallelism": 2, "completions": 2, "template": template2()}}}}},
		func(spec object) (all []map[string]any) {
			for _, v := range spec["replicatedJobs"].([]any) {
				job := v.(object)["template"].(object)["spec"].(object)
				for range times(v.(object)["replicas"], template2()) {
					all = append(all, times(job["parallelism"], job["template"])...)
				}
			}
			return all
		}, condition("Completed"), 8,
	},
	{
		kindOfGroup("ray.io", "v1", "RayJob"), "rayjobs", "suspend:boolean entrypoint:string rayClusterSpec.headGroupSpec.rayStartParams:object rayClusterSpec.headGroupSpec.template:object rayClusterSpec.workerGroupSpecs[].groupName:string rayClusterSpec.workerGroupSpecs[].replicas:integer rayClusterSpec.workerGroupSpecs[].template:object",
		object{"entrypoint": "python train.py", "rayClusterSpec": object{"headGroupSpec": object{"rayStartParams": object{}, "template": template2()},
			"workerGroupSpecs": []any{object{"groupName": "gpu", "replicas": 2, "template": template2()}}}},
		func(spec object) []map[string]any {
			cluster := spec["rayClusterSpec"].(object)
			all := times(nil, cluster["headGroupSpec"].(object)["template"])
			for _, g := range cluster["workerGroupSpecs"].([]any) {
				all = append(all, times(g.(object)["replicas"], g.(object)["template"])...)
			}
			return all
		}, object{"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Complete"}, 6,
	},
	{
		kindOfGroup("sparkoperator.k8s.io", "v1beta2", "SparkApplication"), "sparkapplications", "suspend:boolean type:string mode:string driver.template:object executor.instances:integer executor.template:object",
		object{"type": "Python", "mode": "cluster", "driver": object{"template": template2()}, "executor": object{"instances": 2, "template": template2()}},
		func(spec object) []map[string]any {
			return append(times(nil, spec["driver"].(object)["template"]), times(spec["executor"].(object)["instances"], spec["executor"].(object)["template"])...)
		}, object{"applicationState": object{"state": "COMPLETED"}}, 6,
	},
	{
		kindOfGroup("argoproj.io", "v1alpha1", "Workflow"), "workflows", "suspend:boolean entrypoint:string parallelism:integer schedulerName:string podMetadata:object tolerations:any templates:any",
		object{"entrypoint": "main", "parallelism": 2, "podMetadata": object{"annotations": object{"plane.test/run": "2s"}}, "templates": []any{
			object{"name": "main", "container": template2()["spec"].(object)["containers"].([]any)[0]}}},
		func(spec object) []map[string]any { // as many at once as it may
			t := spec["templates"].([]any)[0].(object)
			pod := object{"metadata": spec["podMetadata"], "spec": object{"restartPolicy": "Never", "schedulerName": spec["schedulerName"], "containers": []any{t["container"]}}}
			return times(spec["parallelism"], pod)
		}, object{"phase": "Succeeded"}, 4,
	},
}

// properties writes a schema: what is not named in it is refused or dropped by
// the server, as it would be by the real one.
func properties(spec string) object {
	root := object{"type": "object", "properties": object{}}
	for _, field := range strings.Fields(spec) {
		path, kind, _ := strings.Cut(field, ":")
		at := root
		parts := strings.Split(path, ".")
		for i, part := range parts {
			name := strings.TrimRight(part, "[]{}")
			props := at["properties"].(object)
			if props[name] == nil {
				props[name] = object{"type": "object", "properties": object{}}
			}
			next := props[name].(object)
			if i == len(parts)-1 {
				delete(next, "properties")
				next["type"] = kind
				if kind == "object" || kind == "any" {
					next["x-kubernetes-preserve-unknown-fields"] = true
				}
				if kind == "any" {
					delete(next, "type")
				}
				break
			}
			inner := object{"type": "object", "properties": object{}}
			switch {
			case strings.HasSuffix(part, "[]"):
				if next["items"] == nil {
					delete(next, "properties")
					next["type"], next["items"] = "array", inner
				}
				next = next["items"].(object)
			case strings.HasSuffix(part, "{}"):
				if next["additionalProperties"] == nil {
					delete(next, "properties")
					next["additionalProperties"] = inner
				}
				next = next["additionalProperties"].(object)
			}
			at = next
		}
	}
	return root
}

// install adds the definitions of workloads; those of one group and name share one.
func (c *cluster) install(all []workload) {
	c.Helper()
	crds := c.Dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, w := range all {
		crd := &unstructured.Unstructured{Object: object{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": w.plural + "." + w.Group, "annotations": object{"api-approved.kubernetes.io": "unapproved, a test"}},
			"spec": object{"group": w.Group, "scope": "Namespaced", "names": object{"kind": w.Kind, "plural": w.plural, "singular": strings.ToLower(w.Kind), "listKind": w.Kind + "List"},
				"versions": []any{object{"name": w.Version, "served": true, "storage": true, "subresources": object{"status": object{}},
					"schema": object{"openAPIV3Schema": object{"type": "object", "properties": object{
						"spec": properties(w.spec), "status": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}},
		}}
		_, err := crds.Create(c.Context(), crd, metav1.CreateOptions{})
		c.FailOnError(err)
	}
	for _, w := range all {
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			_, err := c.Dynamic.Resource(w.GroupVersion().WithResource(w.plural)).List(c.Context(), metav1.ListOptions{})
			if err == nil {
				break
			}
			if time.Since(began) > time.Minute {
				c.Fatal(w.Kind, " is not served: ", err)
			}
		}
	}
}

// control plays a workload's controller for one object: it makes its pods, and
// says so when all have ended.
func (c *cluster) control(ctx context.Context, w workload, name string) error {
	api := c.Dynamic.Resource(w.GroupVersion().WithResource(w.plural)).Namespace("default")
	var u *unstructured.Unstructured
	for u == nil {
		got, err := api.Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			u = got
		case !apierrors.IsNotFound(err):
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	for i, t := range w.pods(u.Object["spec"].(object)) {
		text, err := json.Marshal(t)
		if err != nil {
			return err
		}
		var p corev1.Pod
		if err := json.Unmarshal(text, &p); err != nil {
			return err
		}
		p.Name, p.Namespace = fmt.Sprintf("%s-%d", name, i), "default"
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName(), UID: u.GetUID()}}
		if _, err := c.Client.CoreV1().Pods("default").Create(ctx, &p, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for {
		pods, err := c.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: kube.LabelRun + "=" + name})
		if err != nil {
			return err
		}
		ended := 0
		for _, p := range pods.Items {
			if p.Status.Phase == corev1.PodSucceeded {
				ended++
			}
		}
		if ended == len(pods.Items) && ended > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if u, err := api.Get(ctx, name, metav1.GetOptions{}); err != nil {
		return err
	} else {
		u.Object["status"] = w.done
		_, err = api.UpdateStatus(ctx, u, metav1.UpdateOptions{})
		return err
	}
}

// Each kind of workload, on a real API server with its definition: created
// through the dynamic client, its pods placed together by us, settled when it
// says that it is done.
func TestEachJobKindRunsAsGang(t *testing.T) {
	c := newCluster(t, 1)
	c.install(workloads[:len(workloads)-1])
	hub := new(membus.Bus)
	a := c.agent(hub)
	c.startExecutor(hub, Config{Sharing: kube.SharingDevicePlugin})
	await(a, func(v protocol.Inventory) bool { return len(v.Nodes) == 1 && v.Nodes[0].Closed == "" })
	launch := func(w workload) (protocol.Launch, string) {
		task, err := json.Marshal(object{"apiVersion": w.GroupVersion().String(), "kind": w.Kind, "metadata": object{"name": "mine"}, "spec": w.task})
		c.FailOnError(err)
		l := job(strings.ToLower(w.Kind), "gpu-000", nil, 1000, 0)
		for d := range w.gpus {
			l.Devices = append(l.Devices, d)
		}
		l.Job.GPUs, l.Task = w.gpus, protocol.Task(task)
		return l, kube.RunName(l.Job.ID, l.Epoch)
	}
	run := func(w workload) {
		l, name := launch(w)
		a.launch(l)
		played := make(chan error, 1)
		go func() { played <- c.control(t.Context(), w, name) }()
		x := await(a, func(x protocol.Finished) bool { return x.Job == l.Job.ID })
		c.FailOnError(<-played)
		pods, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: kube.LabelRun + "=" + name})
		c.FailOnError(err)
		held := make(map[int]bool)
		for _, p := range pods.Items {
			if p.Spec.NodeName != "gpu-000" || p.Spec.SchedulerName != kube.SchedulerName || p.Status.Phase != corev1.PodSucceeded {
				t.Errorf("%s: pod %s on %q, by %q, %s", w.Kind, p.Name, p.Spec.NodeName, p.Spec.SchedulerName, p.Status.Phase)
			}
			for _, d := range kube.DevicesOf(&p) {
				if held[d] {
					t.Errorf("%s: device %d is given twice", w.Kind, d)
				}
				held[d] = true
			}
		}
		if x.Failed != "" || len(held) != w.gpus || len(pods.Items) != w.gpus/2 {
			t.Errorf("%s: %+v, %d pods on %d devices; want %d", w.Kind, x, len(pods.Items), len(held), w.gpus)
		}
	}
	for _, w := range workloads[:len(workloads)-1] {
		run(w)
	}
	// One that is not installed is refused, and runs when it is.
	last := workloads[len(workloads)-1]
	l, _ := launch(last)
	a.launch(l)
	lost := await(a, func(x protocol.Interrupted) bool { return x.Job == l.Job.ID })
	if lost.Why.Code != protocol.ClusterRefused || !strings.Contains(lost.Why.Note, "argoproj.io/v1alpha1 Workflow is not installed in this cluster") {
		t.Errorf("lost %+v", lost.Why)
	}
	c.install(workloads[len(workloads)-1:])
	l.Epoch = 2
	a.launch(l)
	go func() { _ = c.control(t.Context(), last, kube.RunName(l.Job.ID, 2)) }()
	if x := await(a, func(x protocol.Finished) bool { return x.Job == l.Job.ID }); x.Failed != "" {
		t.Errorf("%+v", x)
	}
	// And what is no workload never runs.
	for kind, text := range map[string]string{
		"Deployment": `{"apiVersion":"apps/v1","kind":"Deployment","spec":{}}`, "Pod": `{"apiVersion":"v1","kind":"Pod","spec":{}}`, "PyTorchJob v2": `{"apiVersion":"kubeflow.org/v2","kind":"PyTorchJob","spec":{}}`,
	} {
		l := job("no-"+strings.ToLower(strings.ReplaceAll(kind, " ", "-")), "gpu-000", []int{0}, 1000, 0)
		l.Task = protocol.Task(text)
		a.launch(l)
		if lost := await(a, func(x protocol.Interrupted) bool { return x.Job == l.Job.ID }); lost.Why.Code != protocol.ClusterRefused || !strings.Contains(lost.Why.Note, "is not supported: want one of") {
			t.Errorf("%s: lost %+v", kind, lost.Why)
		}
	}
}
