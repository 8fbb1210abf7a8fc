package executor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/binder"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// The pods of a gang exist behind a scheduling gate until all of them can be bound, each to
// its own place of the launch. Place and pod belong together by the pod's component and
// index, so every incarnation of the executor binds the same pod to the same place, also
// one that its controller made anew. gangtask.go says how a task is made a gang.

// indexOfPod returns to which component of its gang a pod belongs, and the pod's index
// among those of that component; false if it does not say so.
func indexOfPod(p *corev1.Pod) (component, index int, ok bool) {
	component, err := strconv.Atoi(p.Labels[kube.LabelComponent])
	index, ok = podsets.IndexOf(p)
	return component, index, ok && err == nil
}

// placeOfPod returns the index of the place that a pod of the run has among the places
// of its launch; false if it has none. A gang's pods fill the places of their component
// in the order of their index.
func (r *run) placeOfPod(p *corev1.Pod) (place int, ok bool) {
	if !r.launch.Job.IsGang() {
		return 0, true
	}
	component, index, ok := indexOfPod(p)
	if !ok {
		return 0, false
	}
	for i, x := range r.launch.Places {
		if x.Component != component {
			continue
		}
		if index < x.Pods {
			return i, true
		}
		index -= x.Pods
	}
	return 0, false
}

// isAtItsPlace reports whether a pod is on the node of its place.
func (r *run) isAtItsPlace(p *corev1.Pod) bool {
	i, ok := r.placeOfPod(p)
	return ok && p.Spec.NodeName == r.launch.PlacesOf()[i].Node
}

// usesNode reports whether a run has a place on a node.
func (r *run) usesNode(name string) bool {
	return slices.ContainsFunc(r.launch.PlacesOf(), func(p protocol.Place) bool { return p.Node == name })
}

// lostNode returns a node of the run that does not exist any more, or "".
func (h *KubeExecutor) lostNode(r *run) string {
	for _, p := range r.launch.PlacesOf() {
		if h.inv.NodeByName(p.Node) == nil {
			return p.Node
		}
	}
	return ""
}

// bindingAt returns what the binder knows of one of the run's places.
func (r *run) bindingAt(place int) *binder.Run {
	places := r.launch.PlacesOf()
	if r.bindings == nil {
		r.bindings = make([]binder.Run, len(places))
	}
	b := &r.bindings[place]
	b.Name, b.Namespace, b.Launch = r.name, r.namespace, r.launch
	b.Launch.Job, b.Launch.Node, b.Launch.Devices, b.Launch.Places = r.launch.PartAt(places[place]), places[place].Node, places[place].Devices, nil
	return b
}

// observeStart notes when the run's first pod ran at its place, from which its energy
// counts, and whether the run has begun: a gang has when each of its pods has run.
func (h *KubeExecutor) observeStart(r *run, pods []*corev1.Pod) {
	if r.begun {
		return
	}
	type podIndex struct{ component, index int }
	ran := make(map[podIndex]bool)
	for _, p := range pods {
		if !podHasRun(p) || !r.isAtItsPlace(p) {
			continue
		}
		component, index, _ := indexOfPod(p)
		ran[podIndex{component, index}] = true
		h.mu.Lock()
		if at := podStartTime(p); r.startedAt == 0 || at < r.startedAt {
			r.startedAt = at
		}
		h.mu.Unlock()
	}
	r.begun = r.startedAt != 0 && (!r.launch.Job.IsGang() || len(ran) >= r.launch.Job.PodCount())
}

// bindGang binds the pods of a gang once all of them exist, and what its names need. A
// pod that failed is left to its controller, which ends the gang or makes the pod anew;
// the new one goes to the place of the old one. A pod that is none of the gang's, or that
// another scheduler put elsewhere, ends the run.
func (h *KubeExecutor) bindGang(ctx context.Context, r *run, pods []*corev1.Pod) error {
	parts := make([]binder.Part, len(r.launch.Places))
	there, unbound, attempt := 0, false, int64(0)
	for _, p := range pods {
		attempt = max(attempt, jobSetAttemptOf(p))
	}
	for _, p := range pods {
		switch {
		case p.Status.Phase == corev1.PodFailed:
			continue
		case jobSetAttemptOf(p) < attempt: // its JobSet began anew, and is about to delete it
			if kube.PodEnded(p) {
				continue
			}
			return nil
		}
		i, ok := r.placeOfPod(p)
		if !ok {
			h.terminateRun(r, protocol.ClusterRefused, "pod "+p.Name+" has no place in the gang: its object creates more pods than the job has")
			return nil
		}
		there++
		switch {
		case p.Status.Phase == corev1.PodSucceeded:
			continue
		case p.DeletionTimestamp != nil:
			return nil // it still holds its devices, or its gang is about to end
		case p.Spec.NodeName == "":
			unbound = true
		case !r.isAtItsPlace(p):
			h.terminateRun(r, protocol.TakenOver, fmt.Sprintf("another scheduler put pod %s on node %s", p.Name, p.Spec.NodeName))
			return nil
		}
		parts[i].Pods = append(parts[i].Pods, p)
		if rank, ok := r.rankOf(p); ok {
			if parts[i].Ranks == nil {
				parts[i].Ranks = make(map[types.UID]int)
			}
			parts[i].Ranks[p.UID] = rank
		}
	}
	if !unbound || there < r.launch.Job.PodCount() || !r.companionsCreated {
		return nil
	}
	for i := range parts {
		parts[i].Run = r.bindingAt(i)
	}
	refused, err := h.binder.BindSet(ctx, parts)
	if refused != nil {
		h.terminateRun(r, refused.Code, refused.Note)
	}
	return err
}

// createHeadlessService creates a headless Service under which pods of a Job find each
// other by name, also before they are ready. The run's object u owns it. Controllers of the
// other kinds create their own.
func (h *KubeExecutor) createHeadlessService(ctx context.Context, r *run, u *unstructured.Unstructured, name string, of map[string]string) error {
	_, err := h.cfg.Client.CoreV1().Services(r.namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: r.namespace, Labels: map[string]string{kube.LabelSite: h.cfg.Site, kube.LabelRun: r.name}, OwnerReferences: ownedBy(u),
		},
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: of},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// ownedBy returns the reference by which an object is deleted with u.
func ownedBy(u *unstructured.Unstructured) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName(), UID: u.GetUID()}}
}

// missingPods says how many pods of a gang have not run; "" of other runs.
func missingPods(r *run, pods []*corev1.Pod) string {
	if !r.launch.Job.IsGang() {
		return ""
	}
	var idle []string
	for _, p := range pods {
		if p.Status.Phase == corev1.PodPending {
			idle = append(idle, p.Name)
		}
	}
	slices.Sort(idle)
	if len(idle) > 5 {
		idle = append(idle[:5], "...")
	}
	return fmt.Sprintf("of %d pods %d exist; not running: %s", r.launch.Job.PodCount(), len(pods), strings.Join(idle, ", "))
}
