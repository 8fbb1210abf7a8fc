package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// Sets of pods of the cluster's users wait as local Jobs do. Their status belongs to their
// controllers, so their state is shown in an annotation.

// AnnotationState shows a set's state in the market, as "Reason: message".
const AnnotationState = "gridbid.io/state"

// setKinds are the kinds that the queue takes in beside Jobs.
var setKinds = []*podsets.Kind{&podsets.JobSet, &podsets.PyTorchJob, &podsets.MPIJob, &podsets.LeaderWorkerSet}

// setKeyPrefix is the prefix of work queue keys of sets; plural/namespace/name follows.
const setKeyPrefix = "set/"

// watchSets starts the informers of each kind of sets once the cluster serves it, which it
// asks at each status interval until ctx ends.
func (q *KubeQueue) watchSets(ctx context.Context) {
	missing := slices.Clone(setKinds)
	for {
		missing = slices.DeleteFunc(missing, func(k *podsets.Kind) bool {
			list, err := q.cfg.Client.Discovery().ServerResourcesForGroupVersion(k.GroupVersion().String())
			if err != nil || !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == k.Plural }) {
				return false
			}
			q.watchKind(ctx, k, setKeyPrefix)
			return true
		})
		if len(missing) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(q.cfg.StatusInterval):
		}
	}
}

// watchKind starts the informers of one kind, whose objects have keys that begin with a prefix.
func (q *KubeQueue) watchKind(ctx context.Context, k *podsets.Kind, prefix string) {
	for _, space := range q.cfg.Namespaces {
		f := dynamicinformer.NewFilteredDynamicSharedInformerFactory(q.cfg.Dynamic, 0, space, nil)
		in := f.ForResource(k.Resource()).Informer()
		q.mu.Lock()
		q.sets[k.Plural+"/"+space] = in.GetIndexer()
		q.mu.Unlock()
		q.enqueueInformerEvents(in, prefix+k.Plural+"/")
		f.Start(ctx.Done())
	}
}

// objectOfKey returns the object of a work queue key without its prefix, plural/namespace/name, and its kind of
// these; nil if it does not exist.
func (q *KubeQueue) objectOfKey(key string, kinds []*podsets.Kind) (*podsets.Kind, *unstructured.Unstructured) {
	plural, name, _ := strings.Cut(key, "/")
	space, _, _ := strings.Cut(name, "/")
	i := slices.IndexFunc(kinds, func(k *podsets.Kind) bool { return k.Plural == plural })
	q.mu.Lock()
	store := q.sets[plural+"/"+space]
	q.mu.Unlock()
	if i < 0 || store == nil {
		return nil, nil
	}
	o, ok, _ := store.GetByKey(name)
	if !ok {
		return nil, nil
	}
	return kinds[i], o.(*unstructured.Unstructured)
}

// reconcileSet does the next step for a set: accept it, submit it and show its state, or
// finish it. It returns after how long to do so once more. See reconcileJob.
func (q *KubeQueue) reconcileSet(ctx context.Context, key string, k *podsets.Kind, u *unstructured.Unstructured) (requeueAfter time.Duration, err error) {
	hasFinalizer, waits := slices.Contains(u.GetFinalizers(), JobFinalizer), u.GetLabels()[kube.LabelQueue] != ""
	id := protocol.JobID(q.cfg.Site + "/" + string(u.GetUID()))
	acceptedAt, ok := acceptanceOf(u)
	submitted := ok && hasFinalizer
	switch {
	case !submitted && (k.HasEnded(u.Object) || u.GetDeletionTimestamp() != nil || ok): // ended, or closed before
		q.forgetJob(id)
		return 0, q.removeSetFinalizer(ctx, k, u)
	case !submitted && !waits:
		return 0, nil
	case !submitted:
		return 0, q.acceptSet(ctx, k, u)
	}
	order, _ := q.cfg.parseSet(k, u, acceptedAt) // it had no faults when it was accepted
	n := q.newsOfJob(id, key)
	if n.closed {
		if err := q.showSetState(ctx, k, u, stateOfStatus(n.status)); err != nil {
			return 0, err
		}
		q.forgetJob(id)
		return 0, q.removeSetFinalizer(ctx, k, u)
	}
	// Its owner or another controller withdrew it: cancel it at the market.
	taken := (!k.IsSuspended(u.Object) || k.HasEnded(u.Object)) && u.GetLabels()[kube.LabelRun] == ""
	if u.GetDeletionTimestamp() != nil || !waits || taken {
		return q.submitAndQueryStatus(ctx, order, true)
	}
	if requeueAfter, err = q.submitAndQueryStatus(ctx, order, false); err != nil {
		return 0, err
	}
	was, _, _ := strings.Cut(u.GetAnnotations()[AnnotationState], ":")
	if s, known := stateOfNews(n, id, was); known {
		err = q.showSetState(ctx, k, u, s)
	}
	return requeueAfter, err
}

