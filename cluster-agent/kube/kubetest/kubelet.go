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

// heldAnnotation is the annotation of pods that kwok leaves pending until a Kubelet
// removes it.
const heldAnnotation = "plane.test/held"

// HeldAnnotations returns the annotations for pods of a task that wait for a Kubelet.
func HeldAnnotations() map[string]string { return map[string]string{heldAnnotation: "true"} }

// A Kubelet plays the kubelets of all nodes, which have eight devices each. In the
// order in which bound pods appear it gives each as many devices as it requests until
// the pod ends; it rejects a pod for which too few are left, as a real kubelet does,
// whichever scheduler bound it.
type Kubelet struct {
	*Cluster
	grantedGPUs map[types.UID]int64
	usedGPUs    map[string]int64 // by node

	mu      sync.Mutex
	refused int
}

// StartKubelet runs a Kubelet until the test ends.
func (c *Cluster) StartKubelet() *Kubelet {
	c.Helper()
	k := &Kubelet{Cluster: c, grantedGPUs: make(map[types.UID]int64), usedGPUs: make(map[string]int64)}
	ctx, cancel := context.WithCancel(context.Background())
	w, err := c.Client.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{})
	c.FailOnError(err)
	var done sync.WaitGroup
	done.Go(func() {
		for e := range w.ResultChan() {
			if p, ok := e.Object.(*corev1.Pod); ok {
				k.observePod(ctx, p, e.Type == "DELETED" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed)
			}
		}
	})
	c.Cleanup(func() { cancel(); done.Wait() })
	return k
}

// RefusedPods returns how many pods were rejected.
func (k *Kubelet) RefusedPods() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.refused
}

// observePod admits or rejects a bound pod, and takes back the devices of one that is over.
func (k *Kubelet) observePod(ctx context.Context, p *corev1.Pod, over bool) {
	n, known := k.grantedGPUs[p.UID]
	switch {
	case over && known:
		k.usedGPUs[p.Spec.NodeName] -= n
		delete(k.grantedGPUs, p.UID)
		return
	case over || known || p.Spec.NodeName == "" || p.Annotations[heldAnnotation] == "":
		return
	}
	for _, c := range p.Spec.Containers {
		q := c.Resources.Limits["nvidia.com/gpu"]
		n += q.Value()
	}
	if k.usedGPUs[p.Spec.NodeName]+n > 8 {
		k.mu.Lock()
		k.refused++
		k.mu.Unlock()
		k.patchPod(ctx, p, map[string]any{"status": map[string]any{"phase": "Failed", "reason": "UnexpectedAdmissionError",
			"message": "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu, which is unexpected"}}, "status")
		return
	}
	k.grantedGPUs[p.UID] = n
	k.usedGPUs[p.Spec.NodeName] += n
	k.patchPod(ctx, p, map[string]any{"metadata": map[string]any{"annotations": map[string]any{heldAnnotation: nil}}})
}

// patchPod patches a pod or a subresource of it.
func (k *Kubelet) patchPod(ctx context.Context, p *corev1.Pod, change map[string]any, sub ...string) {
	text, err := json.Marshal(change)
	if err == nil {
		_, err = k.Client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, text, metav1.PatchOptions{}, sub...)
	}
	if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
		k.Error(err)
	}
}
