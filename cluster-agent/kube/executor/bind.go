package executor

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// bindPod has a pod bound where its run was sold to. A pod that must not or cannot go
// there takes its whole run down.
func (h *KubeExecutor) bindPod(ctx context.Context, r *run, p *corev1.Pod, pods []*corev1.Pod) error {
	r.bound.Name, r.bound.Namespace, r.bound.Launch = r.name, r.namespace, r.launch
	refused, err := h.binder.Bind(ctx, &r.bound, p, pods)
	if refused != nil {
		h.terminateRun(r, refused.Code, refused.Note)
	}
	return err
}

// createClaimTemplates creates the claim templates that the pods of u name.
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
	r.bound.Name, r.bound.Namespace, r.bound.Launch = r.name, r.namespace, r.launch
	return h.binder.CreateClaimTemplates(ctx, &r.bound, u, names)
}

// devicesOfRun returns which devices a run of ours was sold.
func (h *KubeExecutor) devicesOfRun(name string) ([]int, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.runs[name]
	if r == nil {
		return nil, false
	}
	return r.launch.Devices, true
}
