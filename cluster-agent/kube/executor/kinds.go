package executor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gridbid/gridbid/protocol"
)

// A kind says where an object has its pods, how many of them run at once, and
// how it says that it has ended.
type kind struct {
	schema.GroupVersionKind
	plural  string
	pods    []podPath
	suspend string // field that keeps it from making pods
	frees   string // field that has its controller end all its pods with it
	free    any    // what that must be; by default these controllers let pods run on
	done    ending
	failed  ending
}

// A podPath leads to the pod templates of one sort: fields joined by dots, where
// "[]" stands for each element of a list and "*" for each field. Counts lead from
// the object that holds the template to how many pods there are of it; they are
// multiplied, and "^" goes one object up.
type podPath struct {
	template string
	counts   []string
}

// An ending is a value that says so: of a field, or of one of several between "|", or
// the type of a condition that is true.
type ending struct {
	field  string
	values []string
}

func conditions(types ...string) ending { return ending{"status.conditions", types} }

func replicas(field string) []podPath {
	return []podPath{{"spec." + field + ".*.template", []string{"replicas"}}}
}

// kinds are all that can be run.
var kinds = []kind{
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, plural: "jobs",
		pods: []podPath{{"spec.template", []string{"parallelism"}}}, suspend: "spec.suspend",
		done: conditions("Complete"), failed: conditions("Failed"),
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"}, plural: "pytorchjobs",
		pods: replicas("pytorchReplicaSpecs"), suspend: "spec.runPolicy.suspend", frees: "spec.runPolicy.cleanPodPolicy", free: "Running", done: conditions("Succeeded"), failed: conditions("Failed"),
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "TFJob"}, plural: "tfjobs",
		pods: replicas("tfReplicaSpecs"), suspend: "spec.runPolicy.suspend", frees: "spec.runPolicy.cleanPodPolicy", free: "Running", done: conditions("Succeeded"), failed: conditions("Failed"),
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "kubeflow.org", Version: "v2beta1", Kind: "MPIJob"}, plural: "mpijobs",
		pods: replicas("mpiReplicaSpecs"), suspend: "spec.runPolicy.suspend", frees: "spec.runPolicy.cleanPodPolicy", free: "Running", done: conditions("Succeeded"), failed: conditions("Failed"),
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}, plural: "jobsets",
		pods: []podPath{{"spec.replicatedJobs.[].template.spec.template", []string{"parallelism", "^.^.replicas"}}}, suspend: "spec.suspend",
		done: conditions("Completed"), failed: conditions("Failed"),
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayJob"}, plural: "rayjobs",
		pods: []podPath{
			{"spec.rayClusterSpec.headGroupSpec.template", nil},
			{"spec.rayClusterSpec.workerGroupSpecs.[].template", []string{"replicas"}},
		},
		suspend: "spec.suspend", frees: "spec.shutdownAfterJobFinishes", free: true,
		done:   ending{"status.jobStatus", []string{"SUCCEEDED"}},
		failed: ending{"status.jobStatus|status.jobDeploymentStatus", []string{"FAILED", "STOPPED", "Failed", "ValidationFailed"}}, // the latter of one that ran too long
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "sparkoperator.k8s.io", Version: "v1beta2", Kind: "SparkApplication"}, plural: "sparkapplications",
		pods:    []podPath{{"spec.driver.template", nil}, {"spec.executor.template", []string{"instances"}}},
		suspend: "spec.suspend",
		done:    ending{"status.applicationState.state", []string{"COMPLETED"}}, failed: ending{"status.applicationState.state", []string{"FAILED"}}, // which follows SUBMISSION_FAILED, unless it is submitted again
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Workflow"}, plural: "workflows",
		pods: []podPath{{"spec", []string{"/spec.parallelism"}}}, suspend: "spec.suspend",
		done: ending{"status.phase", []string{"Succeeded"}}, failed: ending{"status.phase", []string{"Failed", "Error"}},
	},
}

// kindOf returns the kind of an object, or says which there are.
func kindOf(u *unstructured.Unstructured) (*kind, error) {
	var names []string
	for i := range kinds {
		if k := &kinds[i]; k.GroupVersionKind == u.GroupVersionKind() {
			return k, nil
		}
		names = append(names, kinds[i].GroupVersion().String()+" "+kinds[i].Kind)
	}
	return nil, fmt.Errorf("%s %s cannot be run here; want one of %s", u.GetAPIVersion(), u.GetKind(), strings.Join(names, ", "))
}

func (k *kind) resource() schema.GroupVersionResource { return k.GroupVersion().WithResource(k.plural) }

// is reports whether an object says this of itself, and which word it uses.
func (e ending) is(u *unstructured.Unstructured) (word string, ok bool) {
	for _, field := range strings.Split(e.field, "|") {
		fields := strings.Split(field, ".")
		if s, there, _ := unstructured.NestedString(u.Object, fields...); there {
			if word, ok = s, slices.Contains(e.values, s); ok {
				return word, true
			}
			continue
		}
		list, _, _ := unstructured.NestedSlice(u.Object, fields...)
		for _, c := range list {
			m, _ := c.(map[string]any)
			if m["status"] == "True" {
				if s, _ := m["type"].(string); slices.Contains(e.values, s) {
					message, _ := m["message"].(string)
					return strings.TrimSpace(s + ": " + message), true
				}
			}
		}
	}
	return word, false
}

// ended is when an object came to say that it has; 0 if it does not tell.
func (k *kind) ended(u *unstructured.Unstructured) (at protocol.Time) {
	note := func(text string) {
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			at = max(at, protocol.At(t))
		}
	}
	for _, field := range []string{"completionTime", "endTime", "terminationTime", "finishedAt"} { // as kinds call it
		text, _, _ := unstructured.NestedString(u.Object, "status", field)
		note(text)
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range list {
		m, _ := c.(map[string]any)
		if name, _ := m["type"].(string); m["status"] == "True" && slices.Contains(slices.Concat(k.done.values, k.failed.values), name) {
			text, _ := m["lastTransitionTime"].(string)
			note(text)
		}
	}
	return at
}
