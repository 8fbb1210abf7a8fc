package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// A set of the cluster's users is an object of a kind of package podsets that its owner
// created suspended, with the queue's label. It runs in place: the executor releases it
// with marks in its pod templates, by which its pods are a gang's, and suspends it to end
// it. Its own controller makes the pods, and restarts and ends them by the object's
// policy. A Job of one pod is released by package external.

// isUserSet reports whether the run is an object of the cluster's users of another kind
// than Job.
func (r *run) isUserSet() bool {
	return r.external.Object != "" && r.external.Kueue == "" && r.kind.Kind != podsets.Job.Kind && podsets.KindOf(r.kind.GroupVersionKind) != nil
}

// releaseSet releases the suspended object of a run for it, or returns why that is not
// possible (any more). If an earlier incarnation has released it, it does nothing.
func (h *KubeExecutor) releaseSet(ctx context.Context, r *run, uid string) (why string, err error) {
	name := r.kind.Kind + " " + r.namespace + "/" + r.external.Object
	if r.launch.Job.ID != protocol.JobID(h.cfg.Site+"/"+uid) {
		return name + " was not submitted by this site", nil
	}
	if err := h.watchJobKind(ctx, r.kind); apierrors.IsNotFound(err) {
		return r.kind.Kind + " is not installed in this cluster", nil
	} else if err != nil {
		return "", err
	}
	kind := podsets.KindOf(r.kind.GroupVersionKind)
	u, err := h.cfg.Dynamic.Resource(kind.Resource()).Namespace(r.namespace).Get(ctx, r.external.Object, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || err == nil && (string(u.GetUID()) != uid || u.GetDeletionTimestamp() != nil):
		return name + " was deleted", nil
	case err != nil:
		return "", err
	case u.GetLabels()[kube.LabelQueue] == "":
		return name + " is not in the queue any more", nil
	case u.GetLabels()[kube.LabelRun] == r.name: // released by an earlier incarnation
		return "", nil
	case kind.HasEnded(u.Object):
		return name + " has ended", nil
	case !kind.IsSuspended(u.Object):
		return name + " is not suspended: somebody else released it", nil
	case kind.Kind == podsets.Job.Kind && startedBefore(u): // until its controller has seen the suspension, the template is immutable
		return "", fmt.Errorf("it is not known yet that %s is suspended", name)
	case h.lostNode(r) != "":
		return "node " + h.lostNode(r) + " is gone", nil
	}
	if why := h.markSet(r, kind, u); why != "" {
		return name + ": " + why, nil
	}
	patch, err := releaseSetPatch(u)
	if err != nil {
		return "", err
	}
	if r.firstSeen == 0 {
		r.firstSeen = h.cfg.Now()
	}
	_, err = h.cfg.Dynamic.Resource(kind.Resource()).Namespace(r.namespace).Patch(ctx, u.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
	return "", err
}

// startedBefore reports whether a Job's status still has the time of a start.
func startedBefore(u *unstructured.Unstructured) bool {
	_, ok, _ := unstructured.NestedString(u.Object, "status", "startTime")
	return ok
}

// releaseSetPatch returns the patch that makes an object as u is now. It has the resource
// version that u was read with, so that it is applied to that very object, or conflicts.
func releaseSetPatch(u *unstructured.Unstructured) ([]byte, error) {
	type op struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	return json.Marshal([]op{
		{"replace", "/metadata/resourceVersion", u.GetResourceVersion()},
		{"add", "/metadata/labels", u.GetLabels()},
		{"add", "/metadata/annotations", u.GetAnnotations()},
		{"replace", "/spec", u.Object["spec"]},
	})
}

// markSet changes a user's suspended object into the one that runs: unsuspended, and with
// pods that carry the run and their component and wait behind the gang's gate. It returns
// why the object is not the one that was submitted, or "".
func (h *KubeExecutor) markSet(r *run, kind *podsets.Kind, u *unstructured.Unstructured) (why string) {
	sets, err := kind.PodSetsOf(u.Object)
	if err != nil {
		return err.Error()
	}
	note, err := kube.PackLaunch(h.cfg.Site, r.launch)
	if err != nil {
		return err.Error()
	}
	job := &r.launch.Job
	if n := max(len(job.Pods), 1); n != len(sets) {
		return fmt.Sprintf("it has %d roles, and had %d when it was submitted", len(sets), n)
	}
	for i, s := range sets {
		if n := podsOfComponent(job, i); s.Pods != n {
			return fmt.Sprintf("it has %d pods of role %q, and had %d when it was submitted", s.Pods, s.Role, n)
		}
		if spec := childMap(s.Template, "spec"); spec["schedulerName"] != kube.SchedulerName {
			return fmt.Sprintf("schedulerName of role %q is %v: want %s", s.Role, spec["schedulerName"], kube.SchedulerName)
		}
		h.markTemplate(r, i, s)
	}
	labels, notes := u.GetLabels(), u.GetAnnotations()
	labels[kube.LabelSite], labels[kube.LabelRun] = h.cfg.Site, r.name
	delete(labels, kube.LabelOutcomeReported)
	notes[kube.AnnotationLaunch], notes[kube.AnnotationJob] = note, string(job.ID) // never nil: the queue has written when it was submitted
	u.SetLabels(labels)
	u.SetAnnotations(notes)
	if err := kind.SetSuspended(u.Object, false); err != nil {
		return err.Error()
	}
	if r.kind.deletionField != "" { // as of our own objects
		if err := unstructured.SetNestedField(u.Object, r.kind.deletionValue, strings.Split(r.kind.deletionField, ".")...); err != nil {
			return err.Error()
		}
	}
	return ""
}

// podsOfComponent returns how many pods the component i of a job has.
func podsOfComponent(j *protocol.Job, i int) int {
	if !j.IsGang() {
		return 1
	}
	return j.Pods[i].Pods
}

// markTemplate marks the template of pods of a component. What an earlier run of the object,
// or its owner, has set of our marks is replaced. Of a suspended Job and a JobSet Kubernetes
// lets only change what is changed here.
func (h *KubeExecutor) markTemplate(r *run, component int, s podsets.PodSet) {
	meta, spec := childMap(s.Template, "metadata"), childMap(s.Template, "spec")
	for _, field := range []string{"labels", "annotations"} {
		maps.DeleteFunc(childMap(meta, field), func(key string, _ any) bool { return kube.IsOurMark(key) })
	}
	mergeStringMap(meta, "labels", map[string]string{kube.LabelSite: h.cfg.Site, kube.LabelRun: r.name, kube.LabelComponent: strconv.Itoa(component)})
	mergeStringMap(meta, "annotations", map[string]string{
		kube.AnnotationJob: string(r.launch.Job.ID), kube.AnnotationPodsOfJob: strconv.Itoa(s.EachHas),
		podenergy.AnnotationPowerPlan: h.inv.PowerPlanOf(r.launch).EncodeAnnotation(),
	})
	before, _ := spec["tolerations"].([]any)
	h.addTolerations(spec)
	added := spec["tolerations"].([]any)[len(before):]
	spec["tolerations"] = append(slices.Clone(before), slices.DeleteFunc(slices.Clone(added), func(t any) bool {
		return slices.ContainsFunc(before, func(x any) bool { return fmt.Sprint(x) == fmt.Sprint(t) })
	})...)
	gates, _ := spec["schedulingGates"].([]any)
	isOurs := func(g any) bool { m, _ := g.(map[string]any); return m["name"] == kube.GateGang }
	if gates = slices.DeleteFunc(slices.Clone(gates), isOurs); r.launch.Job.IsGang() {
		gates = append(gates, map[string]any{"name": kube.GateGang})
	}
	if spec["schedulingGates"] = gates; len(gates) == 0 {
		delete(spec, "schedulingGates")
	}
}

// errOldLauncher says that a launcher is not yet one of the run.
var errOldLauncher = errors.New("kube: the launcher of the MPIJob is not there yet with the marks of its run")

// renewLauncher has the operator of an MPIJob make its launcher anew if that is of before the
// release: the operator creates the launcher's Job of a suspended MPIJob, and does not change
// its template later. It is to be called until it returns no error.
func (h *KubeExecutor) renewLauncher(ctx context.Context, r *run) error {
	if r.kind.Kind != podsets.MPIJob.Kind {
		return nil
	}
	jobs := h.cfg.Client.BatchV1().Jobs(r.namespace)
	j, err := jobs.Get(ctx, r.external.Object+"-launcher", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return errOldLauncher
	case err != nil:
		return err
	case j.Spec.Template.Labels[kube.LabelRun] == r.name:
		return nil
	case !slices.ContainsFunc(j.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == podsets.MPIJob.Kind && o.Name == r.external.Object
	}):
		return fmt.Errorf("kube: Job %s is none of the MPIJob's: rename it", j.Name)
	}
	if j.DeletionTimestamp == nil {
		if err := h.deleteLauncher(ctx, j); err != nil {
			return err
		}
	}
	return errOldLauncher
}

