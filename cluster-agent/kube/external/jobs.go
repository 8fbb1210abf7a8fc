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

// A Loan says whose object a run consists of, if not ours: a Job that its owner
// suspended and let us release, or one that Kueue makes and releases. We never
// delete either. The zero Loan is none.
type Loan struct {
	Object string // its name
	Kueue  string // the Workload that Kueue makes it for; "" if the owner's
}

// A Run is one epoch of a job that runs as another's Job.
type Run struct {
	Loan
	Name      string // as kube.RunName makes it
	Namespace string
	Launch    protocol.Launch
}

// Jobs marks, releases and gives back the Jobs of others in a cluster.
type Jobs struct {
	Inventory *inventory.Inventory
	Client    kubernetes.Interface
}

// PrebuiltWorkload is the label by which Kueue ties a Job to a Workload.
const PrebuiltWorkload = "kueue.x-k8s.io/prebuilt-workload-name"

// LoanOf tells whose an object of ours is.
func LoanOf(u *unstructured.Unstructured) (l Loan) {
	if w := u.GetAnnotations()[kube.AnnotationKueueWorkload]; w != "" {
		return Loan{Object: u.GetName(), Kueue: w}
	}
	if u.GetLabels()[kube.LabelQueue] != "" {
		return Loan{Object: u.GetName()}
	}
	return l
}

// PrepareRelease returns the patch by which a suspended Job of a UID is released for
// a run: its pods are labelled as the run's, and go to its node. Or it says why the
// Job cannot be released any more. With neither it was released before.
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
	case j.Labels[kube.LabelRun] == r.Name: // in a former life
		return nil, "", nil
	case kube.JobEnded(j):
		return nil, "Job " + name + " has ended", nil
	case j.Spec.Suspend == nil || !*j.Spec.Suspend:
		return nil, "Job " + name + " is not suspended: somebody else released it", nil
	case j.Status.StartTime != nil: // of an earlier run; until then its template cannot change
		return nil, "", fmt.Errorf("it is not known yet that Job %s is suspended", name)
	case node == nil:
		return nil, "node " + r.Launch.Node + " is gone", nil
	}
	if why := inventory.PlacementMismatch(node, podOfExternalJob(j)); why != "" {
		return nil, why, nil
	}
	patch, err = x.releasePatch(r, j, node)
	return patch, "", err
}

// ReleaseJob sends a patch of PrepareRelease. The server takes it as a whole or not at all.
func (x *Jobs) ReleaseJob(ctx context.Context, r Run, patch []byte) error {
	_, err := x.Client.BatchV1().Jobs(r.Namespace).Patch(ctx, r.Object, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// podOfExternalJob is a pod of a Job as its owner would have it placed: without the node to which
// an earlier release of ours has led it.
func podOfExternalJob(j *batchv1.Job) *corev1.Pod {
	s := j.Spec.Template.Spec.DeepCopy()
	if j.Spec.Template.Annotations[kube.AnnotationJob] != "" {
		delete(s.NodeSelector, corev1.LabelHostname)
	}
	return &corev1.Pod{Spec: *s}
}

// releasePatch is the patch that releases a Job. Of a template, Kubernetes lets only
// labels, annotations, selectors and tolerations change: whose own scheduler is
// not ours is led to the node by its selector.
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
	notes[kube.AnnotationJob], notes[podenergy.AnnotationPowerPlan] = r.Launch.Job.ID, x.Inventory.PowerPlanFor(r.Launch).EncodeAnnotation()
	spec := map[string]any{}
	all := slices.Clone(j.Spec.Template.Spec.Tolerations)
	for _, t := range x.Inventory.PodTolerations() {
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	spec["tolerations"] = all
	if j.Spec.Template.Spec.SchedulerName != kube.SchedulerName {
		spec["nodeSelector"] = map[string]any{corev1.LabelHostname: node.Labels[corev1.LabelHostname]}
		if list := kube.ListDevices(r.Launch.Devices); list != "" { // no binding of ours says so, and its machine looks for it
			notes[kube.AnnotationDevices] = list
		}
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": j.UID, "resourceVersion": j.ResourceVersion, "annotations": map[string]any{kube.AnnotationLaunch: note, kube.AnnotationJob: r.Launch.Job.ID},
			"labels": map[string]any{kube.LabelSite: x.Inventory.Site, kube.LabelRun: r.Name, kube.LabelReported: nil},
		},
		"spec": map[string]any{"suspend": false, "template": map[string]any{
			"metadata": map[string]any{"labels": labels, "annotations": notes}, "spec": spec,
		}},
	})
}

// GiveBack takes our marks off another's Job, u, which is nil if it is not there. One that we released is suspended
// again, and waits in the queue; if its owner deletes it, nobody else ends its
// pods.
// Pods are the run's; released says whether the Job is known to have been released.
func (x *Jobs) GiveBack(ctx context.Context, r Run, u *unstructured.Unstructured, pods []*corev1.Pod, released bool) error {
	meta := map[string]any{
		"labels": map[string]any{kube.LabelSite: nil, kube.LabelRun: nil, kube.LabelReported: nil}, "annotations": map[string]any{kube.AnnotationLaunch: nil, kube.AnnotationKueueWorkload: nil},
	}
	patch := map[string]any{"metadata": meta}
	if r.Kueue == "" {
		if !released { // nobody said that it was released, and it may not have been
			j, err := x.Client.BatchV1().Jobs(r.Namespace).Get(ctx, r.Object, metav1.GetOptions{})
			if err != nil || j.Labels[kube.LabelRun] != r.Name {
				return err
			}
		}
		meta["uid"] = strings.TrimPrefix(string(r.Launch.Job.ID), x.Inventory.Site+"/")
		patch["spec"] = map[string]any{"suspend": true}
		for _, p := range pods {
			if u == nil || u.GetDeletionTimestamp() == nil || kube.PodEnded(p) {
				continue
			}
			if err := x.Client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, *metav1.NewPreconditionDeleteOptions(string(p.UID))); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	} else if u == nil { // Kueue has not brought it, or took it back
		return nil
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = x.Client.BatchV1().Jobs(r.Namespace).Patch(ctx, r.Object, types.MergePatchType, data, metav1.PatchOptions{})
	if apierrors.IsConflict(err) { // another of that name
		return nil
	}
	return err
}

// ClaimFromKueue marks the Job that Kueue made for a run's Workload, if it is there.
func (x *Jobs) ClaimFromKueue(ctx context.Context, r Run) error {
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
