package kubetest

import (
	"context"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A ClusterUser works with a cluster as its users do, and knows about the market only
// what its documentation says.
type ClusterUser struct{ *Cluster }

// WithTest returns the same user for another test or subtest.
func (p ClusterUser) WithTest(t testing.TB) ClusterUser {
	c := *p.Cluster
	c.TB = t
	return ClusterUser{&c}
}

// A JobRequest describes a suspended Job in the queue: one pod with four cores, 16 GiB
// and some GPUs that runs for a while; Run 0 is until it is deleted.
type JobRequest struct {
	Name         string
	GPUs         int64
	Run          time.Duration
	Scheduler    string
	ManagedBy    string
	Labels       map[string]string // instead of the queue's
	Annotations  map[string]string // instead of a run time of ten minutes and a deadline in an hour
	FailsAtEnd   bool
	Unsuspended  bool // it is not suspended: the cluster's own scheduler runs it
	AwaitKubelet bool // its pods wait for a Kubelet, and are re-created when that rejects them
}

// CreateJob creates a Job.
func (p ClusterUser) CreateJob(w JobRequest) {
	p.Helper()
	suspended, retries := !w.Unsuspended, int32(0)
	limits := resourceList(nil)
	if w.GPUs > 0 {
		limits["nvidia.com/gpu"] = *resource.NewQuantity(w.GPUs, resource.DecimalSI)
	}
	if w.Labels == nil {
		w.Labels = map[string]string{"gridbid.io/queue": "night"}
	}
	if w.Annotations == nil {
		w.Annotations = map[string]string{"gridbid.io/run": "10m", "gridbid.io/within": "1h"}
	}
	notes := map[string]string{}
	if w.Run > 0 {
		notes["plane.test/run"] = w.Run.String()
	}
	if w.FailsAtEnd {
		notes["plane.test/fails"] = "true"
	}
	if w.AwaitKubelet {
		notes[heldAnnotation], retries = "true", 6
	}
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: w.Name, Labels: w.Labels, Annotations: w.Annotations},
		Spec: batchv1.JobSpec{Suspend: &suspended, BackoffLimit: &retries, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: notes},
			Spec: corev1.PodSpec{RestartPolicy: "Never", SchedulerName: w.Scheduler, Containers: []corev1.Container{{
				Name: "main", Image: "registry.example.com/train:1",
				Resources: corev1.ResourceRequirements{Requests: resourceList(map[corev1.ResourceName]string{"cpu": "4", "memory": "16Gi"}), Limits: limits},
			}}},
		}},
	}
	if w.ManagedBy != "" {
		j.Spec.ManagedBy = &w.ManagedBy
	}
	_, err := p.Client.BatchV1().Jobs("default").Create(p.Context(), j, metav1.CreateOptions{})
	p.FailOnError(err)
}

// A JobView is what a user sees of a Job.
type JobView struct {
	Deleted                    bool
	UID                        string
	Labels                     map[string]string
	Suspended, HeldByFinalizer bool
	Active, Succeeded, Failed  int32
	Started, Completed         bool // its status has that time
	IsComplete, HasFailed      bool // by its conditions
	Placed, Reason, Message    string
}

// ViewJob reads a Job from the API server.
func (p ClusterUser) ViewJob(name string) (v JobView) {
	p.Helper()
	j, err := p.Client.BatchV1().Jobs("default").Get(context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return JobView{Deleted: true}
	}
	p.FailOnError(err)
	v = JobView{UID: string(j.UID), Labels: j.Labels, Suspended: *j.Spec.Suspend, HeldByFinalizer: len(j.Finalizers) > 0,
		Active: j.Status.Active, Succeeded: j.Status.Succeeded, Failed: j.Status.Failed,
		Started: j.Status.StartTime != nil, Completed: j.Status.CompletionTime != nil}
	for _, c := range j.Status.Conditions {
		switch c.Type {
		case batchv1.JobComplete:
			v.IsComplete = c.Status == "True"
		case batchv1.JobFailed:
			v.HasFailed = c.Status == "True"
		case "gridbid.io/Placed":
			v.Placed, v.Reason, v.Message = string(c.Status), c.Reason, c.Message
		}
	}
	return v
}

