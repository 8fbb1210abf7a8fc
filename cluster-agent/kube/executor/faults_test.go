//go:build kube

package executor

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/protocol"
)

// forever is a job that runs until it is cancelled.
func forever(id, node string, devices ...int) protocol.Launch { return job(id, node, devices, 1000, 0) }

// pod returns the only pod of a job.
func (c *cluster) pod(id protocol.JobID) *corev1.Pod {
	c.Helper()
	l, err := c.Client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{LabelSelector: kube.LabelRun + "=" + kube.RunName(id, 1)})
	c.FailOnError(err)
	if len(l.Items) != 1 {
		c.Fatalf("%s has %d pods, want 1", id, len(l.Items))
	}
	return &l.Items[0]
}

func (c *cluster) patchNode(name, patch string) {
	c.Helper()
	_, err := c.Client.CoreV1().Nodes().Patch(c.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	c.FailOnError(err)
}

func isLost(id protocol.JobID, code protocol.Code) func(protocol.Interrupted) bool {
	return func(x protocol.Interrupted) bool { return x.Job == id && x.Why.Code == code }
}

func hasBegun(id protocol.JobID) func(protocol.Started) bool {
	return func(s protocol.Started) bool { return s.Job == id }
}

// One cluster serves all faults: each has a node of its own.
func TestFaults(t *testing.T) {
	c := newCluster(t, 8)
	hub := new(membus.Bus)
	a := c.agent(hub)
	c.startExecutor(hub, Config{Sharing: kube.SharingDevicePlugin})
	await(a, func(v protocol.Inventory) bool {
		ready := 0
		for _, n := range v.Nodes {
			if n.Closed == "" {
				ready++
			}
		}
		return ready == 8
	})
	for _, f := range []struct {
		name string
		run  func(*testing.T, *cluster, *agent)
	}{
		{"a program that fails has ended, and is not lost", failingProgram},
		{"a job that runs too long has ended, and is not lost", overtime},
		{"an evicted pod is lost, and nothing of it is left", eviction},
		{"a node that is gone takes its job along", nodeLoss},
		{"a cordoned or broken node takes nothing new", closedNodes},
		{"foreign usage is reported, and its end", othersPods},
		{"a pod that another scheduler took is lost", takenPod},
		{"where others crowd in, ours gives way", crowdedNode},
		{"a task that requests more than its award is refused", greed},
		{"what cannot be run is refused in words", nonsense},
		{"a job that is cancelled ends", cancelled},
		{"a launch that is sent twice runs once, and is answered twice", twice},
		{"a quota is a refusal in the quota's own words", quota},
		{"an API server that restarts is waited for", restartedServer},
	} {
		t.Run(f.name, func(t *testing.T) {
			c := &cluster{Cluster: &kubetest.Cluster{TB: t, ControlPlane: c.ControlPlane, Config: c.Config, Client: c.Client, Dynamic: c.Dynamic}}
			a.cluster = c
			f.run(t, c, a)
		})
	}
}

func failingProgram(t *testing.T, c *cluster, a *agent) {
	l := job("fails", "gpu-000", []int{0}, 1000, 0)
	l.Task = kubetest.BatchJobTask(500*time.Millisecond, 1, 0, map[string]string{"plane.test/fails": "true"})
	a.launch(l)
	x := await(a, func(x protocol.Finished) bool { return x.Job == "fails" })
	if !strings.Contains(x.Failed, "Failed") {
		t.Errorf("exited %+v", x)
	}
}

func overtime(t *testing.T, c *cluster, a *agent) {
	l := forever("overtime", "gpu-000", 2)
	l.Task = protocol.Task(strings.Replace(string(l.Task), `"backoffLimit":0`, `"backoffLimit":0,"activeDeadlineSeconds":2`, 1))
	a.launch(l)
	await(a, hasBegun("overtime"))
	for {
		switch b := await(a, func(protocol.Body) bool { return true }).(type) {
		case protocol.Finished:
			if b.Job == "overtime" && !strings.Contains(b.Failed, "longer than specified deadline") {
				t.Errorf("exited %+v", b)
			}
			if b.Job == "overtime" {
				return
			}
		case protocol.Interrupted:
			t.Fatalf("lost %+v", b)
		}
	}
}

func eviction(t *testing.T, c *cluster, a *agent) {
	a.launch(forever("evicted", "gpu-000", 1))
	await(a, hasBegun("evicted"))
	p := c.pod("evicted")
	c.FailOnError(c.Client.PolicyV1().Evictions("default").Evict(c.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: "default"}}))
	x := await(a, isLost("evicted", protocol.Evicted))
	if len(x.Draw) == 0 || x.Why.Note == "" {
		t.Errorf("lost %+v", x)
	}
	l, err := c.Client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{LabelSelector: kube.LabelRun + "=" + kube.RunName("evicted", 1)})
	c.FailOnError(err)
	for _, p := range l.Items {
		if !kube.PodEnded(&p) && p.Spec.NodeName != "" {
			t.Errorf("pod %s still runs", p.Name)
		}
	}
}

