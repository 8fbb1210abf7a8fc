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

// People work with a cluster as anybody does, and know nothing of the market but
// what its documentation says.
type People struct{ *Cluster }

// In returns the same people for a test of their own.
func (p People) In(t testing.TB) People {
	c := *p.Cluster
	c.TB = t
	return People{&c}
}

// A Wish is a suspended Job in the queue: one pod of four cores, 16 GiB and some
// GPUs that runs for a while; 0 is until it is ended.
type Wish struct {
	Name      string
	GPUs      int64
	Run       time.Duration
	Scheduler string
	ManagedBy string
	Labels    map[string]string // instead of the queue's
	Notes     map[string]string // instead of a run time of ten minutes and a deadline in an hour
	Fails     bool
	Free      bool // it is not suspended: the cluster's own scheduler runs it
	Held      bool // its pods begin when a Kubelet lets them, and are made anew when it does not
}

// Ask creates the Job of a wish.
func (p People) Ask(w Wish) {
	p.Helper()
	waits, again := !w.Free, int32(0)
	limits := quantities(nil)
	if w.GPUs > 0 {
		limits["nvidia.com/gpu"] = *resource.NewQuantity(w.GPUs, resource.DecimalSI)
	}
	if w.Labels == nil {
		w.Labels = map[string]string{"gridbid.io/queue": "night"}
	}
	if w.Notes == nil {
		w.Notes = map[string]string{"gridbid.io/run": "10m", "gridbid.io/within": "1h"}
	}
	notes := map[string]string{}
	if w.Run > 0 {
		notes["plane.test/run"] = w.Run.String()
	}
	if w.Fails {
		notes["plane.test/fails"] = "true"
	}
	if w.Held {
		notes[held], again = "true", 6
	}
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: w.Name, Labels: w.Labels, Annotations: w.Notes},
		Spec: batchv1.JobSpec{Suspend: &waits, BackoffLimit: &again, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: notes},
			Spec: corev1.PodSpec{RestartPolicy: "Never", SchedulerName: w.Scheduler, Containers: []corev1.Container{{
				Name: "main", Image: "registry.example.com/train:1",
				Resources: corev1.ResourceRequirements{Requests: quantities(map[corev1.ResourceName]string{"cpu": "4", "memory": "16Gi"}), Limits: limits},
			}}},
		}},
	}
	if w.ManagedBy != "" {
		j.Spec.ManagedBy = &w.ManagedBy
	}
	_, err := p.Client.BatchV1().Jobs("default").Create(p.Context(), j, metav1.CreateOptions{})
	p.Must(err)
}

// A View is what people see of a Job.
type View struct {
	Gone                      bool
	UID                       string
	Labels                    map[string]string
	Suspended, Held           bool // Held: by a finalizer
	Active, Succeeded, Failed int32
	Started, Completed        bool // it has the time of that
	IsComplete, HasFailed     bool // its condition
	Placed, Reason, Words     string
}

// See looks at a Job.
func (p People) See(name string) (v View) {
	p.Helper()
	j, err := p.Client.BatchV1().Jobs("default").Get(context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return View{Gone: true}
	}
	p.Must(err)
	v = View{UID: string(j.UID), Labels: j.Labels, Suspended: *j.Spec.Suspend, Held: len(j.Finalizers) > 0,
		Active: j.Status.Active, Succeeded: j.Status.Succeeded, Failed: j.Status.Failed,
		Started: j.Status.StartTime != nil, Completed: j.Status.CompletionTime != nil}
	for _, c := range j.Status.Conditions {
		switch c.Type {
		case batchv1.JobComplete:
			v.IsComplete = c.Status == "True"
		case batchv1.JobFailed:
			v.HasFailed = c.Status == "True"
		case "gridbid.io/Placed":
			v.Placed, v.Reason, v.Words = string(c.Status), c.Reason, c.Message
		}
	}
	return v
}

// Await looks at a Job until something holds of it.
func (p People) Await(name, what string, holds func(View) bool) (v View) {
	p.Helper()
	p.Until(name+" is "+what, func() bool { v = p.See(name); return holds(v) }, func() any { return []any{v, p.Events(name)} })
	return v
}

// Until waits until something holds, for three minutes at most, and shows what is
// instead.
func (p People) Until(what string, holds func() bool, shown func() any) {
	p.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("not within three minutes: %s; instead %+v", what, shown())
		}
	}
}

// Events are what was told of a Job, as "reason: message".
func (p People) Events(name string) (all []string) {
	p.Helper()
	l, err := p.Client.CoreV1().Events("default").List(context.Background(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	p.Must(err)
	for _, e := range l.Items {
		all = append(all, e.Reason+": "+e.Message)
	}
	return all
}

// HasEvent fails the test if no event of a Job has this reason and these words.
func (p People) HasEvent(name, reason, words string) {
	p.Helper()
	all := p.Events(name)
	for _, e := range all {
		if strings.HasPrefix(e, reason+": ") && strings.Contains(e, words) {
			return
		}
	}
	p.Errorf("%s: no event %s with %q among %q", name, reason, words, all)
}

// Annotate changes annotations of a Job; null takes one away.
func (p People) Annotate(name, notes string) {
	p.Helper()
	_, err := p.Client.BatchV1().Jobs("default").Patch(p.Context(), name, types.MergePatchType, []byte(`{"metadata":{"annotations":`+notes+`}}`), metav1.PatchOptions{})
	p.Must(err)
}

// Delete deletes a Job and its pods.
func (p People) Delete(name string) {
	p.Helper()
	background := metav1.DeletePropagationBackground
	p.Must(p.Client.BatchV1().Jobs("default").Delete(p.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background}))
}

// Put creates a pod on a node, as no scheduler would: with its node's name and
// without a look at it. It waits for a Kubelet, and runs for a while.
func (p People) Put(name, node string, gpus int64, run time.Duration) {
	p.Helper()
	limits := quantities(nil)
	limits["nvidia.com/gpu"] = *resource.NewQuantity(gpus, resource.DecimalSI)
	_, err := p.Client.CoreV1().Pods("default").Create(p.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{held: "true", "plane.test/run": run.String()}},
		Spec: corev1.PodSpec{NodeName: node, RestartPolicy: "Never", Containers: []corev1.Container{{
			Name: "main", Image: "registry.example.com/notebook:1", Resources: corev1.ResourceRequirements{Limits: limits}}}},
	}, metav1.CreateOptions{})
	p.Must(err)
}

// DeleteNode takes a node out of the cluster.
func (p People) DeleteNode(name string) {
	p.Helper()
	p.Must(p.Client.CoreV1().Nodes().Delete(p.Context(), name, metav1.DeleteOptions{}))
}

// Nodes returns where the pods with a label are, "" for one that waits; those that
// have ended do not count.
func (p People) Nodes(label string) (nodes []string) {
	p.Helper()
	l, err := p.Client.CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{LabelSelector: label})
	p.Must(err)
	for _, x := range l.Items {
		if x.Status.Phase == corev1.PodRunning || x.Status.Phase == corev1.PodPending {
			nodes = append(nodes, x.Spec.NodeName)
		}
	}
	return nodes
}
