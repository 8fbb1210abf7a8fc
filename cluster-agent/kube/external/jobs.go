package external

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// A Loan says which object of another owner a run consists of: a Job or a set of pods that
// its owner suspended and queued, or a Job that Kueue creates and releases. We delete neither. The
// zero Loan means that the run's object is our own.
type Loan struct {
	Object string // its name
	Kueue  string // name of the Workload for which Kueue creates the Job; "" for a Job of a user
}

// A Run is one epoch of a job that runs as another owner's Job.
type Run struct {
	Loan
	Name      string // as kube.RunName makes it
	Namespace string
	Launch    protocol.Launch
}

// Jobs labels, releases and returns Jobs of other owners in a cluster.
type Jobs struct {
	Inventory *inventory.Inventory
	Client    kubernetes.Interface
}

// PrebuiltWorkload is the label with which Kueue refers from a Job to its Workload.
const PrebuiltWorkload = "kueue.x-k8s.io/prebuilt-workload-name"

// LoanOf returns the loan that an object with our labels represents; zero if the
// object is our own. A user's object may have lost the queue's label; it keeps the time at
// which it was submitted.
func LoanOf(u *unstructured.Unstructured) (l Loan) {
	if w := u.GetAnnotations()[kube.AnnotationKueueWorkload]; w != "" {
		return Loan{Object: u.GetName(), Kueue: w}
	}
	if u.GetLabels()[kube.LabelQueue] != "" || u.GetAnnotations()[kube.AnnotationSubmittedAt] != "" {
		return Loan{Object: u.GetName()}
	}
	return l
}

// PrepareRelease returns the merge patch that releases the suspended Job with a UID
// for a run: it unsuspends the Job, labels its pods as the run's, and leads them to
// the run's node. why says that the Job cannot be released any more; the run is then
// lost. If both are empty, an earlier incarnation has released it.
func (x *Jobs) PrepareRelease(ctx context.Context, r Run, uid string) (patch []byte, why string, err error) {
	name := r.Namespace + "/" + r.Object
	if r.Launch.Job.ID != protocol.JobID(x.Inventory.Site+"/"+uid) {
		return nil, "Job " + name + " was not submitted by this site", nil
	}
	j, err := x.Client.BatchV1().Jobs(r.Namespace).Get(ctx, r.Object, metav1.GetOptions{})
	node := x.Inventory.NodeByName(r.Launch.Node)
	switch {
	case apierrors.IsNotFound(err) || err == nil && (string(j.UID) != uid || j.DeletionTimestamp != nil):
		return nil, "Job " + name + " was deleted", nil
	case err != nil:
		return nil, "", err
	case j.Labels[kube.LabelQueue] == "" || j.Spec.ManagedBy != nil:
		return nil, "Job " + name + " is not in the queue any more", nil
	case j.Labels[kube.LabelRun] == r.Name: // released by an earlier incarnation
		return nil, "", nil
	case kube.JobEnded(j):
		return nil, "Job " + name + " has ended", nil
	case j.Spec.Suspend == nil || !*j.Spec.Suspend:
		return nil, "Job " + name + " is not suspended: somebody else released it", nil
	case j.Status.StartTime != nil: // the Job controller has yet to see the suspension; until then the template is immutable
		return nil, "", fmt.Errorf("it is not known yet that Job %s is suspended", name)
	case node == nil:
		return nil, "node " + r.Launch.Node + " is gone", nil
	}
	if why := inventory.PlacementConflict(node, podOfExternalJob(j)); why != "" {
		return nil, why, nil
	}
	patch, err = x.releasePatch(r, j, node)
	return patch, "", err
}