func nodeLoss(t *testing.T, c *cluster, a *agent) {
	a.launch(forever("stranded", "gpu-001", 0))
	await(a, hasBegun("stranded"))
	c.FailOnError(c.Client.CoreV1().Nodes().Delete(c.Context(), "gpu-001", metav1.DeleteOptions{}))
	await(a, isLost("stranded", protocol.NodeLost))
}

func closedNodes(t *testing.T, c *cluster, a *agent) {
	c.patchNode("gpu-002", `{"spec":{"unschedulable":true}}`)
	c.patchNode("gpu-003", `{"metadata":{"annotations":{"plane.test/broken":"true"}}}`)
	closed := func(name, why string) func(protocol.Inventory) bool {
		return func(v protocol.Inventory) bool {
			for _, n := range v.Nodes {
				if n.Name == name {
					return strings.HasPrefix(n.Closed, why) && (why != "" || n.Closed == "")
				}
			}
			return false
		}
	}
	await(a, func(v protocol.Inventory) bool {
		return closed("gpu-002", "cordoned")(v) && closed("gpu-003", "not ready")(v)
	})
	a.launch(forever("late", "gpu-002", 0))
	await(a, isLost("late", protocol.Evicted))
	c.patchNode("gpu-002", `{"spec":{"unschedulable":null}}`)
	await(a, closed("gpu-002", ""))
}

func othersPods(t *testing.T, c *cluster, a *agent) {
	_, err := c.Client.CoreV1().Pods("default").Create(c.Context(), stranger("notebook", "gpu-004", 2), metav1.CreateOptions{})
	c.FailOnError(err)
	await(a, func(v protocol.Inventory) bool {
		for _, n := range v.Nodes {
			if n.Name == "gpu-004" && n.OtherCPU == 4000 && n.OtherMem == 16<<10 && fmt.Sprint(n.Others) == "[0 0 0 0 0 0 1000 1000]" {
				return true
			}
		}
		return false
	})
	c.FailOnError(c.Client.CoreV1().Pods("default").Delete(c.Context(), "notebook", metav1.DeleteOptions{}))
	await(a, func(v protocol.Inventory) bool {
		for _, n := range v.Nodes {
			if n.Name == "gpu-004" {
				return n.OtherCPU == 0 && len(n.Others) == 0
			}
		}
		return false
	})
}

// stranger is a pod of others, that they have bound already.
func stranger(name, node string, gpus int64) *corev1.Pod {
	r := corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi"), kube.PluginGPU: *resource.NewQuantity(gpus, resource.DecimalSI)}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
		Name: "main", Image: "registry.example.com/notebook:1", Resources: corev1.ResourceRequirements{Requests: r, Limits: r}}}}}
}

// takenPod: the cluster's quota holds our pods back until the rival has bound.
func takenPod(t *testing.T, c *cluster, a *agent) {
	// The rival binds whatever pod of ours appears, to another node.
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	w, err := c.Client.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName="})
	c.FailOnError(err)
	won := make(chan bool, 1)
	go func() {
		for e := range w.ResultChan() {
			p, ok := e.Object.(*corev1.Pod)
			if !ok || !strings.HasPrefix(p.Name, "stolen") || p.Spec.NodeName != "" {
				continue
			}
			err := c.Client.CoreV1().Pods("default").Bind(ctx, &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "gpu-007"}}, metav1.CreateOptions{})
			won <- err == nil
			return
		}
	}()
	a.launch(forever("stolen", "gpu-004", 0))
	if <-won {
		await(a, isLost("stolen", protocol.TakenOver))
		return
	}
	await(a, hasBegun("stolen")) // we were faster; the rival was refused by the server
	if p := c.pod("stolen"); p.Spec.NodeName != "gpu-004" {
		t.Errorf("on %s", p.Spec.NodeName)
	}
}

