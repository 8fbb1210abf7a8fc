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

// Finalizer keeps a Job that was submitted until the market has let go of it.
const Finalizer = "gridbid.io/queue"

// attendJob does what a Job needs next.
func (q *Queue) attendJob(ctx context.Context, j *batchv1.Job) (again time.Duration, err error) {
	kept := slices.Contains(j.Finalizers, Finalizer)
	id := protocol.JobID(q.cfg.Site + "/" + string(j.UID))
	taken, err := time.Parse(time.RFC3339, j.Annotations[NoteTaken])
	submitted := err == nil && kept
	switch {
	case !submitted && (kube.Ended(j) || j.DeletionTimestamp != nil || !kept && dealtWith(j)):
		q.forget(id)
		return 0, q.letGo(ctx, j)
	case !submitted && j.Labels[kube.LabelQueue] == "":
		return 0, nil
	case !submitted:
		return 0, q.take(ctx, j)
	}
	order, _ := q.cfg.order(j, protocol.At(taken)) // without fault when it was taken in, or it is refused now
	n := q.known(id, ofJob+j.Namespace+"/"+j.Name)
	if n.closed {
		return 0, q.close(ctx, j, n.stand)
	}
	if j.DeletionTimestamp != nil || j.Labels[kube.LabelQueue] == "" || strayed(j) {
		return q.ask(ctx, order, true)
	}
	if again, err = q.ask(ctx, order, false); err != nil {
		return 0, err
	}
	s := state{reason: "Asking", words: "the market was asked, and has not answered yet"}
	switch c := placed(j); {
	case n.clash != "":
		s = state{reason: "Changed", words: n.clash, bad: true}
	case n.hold != nil:
		s = held(*n.hold)
	case n.stand.State != "":
		s = stands(n.stand)
	case n.taken && (c == nil || c.Reason == "Asking" || c.Reason == "Malformed" || c.Reason == "NotSuspended"):
		s = submittedAs(id)
	case c != nil: // begun anew, and told nothing newer
		return again, nil
	}
	return again, q.mirror(ctx, j, n.stand.State == protocol.Stands && n.hold == nil, s)
}

// strayed reports whether somebody else released a Job of this cluster, or it ended
// while it waited: as when it was evicted, and its pods may not fail. Neither can be run.
func strayed(j *batchv1.Job) bool {
	return local(j) && (!suspended(j) || kube.Ended(j)) && j.Labels[kube.LabelRun] == ""
}

// dealtWith reports whether a Job that has no finalizer of ours was taken in before.
// The market knows it as refused or cancelled, and would say so again for ever.
func dealtWith(j *batchv1.Job) bool { return j.Annotations[NoteTaken] != "" && placed(j) != nil }

// take takes a Job in: from then on it is submitted, as of that time.
func (q *Queue) take(ctx context.Context, j *batchv1.Job) error {
	if !suspended(j) {
		if placed(j) != nil {
			return nil
		}
		return q.tell(ctx, j, state{reason: "NotSuspended", words: "it was not taken in: only a Job with spec.suspend: true can wait", bad: true}, false)
	}
	now := q.cfg.Now()
	if _, faults := q.cfg.order(j, now); len(faults) > 0 {
		return q.tell(ctx, j, malformed(faults), false)
	}
	return q.patch(ctx, j, map[string]any{"metadata": map[string]any{
		"uid": j.UID, "resourceVersion": j.ResourceVersion, "finalizers": append(slices.Clone(j.Finalizers), Finalizer),
		"annotations": map[string]any{NoteTaken: now.Go().Format(time.RFC3339)},
	}})
}

// letGo takes our finalizer off.
func (q *Queue) letGo(ctx context.Context, j *batchv1.Job) error {
	if !slices.Contains(j.Finalizers, Finalizer) {
		return nil
	}
	return q.patch(ctx, j, map[string]any{"metadata": map[string]any{
		"uid": j.UID, "resourceVersion": j.ResourceVersion,
		"finalizers": slices.DeleteFunc(slices.Clone(j.Finalizers), func(f string) bool { return f == Finalizer }),
	}})
}

func (q *Queue) patch(ctx context.Context, j *batchv1.Job, patch map[string]any) error {
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
