package executor

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

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/external"
	"github.com/gridbid/gridbid/protocol"
)

// attend does what a run needs next, by what the cluster says of it now, and
// returns when to look again if nothing happens before.
func (h *Hands) attend(ctx context.Context, name string) (again time.Duration, err error) {
	h.mu.Lock()
	r := h.runs[name]
	refused := h.refused[name]
	h.mu.Unlock()
	if r == nil {
		return 0, nil
	}
	switch {
	case r.created != 0:
	case r.leaving.Load() == nil:
		err := h.create(ctx, r)
		if err != nil && r.asked != 0 && h.cfg.Now().Sub(r.asked) >= h.cfg.Patience { // a webhook is down, say
			h.leave(r, protocol.Unfinished, fmt.Sprintf("it could not be created within %v: %v", h.cfg.Patience, err))
		}
		return 0, err
	case r.asked == 0:
		h.lose(r, *r.leaving.Load())
		return 0, nil
	} // what was asked for may be there, though nobody answered
	u := h.object(r)
	if r.lent.Kueue != "" {
		return h.attendKueue(ctx, r, u)
	}
	pods := h.podsOf(r)
	h.read(r, pods)
	r.seen = r.seen || u != nil
	if u != nil && !r.equipped && r.leaving.Load() == nil && h.cfg.Sharing == kube.DRA {
		err = h.createClaimTemplates(ctx, r, u)
		r.equipped = err == nil
	}
	if u != nil && r.leaving.Load() == nil { // did it end?
		if _, ok := r.kind.done.is(u); ok {
			if left := h.unsettled(r, pods); left > 0 {
				return left, nil
			}
			return 0, h.exit(ctx, r, u, pods, "")
		}
		if why, ok := r.kind.failed.is(u); ok {
			lost := disturbed(pods)
			if lost == "" {
				if left := h.unsettled(r, pods); left > 0 {
					return left, nil
				}
				lost = robbed(u, pods)
			}
			if lost == "" {
				return 0, h.exit(ctx, r, u, pods, why)
			}
			h.leave(r, protocol.Evicted, lost)
		}
	}
	switch {
	case r.leaving.Load() != nil:
	case refused != "":
		h.leave(r, protocol.Refused, refused)
	case u == nil && r.seen || u != nil && u.GetDeletionTimestamp() != nil:
		h.leave(r, protocol.TakenOver, "somebody deleted it")
	case h.inv.Node(r.launch.Node) == nil:
		h.leave(r, protocol.NodeGone, "node "+r.launch.Node+" is gone")
	default:
		left, e := h.tend(ctx, r, u, pods)
		if err == nil {
			err = e
		}
		if left > 0 || err != nil && !h.late(r) {
			return left, err
		}
	}
	if r.leaving.Load() != nil {
		return h.takeDown(ctx, r, pods)
	}
	if r.since != 0 {
		return 0, nil
	}
	if h.late(r) {
		why := fmt.Sprintf("it did not begin within %v", h.cfg.Patience)
		if what := hindered(pods); err != nil {
			why += ": " + err.Error()
		} else if what != "" {
			why += ": " + what
		}
		h.leave(r, protocol.Unfinished, why)
		return h.takeDown(ctx, r, pods)
	}
	return h.cfg.Patience - h.waited(r), nil
}

// late reports whether a run should have begun by now.
func (h *Hands) late(r *run) bool { return r.since == 0 && h.waited(r) >= h.cfg.Patience }

// waited is for how long a run has been seen not to begin. One that was found again may
// have begun before: its controller may just be putting other pods in the place of those
// that ran.
func (h *Hands) waited(r *run) time.Duration { return h.cfg.Now().Sub(max(r.created, r.found)) }

// hindered says what keeps a pod of a run from starting, as its kubelet has it, or
// another's scheduler, or "".
func hindered(pods []*corev1.Pod) string {
	for _, p := range pods {
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if w := c.State.Waiting; w != nil && w.Message != "" {
				return fmt.Sprintf("pod %s: %s: %s", p.Name, w.Reason, w.Message)
			}
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" {
				return fmt.Sprintf("pod %s: %s: %s", p.Name, c.Reason, c.Message)
			}
		}
	}
	return ""
}