// AwaitJob reads a Job until a condition holds, and returns that view.
func (p ClusterUser) AwaitJob(name, what string, holds func(JobView) bool) (v JobView) {
	p.Helper()
	p.AwaitCondition(name+" is "+what, func() bool { v = p.ViewJob(name); return holds(v) }, func() any { return []any{v, p.EventsOfJob(name)} })
	return v
}

// AwaitCondition polls a condition for three minutes at most. If it fails, the message
// contains what shown returns.
func (p ClusterUser) AwaitCondition(what string, holds func() bool, shown func() any) {
	p.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("not within three minutes: %s; instead %+v", what, shown())
		}
	}
}

// EventsOfJob returns the events of a Job, as "reason: message".
func (p ClusterUser) EventsOfJob(name string) (all []string) {
	p.Helper()
	l, err := p.Client.CoreV1().Events("default").List(context.Background(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	p.FailOnError(err)
	for _, e := range l.Items {
		all = append(all, e.Reason+": "+e.Message)
	}
	return all
}

// HasEvent fails the test unless a Job has an event with this reason whose message
// contains words.
func (p ClusterUser) HasEvent(name, reason, words string) {
	p.Helper()
	all := p.EventsOfJob(name)
	for _, e := range all {
		if strings.HasPrefix(e, reason+": ") && strings.Contains(e, words) {
			return
		}
	}
	p.Errorf("%s: no event %s with %q among %q", name, reason, words, all)
}

// AnnotateJob sets annotations of a Job, given as a JSON object; null removes one.
func (p ClusterUser) AnnotateJob(name, notes string) {
	p.Helper()
	_, err := p.Client.BatchV1().Jobs("default").Patch(p.Context(), name, types.MergePatchType, []byte(`{"metadata":{"annotations":`+notes+`}}`), metav1.PatchOptions{})
	p.FailOnError(err)
}

// DeleteJob deletes a Job and its pods.
func (p ClusterUser) DeleteJob(name string) {
	p.Helper()
	background := metav1.DeletePropagationBackground
	p.FailOnError(p.Client.BatchV1().Jobs("default").Delete(p.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background}))
}

// PlacePodOnNode creates a pod that is bound to a node already, without any
// scheduler's check. It waits for a Kubelet, and then runs for a while.
func (p ClusterUser) PlacePodOnNode(name, node string, gpus int64, run time.Duration) {
	p.Helper()
	limits := resourceList(nil)
	limits["nvidia.com/gpu"] = *resource.NewQuantity(gpus, resource.DecimalSI)
	_, err := p.Client.CoreV1().Pods("default").Create(p.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{heldAnnotation: "true", "plane.test/run": run.String()}},
		Spec: corev1.PodSpec{NodeName: node, RestartPolicy: "Never", Containers: []corev1.Container{{
			Name: "main", Image: "registry.example.com/notebook:1", Resources: corev1.ResourceRequirements{Limits: limits}}}},
	}, metav1.CreateOptions{})
	p.FailOnError(err)
}

// DeleteNode deletes a node.
func (p ClusterUser) DeleteNode(name string) {
	p.Helper()
	p.FailOnError(p.Client.CoreV1().Nodes().Delete(p.Context(), name, metav1.DeleteOptions{}))
}

// NodesOfPods returns the nodes of the pods with a label that have not ended; "" for a
// pod that is not bound.
func (p ClusterUser) NodesOfPods(label string) (nodes []string) {
	p.Helper()
	l, err := p.Client.CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{LabelSelector: label})
	p.FailOnError(err)
	for _, x := range l.Items {
		if x.Status.Phase == corev1.PodRunning || x.Status.Phase == corev1.PodPending {
			nodes = append(nodes, x.Spec.NodeName)
		}
	}
	return nodes
}
