package executor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/binder"
	"github.com/gridbid/gridbid/protocol"
)

// A gang is one Indexed Job with one pod for each index. Its pods exist behind a
// scheduling gate until all of them can be bound, each to its own place of the launch.
// Place and pod belong together by the pod's index, so every incarnation of the executor
// binds the same pod to the same place, also one that its controller made anew.

// masterPort is where rank 0 of a gang listens, unless the task says otherwise: the
// default of PyTorch's launcher.
const masterPort = "29500"

// shapeGang makes a task run a gang: one pod for each index, all at once. It returns an
// error if the task is of a kind, or says of itself, that it cannot.
func shapeGang(u *unstructured.Unstructured, k *jobKind, j *protocol.Job) error {
	switch {
	case k.Kind != "Job":
		return fmt.Errorf("a %s runs on one node here: give a job with components a batch/v1 Job as its task", k.Kind)
	case len(j.Pods) != 1:
		return fmt.Errorf("the job has %d components but a Job has one pod template: describe it by one component", len(j.Pods))
	}
	spec := childMap(u.Object, "spec")
	for _, field := range []string{"parallelism", "completions"} {
		if v, ok := spec[field]; ok && toInt64(v) != int64(j.Pods[0].Pods) {
			return fmt.Errorf("the task has %d of spec.%s but the job has %d pods: make them equal, or leave it out", toInt64(v), field, j.Pods[0].Pods)
		}
		spec[field] = int64(j.Pods[0].Pods)
	}
	spec["completionMode"] = string(batchv1.IndexedCompletion)
	return nil
}

// shapeGangPod has the pods of a component wait behind the gang's gate, and tells them
// their rank and where rank 0 is. service is the name of the gang's headless Service,
// after which the Job's pods are named too. What the task sets itself stays.
func shapeGangPod(t podTemplate, component int, j *protocol.Job, service string) {
	mergeStringMap(t.metadata, "labels", map[string]string{kube.LabelComponent: strconv.Itoa(component)})
	t.spec["schedulingGates"] = []any{map[string]any{"name": kube.GateGang}}
	t.spec["subdomain"] = service
	rank := map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.annotations['" + batchv1.JobCompletionIndexAnnotation + "']"}}
	vars := []map[string]any{
		{"name": "MASTER_ADDR", "value": service + "-0." + service},
		{"name": "MASTER_PORT", "value": masterPort},
		{"name": "WORLD_SIZE", "value": strconv.Itoa(j.PodCount())},
		{"name": "RANK", "valueFrom": rank},
	}
	for _, c := range slices.Concat(containersIn(t.spec, "initContainers"), containersIn(t.spec, "containers")) {
		env, _ := c["env"].([]any)
		for _, v := range vars {
			if !slices.ContainsFunc(env, func(x any) bool { m, _ := x.(map[string]any); return m["name"] == v["name"] }) {
				env = append(env, v)
			}
		}
		c["env"] = env
	}
}

// requestGPUsForGang is requestGPUsForLaunch for each component of a gang: its template
// requests what one of its pods was sold.
func (h *KubeExecutor) requestGPUsForGang(l protocol.Launch, all []podTemplate) error {
	for i := range l.Job.Pods {
		one, t := l, all[i]
		one.Job, t.count = l.Job.PodsOf(i, 1), 1
		t.claimBase = claimBaseOf(l, i)
		if err := h.requestGPUsForLaunch(one, []podTemplate{t}); err != nil {
			return err
		}
	}
	return nil
}

// claimBaseOf returns the name from which those of a component's claim templates are made.
func claimBaseOf(l protocol.Launch, component int) string {
	return kube.RunName(l.Job.ID, l.Epoch) + "-c" + strconv.Itoa(component)
}

// componentOf returns to which component of a gang labels belong.
func componentOf(labels map[string]string) (component int, ok bool) {
	component, err := strconv.Atoi(labels[kube.LabelComponent])
	return component, err == nil
}

// placeOfPod returns the index of the place that a pod of the run has among the places
// of its launch; false if it has none. A gang's pods fill the places of their component
// in the order of their index.
func (r *run) placeOfPod(p *corev1.Pod) (place int, ok bool) {
	if !r.launch.Job.IsGang() {
		return 0, true
	}
	component, ok := componentOf(p.Labels)
	index, err := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation])
	if !ok || err != nil || index < 0 {
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
	ran := make(map[string]bool)
	for _, p := range pods {
		if !podHasRun(p) || !r.isAtItsPlace(p) {
			continue
		}
		ran[p.Labels[kube.LabelComponent]+"/"+p.Annotations[batchv1.JobCompletionIndexAnnotation]] = true
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
	there, unbound := 0, false
	for _, p := range pods {
		if p.Status.Phase == corev1.PodFailed {
			continue
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

// createGangService creates the headless Service under which the pods of a gang find each
// other by name, also before they are ready. The run's object u owns it.
func (h *KubeExecutor) createGangService(ctx context.Context, r *run, u *unstructured.Unstructured) error {
	_, err := h.cfg.Client.CoreV1().Services(r.namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: u.GetName(), Namespace: r.namespace, Labels: map[string]string{kube.LabelSite: h.cfg.Site, kube.LabelRun: r.name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName(), UID: u.GetUID()}},
		},
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{kube.LabelRun: r.name}},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
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
