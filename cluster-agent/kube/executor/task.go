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

// maxTaskBytes is the most bytes that a task may take: etcd's own limit is 1.5 MB.
const maxTaskBytes = 512 << 10

// parseTask reads a task: one Kubernetes object, in JSON.
func parseTask(t protocol.Task) (*unstructured.Unstructured, *jobKind, error) {
	switch {
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
	k, err := jobKindOf(u)
	return u, k, err
}

// buildRunObject makes of a launch the object to create: named by job and epoch, with
// pods that wait for our scheduler and ask for GPUs as the site shares them.
func (h *KubeExecutor) buildRunObject(l protocol.Launch) (*unstructured.Unstructured, *jobKind, error) {
	u, k, err := parseTask(l.Task)
	if err != nil {
		return nil, nil, err
	}
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
	delete(u.Object, "status")
	stripReservedFields(u.Object["spec"])
	u.Object["metadata"] = map[string]any{}
	u.SetName(objectNameOf(run))
	u.SetNamespace(space)
	u.SetLabels(labels)
	u.SetAnnotations(map[string]string{kube.AnnotationLaunch: note, kube.AnnotationJob: string(l.Job.ID)})
	unstructured.RemoveNestedField(u.Object, strings.Split(k.suspendField, ".")...)
	for _, field := range ttlFields { // how it ended is to be read on it; we let it go
		unstructured.RemoveNestedField(u.Object, strings.Split(field, ".")...)
	}
	if k.Kind == "RayJob" { // says that it has failed and runs again, on pods that nobody waits for
		unstructured.RemoveNestedField(u.Object, "spec", "backoffLimit")
	}
	if k.deletionField != "" { // what ran on would hold GPUs that are sold to others
		if err := unstructured.SetNestedField(u.Object, k.deletionValue, strings.Split(k.deletionField, ".")...); err != nil {
			return nil, nil, err
		}
	}
	if k.Kind == "Job" { // its own labels would be the selector of another
		unstructured.RemoveNestedField(u.Object, "spec", "selector")
		unstructured.RemoveNestedField(u.Object, "spec", "manualSelector")
		unstructured.RemoveNestedField(u.Object, "spec", "managedBy") // it is run here
	}
	all, err := k.podTemplatesOf(u.Object)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range all {
		if err := t.oversizedStep(l.Job); err != nil {
			return nil, nil, err
		}
		mergeStringMap(t.metadata, "labels", labels)
		for _, owned := range []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", kube.LabelQueue} {
			delete(childMap(t.metadata, "labels"), owned)
		}
		mergeStringMap(t.metadata, "annotations", map[string]string{kube.AnnotationJob: string(l.Job.ID), podenergy.AnnotationPowerPlan: h.inv.PowerPlanFor(l).EncodeAnnotation()})
		t.spec["schedulerName"] = kube.SchedulerName
		for _, field := range []string{"nodeName", "schedulingGates", "resourceClaims"} {
			delete(t.spec, field) // where and with what it runs is not the task's to say
		}
		h.addTolerations(t.spec)
	}
	if k.Kind == "Workflow" { // its pods take that from the workflow
		h.addTolerations(childMap(u.Object, "spec"))
	}
	return u, k, h.requestGPUsForLaunch(l, all)
}

// ttlFields are fields by which a cluster deletes what has finished, of all kinds.
var ttlFields = []string{"spec.ttlSecondsAfterFinished", "spec.runPolicy.ttlSecondsAfterFinished", "spec.timeToLiveSeconds", "spec.ttlStrategy"}

// stripReservedFields takes from a task what is for hands, machines and device plugins to say:
// which devices a pod has, what they drew, whose run it is. Whoever copies a pod that
// ran copies that, too. Parts of a Workflow or a SparkApplication name schedulers and
// priorities, and patch pods, on their own account; that goes as well.
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

func mergeStringMap(m map[string]any, field string, add map[string]string) {
	c := childMap(m, field)
	for k, v := range add {
		c[k] = v
	}
}

// addTolerations lets pods onto nodes that keep others off: from their GPUs, or at all.
// We bind them ourselves, but a node may also evict what does not tolerate it.
func (h *KubeExecutor) addTolerations(spec map[string]any) {
	list, _ := spec["tolerations"].([]any)
	for _, t := range h.inv.PodTolerations() {
		one := map[string]any{"key": t.Key, "operator": string(t.Operator)}
		if t.Value != "" {
			one["value"] = t.Value
		}
		list = append(list, one)
	}
	spec["tolerations"] = list
}

// containersIn returns those of a pod's spec, under the field of one sort.
func containersIn(spec map[string]any, field string) (all []map[string]any) {
	list, _ := spec[field].([]any)
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
