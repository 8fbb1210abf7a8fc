package kube

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

	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// A loan says whose object a run consists of, if not ours: a Job that its owner
// suspended and let us release, or one that Kueue makes and releases. We never
// delete either.
type loan struct {
	object string                     // its name
	kueue  string                     // the Workload that Kueue makes it for; "" if the owner's
	last   *unstructured.Unstructured // as it ended; Kueue then takes it away
}

// prebuilt is the label by which Kueue ties a Job to a Workload.
const prebuilt = "kueue.x-k8s.io/prebuilt-workload-name"

// loanOf tells whose an object of ours is.
func loanOf(u *unstructured.Unstructured) (l loan) {
	if w := u.GetAnnotations()[NoteKueue]; w != "" {
		return loan{object: u.GetName(), kueue: w}
	}
	if u.GetLabels()[LabelQueue] != "" {
		return loan{object: u.GetName()}
	}
	return l
}

// pods is the key of a run's pods in the index of them.
func (r *run) pods() string {
	if r.lent.kueue != "" {
		return r.space + "/" + r.lent.object
	}
	return r.name
}

// runsOfPod are the keys of a pod: its run, or the Job that it belongs to.
func runsOfPod(p *corev1.Pod) []string {
	if name := p.Labels[LabelRun]; name != "" {
		return []string{name}
	}
	if job := p.Labels[batchv1.JobNameLabel]; job != "" {
		return []string{p.Namespace + "/" + job}
	}
	return nil
}

