package executor

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// bindPod asks the binder to bind a pod to the node and devices of its run's award. If
// the pod must not or cannot run there, the whole run is terminated: a run with some
// of its pods missing does no work, but occupies GPUs.
func (h *KubeExecutor) bindPod(ctx context.Context, r *run, p *corev1.Pod, pods []*corev1.Pod) error {
	r.binding.Name, r.binding.Namespace, r.binding.Launch = r.name, r.namespace, r.launch
	refused, err := h.binder.Bind(ctx, &r.binding, p, pods)
	if refused != nil {
		h.terminateRun(r, refused.Code, refused.Note)
	}
	return err
}

// createClaimTemplates creates the claim templates that the pod templates of u refer
// to.
func (h *KubeExecutor) createClaimTemplates(ctx context.Context, r *run, u *unstructured.Unstructured) error {
	all, err := r.kind.podTemplatesOf(u.Object)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range all {
		list, _ := t.spec["resourceClaims"].([]any)
		for _, v := range list {
			name, _ := v.(map[string]any)["resourceClaimTemplateName"].(string)
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	r.binding.Name, r.binding.Namespace, r.binding.Launch = r.name, r.namespace, r.launch
	return h.binder.CreateClaimTemplates(ctx, &r.binding, u, names)
}

// devicesOfRun returns the device indexes that a run was awarded; false if there is no
// such run.
func (h *KubeExecutor) devicesOfRun(name string) ([]int, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.runs[name]
	if r == nil {
		return nil, false
	}
	return r.launch.Devices, true
}
