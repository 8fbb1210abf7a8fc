//go:build kube

package executor

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/protocol"
)

// elasticAt is a launch of an elastic job that may be paused, on so many pods of eight GPUs, each on
// a node of its own. Its pods run for a while; 0: until they are stopped.
func elasticAt(pods int, epoch uint64, run time.Duration) protocol.Launch {
	j := protocol.Job{ID: "elastic", Run: time.Hour, Pause: time.Minute, Speed: []protocol.SpeedPoint{{Pods: 1, Speed: 1000}, {Pods: 4, Speed: 3200}}}.
		WithPods([]protocol.Component{{Role: "worker", Pods: 1, GPUs: 8, Share: 1000, CPU: 4000, Memory: 16 << 10}}).AtPods(pods)
	notes := map[string]any{}
	if run > 0 {
		notes["plane.test/run"] = run.String()
	}
	l := protocol.Launch{Job: j, Epoch: epoch, Model: "H100", Run: j.Run, Power: 1_600_000, Task: kubetest.EncodeTask(map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "spec": map[string]any{"backoffLimit": 0, "template": map[string]any{
			"metadata": map[string]any{"annotations": notes}, "spec": kubetest.PodSpec(map[string]any{"nvidia.com/gpu": "8"})}}})}
	for i := range pods {
		l.Places = append(l.Places, protocol.Place{Pods: 1, Node: fmt.Sprintf("gpu-%03d", i), Devices: []int{0, 1, 2, 3, 4, 5, 6, 7}})
	}
	l.Node, l.Devices = l.Places[0].Node, l.Places[0].Devices
	return l
}

// jobOfEpoch returns the Job of an epoch of the elastic job, and its pods that are not gone.
func (c *cluster) jobOfEpoch(epoch uint64) (*batchv1.Job, []corev1.Pod) {
	c.Helper()
	name := kube.RunName("elastic", epoch)
	j, err := c.Client.BatchV1().Jobs("default").Get(c.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	c.FailOnError(err)
	l, err := c.Client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{LabelSelector: kube.LabelRun + "=" + name})
	c.FailOnError(err)
	return j, l.Items
}

// runsOn checks that an epoch of the elastic job runs on so many pods: one Indexed Job with that many
// completions, whose pods know their number.
func (c *cluster) runsOn(a *agent, l protocol.Launch) {
	c.Helper()
	pods := len(l.Places)
	a.launch(l)
	await(a, func(s protocol.Started) bool { return s.Job == "elastic" && s.Epoch == l.Epoch })
	j, all := c.jobOfEpoch(l.Epoch)
	if len(all) != pods || *j.Spec.Completions != int32(pods) || *j.Spec.Parallelism != int32(pods) || *j.Spec.CompletionMode != batchv1.IndexedCompletion || *j.Spec.Suspend {
		c.Errorf("epoch %d has %d pods and the spec %+v; want %d", l.Epoch, len(all), j.Spec, pods)
	}
	nodes := map[string]bool{}
	for _, p := range all {
		nodes[p.Spec.NodeName] = true
		if got := envOf(&p, "WORLD_SIZE"); got != fmt.Sprint(pods) {
			c.Errorf("epoch %d: a pod is told that there are %q", l.Epoch, got)
		}
	}
	if len(nodes) != pods {
		c.Errorf("epoch %d is on %v", l.Epoch, nodes)
	}
}

// pause asks for a checkpoint.
func (a *agent) pause(epoch uint64) {
	a.Helper()
	a.FailOnError(a.conn.Send(a.Context(), a.sender.NewMessage(protocol.FromStdTime(time.Now()), "hands/oslo", protocol.Cancel{Job: "elastic", Epoch: epoch, Checkpoint: true})))
}