func crowdedNode(t *testing.T, c *cluster, a *agent) {
	a.launch(forever("first", "gpu-005", 0, 1, 2, 3))
	await(a, hasBegun("first"))
	time.Sleep(1100 * time.Millisecond) // start times are in whole seconds
	a.launch(forever("second", "gpu-005", 4, 5, 6, 7))
	await(a, hasBegun("second"))
	_, err := c.Client.CoreV1().Pods("default").Create(c.Context(), stranger("intruder", "gpu-005", 2), metav1.CreateOptions{})
	c.FailOnError(err)
	await(a, isLost("second", protocol.TakenOver))
	if p := c.pod("first"); kube.PodEnded(p) || p.DeletionTimestamp != nil {
		t.Error("the older job gave way too")
	}
}

func greed(t *testing.T, c *cluster, a *agent) {
	l := forever("greedy", "gpu-006", 0)
	l.Job.CPU = 2000 // its pod asks for four cores
	a.launch(l)
	if x := await(a, isLost("greedy", protocol.ClusterRefused)); !strings.Contains(x.Why.Note, "4000m of CPU, more than the job's 2000m") {
		t.Errorf("lost %+v", x)
	}
	l = forever("greedier", "gpu-006", 0)
	l.Task = kubetest.BatchJobTask(0, 1, 3, nil)
	a.launch(l)
	if x := await(a, isLost("greedier", protocol.ClusterRefused)); !strings.Contains(x.Why.Note, "requests 3 GPUs but the job requests 1") {
		t.Errorf("lost %+v", x)
	}
}

func nonsense(t *testing.T, c *cluster, a *agent) {
	for id, x := range map[string]struct {
		task protocol.Task
		why  string
	}{
		"no task":      {"", "has no task"},
		"no json":      {"{", "not a JSON object"},
		"a deployment": {`{"apiVersion":"apps/v1","kind":"Deployment"}`, "is not supported: want one of batch/v1 Job"},
		"no crd": {kubetest.EncodeTask(map[string]any{"apiVersion": "ray.io/v1", "kind": "RayJob", "spec": map[string]any{"rayClusterSpec": map[string]any{
			"headGroupSpec": map[string]any{"template": map[string]any{"spec": kubetest.PodSpec(nil)}}}}}), "not installed in this cluster"},
		"elsewhere":  {`{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"kube-system"},"spec":{"template":{}}}`, "not served by this site"},
		"no pod":     {`{"apiVersion":"batch/v1","kind":"Job","spec":{"template":{"spec":{"restartPolicy":"Never"}}}}`, "has no containers"},
		"bad object": {kubetest.EncodeTask(map[string]any{"apiVersion": "batch/v1", "kind": "Job", "spec": map[string]any{"parallelism": -1, "template": map[string]any{"spec": kubetest.PodSpec(map[string]any{kube.PluginGPU: "1"})}}}), "Invalid value"},
	} {
		l := forever(id, "gpu-006", 0)
		l.Task = x.task
		a.launch(l)
		if got := await(a, isLost(protocol.JobID(id), protocol.ClusterRefused)); !strings.Contains(got.Why.Note, x.why) {
			t.Errorf("%s: lost because %q; want %q", id, got.Why.Note, x.why)
		}
	}
}

func cancelled(t *testing.T, c *cluster, a *agent) {
	a.launch(forever("unwanted", "gpu-006", 1))
	await(a, hasBegun("unwanted"))
	say := func(id protocol.JobID) {
		c.FailOnError(a.conn.Send(c.Context(), a.sender.NewMessage(protocol.FromStdTime(time.Now()), "hands/oslo", protocol.Cancel{Job: id, Epoch: 1})))
	}
	say("unwanted")
	if x := await(a, func(x protocol.Finished) bool { return x.Job == "unwanted" }); x.Failed != "cancelled" || len(x.Draw) == 0 {
		t.Errorf("exited %+v", x)
	}
	say("unborn")
	await(a, func(x protocol.Finished) bool { return x.Job == "unborn" })
	a.launch(forever("unborn", "gpu-006", 1))
	await(a, func(x protocol.Finished) bool { return x.Job == "unborn" }) // reported once more, and not run
}