// deleteLauncher deletes the Job of a launcher, and its pods with it.
func (h *KubeExecutor) deleteLauncher(ctx context.Context, j *batchv1.Job) error {
	background := metav1.DeletePropagationBackground
	err := h.cfg.Client.BatchV1().Jobs(j.Namespace).Delete(ctx, j.Name, metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: metav1.NewUIDPreconditions(string(j.UID))})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// returnSet suspends a user's object once more and removes our labels from it, so that it
// waits in the queue; u is the object from the cache, nil if it does not exist. If its owner
// has deleted it, the queue's finalizer is removed instead, so that the cluster deletes it
// with all that its controller made: suspended, a controller would ignore it.
func (h *KubeExecutor) returnSet(ctx context.Context, r *run, u *unstructured.Unstructured) error {
	kind := podsets.KindOf(r.kind.GroupVersionKind)
	objects := h.cfg.Dynamic.Resource(kind.Resource()).Namespace(r.namespace)
	if u == nil { // our release may have failed, or succeeded without an answer: look
		var err error
		if u, err = objects.Get(ctx, r.external.Object, metav1.GetOptions{}); err != nil {
			return err
		}
		if u.GetLabels()[kube.LabelRun] != r.name {
			return nil
		}
	}
	// As it was read, or not at all: its owner may have deleted it since.
	meta := map[string]any{"uid": u.GetUID(), "resourceVersion": u.GetResourceVersion()}
	patch := map[string]any{"metadata": meta}
	if u.GetDeletionTimestamp() != nil {
		meta["finalizers"] = slices.DeleteFunc(slices.Clone(u.GetFinalizers()), func(f string) bool { return f == kube.FinalizerQueue })
	} else {
		meta["labels"] = map[string]any{kube.LabelSite: nil, kube.LabelRun: nil, kube.LabelOutcomeReported: nil}
		meta["annotations"] = map[string]any{kube.AnnotationLaunch: nil}
		if err := kind.SetSuspended(patch, true); err != nil {
			return err
		}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = objects.Patch(ctx, r.external.Object, types.MergePatchType, data, metav1.PatchOptions{})
	return err
}

// awaitsCancel reports whether a user's object was deleted by its owner and the market has
// yet to cancel its job. Until then its finalizer keeps it: without it the queue would not
// know that there is something to cancel.
func (r *run) awaitsCancel(u *unstructured.Unstructured) bool {
	return r.isUserSet() && u != nil && u.GetDeletionTimestamp() != nil && !r.cancelled.Load()
}