// runOf returns the name of the run that a pod belongs to, or "".
func (h *Hands) runOf(p *corev1.Pod) string {
	if name := p.Labels[LabelRun]; name != "" || p.Labels[batchv1.JobNameLabel] == "" {
		return name
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, r := range h.runs {
		if r.lent.kueue != "" && r.pods() == p.Namespace+"/"+p.Labels[batchv1.JobNameLabel] {
			return name
		}
	}
	return ""
}

// ours reports whether a pod on a node belongs to a run that has its place there.
func (h *Hands) ours(p *corev1.Pod, node string) bool {
	name := h.runOf(p)
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.runs[name]
	return r != nil && r.space == p.Namespace && (r.lent.kueue == "" || r.launch.Node == node)
}

// borrow takes up a run whose task names a Job that is there, or will be, and
// reports whether it does.
func (h *Hands) borrow(ctx context.Context, r *run) (lent bool, err error) {
	var t metav1.PartialObjectMetadata
	if json.Unmarshal([]byte(r.launch.Task), &t) != nil || t.Annotations[NoteRelease] == "" && t.Annotations[NoteKueue] == "" {
		return false, nil
	}
	h.places(r, &kinds[0], t.Namespace, "", loan{object: t.Name, kueue: t.Annotations[NoteKueue]})
	why := ""
	if !slices.Contains(h.cfg.Namespaces, r.space) {
		why = fmt.Sprintf("namespace %q is none of this site's; want one of %s", r.space, strings.Join(h.cfg.Namespaces, ", "))
	} else if r.lent.kueue == "" {
		if why, err = h.release(ctx, r, t.Annotations[NoteRelease]); err != nil && passing(err) {
			return true, err
		} else if err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		h.lose(r, protocol.Reason{Code: protocol.Refused, Note: why})
		return true, nil
	}
	h.begun(r)
	return true, nil
}

// release lets a suspended Job go: its pods are labelled as the run's, and go to
// its node. The server takes that in one request. Or it says why not.
func (h *Hands) release(ctx context.Context, r *run, uid string) (why string, err error) {
	name := r.space + "/" + r.lent.object
	if r.launch.Job.ID != protocol.JobID(h.cfg.Site+"/"+uid) {
		return "Job " + name + " was not submitted by this site", nil
	}
	j, err := h.cfg.Client.BatchV1().Jobs(r.space).Get(ctx, r.lent.object, metav1.GetOptions{})
	node := h.node(r.launch.Node)
	switch {
	case apierrors.IsNotFound(err) || err == nil && (string(j.UID) != uid || j.DeletionTimestamp != nil):
		return "Job " + name + " was deleted", nil
	case err != nil:
		return "", err
	case j.Labels[LabelQueue] == "" || j.Spec.ManagedBy != nil:
		return "Job " + name + " is not in the queue any more", nil
	case j.Labels[LabelRun] == r.name: // in a former life
		return "", nil
	case Ended(j):
		return "Job " + name + " has ended", nil
	case j.Spec.Suspend == nil || !*j.Spec.Suspend:
		return "Job " + name + " is not suspended: somebody else released it", nil
	case j.Status.StartTime != nil: // of an earlier run; until then its template cannot change
		return "", fmt.Errorf("Job %s is not known to be suspended yet", name)
	case node == nil:
		return "node " + r.launch.Node + " is gone", nil
	}
	if why := misplaced(node, owners(j)); why != "" {
		return why, nil
	}
	patch, err := h.freedom(r, j, node)
	if err == nil {
		if r.asked == 0 {
			r.asked = h.cfg.Now()
		}
		_, err = h.cfg.Client.BatchV1().Jobs(r.space).Patch(ctx, j.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return "", err
}

// owners is a pod of a Job as its owner would have it placed: without the node to which
// an earlier release of ours has led it.
func owners(j *batchv1.Job) *corev1.Pod {
	s := j.Spec.Template.Spec.DeepCopy()
	if j.Spec.Template.Annotations[NoteJob] != "" {
		delete(s.NodeSelector, corev1.LabelHostname)
	}
	return &corev1.Pod{Spec: *s}
}

// Ended reports whether a Job has.
func Ended(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

// freedom is the patch that releases a Job. Of a template, Kubernetes lets only
// labels, annotations, selectors and tolerations change: whose own scheduler is
// not ours is led to the node by its selector.
func (h *Hands) freedom(r *run, j *batchv1.Job, node *corev1.Node) ([]byte, error) {
	note, err := pack(h.cfg.Site, r.launch)
	if err != nil {
		return nil, err
	}
	labels := map[string]any{LabelSite: h.cfg.Site, LabelRun: r.name}
	notes := map[string]any{}
	for key := range j.Spec.Template.Annotations {
		if notItsOwn(key) {
			notes[key] = nil
		}
	}
	notes[NoteJob], notes[podenergy.NotePower] = r.launch.Job.ID, h.plan(r.launch).Text()
	spec := map[string]any{}
	all := slices.Clone(j.Spec.Template.Spec.Tolerations)
	for _, t := range h.tolerations() {
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	spec["tolerations"] = all
	if j.Spec.Template.Spec.SchedulerName != Scheduler {
		spec["nodeSelector"] = map[string]any{corev1.LabelHostname: node.Labels[corev1.LabelHostname]}
		if list := listed(r.launch.Devices); list != "" { // no binding of ours says so, and its machine looks for it
			notes[NoteDevices] = list
		}
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": j.UID, "resourceVersion": j.ResourceVersion, "annotations": map[string]any{NoteLaunch: note, NoteJob: r.launch.Job.ID},
			"labels": map[string]any{LabelSite: h.cfg.Site, LabelRun: r.name, labelTold: nil},
		},
		"spec": map[string]any{"suspend": false, "template": map[string]any{
			"metadata": map[string]any{"labels": labels, "annotations": notes}, "spec": spec,
		}},
	})
}

// giveBack takes our marks off another's Job. One that we released is suspended
// again, and waits in the queue; if its owner deletes it, nobody else ends its
// pods.
func (h *Hands) giveBack(ctx context.Context, r *run, pods []*corev1.Pod) error {
	u := h.object(r)
	meta := map[string]any{
		"labels": map[string]any{LabelSite: nil, LabelRun: nil, labelTold: nil}, "annotations": map[string]any{NoteLaunch: nil, NoteKueue: nil},
	}
	patch := map[string]any{"metadata": meta}
	if r.lent.kueue == "" {
		if r.created == 0 { // nobody said that it was released, and it may not have been
			j, err := h.cfg.Client.BatchV1().Jobs(r.space).Get(ctx, r.lent.object, metav1.GetOptions{})
			if err != nil || j.Labels[LabelRun] != r.name {
				return err
			}
		}
		meta["uid"] = strings.TrimPrefix(string(r.launch.Job.ID), h.cfg.Site+"/")
		patch["spec"] = map[string]any{"suspend": true}
		for _, p := range pods {
			if u == nil || u.GetDeletionTimestamp() == nil || over(p) {
				continue
			}
			if err := h.cfg.Client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, *metav1.NewPreconditionDeleteOptions(string(p.UID))); err != nil && !apierrors.IsNotFound(err) {
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
	_, err = h.cfg.Client.BatchV1().Jobs(r.space).Patch(ctx, r.lent.object, types.MergePatchType, data, metav1.PatchOptions{})
	if apierrors.IsConflict(err) { // another of that name
		return nil
	}
	return err
}
