package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// maxTaskBytes bounds a task's size. etcd's own limit for an object is 1.5 MB, and
// annotations, status and managed fields come on top of the task.
const maxTaskBytes = 512 << 10

// parseTask decodes a task: one Kubernetes object of a supported kind, in JSON.
func parseTask(t protocol.Task, isService bool) (*unstructured.Unstructured, *jobKind, error) {
	switch {
	case t == "" && isService:
		return nil, nil, errors.New("the service has no task: submit it with a Deployment, a StatefulSet or a LeaderWorkerSet to run")
	case t == "":
		return nil, nil, errors.New("the job has no task: submit it with a Kubernetes object to run")
	case len(t) > maxTaskBytes:
		return nil, nil, fmt.Errorf("the task has %d bytes: want at most %d", len(t), maxTaskBytes)
	}
	var raw map[string]any
	if err := json.Unmarshal([]byte(t), &raw); err != nil {
		return nil, nil, fmt.Errorf("the task is not a JSON object: %w", err)
	}
	u := &unstructured.Unstructured{Object: raw}
	k, err := jobKindOf(u, isService)
	return u, k, err
}

// buildRunObject returns the object to create for a launch: the task's object under a
// name of job and epoch, with labels that identify it, and with pods that wait for our
// scheduler and request GPUs as the site shares them. Fields by which a task could
// escape its award are removed or overwritten.
func (h *KubeExecutor) buildRunObject(l protocol.Launch) (*unstructured.Unstructured, *jobKind, error) {
	isReplica := protocol.ServiceOfReplica(l.Job.ID) != ""
	u, k, err := parseTask(l.Task, isReplica)
	if err != nil {
		return nil, nil, err
	}
	// A task chooses among the site's namespaces only.
	space := u.GetNamespace()
	if space == "" {
		space = h.cfg.Namespaces[0]
	}
	if !slices.Contains(h.cfg.Namespaces, space) {
		return nil, nil, fmt.Errorf("namespace %q is not served by this site: want one of %s", space, strings.Join(h.cfg.Namespaces, ", "))
	}
	note, err := kube.PackLaunch(h.cfg.Site, l)
	if err != nil {
		return nil, nil, err
	}
	run := kube.RunName(l.Job.ID, l.Epoch)
	labels := map[string]string{kube.LabelSite: h.cfg.Site, kube.LabelRun: run}
	// Start from the spec alone: metadata and status are ours to set.
	delete(u.Object, "status")
	stripReservedFields(u.Object["spec"])
	u.Object["metadata"] = map[string]any{}
	u.SetName(objectNameOf(run))
	u.SetNamespace(space)
	u.SetLabels(labels)
	u.SetAnnotations(map[string]string{kube.AnnotationLaunch: note, kube.AnnotationJob: string(l.Job.ID)})
	if k.suspendField != "" {
		unstructured.RemoveNestedField(u.Object, strings.Split(k.suspendField, ".")...)
	}
	for _, field := range ttlFields { // we delete it after its outcome was reported; until then it must stay
		unstructured.RemoveNestedField(u.Object, strings.Split(field, ".")...)
	}
	if k.Kind == "RayJob" { // with retries, it reports a failure and then runs on new pods, which would not be tracked
		unstructured.RemoveNestedField(u.Object, "spec", "backoffLimit")
	}
	if k.deletionField != "" { // pods that run on would hold GPUs that are awarded to others
		if err := unstructured.SetNestedField(u.Object, k.deletionValue, strings.Split(k.deletionField, ".")...); err != nil {
			return nil, nil, err
		}
	}
	if k.Kind == "Job" { // controllers of a copied Job would fight over the pods of the same selector
		unstructured.RemoveNestedField(u.Object, "spec", "selector")
		unstructured.RemoveNestedField(u.Object, "spec", "manualSelector")
		unstructured.RemoveNestedField(u.Object, "spec", "managedBy") // the cluster's own Job controller runs it
	}
	if isReplica {
		if err := shapeReplica(u, run); err != nil {
			return nil, nil, err
		}
	}
	gang, err := shapeSet(u, k, &l.Job)
	if err != nil {
		return nil, nil, err
	}
	// Pod templates: labels to find the pods, our scheduler, and nothing that places them elsewhere.
	all, err := k.podTemplatesOf(u.Object)
	if err != nil {
		return nil, nil, err
	}
	for i, t := range all {
		if err := t.oversizedStep(l.Job); err != nil {
			return nil, nil, err
		}
		mergeStringMap(t.metadata, "labels", labels)
		for _, owned := range []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", kube.LabelQueue} {
			delete(childMap(t.metadata, "labels"), owned)
		}
		mergeStringMap(t.metadata, "annotations", map[string]string{kube.AnnotationJob: string(l.Job.ID), podenergy.AnnotationPowerPlan: h.inv.PowerPlanOf(l).EncodeAnnotation()})
		t.spec["schedulerName"] = kube.SchedulerName
		for _, field := range []string{"nodeName", "schedulingGates", "resourceClaims"} {
			delete(t.spec, field) // the award decides where and on which devices it runs
		}
		h.addTolerations(t.spec)
		if gang != nil {
			shapeGangPod(t, gang[i])
		}
		if findsEachOther(k, &l.Job) {
			tellRanks(t, u.GetName(), space, &l)
		}
	}
	if k.Kind == "Workflow" { // its pods inherit tolerations from the Workflow
		h.addTolerations(childMap(u.Object, "spec"))
	}
	if gang != nil {
		return u, k, h.requestGPUsForGang(l, all, gang)
	}
	return u, k, h.requestGPUsForLaunch(l, all)
}