// create asks for the object of a run. What the cluster refuses is lost; what
// may go away by itself is tried again.
func (h *Hands) create(ctx context.Context, r *run) error {
	if lent, err := h.borrow(ctx, r); lent || err != nil {
		return err
	}
	u, k, err := h.build(r.launch)
	if err == nil {
		h.places(r, k, u.GetNamespace(), u.GetName(), external.Loan{})
		if err = h.follow(ctx, k); apierrors.IsNotFound(err) {
			err = fmt.Errorf("%s %s is not installed in this cluster", u.GetAPIVersion(), u.GetKind())
		} else if err != nil {
			return err
		}
	}
	if err == nil {
		_, err = h.cfg.Dynamic.Resource(k.resource()).Namespace(r.space).Create(ctx, u, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // by us: nobody else makes such a name
			err = nil
		}
		if r.asked == 0 {
			r.asked = h.cfg.Now()
		}
		// A server that was just started forbids what it will allow in a moment.
		early := apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot create resource") && h.cfg.Now().Sub(r.asked) < 30*time.Second
		if err != nil && (passing(err) || early) {
			return err
		}
	}
	if err != nil {
		h.lose(r, protocol.Reason{Code: protocol.Refused, Note: err.Error()})
		return nil
	}
	h.begun(r)
	return nil
}

// places notes what a run consists of, and where.
func (h *Hands) places(r *run, k *kind, space, made string, lent external.Loan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.kind, r.space, r.made, r.lent = k, space, made, lent
}

// begun notes that a run was asked for.
func (h *Hands) begun(r *run) {
	h.mu.Lock()
	r.created = h.cfg.Now()
	h.mu.Unlock()
	h.queue.AddAfter(r.name, h.cfg.Patience)
	h.queue.Add(r.name)
}

// tend binds the pods that wait, and notes how the others do. It returns how long to
// wait before anything else is done.
func (h *Hands) tend(ctx context.Context, r *run, u *unstructured.Unstructured, pods []*corev1.Pod) (again time.Duration, err error) {
	for _, p := range pods {
		if r.since == 0 && ran(p) && p.Spec.NodeName == r.launch.Node {
			h.mu.Lock()
			r.since = started(p)
			h.mu.Unlock()
		}
	}
	if again = h.ending(r, u, pods); again > 0 || r.leaving.Load() != nil {
		return again, nil
	}
	for _, p := range pods {
		switch {
		case kube.PodEnded(p) || p.DeletionTimestamp != nil:
			continue
		case p.Spec.NodeName == "" && slices.ContainsFunc(pods, goes):
			continue // until there is room for it
		case p.Spec.NodeName == "":
			if e := h.bind(ctx, r, p, pods); err == nil {
				err = e
			}
		case p.Spec.NodeName != r.launch.Node:
			h.leave(r, protocol.TakenOver, fmt.Sprintf("another scheduler put pod %s on node %s", p.Name, p.Spec.NodeName))
		}
		if r.leaving.Load() != nil {
			return 0, nil
		}
	}
	if lost := disturbed(pods); lost != "" {
		h.leave(r, protocol.Evicted, lost)
		return 0, nil
	}
	if r.since != 0 && !r.told.Swap(true) {
		h.say(protocol.Started{Job: r.launch.Job.ID, Epoch: r.launch.Epoch})
	}
	return 0, err
}

// goes reports whether a pod is being ended, and holds what it has until then.
func goes(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil && p.Spec.NodeName != "" && !kube.PodEnded(p)
}

// ran reports whether a pod runs or has run. One that its kubelet would not have
// says nothing of its containers.
func ran(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning || kube.PodEnded(p) && len(p.Status.ContainerStatuses) > 0
}

func started(p *corev1.Pod) protocol.Time {
	if p.Status.StartTime != nil {
		return protocol.At(p.Status.StartTime.Time)
	}
	return protocol.At(p.CreationTimestamp.Time)
}

// disturbed says which pod the cluster ended, and why, or "".
func disturbed(pods []*corev1.Pod) string {
	for _, p := range pods {
		if p.Status.Phase != corev1.PodFailed {
			continue
		}
		if why := evicted(p); why != "" {
			return why
		}
		if len(p.Status.ContainerStatuses) == 0 && p.Status.Reason != "" { // the kubelet would not have it
			return fmt.Sprintf("pod %s: %s: %s", p.Name, p.Status.Reason, p.Status.Message)
		}
	}
	return ""
}

// evicted says why the cluster ended a pod, or "".
func evicted(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return fmt.Sprintf("pod %s: %s: %s", p.Name, c.Reason, c.Message)
		}
	}
	return ""
}

// leave decides that a run is taken down.
func (h *Hands) leave(r *run, code protocol.Code, note string) {
	r.leaving.CompareAndSwap(nil, &protocol.Reason{Code: code, Note: note})
}

// takeDown deletes a run's object and says that it is lost when its pods are
// gone. Pods of a node that is no more count as gone.
func (h *Hands) takeDown(ctx context.Context, r *run, pods []*corev1.Pod) (again time.Duration, err error) {
	if !r.deleted {
		if err := h.remove(ctx, r, pods); err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
		r.deleted = true
	}
	if h.object(r) != nil {
		return time.Second, nil
	}
	for _, p := range pods {
		if !kube.PodEnded(p) && p.Spec.NodeName != "" && h.inv.Node(p.Spec.NodeName) != nil {
			return time.Second, nil
		}
	}
	h.lose(r, *r.leaving.Load())
	return 0, nil
}

