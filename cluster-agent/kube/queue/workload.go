package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/protocol"
)

// A workload is the part of a Kueue Workload that is read here. These fields are the
// same in all versions of Kueue's API.
type workload struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		PodSets []struct {
			Count    int                    `json:"count"`
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"podSets"`
		MaximumExecutionTimeSeconds int64 `json:"maximumExecutionTimeSeconds"`
	} `json:"spec"`
	Status struct {
		Conditions      []metav1.Condition `json:"conditions"`
		AdmissionChecks []struct {
			Name  string `json:"name"`
			State string `json:"state"`
		} `json:"admissionChecks"`
		NominatedClusterNames []string `json:"nominatedClusterNames"`
		ClusterName           string   `json:"clusterName"`
	} `json:"status"`

	object map[string]any // all of it, as it was read
}

// workloadByName returns a Workload by "namespace/name"; nil if it does not exist.
func (q *KubeQueue) workloadByName(name string) (*workload, error) {
	space, _, _ := strings.Cut(name, "/")
	o, ok, _ := q.workloads[space].GetByKey(name)
	if !ok {
		return nil, nil
	}
	w := &workload{object: o.(*unstructured.Unstructured).Object}
	data, err := json.Marshal(w.object)
	if err == nil {
		err = json.Unmarshal(data, w)
	}
	if err != nil {
		return nil, fmt.Errorf("queue: Workload %s: %w", name, err)
	}
	return w, nil
}

// hasCondition reports whether a condition is True.
func (w *workload) hasCondition(condition string) bool { return w.conditionSince(condition) != 0 }

// conditionSince returns when a condition became True; 0 if it is not.
func (w *workload) conditionSince(condition string) protocol.Time {
	for _, c := range w.Status.Conditions {
		if c.Type == condition && c.Status == metav1.ConditionTrue {
			return protocol.FromStdTime(c.LastTransitionTime.Time)
		}
	}
	return 0
}

// ownerJob returns the Job for which Kueue created the Workload, or nil if it is of
// another kind.
func (w *workload) ownerJob() *metav1.OwnerReference {
	if o := metav1.GetControllerOf(w); o != nil && o.Kind == "Job" && o.APIVersion == "batch/v1" {
		return o
	}
	return nil
}

// kueueFieldManager is the field manager with which Kueue applies its admission
// status.
const kueueFieldManager = "kueue-admission"

// nominateCluster writes the cluster to which Kueue is to send a Workload. Kueue
// itself clears the nomination when the cluster has admitted the Workload, and by
// server-side apply it can only clear fields that its own manager owns. So the
// nomination is applied under Kueue's field manager, together with all other fields of
// that manager: an apply removes those that it leaves out. The resource version makes
// it fail if the Workload has changed meanwhile.
func (q *KubeQueue) nominateCluster(ctx context.Context, w *workload, cluster string) error {
	status, err := appliedStatus(w, kueueFieldManager)
	if err != nil {
		return fmt.Errorf("queue: Workload %s/%s: %w", w.Namespace, w.Name, err)
	}
	status["nominatedClusterNames"] = []any{cluster}
	data, err := json.Marshal(map[string]any{
		"apiVersion": w.object["apiVersion"], "kind": w.object["kind"], "status": status,
		"metadata": map[string]any{"name": w.Name, "namespace": w.Namespace, "uid": w.UID, "resourceVersion": w.ResourceVersion},
	})
	if err != nil {
		return err
	}
	force := true
	_, err = q.cfg.Dynamic.Resource(kueueResource("workloads")).Namespace(w.Namespace).Patch(ctx, w.Name, types.ApplyPatchType, data,
		metav1.PatchOptions{FieldManager: kueueFieldManager, Force: &force}, "status")
	return err
}

// appliedStatus returns the part of a Workload's status that a field manager has
// applied.
func appliedStatus(w *workload, manager string) (map[string]any, error) {
	out := map[string]any{}
	for _, m := range w.ManagedFields {
		if m.Manager != manager || m.Operation != metav1.ManagedFieldsOperationApply || m.Subresource != "status" || m.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields); err != nil {
			return nil, fmt.Errorf("its managed fields: %w", err)
		}
		under, _ := fields["f:status"].(map[string]any)
		if v, ok := pickManagedFields(w.object["status"], under).(map[string]any); ok {
			out = v
		}
	}
	return out, nil
}

// pickManagedFields returns the part of a value that a managedFields set covers (the
// FieldsV1 format of Kubernetes): "f:x" is a field, "k:{...}" a list element with
// those keys, "v:..." a value in a list. A set without any of those covers the whole
// value.
func pickManagedFields(v any, fields map[string]any) any {
	deeper := false
	for k := range fields {
		deeper = deeper || k != "."
	}
	if !deeper {
		return v
	}
	switch x := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, under := range fields {
			name, ok := strings.CutPrefix(k, "f:")
			if inner, there := x[name]; ok && there {
				set, _ := under.(map[string]any)
				out[name] = pickManagedFields(inner, set)
			}
		}
		return out
	case []any:
		return pickListElements(x, fields)
	}
	return v
}

// pickListElements is pickManagedFields for lists: it keeps the elements that a "k:" or "v:"
// entry selects, in their order.
func pickListElements(list []any, fields map[string]any) any {
	out := []any{}
	for _, e := range list {
		m, isMap := e.(map[string]any)
		for k, under := range fields {
			text, ok := strings.CutPrefix(k, "k:")
			var keys map[string]any
			if !ok || !isMap || json.Unmarshal([]byte(text), &keys) != nil {
				if text, ok = strings.CutPrefix(k, "v:"); ok && !isMap && fmt.Sprintf("%q", e) == text {
					out = append(out, e)
				}
				continue
			}
			same := true
			for name, want := range keys {
				same = same && fmt.Sprint(m[name]) == fmt.Sprint(want)
			}
			if same {
				set, _ := under.(map[string]any)
				out = append(out, pickManagedFields(e, set))
			}
		}
	}
	return out
}