// ttlFields are the fields, of all kinds, by which a cluster deletes finished objects.
var ttlFields = []string{"spec.ttlSecondsAfterFinished", "spec.runPolicy.ttlSecondsAfterFinished", "spec.timeToLiveSeconds", "spec.ttlStrategy"}

// stripReservedFields removes from a task what only the executor, node daemons and
// device plugins may set: a pod's devices, energy and run. A task copied from a pod
// that ran contains such marks. It also removes schedulers, priorities and pod
// patches, which parts of a Workflow or a SparkApplication may set for themselves.
func stripReservedFields(v any) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			stripReservedFields(e)
		}
	case map[string]any:
		for _, field := range []string{"schedulerName", "batchScheduler", "podSpecPatch", "priorityClassName", "podPriorityClassName"} {
			delete(x, field)
		}
		for field, inner := range x {
			if m, ok := inner.(map[string]any); ok && (field == "annotations" || field == "labels" || field == "sparkConf") {
				maps.DeleteFunc(m, func(key string, _ any) bool { return kube.IsOurMark(key) })
			}
			stripReservedFields(inner)
		}
	}
}

// mergeStringMap adds entries to the map under a field, and creates the map if needed.
func mergeStringMap(m map[string]any, field string, add map[string]string) {
	c := childMap(m, field)
	for k, v := range add {
		c[k] = v
	}
}

// addTolerations lets pods run on the site's nodes in spite of their taints. The
// binder ignores NoSchedule taints, but a NoExecute taint would evict a pod that does
// not tolerate it.
func (h *KubeExecutor) addTolerations(spec map[string]any) {
	list, _ := spec["tolerations"].([]any)
	for _, t := range h.inv.NodeTolerations() {
		one := map[string]any{"key": t.Key, "operator": string(t.Operator)}
		if t.Value != "" {
			one["value"] = t.Value
		}
		list = append(list, one)
	}
	spec["tolerations"] = list
}

// containersIn returns the containers of a pod's spec under one field, such as
// initContainers.
func containersIn(spec map[string]any, field string) (all []map[string]any) {
	list, _ := spec[field].([]any)
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// sortedKeys returns a map's keys in order, so that the result does not depend on the map.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
