package kubetest

import (
	"context"
	"encoding/json"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// held is the annotation of pods that kwok leaves alone until it is gone.
const held = "plane.test/held"

// Held annotates the pods of a task that wait for a Kubelet.
func Held() map[string]string { return map[string]string{held: "true"} }

// A Kubelet admits pods to nodes of eight devices as each node's kubelet does,
// whoever bound them: in the order in which they come it gives each as many
// devices as it asks for, until the pod has ended, and fails it as kubelets do
// if there are not so many.
type Kubelet struct {
	*Cluster
	given map[types.UID]int64
	used  map[string]int64 // by node

	mu      sync.Mutex
	refused int
}

// Admit lets a kubelet work until the test ends.
func (c *Cluster) Admit() *Kubelet {
	c.Helper()
	k := &Kubelet{Cluster: c, given: make(map[types.UID]int64), used: make(map[string]int64)}
	ctx, cancel := context.WithCancel(context.Background())
	w, err := c.Client.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{})
	c.Must(err)
	var done sync.WaitGroup
	done.Go(func() {
		for e := range w.ResultChan() {
			if p, ok := e.Object.(*corev1.Pod); ok {
				k.see(ctx, p, e.Type == "DELETED" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed)
			}
		}
	})
	c.Cleanup(func() { cancel(); done.Wait() })
	return k
}

// Refused is how many pods were not admitted.
func (k *Kubelet) Refused() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.refused
}

func (k *Kubelet) see(ctx context.Context, p *corev1.Pod, over bool) {
	n, known := k.given[p.UID]
	switch {
	case over && known:
		k.used[p.Spec.NodeName] -= n
		delete(k.given, p.UID)
		return
	case over || known || p.Spec.NodeName == "" || p.Annotations[held] == "":
		return
	}
	for _, c := range p.Spec.Containers {
		q := c.Resources.Limits["nvidia.com/gpu"]
		n += q.Value()
	}
	if k.used[p.Spec.NodeName]+n > 8 {
		k.mu.Lock()
		k.refused++
		k.mu.Unlock()
		k.patch(ctx, p, map[string]any{"status": map[string]any{"phase": "Failed", "reason": "UnexpectedAdmissionError",
			"message": "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu, which is unexpected"}}, "status")
		return
	}
	k.given[p.UID] = n
	k.used[p.Spec.NodeName] += n
	k.patch(ctx, p, map[string]any{"metadata": map[string]any{"annotations": map[string]any{held: nil}}})
}

func (k *Kubelet) patch(ctx context.Context, p *corev1.Pod, change map[string]any, sub ...string) {
	text, err := json.Marshal(change)
	if err == nil {
		_, err = k.Client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, text, metav1.PatchOptions{}, sub...)
	}
	if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
		k.Error(err)
	}
}
