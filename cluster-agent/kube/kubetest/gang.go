package kubetest

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AwaitFirstBinding returns as soon as a pod of a job is bound.
func (c *Cluster) AwaitFirstBinding(job string) {
	c.Helper()
	w, err := c.Client.CoreV1().Pods("default").Watch(c.Context(), metav1.ListOptions{})
	c.FailOnError(err)
	defer w.Stop()
	over := time.After(4 * time.Minute)
	for {
		select {
		case e := <-w.ResultChan():
			if p, ok := e.Object.(*corev1.Pod); ok && p.Annotations["gridbid.io/job"] == job && p.Spec.NodeName != "" {
				return
			}
		case <-over:
			c.Fatalf("no pod of %s was bound", job)
		}
	}
}

// BoundPodsOfJob returns how many pods of a job are bound.
func (c *Cluster) BoundPodsOfJob(job string) (n int) {
	c.Helper()
	l, err := c.Client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{})
	c.FailOnError(err)
	for _, p := range l.Items {
		if p.Annotations["gridbid.io/job"] == job && p.Spec.NodeName != "" {
			n++
		}
	}
	return n
}

// StartHeldPods has the kubelets start pods that HeldAnnotations hold.
func (c *Cluster) StartHeldPods(pods []corev1.Pod) {
	c.Helper()
	for _, p := range pods {
		_, err := c.Client.CoreV1().Pods(p.Namespace).Patch(c.Context(), p.Name, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, heldAnnotation), metav1.PatchOptions{})
		c.FailOnError(err)
	}
}

// ObjectsOfJob returns how many Jobs, pods, Services and claims of a job's runs there are.
func (c *Cluster) ObjectsOfJob(job string) (n int) {
	c.Helper()
	count := func(x metav1.ObjectMeta) {
		if strings.HasPrefix(x.Labels["gridbid.io/run"], job+"-") {
			n++
		}
	}
	of := metav1.ListOptions{LabelSelector: "gridbid.io/run"}
	jobs, err := c.Client.BatchV1().Jobs("default").List(c.Context(), of)
	c.FailOnError(err)
	for _, x := range jobs.Items {
		count(x.ObjectMeta)
	}
	pods, err := c.Client.CoreV1().Pods("default").List(c.Context(), of)
	c.FailOnError(err)
	for _, x := range pods.Items {
		count(x.ObjectMeta)
	}
	services, err := c.Client.CoreV1().Services("default").List(c.Context(), of)
	c.FailOnError(err)
	for _, x := range services.Items {
		count(x.ObjectMeta)
	}
	claims, err := c.Client.ResourceV1().ResourceClaims("default").List(c.Context(), of)
	c.FailOnError(err)
	for _, x := range claims.Items {
		count(x.ObjectMeta)
	}
	return n
}