func twice(t *testing.T, c *cluster, a *agent) {
	l := forever("double", "gpu-006", 2)
	a.launch(l)
	a.launch(l)
	await(a, hasBegun("double"))
	c.pod("double")
	a.launch(l)
	await(a, hasBegun("double"))
	old := l
	old.Epoch = 0
	a.launch(old)
	c.pod("double")
}

func quota(t *testing.T, c *cluster, a *agent) {
	_, err := c.Client.CoreV1().ResourceQuotas("default").Create(c.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none-left"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"requests.cpu": resource.MustParse("1")}}}, metav1.CreateOptions{})
	c.FailOnError(err)
	defer func() {
		c.FailOnError(c.Client.CoreV1().ResourceQuotas("default").Delete(context.Background(), "none-left", metav1.DeleteOptions{}))
	}()
	limit := time.Now().Add(time.Minute)
	for { // until its controller has counted
		q, err := c.Client.CoreV1().ResourceQuotas("default").Get(c.Context(), "none-left", metav1.GetOptions{})
		if err == nil && len(q.Status.Hard) > 0 || time.Now().After(limit) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	a.launch(forever("poor", "gpu-006", 3))
	if x := await(a, isLost("poor", protocol.ClusterRefused)); !strings.Contains(x.Why.Note, "exceeded quota: none-left") {
		t.Errorf("lost %+v", x)
	}
}

func restartedServer(t *testing.T, c *cluster, a *agent) {
	a.launch(job("through", "gpu-007", []int{0}, 1000, 4*time.Second))
	await(a, hasBegun("through"))
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	dead := make(chan error, 1)
	go func() { dead <- c.KillAndRestart(ctx, "kube-apiserver", 2*time.Second) }()
	time.Sleep(500 * time.Millisecond)
	a.launch(job("meanwhile", "gpu-007", []int{1}, 1000, time.Second)) // while the API server is down
	c.FailOnError(<-dead)
	await(a, func(x protocol.Finished) bool { return x.Job == "meanwhile" && x.Failed == "" })
	for _, b := range a.heard {
		if x, ok := b.(protocol.Interrupted); ok && (x.Job == "through" || x.Job == "meanwhile") {
			t.Errorf("lost %+v", x)
		}
	}
}

func TestRunningObjectsAreAdopted(t *testing.T) {
	c := newCluster(t, 2)
	o := c.StartOracle()
	hub := new(membus.Bus)
	a := c.agent(hub)
	_, stop := c.startExecutor(hub, Config{Sharing: kube.SharingDRA})
	await(a, func(v protocol.Inventory) bool {
		return len(v.Nodes) == 2 && v.Nodes[1].Closed == "" && v.Nodes[1].GPUs == 8
	})
	const jobs = 12
	for i := range jobs {
		a.launch(job(fmt.Sprintf("j%d", i), fmt.Sprintf("gpu-%03d", i%2), []int{i / 2}, 500, 6*time.Second))
		if i == jobs/2 {
			await(a, hasBegun("j2"))
		}
		if i == jobs-3 {
			stop() // in mid-flight: some run, some are created, some are not
		}
	}
	c.startExecutor(hub, Config{Sharing: kube.SharingDRA, Incarnation: 1})
	v := await(a, func(v protocol.Inventory) bool { return len(v.Held) > 0 })
	t.Logf("%d jobs were found", len(v.Held))
	for i := range jobs { // the agent asks how all stand, as it does when it begins anew
		a.launch(job(fmt.Sprintf("j%d", i), fmt.Sprintf("gpu-%03d", i%2), []int{i / 2}, 500, 6*time.Second))
	}
	ended := map[protocol.JobID]bool{}
	await(a, func(x protocol.Finished) bool { ended[x.Job] = true; return len(ended) == jobs })
	for id, n := range o.StopAndCheck() {
		if n != 1 {
			t.Errorf("%s ran %d times", id, n)
		}
	}
}
