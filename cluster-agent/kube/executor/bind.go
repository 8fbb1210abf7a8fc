package executor

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// bindPod asks the binder to bind a pod to the node and devices of its run's award. If
// the pod must not or cannot run there, the whole run is terminated: a run with some
// of its pods missing does no work, but occupies GPUs.
func (h *KubeExecutor) bindPod(ctx context.Context, r *run, p *corev1.Pod, pods []*corev1.Pod) error {
	refused, err := h.binder.Bind(ctx, r.bindingAt(0), p, pods)
	if refused != nil {
		h.terminateRun(r, refused.Code, refused.Note)
	}
	return err
}

// bindPods binds the unbound pods of a run that is no gang; a pod that another scheduler
// put elsewhere ends the run.
func (h *KubeExecutor) bindPods(ctx context.Context, r *run, pods []*corev1.Pod) (err error) {
	for _, p := range pods {
		switch {
		case kube.PodEnded(p) || p.DeletionTimestamp != nil:
			continue
		case p.Spec.NodeName == "" && slices.ContainsFunc(pods, podTerminating):
			continue // a terminating pod of the run still holds the devices that this one needs
		case p.Spec.NodeName == "":
			if e := h.bindPod(ctx, r, p, pods); err == nil {
				err = e
			}
		case !r.isAtItsPlace(p):
			h.terminateRun(r, protocol.TakenOver, fmt.Sprintf("another scheduler put pod %s on node %s", p.Name, p.Spec.NodeName))
		}
		if r.terminating.Load() != nil {
			return nil
		}
	}
	return err
}

// createCompanions creates what the pods of the run's object u need beside it: claim
// templates, and the Service of a gang. u owns all of it, so that it is deleted together
// with u.
func (h *KubeExecutor) createCompanions(ctx context.Context, r *run, u *unstructured.Unstructured) error {
	if r.isUserSet() {
		return h.renewLauncher(ctx, r) // all else is its controller's, and its owner's
	}
	if h.cfg.Sharing == kube.SharingDRA {
		if err := h.createClaimTemplates(ctx, r, u); err != nil {
			return err
		}
	}
	if r.external.Object != "" || !findsEachOther(r.kind, &r.launch.Job) {
		return nil
	}
	if err := h.createHeadlessService(ctx, r, u, u.GetName(), map[string]string{kube.LabelRun: r.name}); err != nil {
		return err
	}
	if j := &r.launch.Job; isPart(j) && j.Leader == j.ID {
		return h.exportLeader(ctx, r, u)
	}
	return nil
}

// createClaimTemplates creates the claim templates that the pod templates of u refer
// to.
func (h *KubeExecutor) createClaimTemplates(ctx context.Context, r *run, u *unstructured.Unstructured) error {
	all, err := r.kind.podTemplatesOf(u.Object)
	if err != nil {
		return err
	}
	for _, t := range all {
		var names []string
		list, _ := t.spec["resourceClaims"].([]any)
		for _, v := range list {
			name, _ := v.(map[string]any)["resourceClaimTemplateName"].(string)
			names = append(names, name)
		}
		// Any place of a component has the share of its devices.
		component, _ := childMap(t.metadata, "labels")[kube.LabelComponent].(string)
		place := max(0, slices.IndexFunc(r.launch.Places, func(p protocol.Place) bool { return strconv.Itoa(p.Component) == component }))
		if err := h.binder.CreateClaimTemplates(ctx, r.bindingAt(place), u, names); err != nil {
			return err
		}
	}
	return nil
}

// devicesOfRun returns the device indexes that a run was awarded on a node; false if
// there is no such run.
func (h *KubeExecutor) devicesOfRun(name, node string) (devices []int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.runs[name]
	if r == nil {
		return nil, false
	}
	for _, p := range r.launch.PlacesOf() {
		if p.Node == node {
			devices = append(devices, p.Devices...)
		}
	}
	return devices, true
}
