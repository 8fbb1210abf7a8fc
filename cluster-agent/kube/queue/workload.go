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

// A workload is what is read of one of Kueue's: the same in all its versions.
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

	object map[string]any
}

// workloadByName returns a Workload by namespace and name; nil if there is none.
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

func (w *workload) hasCondition(condition string) bool { return w.conditionSince(condition) != 0 }

// conditionSince is when a condition became true; 0 if it is not.
func (w *workload) conditionSince(condition string) protocol.Time {
	for _, c := range w.Status.Conditions {
		if c.Type == condition && c.Status == metav1.ConditionTrue {
			return protocol.FromStdTime(c.LastTransitionTime.Time)
		}
	}
	return 0
}

// ownerJob is the Job that a Workload is for, or nil.
func (w *workload) ownerJob() *metav1.OwnerReference {
	if o := metav1.GetControllerOf(w); o != nil && o.Kind == "Job" && o.APIVersion == "batch/v1" {
		return o
	}
	return nil
}

// kueueFieldManager is the manager in whose name Kueue keeps what it says of admission.
const kueueFieldManager = "kueue-admission"

// nominateCluster names the cluster that a Workload is to go to. Kueue takes that back
// itself when the cluster has admitted it, and may only do so if the field is its
// own: so it is applied in Kueue's name, together with all else that is, unless it
// changed meanwhile.
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

// appliedStatus returns what a manager has applied to a Workload's status.
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

// pickManagedFields returns the part of a value that a set of managed fields covers: "f:x" is a
// field, "k:{...}" the element of a list with those keys, "v:..." a value in it.
// A set without any of those covers all.
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
