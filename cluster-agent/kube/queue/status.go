package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// ConditionPlaced is the type of the condition with a Job's state in the market. It is
// True while a site has been awarded the Job, and after it completed. The reason is
// for programs, the message for people.
const ConditionPlaced batchv1.JobConditionType = "gridbid.io/Placed"

// placedCondition returns a Job's ConditionPlaced, or nil.
func placedCondition(j *batchv1.Job) *batchv1.JobCondition { return jobCondition(j, ConditionPlaced) }

// jobCondition returns a pointer to a Job's condition of a type, or nil.
func jobCondition(j *batchv1.Job, t batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range j.Status.Conditions {
		if j.Status.Conditions[i].Type == t {
			return &j.Status.Conditions[i]
		}
	}
	return nil
}

// setJobCondition sets a condition in a Job's status and reports whether anything
// changed.
func (q *KubeQueue) setJobCondition(j *batchv1.Job, t batchv1.JobConditionType, yes bool, reason, words string) bool {
	status := corev1.ConditionFalse
	if yes {
		status = corev1.ConditionTrue
	}
	if len(words) > 2000 { // bytes; the market's notes may be longer
		words = words[:2000]
	}
	c := jobCondition(j, t)
	if c != nil && c.Status == status && c.Reason == reason && c.Message == words {
		return false
	}
	now := metav1.NewTime(q.cfg.Now().StdTime())
	if c == nil {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: t})
		c = &j.Status.Conditions[len(j.Status.Conditions)-1]
	}
	if c.Status != status {
		c.LastTransitionTime = now
	}
	c.Status, c.Reason, c.Message, c.LastProbeTime = status, reason, words, now
	return true
}