// remove deletes a run's object, or gives it back if it is another's.
func (h *Hands) remove(ctx context.Context, r *run, pods []*corev1.Pod) error {
	if r.lent.Object != "" {
		return h.jobs.GiveBack(ctx, r.onLoan(), h.object(r), pods, r.created != 0)
	}
	background := metav1.DeletePropagationBackground
	return h.cfg.Dynamic.Resource(r.kind.resource()).Namespace(r.space).Delete(ctx, r.object(), metav1.DeleteOptions{PropagationPolicy: &background})
}

// lose says that nothing of a run is left.
func (h *Hands) lose(r *run, why protocol.Reason) {
	h.forget(r)
	if r.given.Load() {
		return
	}
	x := protocol.Lost{Job: r.launch.Job.ID, Epoch: r.launch.Epoch, Why: why}
	if len(x.Why.Note) > 500 {
		x.Why.Note = x.Why.Note[:500]
	}
	if r.since != 0 {
		x.Draw, x.Estimated = h.drawn(r, r.since, h.cfg.Now())
		x.Draw = h.spend(r, x.Draw)
	}
	if r.stopped.Load() {
		h.sayLast(x.Job, x.Epoch, protocol.Exited{Job: x.Job, Epoch: x.Epoch, Draw: x.Draw, Failed: "cancelled", Estimated: x.Estimated})
		return
	}
	h.sayLast(x.Job, x.Epoch, x)
}

// unsettled is how long to wait for word of a run that has ended, from its pods
// and from machines; 0 is not at all.
func (h *Hands) unsettled(r *run, pods []*corev1.Pod) time.Duration {
	return max(h.lags(r, pods), h.unread(r, pods))
}

// lagging is how long the pods of a run that has ended may be seen running.
const lagging = 5 * time.Second

// lags is how long to wait for the pods of a run that has ended to be seen to have
// ended; 0 is not at all. Word of them comes by another way than word of the run,
// and what they hold counts as taken until then: who is told that it is free would
// be refused. What a controller leaves running is not waited for longer.
func (h *Hands) lags(r *run, pods []*corev1.Pod) time.Duration {
	now := h.cfg.Now()
	if r.ended == 0 {
		r.ended = now
	}
	if now.Sub(r.ended) >= lagging || !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return !kube.PodEnded(p) }) {
		return 0
	}
	return lagging / 50
}

// exit says that a run has ended by itself, and lets the cluster forget it.
func (h *Hands) exit(ctx context.Context, r *run, u *unstructured.Unstructured, pods []*corev1.Pod, failed string) error {
	since, until := r.since, protocol.Time(0)
	for _, p := range pods {
		if since == 0 || started(p) < since {
			since = started(p)
		}
		for _, c := range p.Status.ContainerStatuses {
			if t := c.State.Terminated; t != nil {
				until = max(until, protocol.At(t.FinishedAt.Time))
			}
		}
	}
	if since == 0 {
		since = r.created
	}
	if until < since { // its pods are gone; it may have ended while we were away
		until = h.cfg.Now()
		if at := r.kind.ended(u); at != 0 {
			until = min(until, at)
		}
		until = max(until, since)
	}
	if !r.told.Swap(true) {
		h.say(protocol.Started{Job: r.launch.Job.ID, Epoch: r.launch.Epoch})
	}
	h.mu.Lock()
	spent := r.spent
	h.mu.Unlock()
	if !spent { // or it was said, and only the cluster has yet to take that in
		draw, estimated := h.drawn(r, since, until)
		h.sayLast(r.launch.Job.ID, r.launch.Epoch, protocol.Exited{Job: r.launch.Job.ID, Epoch: r.launch.Epoch, Draw: h.spend(r, draw), Failed: failed, Estimated: estimated, Use: h.used(r, pods, since, until), Ended: until})
	}
	patch := map[string]any{"metadata": map[string]any{"labels": map[string]any{kube.LabelTold: "true"}}}
	if r.kind.Kind == "Job" && r.lent.Object == "" {
		patch["spec"] = map[string]any{"ttlSecondsAfterFinished": int64(h.cfg.Keep / time.Second)}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = h.cfg.Dynamic.Resource(r.kind.resource()).Namespace(r.space).Patch(ctx, r.object(), types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) && passing(err) {
		return err
	}
	h.forget(r)
	return nil
}

// forget ends our care for a run.
func (h *Hands) forget(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.runs, r.name)
	delete(h.refused, r.name)
	h.changed()
}