// ReleaseJob applies a patch of PrepareRelease. It contains UID and resource version, so
// that the API server applies all of it to that very Job, or nothing.
func (x *Jobs) ReleaseJob(ctx context.Context, r Run, patch []byte) error {
	_, err := x.Client.BatchV1().Jobs(r.Namespace).Patch(ctx, r.Object, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// podOfExternalJob returns a pod of a Job with the owner's own placement constraints:
// without the nodeSelector that an earlier release of ours added.
func podOfExternalJob(j *batchv1.Job) *corev1.Pod {
	s := j.Spec.Template.Spec.DeepCopy()
	if j.Spec.Template.Annotations[kube.AnnotationJob] != "" {
		delete(s.NodeSelector, corev1.LabelHostname)
	}
	return &corev1.Pod{Spec: *s}
}

// releasePatch returns the patch that releases a Job. In the pod template of a
// suspended Job, Kubernetes only lets labels, annotations, node selectors and
// tolerations change. So pods of another scheduler are led to the node by a node
// selector.
func (x *Jobs) releasePatch(r Run, j *batchv1.Job, node *corev1.Node) ([]byte, error) {
	note, err := kube.PackLaunch(x.Inventory.Site, r.Launch)
	if err != nil {
		return nil, err
	}
	labels := map[string]any{kube.LabelSite: x.Inventory.Site, kube.LabelRun: r.Name}
	notes := map[string]any{}
	for key := range j.Spec.Template.Annotations {
		if kube.IsOurMark(key) {
			notes[key] = nil
		}
	}
	notes[kube.AnnotationJob], notes[podenergy.AnnotationPowerPlan] = r.Launch.Job.ID, x.Inventory.PowerPlanOf(r.Launch).EncodeAnnotation()
	spec := map[string]any{}
	all := slices.Clone(j.Spec.Template.Spec.Tolerations)
	for _, t := range x.Inventory.NodeTolerations() {
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	spec["tolerations"] = all
	if j.Spec.Template.Spec.SchedulerName != kube.SchedulerName {
		spec["nodeSelector"] = map[string]any{corev1.LabelHostname: node.Labels[corev1.LabelHostname]}
		if list := kube.ListDevices(r.Launch.Devices); list != "" { // our binding would carry it, but another scheduler binds; the node's daemon needs it
			notes[kube.AnnotationDevices] = list
		}
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": j.UID, "resourceVersion": j.ResourceVersion, "annotations": map[string]any{kube.AnnotationLaunch: note, kube.AnnotationJob: r.Launch.Job.ID},
			"labels": map[string]any{kube.LabelSite: x.Inventory.Site, kube.LabelRun: r.Name, kube.LabelOutcomeReported: nil},
		},
		"spec": map[string]any{"suspend": false, "template": map[string]any{
			"metadata": map[string]any{"labels": labels, "annotations": notes}, "spec": spec,
		}},
	})
}

// ReturnJob removes our labels from another owner's Job; u is the Job from the cache,
// or nil if it does not exist. A Job that we released is suspended once more and waits
// in the queue. If its owner has deleted it, its pods are deleted here, since the Job
// controller no longer does that.
//
// pods are those of the run; released says whether the Job is known to have been
// released.
func (x *Jobs) ReturnJob(ctx context.Context, r Run, u *unstructured.Unstructured, pods []*corev1.Pod, released bool) error {
	meta := map[string]any{
		"labels": map[string]any{kube.LabelSite: nil, kube.LabelRun: nil, kube.LabelOutcomeReported: nil}, "annotations": map[string]any{kube.AnnotationLaunch: nil, kube.AnnotationKueueWorkload: nil},
	}
	patch := map[string]any{"metadata": meta}
	if r.Kueue == "" {
		if !released { // our release may have failed, or succeeded without an answer: look
			j, err := x.Client.BatchV1().Jobs(r.Namespace).Get(ctx, r.Object, metav1.GetOptions{})
			if err != nil || j.Labels[kube.LabelRun] != r.Name {
				return err
			}
		}
		uid := strings.TrimPrefix(string(r.Launch.Job.ID), x.Inventory.Site+"/")
		if meta["uid"] = uid; u != nil && string(u.GetUID()) == uid { // its owner may have deleted it since it was read
			meta["resourceVersion"] = u.GetResourceVersion()
		}
		patch["spec"] = map[string]any{"suspend": true}
		for _, p := range pods {
			if u == nil || u.GetDeletionTimestamp() == nil || kube.PodEnded(p) {
				continue
			}
			if err := x.Client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, *metav1.NewPreconditionDeleteOptions(string(p.UID))); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	} else if u == nil { // Kueue has not created it, or deleted it
		return nil
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = x.Client.BatchV1().Jobs(r.Namespace).Patch(ctx, r.Object, types.MergePatchType, data, metav1.PatchOptions{})
	if apierrors.IsConflict(err) && meta["resourceVersion"] == nil { // another Job of that name, by its UID
		return nil
	}
	return err
}

// MarkKueueJob labels the Job that Kueue created for a run's Workload, if it exists.
func (x *Jobs) MarkKueueJob(ctx context.Context, r Run) error {
	j, err := x.Client.BatchV1().Jobs(r.Namespace).Get(ctx, r.Object, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && j.Labels[PrebuiltWorkload] != r.Kueue {
		return nil
	}
	if err != nil {
		return err
	}
	note, err := kube.PackLaunch(x.Inventory.Site, r.Launch)
	if err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": j.UID, "labels": map[string]any{kube.LabelSite: x.Inventory.Site, kube.LabelRun: r.Name},
		"annotations": map[string]any{kube.AnnotationLaunch: note, kube.AnnotationJob: r.Launch.Job.ID, kube.AnnotationKueueWorkload: r.Kueue},
	}})
	if err != nil {
		return err
	}
	_, err = x.Client.BatchV1().Jobs(r.Namespace).Patch(ctx, j.Name, types.MergePatchType, data, metav1.PatchOptions{})
	return err
}
