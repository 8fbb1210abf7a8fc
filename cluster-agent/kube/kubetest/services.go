package kubetest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gridbid/gridbid/protocol"
)

// ServiceTask is a Deployment or a StatefulSet as a person writes it. Its pods carry a label app, have four
// cores, 16 GiB and some GPUs, and run until they are deleted.
func ServiceTask(kind, app string, gpus string) protocol.Task {
	spec := PodSpec(map[string]any{"nvidia.com/gpu": gpus})
	spec["restartPolicy"] = "Always"
	return EncodeTask(map[string]any{
		"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"name": app},
		"spec": map[string]any{
			"replicas": 7, "selector": map[string]any{"matchLabels": map[string]any{"app": app}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": app}}, "spec": spec},
		},
	})
}

// RunningPodsOfApp returns how many pods with a label app run and are not being deleted.
func (c *Cluster) RunningPodsOfApp(app string) (n int) {
	c.Helper()
	l, err := c.Client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	c.FailOnError(err)
	for _, p := range l.Items {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}
