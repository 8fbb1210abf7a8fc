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

// A jobKind says where an object has its pods, how many of them run at once, and
// how it says that it has ended.
type jobKind struct {
	schema.GroupVersionKind
	plural        string
	podPaths      []podPath
	suspendField  string // field that keeps it from making pods
	deletionField string // field that has its controller end all its pods with it
	deletionValue any    // what that must be; by default these controllers let pods run on
	succeeded     endCondition
	failed        endCondition
}

// A podPath leads to the pod templates of one sort: fields joined by dots, where
// "[]" stands for each element of a list and "*" for each field. Counts lead from
// the object that holds the template to how many pods there are of it; they are
// multiplied, and "^" goes one object up.
type podPath struct {
	template string
	counts   []string
}

// An endCondition is a value that says so: of a field, or of one of several between "|", or
// the type of a condition that is true.
type endCondition struct {
	field  string
	values []string
}

func conditionTypes(types ...string) endCondition { return endCondition{"status.conditions", types} }

func replicaPodPaths(field string) []podPath {
	return []podPath{{"spec." + field + ".*.template", []string{"replicas"}}}
}

// jobKinds are all that can be run.
var jobKinds = []jobKind{
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, plural: "jobs",
		podPaths: []podPath{{"spec.template", []string{"parallelism"}}}, suspendField: "spec.suspend",
		succeeded: conditionTypes("Complete"), failed: conditionTypes("Failed"),
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"}, plural: "pytorchjobs",
		podPaths: replicaPodPaths("pytorchReplicaSpecs"), suspendField: "spec.runPolicy.suspend", deletionField: "spec.runPolicy.cleanPodPolicy", deletionValue: "Running", succeeded: conditionTypes("Succeeded"), failed: conditionTypes("Failed"),
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "TFJob"}, plural: "tfjobs",
		podPaths: replicaPodPaths("tfReplicaSpecs"), suspendField: "spec.runPolicy.suspend", deletionField: "spec.runPolicy.cleanPodPolicy", deletionValue: "Running", succeeded: conditionTypes("Succeeded"), failed: conditionTypes("Failed"),
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "kubeflow.org", Version: "v2beta1", Kind: "MPIJob"}, plural: "mpijobs",
		podPaths: replicaPodPaths("mpiReplicaSpecs"), suspendField: "spec.runPolicy.suspend", deletionField: "spec.runPolicy.cleanPodPolicy", deletionValue: "Running", succeeded: conditionTypes("Succeeded"), failed: conditionTypes("Failed"),
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}, plural: "jobsets",
		podPaths: []podPath{{"spec.replicatedJobs.[].template.spec.template", []string{"parallelism", "^.^.replicas"}}}, suspendField: "spec.suspend",
		succeeded: conditionTypes("Completed"), failed: conditionTypes("Failed"),
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayJob"}, plural: "rayjobs",
		podPaths: []podPath{
			{"spec.rayClusterSpec.headGroupSpec.template", nil},
			{"spec.rayClusterSpec.workerGroupSpecs.[].template", []string{"replicas"}},
		},
		suspendField: "spec.suspend", deletionField: "spec.shutdownAfterJobFinishes", deletionValue: true,
		succeeded: endCondition{"status.jobStatus", []string{"SUCCEEDED"}},
		failed:    endCondition{"status.jobStatus|status.jobDeploymentStatus", []string{"FAILED", "STOPPED", "Failed", "ValidationFailed"}}, // the latter of one that ran too long
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "sparkoperator.k8s.io", Version: "v1beta2", Kind: "SparkApplication"}, plural: "sparkapplications",
		podPaths:     []podPath{{"spec.driver.template", nil}, {"spec.executor.template", []string{"instances"}}},
		suspendField: "spec.suspend",
		succeeded:    endCondition{"status.applicationState.state", []string{"COMPLETED"}}, failed: endCondition{"status.applicationState.state", []string{"FAILED"}}, // which follows SUBMISSION_FAILED, unless it is submitted again
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Workflow"}, plural: "workflows",
		podPaths: []podPath{{"spec", []string{"/spec.parallelism"}}}, suspendField: "spec.suspend",
		succeeded: endCondition{"status.phase", []string{"Succeeded"}}, failed: endCondition{"status.phase", []string{"Failed", "Error"}},
	},
}

// jobKindOf returns the kind of an object, or says which there are.
func jobKindOf(u *unstructured.Unstructured) (*jobKind, error) {
	var names []string
	for i := range jobKinds {
		if k := &jobKinds[i]; k.GroupVersionKind == u.GroupVersionKind() {
			return k, nil
		}
		names = append(names, jobKinds[i].GroupVersion().String()+" "+jobKinds[i].Kind)
	}
	return nil, fmt.Errorf("%s %s is not supported: want one of %s", u.GetAPIVersion(), u.GetKind(), strings.Join(names, ", "))
}

func (k *jobKind) groupVersionResource() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.plural)
}

// matchesObject reports whether an object says this of itself, and which word it uses.
func (e endCondition) matchesObject(u *unstructured.Unstructured) (word string, ok bool) {
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

// objectEndTime is when an object came to say that it has; 0 if it does not tell.
func (k *jobKind) objectEndTime(u *unstructured.Unstructured) (at protocol.Time) {
	note := func(text string) {
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			at = max(at, protocol.FromStdTime(t))
		}
	}
	for _, field := range []string{"completionTime", "endTime", "terminationTime", "finishedAt"} { // as kinds call it
		text, _, _ := unstructured.NestedString(u.Object, "status", field)
		note(text)
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range list {
		m, _ := c.(map[string]any)
		if name, _ := m["type"].(string); m["status"] == "True" && slices.Contains(slices.Concat(k.succeeded.values, k.failed.values), name) {
			text, _ := m["lastTransitionTime"].(string)
			note(text)
		}
	}
	return at
}
