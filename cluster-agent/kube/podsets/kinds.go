package podsets

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Kind is a kind of objects whose pods may run over several nodes.
type Kind struct {
	schema.GroupVersionKind
	Plural            string
	Suspend           string // field that keeps its controller from creating pods; "": it has none
	Succeeded, Failed string // types of the conditions by which it says that it has ended; "": it does not end
	podSets           func(object map[string]any) ([]PodSet, error)
}

// The kinds, each as its controller documents it.
var (
	Job             = Kind{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "jobs", "spec.suspend", "Complete", "Failed", jobPods}
	JobSet          = Kind{schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}, "jobsets", "spec.suspend", "Completed", "Failed", jobSetPods}
	PyTorchJob      = Kind{schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"}, "pytorchjobs", "spec.runPolicy.suspend", "Succeeded", "Failed", pyTorchPods}
	MPIJob          = Kind{schema.GroupVersionKind{Group: "kubeflow.org", Version: "v2beta1", Kind: "MPIJob"}, "mpijobs", "spec.runPolicy.suspend", "Succeeded", "Failed", mpiPods}
	LeaderWorkerSet = Kind{schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"}, "leaderworkersets", "", "", "", leaderWorkerPods}
)

// A PodSet is pods of an object that are alike and run at once.
type PodSet struct {
	Role     string // as the object names them; "" if it has one role
	Pods     int
	EachHas  int            // of the pods, how many each Job or group has by which they are counted: see IndexOf
	Template map[string]any // in the object
}

// KindOf returns the kind of an object, nil if its pods do not run over several nodes.
func KindOf(gvk schema.GroupVersionKind) *Kind {
	for _, k := range []*Kind{&Job, &JobSet, &PyTorchJob, &MPIJob, &LeaderWorkerSet} {
		if k.GroupVersionKind == gvk {
			return k
		}
	}
	return nil
}

// Resource is the kind's address for the dynamic client.
func (k *Kind) Resource() schema.GroupVersionResource { return k.GroupVersion().WithResource(k.Plural) }

// PodSetsOf returns the pods that an object of the kind creates, in the order of their
// templates in the object, roles of a map by name. It returns an error that names the
// field if a number is missing or impossible, or if some pods come only when others run:
// these wait for each other here.
func (k *Kind) PodSetsOf(object map[string]any) ([]PodSet, error) { return k.podSets(object) }

// IsSuspended reports whether an object creates no pods: a LeaderWorkerSet has none with
// zero replicas.
func (k *Kind) IsSuspended(object map[string]any) bool {
	if k.Suspend == "" {
		return isZero(mapAt(object, "spec")["replicas"])
	}
	yes, _, _ := unstructured.NestedBool(object, strings.Split(k.Suspend, ".")...)
	return yes
}

// SetSuspended has the controller of an object create its pods, or end them. The replicas
// that a LeaderWorkerSet is to have are those of AnnotationReplicas.
func (k *Kind) SetSuspended(object map[string]any, yes bool) error {
	if k.Suspend != "" {
		return unstructured.SetNestedField(object, yes, strings.Split(k.Suspend, ".")...)
	}
	n := 0
	if !yes {
		var err error
		if n, err = replicasWanted(object); err != nil {
			return err
		}
	}
	return unstructured.SetNestedField(object, int64(n), "spec", "replicas")
}

// HasEnded reports whether an object's status says that it has succeeded or failed.
func (k *Kind) HasEnded(object map[string]any) bool {
	list, _ := mapAt(object, "status")["conditions"].([]any)
	return slices.ContainsFunc(list, func(c any) bool {
		m, _ := c.(map[string]any)
		name, _ := m["type"].(string)
		return m["status"] == "True" && name != "" && (name == k.Succeeded || name == k.Failed)
	})
}

// maxPods bounds the numbers of pods, far above what a gang may have.
const maxPods = 100_000

// countAt reads a number of pods, from least on, under a field of m; at is where m is, for
// errors.
func countAt(m map[string]any, at, field string, missing, least int) (int, error) {
	v, ok := m[field]
	if !ok || v == nil {
		return missing, nil
	}
	n, ok := numberOf(v)
	if !ok || n < least || n > maxPods {
		return 0, fmt.Errorf("%s.%s is %v: want a whole number from %d to %d", at, field, v, least, maxPods)
	}
	return n, nil
}

// numberOf returns a whole number of a decoded object; false if it is none.
func numberOf(v any) (int, bool) {
	switch n := v.(type) {
	case int64:
		return int(n), int64(int(n)) == n
	case float64:
		return int(n), n == float64(int(n))
	}
	return 0, false
}

// isZero reports whether a value of a decoded object is the number 0.
func isZero(v any) bool {
	n, ok := numberOf(v)
	return ok && n == 0
}

// mapAt returns the map under a path of fields; an empty one, apart from the object, if
// there is none.
func mapAt(m map[string]any, fields ...string) map[string]any {
	for _, f := range fields {
		m, _ = m[f].(map[string]any)
	}
	if m == nil {
		return map[string]any{}
	}
	return m
}

// templateAt returns the pod template under a field of m, with its spec; at is where m is,
// for errors.
func templateAt(m map[string]any, at, field string) (map[string]any, error) {
	t, ok := m[field].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s.%s is missing: it is the template of the pods", at, field)
	}
	if _, ok := t["spec"].(map[string]any); !ok {
		return nil, fmt.Errorf("%s.%s.spec is missing: it is the spec of the pods", at, field)
	}
	return t, nil
}
