package executor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// A jobKind describes a kind of Kubernetes object that can be run: where it has its
// pod templates, how many pods run at once, and by which status it shows that it has
// ended.
type jobKind struct {
	schema.GroupVersionKind
	plural        string
	podPaths      []podPath
	suspendField  string // field that keeps its controller from creating pods
	deletionField string // field by which its controller deletes all its pods when it ends
	deletionValue any    // its required value; by default these controllers leave pods running
	succeeded     endCondition
	failed        endCondition
	isService     bool // it never ends: it runs a replica of a service, and no job
}

// A podPath leads to the pod templates of one role: field names joined by dots, where
// "[]" stands for each element of a list and "*" for each field. Each entry of counts
// leads from the object that holds the template to a number of pods, where "^" goes to
// the enclosing object; the numbers are multiplied.
type podPath struct {
	template string
	counts   []string
}

// An endCondition is a status that marks the end of an object: one of the values of a
// field (or of one of several fields separated by "|"), or the type of a condition
// whose status is True.
type endCondition struct {
	field  string
	values []string
}

// conditionTypes returns an endCondition for objects with standard conditions.
func conditionTypes(types ...string) endCondition { return endCondition{"status.conditions", types} }

// replicaPodPaths returns the path of Kubeflow's kinds, which have one template per role.
func replicaPodPaths(field string) []podPath {
	return []podPath{{"spec." + field + ".*.template", []string{"replicas"}}}
}

// jobKinds lists all kinds that can be run, as a job or as a replica of a service. To support another one, add it here and to
// the chart's RBAC rules.
var jobKinds = []jobKind{
	{
		GroupVersionKind: podsets.Job.GroupVersionKind, plural: podsets.Job.Plural,
		podPaths: []podPath{{"spec.template", []string{"parallelism"}}}, suspendField: podsets.Job.Suspend,
		succeeded: conditionTypes(podsets.Job.Succeeded), failed: conditionTypes(podsets.Job.Failed),
	},
	{
		GroupVersionKind: podsets.PyTorchJob.GroupVersionKind, plural: podsets.PyTorchJob.Plural,
		podPaths: replicaPodPaths("pytorchReplicaSpecs"), suspendField: podsets.PyTorchJob.Suspend, deletionField: "spec.runPolicy.cleanPodPolicy", deletionValue: "Running", succeeded: conditionTypes(podsets.PyTorchJob.Succeeded), failed: conditionTypes(podsets.PyTorchJob.Failed),
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "TFJob"}, plural: "tfjobs",
		podPaths: replicaPodPaths("tfReplicaSpecs"), suspendField: "spec.runPolicy.suspend", deletionField: "spec.runPolicy.cleanPodPolicy", deletionValue: "Running", succeeded: conditionTypes("Succeeded"), failed: conditionTypes("Failed"),
	},
	{
		GroupVersionKind: podsets.MPIJob.GroupVersionKind, plural: podsets.MPIJob.Plural,
		podPaths: replicaPodPaths("mpiReplicaSpecs"), suspendField: podsets.MPIJob.Suspend, deletionField: "spec.runPolicy.cleanPodPolicy", deletionValue: "Running", succeeded: conditionTypes(podsets.MPIJob.Succeeded), failed: conditionTypes(podsets.MPIJob.Failed),
	},
	{
		GroupVersionKind: podsets.JobSet.GroupVersionKind, plural: podsets.JobSet.Plural,
		podPaths: []podPath{{"spec.replicatedJobs.[].template.spec.template", []string{"parallelism", "^.^.replicas"}}}, suspendField: podsets.JobSet.Suspend,
		succeeded: conditionTypes(podsets.JobSet.Succeeded), failed: conditionTypes(podsets.JobSet.Failed),
	},
	{ // it has no end of its own, and no field that suspends it
		GroupVersionKind: podsets.LeaderWorkerSet.GroupVersionKind, plural: podsets.LeaderWorkerSet.Plural,
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayJob"}, plural: "rayjobs",
		podPaths: []podPath{
			{"spec.rayClusterSpec.headGroupSpec.template", nil},
			{"spec.rayClusterSpec.workerGroupSpecs.[].template", []string{"replicas"}},
		},
		suspendField: "spec.suspend", deletionField: "spec.shutdownAfterJobFinishes", deletionValue: true,
		succeeded: endCondition{"status.jobStatus", []string{"SUCCEEDED"}},
		failed:    endCondition{"status.jobStatus|status.jobDeploymentStatus", []string{"FAILED", "STOPPED", "Failed", "ValidationFailed"}}, // jobDeploymentStatus alone fails when the job exceeds its deadline
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "sparkoperator.k8s.io", Version: "v1beta2", Kind: "SparkApplication"}, plural: "sparkapplications",
		podPaths:     []podPath{{"spec.driver.template", nil}, {"spec.executor.template", []string{"instances"}}},
		suspendField: "spec.suspend",
		succeeded:    endCondition{"status.applicationState.state", []string{"COMPLETED"}}, failed: endCondition{"status.applicationState.state", []string{"FAILED"}}, // follows SUBMISSION_FAILED, unless the operator retries
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Workflow"}, plural: "workflows",
		podPaths: []podPath{{"spec", []string{"/spec.parallelism"}}}, suspendField: "spec.suspend",
		succeeded: endCondition{"status.phase", []string{"Succeeded"}}, failed: endCondition{"status.phase", []string{"Failed", "Error"}},
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, plural: "deployments",
		podPaths: []podPath{{"spec.template", []string{"replicas"}}}, suspendField: "spec.paused", isService: true,
	},
	{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, plural: "statefulsets",
		podPaths: []podPath{{"spec.template", []string{"replicas"}}}, suspendField: "spec.paused", isService: true,
	},
}

