package queue

import (
	"encoding/json"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// parseSet returns the submission of a set that was accepted at some time, or all faults of
// the set: a job with a component for each role, in the order of podsets. Invariant: as that
// of parseJob.
func (c Config) parseSet(k *podsets.Kind, u *unstructured.Unstructured, taken protocol.Time) (protocol.Submit, []string) {
	s := annotationReader{annotations: u.GetAnnotations()}
	job := protocol.Job{ID: protocol.JobID(c.Site + "/" + string(u.GetUID())), Tenant: c.Site + "/" + u.GetNamespace(), Arrival: taken, Home: c.Site}
	s.readJobTerms(&job, limitOfSet(u.Object))
	components, roles := s.readComponents(&job, k, u.Object)
	job = job.WithPods(components)
	s.readTopology(&job, roles)
	s.checkStaysHere(c, &job, k, u.Object)
	if why := job.InvalidReason(); why != "" && len(s.faults) == 0 {
		s.addFault("%s", why)
	}
	task, err := json.Marshal(map[string]any{"apiVersion": k.GroupVersion().String(), "kind": k.Kind, "metadata": map[string]any{
		"name": u.GetName(), "namespace": u.GetNamespace(), "annotations": map[string]any{kube.AnnotationRelease: u.GetUID()},
	}})
	if err != nil {
		s.addFault("%v", err)
	}
	return protocol.Submit{Job: job, Task: protocol.Task(task)}, s.faults
}

// limitOfSet returns an object's own limit of run time; 0 if it has none.
func limitOfSet(object map[string]any) time.Duration {
	for _, path := range [][]string{{"spec", "activeDeadlineSeconds"}, {"spec", "runPolicy", "activeDeadlineSeconds"}} {
		if n, ok, _ := unstructured.NestedInt64(object, path...); ok && n > 0 && n < 1e9 { // a longer one is none, and would overflow
			return time.Duration(n) * time.Second
		}
	}
	return 0
}

// readComponents returns a component for each role of a set, with what one of its pods
// requests, and the roles for their topology. The first container's image becomes the job's.
func (s *annotationReader) readComponents(j *protocol.Job, k *podsets.Kind, object map[string]any) (all []protocol.Component, roles []rolePods) {
	sets, err := k.PodSetsOf(object)
	if err != nil {
		s.addFault("%v", err)
	}
	for _, set := range sets {
		var spec corev1.PodSpec
		raw, _ := set.Template["spec"].(map[string]any)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &spec); err != nil {
			s.addFault("the template of role %q: %v", set.Role, err)
			continue
		}
		if spec.SchedulerName != kube.SchedulerName {
			s.addFault("schedulerName of the template of role %q is %q: want %s, which binds its pods together", set.Role, spec.SchedulerName, kube.SchedulerName)
		}
		all = append(all, s.componentOf(j, set.Role, set.Pods, spec))
		r := rolePods{role: set.Role, pods: set.Pods, unit: set.Pods, notes: notesOf(set.Template)}
		if k.Kind == podsets.LeaderWorkerSet.Kind {
			r.unit = set.EachHas // Kueue has a Workload for each group
		}
		roles = append(roles, r)
	}
	return all, roles
}

// componentOf returns a component of so many pods of a spec.
func (s *annotationReader) componentOf(j *protocol.Job, role string, pods int, spec corev1.PodSpec) protocol.Component {
	one := protocol.Job{Image: j.Image}
	s.addPodRequests(&one, 1, spec)
	s.readGPUShare(&one)
	j.Image = one.Image
	return protocol.Component{Role: role, Pods: pods, GPUs: one.GPUs, Share: one.Share, GPUMemory: one.GPUMemory, CPU: one.CPU, Memory: one.Memory}
}

// ownManagers are the values of managedBy by which the controllers of sets manage their own.
var ownManagers = map[string]bool{"": true, "jobset.sigs.k8s.io/jobset-controller": true, "kubeflow.org/training-operator": true, "kubeflow.org/mpi-operator": true}

// checkStaysHere adds faults of a set that cannot run in its own cluster, where it is to run.
func (s *annotationReader) checkStaysHere(c Config, j *protocol.Job, k *podsets.Kind, object map[string]any) {
	by, _, _ := unstructured.NestedString(object, "spec", "managedBy")
	if by == "" {
		by, _, _ = unstructured.NestedString(object, "spec", "runPolicy", "managedBy")
	}
	switch {
	case !ownManagers[by]:
		s.addFault("managedBy is %q: leave it out; a %s runs in its own cluster", by, k.Kind)
	case !c.RunsJobsHere:
		s.addFault("a %s runs in its own cluster, but this one runs no jobs itself", k.Kind)
	case j.GPUs > 0 && c.Sharing != kube.SharingDevicePlugin:
		s.addFault("this site allocates GPUs by %s, for which the pods of a %s must be rewritten: submit it as the task of a job with components", c.Sharing, k.Kind)
	case len(j.Regions) > 0:
		s.addFault("annotation %s: a %s runs in its own cluster: leave it out", AnnotationRegions, k.Kind)
	}
	j.Regions = []string{c.Site}
}

// gangOfJob returns how many pods a Job has as a gang, 0 if all its pods go to one node: a
// gang's pods have an index and run at once. In its own cluster a Job is one only if our
// binder binds its pods, since the scheduler of the cluster binds them one by one.
func gangOfJob(j *batchv1.Job) int {
	n := int(jobParallelism(j))
	indexed := j.Spec.CompletionMode != nil && *j.Spec.CompletionMode == batchv1.IndexedCompletion
	if n < 2 || !indexed || j.Spec.Completions == nil || int(*j.Spec.Completions) != n {
		return 0
	}
	if jobStaysLocal(j) && j.Spec.Template.Spec.SchedulerName != kube.SchedulerName {
		return 0
	}
	return n
}
