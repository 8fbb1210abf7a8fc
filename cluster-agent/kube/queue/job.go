package queue

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// JobFinalizer keeps a Job that was submitted until the market has let go of it.
const JobFinalizer = "gridbid.io/queue"

// reconcileJob does what a Job needs next.
func (q *KubeQueue) reconcileJob(ctx context.Context, j *batchv1.Job) (again time.Duration, err error) {
	kept := slices.Contains(j.Finalizers, JobFinalizer)
	id := protocol.JobID(q.cfg.Site + "/" + string(j.UID))
	taken, err := time.Parse(time.RFC3339, j.Annotations[AnnotationSubmittedAt])
	submitted := err == nil && kept
	switch {
	case !submitted && (kube.JobEnded(j) || j.DeletionTimestamp != nil || !kept && alreadyProcessed(j)):
		q.forgetJob(id)
		return 0, q.removeFinalizer(ctx, j)
	case !submitted && j.Labels[kube.LabelQueue] == "":
		return 0, nil
	case !submitted:
		return 0, q.acceptJob(ctx, j)
	}
	order, _ := q.cfg.parseJob(j, protocol.FromStdTime(taken)) // without fault when it was taken in, or it is refused now
	n := q.newsOfJob(id, jobKeyPrefix+j.Namespace+"/"+j.Name)
	if n.closed {
		return 0, q.finishJob(ctx, j, n.status)
	}
	if j.DeletionTimestamp != nil || j.Labels[kube.LabelQueue] == "" || releasedOutsideMarket(j) {
		return q.submitAndQueryStatus(ctx, order, true)
	}
	if again, err = q.submitAndQueryStatus(ctx, order, false); err != nil {
		return 0, err
	}
	s := placementState{reason: "Asking", message: "the market was asked, and has not answered yet"}
	switch c := placedCondition(j); {
	case n.idConflict != "":
		s = placementState{reason: "Changed", message: n.idConflict, bad: true}
	case n.deferral != nil:
		s = deferredState(*n.deferral)
	case n.status.State != "":
		s = stateOfStatus(n.status)
	case n.accepted && (c == nil || c.Reason == "Asking" || c.Reason == "Malformed" || c.Reason == "NotSuspended"):
		s = submittedState(id)
	case c != nil: // begun anew, and told nothing newer
		return again, nil
	}
	return again, q.mirrorRunState(ctx, j, n.status.State == protocol.AcceptConfirmed && n.deferral == nil, s)
}

// releasedOutsideMarket reports whether somebody else released a Job of this cluster, or it ended
// while it waited: as when it was evicted, and its pods may not fail. Neither can be run.
func releasedOutsideMarket(j *batchv1.Job) bool {
	return jobStaysLocal(j) && (!jobSuspended(j) || kube.JobEnded(j)) && j.Labels[kube.LabelRun] == ""
}

// alreadyProcessed reports whether a Job that has no finalizer of ours was taken in before.
// The market knows it as refused or cancelled, and would say so again for ever.
func alreadyProcessed(j *batchv1.Job) bool {
	return j.Annotations[AnnotationSubmittedAt] != "" && placedCondition(j) != nil
}

// acceptJob takes a Job in: from then on it is submitted, as of that time.
func (q *KubeQueue) acceptJob(ctx context.Context, j *batchv1.Job) error {
	if !jobSuspended(j) {
		if placedCondition(j) != nil {
			return nil
		}
		return q.reportJobState(ctx, j, placementState{reason: "NotSuspended", message: "it was not taken in: only a Job with spec.suspend: true can wait", bad: true}, false)
	}
	now := q.cfg.Now()
	if _, faults := q.cfg.parseJob(j, now); len(faults) > 0 {
		return q.reportJobState(ctx, j, malformedState(faults), false)
	}
	return q.patchJob(ctx, j, map[string]any{"metadata": map[string]any{
		"uid": j.UID, "resourceVersion": j.ResourceVersion, "finalizers": append(slices.Clone(j.Finalizers), JobFinalizer),
		"annotations": map[string]any{AnnotationSubmittedAt: now.StdTime().Format(time.RFC3339)},
	}})
}

// removeFinalizer takes our finalizer off.
func (q *KubeQueue) removeFinalizer(ctx context.Context, j *batchv1.Job) error {
	if !slices.Contains(j.Finalizers, JobFinalizer) {
		return nil
	}
	return q.patchJob(ctx, j, map[string]any{"metadata": map[string]any{
		"uid": j.UID, "resourceVersion": j.ResourceVersion,
		"finalizers": slices.DeleteFunc(slices.Clone(j.Finalizers), func(f string) bool { return f == JobFinalizer }),
	}})
}

func (q *KubeQueue) patchJob(ctx context.Context, j *batchv1.Job, patch map[string]any) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = q.cfg.Client.BatchV1().Jobs(j.Namespace).Patch(ctx, j.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