// jobKindOf returns the kind of an object that runs a job, or a replica of a service, or an error that
// lists the supported kinds.
func jobKindOf(u *unstructured.Unstructured, isService bool) (*jobKind, error) {
	var names []string
	for i := range jobKinds {
		k := &jobKinds[i]
		if isService && !k.runsReplicas() || !isService && k.isService {
			continue
		}
		if k.GroupVersionKind == u.GroupVersionKind() {
			return k, nil
		}
		names = append(names, jobKinds[i].GroupVersion().String()+" "+jobKinds[i].Kind)
	}
	return nil, fmt.Errorf("%s %s is not supported: want one of %s", u.GetAPIVersion(), u.GetKind(), strings.Join(names, ", "))
}

// runsReplicas reports whether an object of the kind can be a replica of a service. A LeaderWorkerSet of one
// group can: all its pods are on the replica's node.
func (k *jobKind) runsReplicas() bool { return k.isService || k.Kind == podsets.LeaderWorkerSet.Kind }

// groupVersionResource is the kind's address for the dynamic client.
func (k *jobKind) groupVersionResource() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.plural)
}

// matchesObject reports whether an object's status meets the condition. The text is
// the value that was found, or "type: message" of the condition.
func (e endCondition) matchesObject(u *unstructured.Unstructured) (text string, ok bool) {
	for _, field := range strings.Split(e.field, "|") {
		fields := strings.Split(field, ".")
		// A text field has a value of its own; any other is a list of conditions.
		if s, there, _ := unstructured.NestedString(u.Object, fields...); there {
			if text, ok = s, slices.Contains(e.values, s); ok {
				return text, true
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
	return text, false
}

// objectEndTime returns when an object ended by its own status; 0 if it does not
// contain a time.
func (k *jobKind) objectEndTime(u *unstructured.Unstructured) (at protocol.Time) {
	note := func(text string) {
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			at = max(at, protocol.FromStdTime(t))
		}
	}
	for _, field := range []string{"completionTime", "endTime", "terminationTime", "finishedAt"} { // each kind has its own name for it
		text, _, _ := unstructured.NestedString(u.Object, "status", field)
		note(text)
	}
	// Kinds without an end time have the time at which the final condition changed.
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