// holdPod sets the finalizers of a pod, given in JSON.
func (c *cluster) holdPod(name, finalizers string) {
	c.Helper()
	_, err := c.Client.CoreV1().Pods("default").Patch(c.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`), metav1.PatchOptions{})
	c.FailOnError(err)
}

// isPausedBy checks that an epoch ended by a pause, with less than its run left, and that nothing of
// it holds anything.
func (c *cluster) isPausedBy(a *agent, l protocol.Launch) protocol.Finished {
	c.Helper()
	x := await(a, func(x protocol.Finished) bool { return x.Job == "elastic" && x.Epoch == l.Epoch })
	if x.Left <= l.Run-10*time.Minute || x.Left >= l.Run || x.Failed != "" || x.Stopped || len(x.Draw) == 0 {
		c.Errorf("epoch %d of a run of %v was paused as %+v", l.Epoch, l.Run, x)
	}
	j, pods := c.jobOfEpoch(l.Epoch)
	if len(pods) > 0 || j != nil && !*j.Spec.Suspend { // the Job itself is removed after a while
		c.Errorf("epoch %d was paused, and has %d pods of %+v", l.Epoch, len(pods), j)
	}
	return x
}

// An elastic job shrinks from four pods to one and grows to two, at checkpoints, with the real Job
// controller. The executor is killed while it pauses. A paused Job is removed after a while, and a
// Job that cannot be paused runs on.
func TestElasticJobChangesItsNumberOfPods(t *testing.T) {
	c := newCluster(t, 4)
	o := c.StartOracle()
	hub := new(membus.Bus)
	a := c.agent(hub)
	_, stop := c.startExecutor(hub, Config{Sharing: kube.SharingDRA})
	fourNodes(a)
	first := elasticAt(4, 1, 0)
	c.runsOn(a, first)
	a.pause(1)
	c.isPausedBy(a, first)
	a.launch(first) // a question, which is answered with the outcome
	c.isPausedBy(a, first)

	second := elasticAt(1, 2, 0)
	c.runsOn(a, second)
	_, pods := c.jobOfEpoch(2)
	c.holdPod(pods[0].Name, `["plane.test/saves"]`) // it takes its time to save
	a.pause(2)
	c.eventually("it is being paused", func() bool { j, _ := c.jobOfEpoch(2); return *j.Spec.Suspend })
	stop()
	_, stop = c.startExecutor(hub, Config{Sharing: kube.SharingDRA, Incarnation: 1, FinishedTTL: 5 * time.Second})
	defer stop()
	if v := await(a, func(v protocol.Inventory) bool { return len(v.Held) > 0 }); v.Held[0].Launch.Epoch != 2 {
		t.Errorf("found %+v", v.Held)
	}
	a.pause(2) // the agent repeats it until it is answered
	c.holdPod(pods[0].Name, "null")
	was := c.isPausedBy(a, second)

	third := elasticAt(2, 3, 8*time.Second)
	c.runsOn(a, third)
	if x := await(a, func(x protocol.Finished) bool { return x.Job == "elastic" && x.Epoch == 3 }); x.Left != 0 || x.Failed != "" {
		t.Errorf("the last part ended as %+v", x)
	}
	a.launch(second) // a late repetition
	if again := c.isPausedBy(a, second); again.Left != was.Left {
		t.Errorf("asked again, %v are left of the second part; before it was %v", again.Left, was.Left)
	}
	c.eventually("paused Jobs are removed", func() bool {
		one, _ := c.jobOfEpoch(1)
		two, _ := c.jobOfEpoch(2)
		return one == nil && two == nil
	})

	fixed := gangOfFour("fixed", 0, nil)
	a.launch(fixed)
	await(a, hasBegun("fixed"))
	a.FailOnError(a.conn.Send(a.Context(), a.sender.NewMessage(protocol.FromStdTime(time.Now()), "hands/oslo", protocol.Cancel{Job: "fixed", Epoch: 1, Checkpoint: true})))
	await(a, hasBegun("fixed")) // it runs on, and says so
	a.cancel("fixed")
	await(a, func(x protocol.Finished) bool { return x.Job == "fixed" && x.Stopped })
	o.StopAndCheck()
}