// reportJobState writes a Job's state to its status, and creates an event if the state
// is new. changed says that the caller has changed other parts of the status.
func (q *KubeQueue) reportJobState(ctx context.Context, j *batchv1.Job, s placementState, changed bool) error {
	was := ""
	if c := placedCondition(j); c != nil {
		was = c.Reason
	}
	conditionChanged := q.setJobCondition(j, ConditionPlaced, s.placed, s.reason, s.message)
	if !conditionChanged && !changed {
		return nil
	}
	if conditionChanged && (was != s.reason || s.placed) { // a later time of the next call alone is no event
		of := corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: j.Namespace, Name: j.Name, UID: j.UID, ResourceVersion: j.ResourceVersion}
		if err := q.createEvent(ctx, s, of); err != nil { // before the status: after a failure in between, the event would never be created
			return err
		}
	}
	_, err := q.cfg.Client.BatchV1().Jobs(j.Namespace).UpdateStatus(ctx, j, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// createEvent creates an event for an object's state. Its name is a hash of its
// content, so a restarted queue does not create the same event twice.
func (q *KubeQueue) createEvent(ctx context.Context, s placementState, of corev1.ObjectReference) error {
	kind := corev1.EventTypeNormal
	if s.bad {
		kind = corev1.EventTypeWarning
	}
	sum := sha256.Sum256([]byte(string(of.UID) + s.reason + s.message))
	now := metav1.NewTime(q.cfg.Now().StdTime())
	_, err := q.cfg.Client.CoreV1().Events(of.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: of.Name[:min(len(of.Name), 200)] + "." + hex.EncodeToString(sum[:8]), Namespace: of.Namespace},
		InvolvedObject: of, Type: kind, Reason: s.reason, Message: s.message[:min(len(s.message), 1000)], Action: s.reason,
		FirstTimestamp: now, LastTimestamp: now, Count: 1, Source: corev1.EventSource{Component: "gridbid-queue"},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// mirrorRunState makes a Job's status look like the market's state: a Job that runs at
// another site is unsuspended and active, and one that waits is suspended. The status
// of a local Job belongs to the cluster's Job controller and is left alone.
func (q *KubeQueue) mirrorRunState(ctx context.Context, j *batchv1.Job, runs bool, s placementState) error {
	if jobStaysLocal(j) {
		return q.reportJobState(ctx, j, s, false)
	}
	if jobSuspended(j) == runs {
		return q.setJobSuspended(ctx, j, !runs) // this changes the Job, which is then reconciled once more
	}
	active, changed := int32(0), false
	if runs {
		active = jobParallelism(j)
	}
	if j.Status.Active != active {
		j.Status.Active, changed = active, true
	}
	if runs && j.Status.StartTime == nil {
		t := metav1.NewTime(q.cfg.Now().StdTime())
		j.Status.StartTime, changed = &t, true
	} else if !runs && j.Status.StartTime != nil {
		j.Status.StartTime, changed = nil, true
	}
	if runs && jobCondition(j, batchv1.JobSuspended) != nil {
		changed = q.setJobCondition(j, batchv1.JobSuspended, false, "JobResumed", "it was released") || changed
	} else if !runs {
		changed = q.setJobCondition(j, batchv1.JobSuspended, true, "JobSuspended", "it waits in the queue") || changed
	}
	return q.reportJobState(ctx, j, s, changed)
}

// finishJob writes a Job's outcome to its status and removes the finalizer. The API
// server accepts a final condition only together with consistent counts and times,
// which are set here as the Job controller would.
func (q *KubeQueue) finishJob(ctx context.Context, j *batchv1.Job, end protocol.JobStatus) error {
	s := stateOfStatus(end)
	switch {
	case j.DeletionTimestamp != nil || !jobStaysLocal(j) && kube.JobEnded(j):
		q.forgetJob(end.Job)
		return q.removeFinalizer(ctx, j)
	case jobStaysLocal(j):
		if err := q.reportJobState(ctx, j, s, false); err != nil {
			return err
		}
		return q.removeFinalizer(ctx, j)
	case jobSuspended(j):
		return q.setJobSuspended(ctx, j, false)
	}
	if j.Status.StartTime == nil {
		t := metav1.NewTime(q.cfg.Now().StdTime())
		if end.Start != 0 {
			t = metav1.NewTime(end.Start.StdTime())
		}
		j.Status.StartTime = &t
	}
	zero := int32(0)
	j.Status.Active, j.Status.Ready, j.Status.Terminating, j.Status.UncountedTerminatedPods = 0, &zero, &zero, nil
	if jobCondition(j, batchv1.JobSuspended) != nil {
		q.setJobCondition(j, batchv1.JobSuspended, false, "JobResumed", "it was released")
	}
	if s.placed {
		if j.Status.Succeeded = jobParallelism(j); j.Spec.Completions != nil {
			j.Status.Succeeded = *j.Spec.Completions
		}
		t := metav1.NewTime(s.at.StdTime())
		if t.Before(j.Status.StartTime) {
			t = *j.Status.StartTime
		}
		j.Status.CompletionTime = &t
		q.setJobCondition(j, batchv1.JobSuccessCriteriaMet, true, batchv1.JobReasonCompletionsReached, s.message)
		q.setJobCondition(j, batchv1.JobComplete, true, batchv1.JobReasonCompletionsReached, s.message)
	} else {
		j.Status.Failed = 1
		q.setJobCondition(j, batchv1.JobFailureTarget, true, s.reason, s.message)
		q.setJobCondition(j, batchv1.JobFailed, true, s.reason, s.message)
	}
	return q.reportJobState(ctx, j, s, true)
}

// jobSuspended reports whether a Job is suspended.
func jobSuspended(j *batchv1.Job) bool { return j.Spec.Suspend != nil && *j.Spec.Suspend }

// jobParallelism returns how many pods of a Job run at once; Kubernetes' default is 1.
func jobParallelism(j *batchv1.Job) int32 {
	if j.Spec.Parallelism == nil {
		return 1
	}
	return *j.Spec.Parallelism
}

// setJobSuspended suspends or releases a Job, unless it has changed since it was read.
func (q *KubeQueue) setJobSuspended(ctx context.Context, j *batchv1.Job, yes bool) error {
	return q.patchJob(ctx, j, map[string]any{
		"metadata": map[string]any{"uid": j.UID, "resourceVersion": j.ResourceVersion}, "spec": map[string]any{"suspend": yes},
	})
}