// acceptanceOf returns when a set was accepted for submission, from its annotation: the time
// and, since annotations are copied with an object, its UID.
func acceptanceOf(u *unstructured.Unstructured) (at protocol.Time, ok bool) {
	text, uid, _ := strings.Cut(u.GetAnnotations()[AnnotationSubmittedAt], " ")
	t, err := time.Parse(time.RFC3339, text)
	return protocol.FromStdTime(t), err == nil && uid == string(u.GetUID())
}

// acceptSet accepts a set for submission: it sets the finalizer and the time of submission.
// A faulty set is not accepted; its state says why.
func (q *KubeQueue) acceptSet(ctx context.Context, k *podsets.Kind, u *unstructured.Unstructured) error {
	if !k.IsSuspended(u.Object) {
		if u.GetAnnotations()[AnnotationState] != "" {
			return nil
		}
		how := k.Suspend + ": true"
		if k.Suspend == "" {
			how = fmt.Sprintf("spec.replicas: 0 and the annotation %s, or as a service the gate %s in its templates,", podsets.AnnotationReplicas, ServiceGate)
		}
		return q.showSetState(ctx, k, u, placementState{reason: "NotSuspended", message: fmt.Sprintf("it was not taken in: only a %s with %s can wait", k.Kind, how), bad: true})
	}
	now := q.cfg.Now()
	if _, faults := q.cfg.parseSet(k, u, now); len(faults) > 0 {
		return q.showSetState(ctx, k, u, malformedState(faults))
	}
	return q.patchSet(ctx, k, u, map[string]any{
		"finalizers":  append(slices.Clone(u.GetFinalizers()), JobFinalizer),
		"annotations": map[string]any{AnnotationSubmittedAt: now.StdTime().Format(time.RFC3339) + " " + string(u.GetUID())},
	})
}

// showSetState writes a set's state to its annotation, and creates an event if the state is
// new.
func (q *KubeQueue) showSetState(ctx context.Context, k *podsets.Kind, u *unstructured.Unstructured, s placementState) error {
	text := s.reason + ": " + s.message
	was := u.GetAnnotations()[AnnotationState]
	if was == text {
		return nil
	}
	if before, _, _ := strings.Cut(was, ":"); before != s.reason || s.placed { // a later time of the next call alone is no event
		of := corev1.ObjectReference{APIVersion: u.GetAPIVersion(), Kind: k.Kind, Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion()}
		if err := q.createEvent(ctx, s, of); err != nil { // before the state: after a failure in between, the event would never be created
			return err
		}
	}
	meta := map[string]any{"annotations": map[string]any{AnnotationState: text}}
	if err := q.patchSet(ctx, k, u, meta); err != nil {
		return err
	}
	u.SetAnnotations(withEntry(u.GetAnnotations(), AnnotationState, text))
	return nil
}

// withEntry returns a copy of a map with one more entry.
func withEntry(m map[string]string, key, value string) map[string]string {
	all := map[string]string{key: value}
	for k, v := range m {
		if k != key {
			all[k] = v
		}
	}
	return all
}

// removeSetFinalizer removes our finalizer from a set, if it has it.
func (q *KubeQueue) removeSetFinalizer(ctx context.Context, k *podsets.Kind, u *unstructured.Unstructured) error {
	if !slices.Contains(u.GetFinalizers(), JobFinalizer) {
		return nil
	}
	return q.patchSet(ctx, k, u, map[string]any{
		"finalizers": slices.DeleteFunc(slices.Clone(u.GetFinalizers()), func(f string) bool { return f == JobFinalizer }),
	})
}

// patchSet applies a merge patch to the metadata of a set, unless that has changed since it
// was read where the patch replaces a list. A set that no longer exists is no error.
func (q *KubeQueue) patchSet(ctx context.Context, k *podsets.Kind, u *unstructured.Unstructured, meta map[string]any) error {
	meta["uid"] = u.GetUID()
	if _, list := meta["finalizers"]; list {
		meta["resourceVersion"] = u.GetResourceVersion()
	}
	data, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return err
	}
	now, err := q.cfg.Dynamic.Resource(k.Resource()).Namespace(u.GetNamespace()).Patch(ctx, u.GetName(), types.MergePatchType, data, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		u.SetResourceVersion(now.GetResourceVersion())
	}
	return err
}
