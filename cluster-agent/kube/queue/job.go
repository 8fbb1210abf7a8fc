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

// JobFinalizer keeps a submitted Job from being deleted before the market has closed
// it.
const JobFinalizer = kube.FinalizerQueue

// reconcileJob does the next step for a Job: accept it, submit it and mirror its
// status, or finish it. It returns after how long to do so once more.
func (q *KubeQueue) reconcileJob(ctx context.Context, j *batchv1.Job) (requeueAfter time.Duration, err error) {
	hasFinalizer := slices.Contains(j.Finalizers, JobFinalizer)
	id := protocol.JobID(q.cfg.Site + "/" + string(j.UID))
	acceptedAt, err := time.Parse(time.RFC3339, j.Annotations[AnnotationSubmittedAt])
	submitted := err == nil && hasFinalizer
	// Not submitted: accept it, unless it has ended or was closed before.
	switch {
	case !submitted && (kube.JobEnded(j) || j.DeletionTimestamp != nil || !hasFinalizer && alreadyProcessed(j)):
		q.forgetJob(id)
		return 0, q.removeFinalizer(ctx, j)
	case !submitted && j.Labels[kube.LabelQueue] == "":
		return 0, nil
	case !submitted:
		return 0, q.acceptJob(ctx, j)
	}
	// It had no faults when it was accepted. If the user has changed it since, the market
	// refuses the changed submission.
	order, _ := q.cfg.parseJob(j, protocol.FromStdTime(acceptedAt))
	n := q.newsOfJob(id, jobKeyPrefix+j.Namespace+"/"+j.Name)
	if n.closed {
		return 0, q.finishJob(ctx, j, n.status)
	}
	// Its user or another controller withdrew it: cancel it at the market.
	if j.DeletionTimestamp != nil || j.Labels[kube.LabelQueue] == "" || releasedOutsideMarket(j) {
		return q.submitAndQueryStatus(ctx, order, true)
	}
	if requeueAfter, err = q.submitAndQueryStatus(ctx, order, false); err != nil {
		return 0, err
	}
	was := ""
	if c := placedCondition(j); c != nil {
		was = c.Reason
	}
	s, known := stateOfNews(n, id, was)
	if !known {
		return requeueAfter, nil
	}
	return requeueAfter, q.mirrorRunState(ctx, j, n.status.State == protocol.AcceptConfirmed && n.deferral == nil, s)
}

// releasedOutsideMarket reports whether another party released a local Job while it
// waited, or the Job ended, for example because it was evicted and may not be retried.
// The market cannot run it any more.
func releasedOutsideMarket(j *batchv1.Job) bool {
	return jobStaysLocal(j) && (!jobSuspended(j) || kube.JobEnded(j)) && j.Labels[kube.LabelRun] == ""
}

// alreadyProcessed reports whether a Job without our finalizer was submitted before.
// The market has closed it and would answer each further submission with that.
func alreadyProcessed(j *batchv1.Job) bool {
	return j.Annotations[AnnotationSubmittedAt] != "" && placedCondition(j) != nil
}

// acceptJob accepts a Job for submission: it sets the finalizer and the time of
// submission. A faulty Job is not accepted; its condition says why.
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

// removeFinalizer removes our finalizer from a Job, if it is set.
func (q *KubeQueue) removeFinalizer(ctx context.Context, j *batchv1.Job) error {
	if !slices.Contains(j.Finalizers, JobFinalizer) {
		return nil
	}
	return q.patchJob(ctx, j, map[string]any{"metadata": map[string]any{
		"uid": j.UID, "resourceVersion": j.ResourceVersion,
		"finalizers": slices.DeleteFunc(slices.Clone(j.Finalizers), func(f string) bool { return f == JobFinalizer }),
	}})
}

// patchJob applies a merge patch to a Job. A Job that no longer exists is no error.
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
