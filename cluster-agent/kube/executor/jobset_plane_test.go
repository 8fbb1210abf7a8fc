//go:build kube

package executor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/protocol"
)

// jobSetGang is a launch of a driver and eight workers of four GPUs, two on each of four nodes. The
// workers are two Jobs of four pods; how many that are the executor says, not the task.
func jobSetGang(id string, run time.Duration, notes map[string]string) protocol.Launch {
	pod := func(gpus int) object {
		var job object
		task := kubetest.BatchJobTask(run, 1, gpus, notes)
		if err := json.Unmarshal([]byte(task), &job); err != nil {
			panic(err) // cannot happen: it was encoded a moment ago
		}
		return object{"spec": object{"backoffLimit": 0, "template": job["spec"].(object)["template"]}}
	}
	task := kubetest.EncodeTask(object{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": object{"replicatedJobs": []any{
		object{"name": "worker", "replicas": 2, "template": pod(4)},
		object{"name": "driver", "template": pod(0)},
	}}})
	j := protocol.Job{ID: protocol.JobID(id), Run: time.Hour}.WithPods([]protocol.Component{
		{Role: "driver", Pods: 1, CPU: 4000, Memory: 16 << 10},
		{Role: "worker", Pods: 8, GPUs: 4, Share: 1000, CPU: 4000, Memory: 16 << 10},
	})
	l := protocol.Launch{Job: j, Epoch: 1, Model: "H100", Run: time.Hour, Power: 1_600_000, Task: task, Places: []protocol.Place{{Pods: 1, Node: "gpu-002"}}}
	for i := range 4 {
		l.Places = append(l.Places, protocol.Place{Component: 1, Pods: 2, Node: fmt.Sprintf("gpu-%03d", i), Devices: []int{0, 1, 2, 3, 4, 5, 6, 7}})
	}
	l.Node, l.Devices = l.Places[0].Node, l.Places[0].Devices
	return l
}

// TestJobSetOverFourNodes has JobSet's own controller, with its webhooks.
func TestJobSetOverFourNodes(t *testing.T) {
	c := newCluster(t, 4)
	c.InstallJobSet()
	o := c.StartOracle()
	hub := new(membus.Bus)
	a := c.agent(hub)
	_, stop := c.startExecutor(hub, Config{Sharing: kube.SharingDRA})
	fourNodes(a)

	atFirst := watchFirstBinding(c, "whole")
	a.launch(jobSetGang("whole", 5*time.Second, nil))
	await(a, hasBegun("whole"))
	if n := <-atFirst; n != 9 {
		t.Errorf("when the first pod was bound there were %d of 9", n)
	}
	name, devices := kube.RunName("whole", 1), map[string]int{}
	for _, p := range c.podsOf("whole") {
		job, index := p.Labels["jobset.sigs.k8s.io/job-index"], p.Annotations["batch.kubernetes.io/job-completion-index"]
		role := p.Labels["jobset.sigs.k8s.io/replicatedjob-name"]
		if want := name + "-" + role + "-" + job + "-" + index; p.Spec.Hostname != want || p.Spec.Subdomain != name {
			t.Errorf("pod %s is %s.%s; want %s.%s", p.Name, p.Spec.Hostname, p.Spec.Subdomain, want, name)
		}
		want := map[string]string{"driver00": "gpu-002", "worker00": "gpu-000", "worker01": "gpu-000", "worker02": "gpu-001", "worker03": "gpu-001",
			"worker10": "gpu-002", "worker11": "gpu-002", "worker12": "gpu-003", "worker13": "gpu-003"}[role+job+index]
		if p.Spec.NodeName != want {
			t.Errorf("pod %s of %s is on node %s; want %s", index, role, p.Spec.NodeName, want)
		}
		for _, d := range kube.DevicesOf(&p) {
			devices[fmt.Sprint(p.Spec.NodeName, "/", d)]++
		}
	}
	if len(devices) != 32 {
		t.Errorf("%d devices are given; want 32: %v", len(devices), devices)
	}
	if x := await(a, func(x protocol.Finished) bool { return x.Job == "whole" }); x.Failed != "" {
		t.Errorf("ended as %+v", x)
	}

	a.launch(jobSetGang("fails", time.Second, map[string]string{"plane.test/fails": "true"}))
	if x := await(a, func(x protocol.Finished) bool { return x.Job == "fails" }); !strings.Contains(x.Failed, "Failed") {
		t.Errorf("ended as %+v", x)
	}

	stop()
	dead, stop := c.dyingExecutor(hub, kube.SharingDRA, 4)
	fourNodes(a)
	l := jobSetGang("half", 20*time.Second, nil)
	a.launch(l)
	<-dead
	stop()
	_, stop = c.startExecutor(hub, Config{Sharing: kube.SharingDRA, Incarnation: 2})
	defer stop()
	a.launch(l)
	await(a, hasBegun("half"))
	await(a, func(x protocol.Finished) bool { return x.Job == "half" && x.Failed == "" })

	a.launch(jobSetGang("cancelled", 0, nil))
	await(a, hasBegun("cancelled"))
	a.cancel("cancelled")
	await(a, func(x protocol.Finished) bool { return x.Job == "cancelled" })
	c.nothingIsLeft("cancelled")

	restartsWhole(t, c, a)
	o.StopAndCheck()
}

// restartsWhole has a worker fail once in a JobSet that may begin anew: all nine pods are made and
// bound once more, to the same nodes, and the executor reports neither an end nor a loss.
func restartsWhole(t *testing.T, c *cluster, a *agent) {
	l := jobSetGang("anew", 0, nil)
	l.Task = protocol.Task(strings.Replace(string(l.Task), `"replicatedJobs"`, `"failurePolicy":{"maxRestarts":1},"replicatedJobs"`, 1))
	a.launch(l)
	await(a, hasBegun("anew"))
	first := make(map[types.UID]bool)
	for _, p := range c.podsOf("anew") {
		first[p.UID] = true
	}
	victim := c.podsOf("anew")[0].Name
	_, err := c.Client.CoreV1().Pods("default").Patch(c.Context(), victim, types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"plane.test/run":"1s","plane.test/fails":"true"}}}`), metav1.PatchOptions{})
	c.FailOnError(err)
	c.eventually("nine other pods run", func() bool {
		n := 0
		for _, p := range c.podsOf("anew") {
			if !first[p.UID] && p.Status.Phase == "Running" {
				n++
			}
		}
		return n == 9
	})
	a.cancel("anew")
	x := await(a, func(x protocol.Finished) bool { return x.Job == "anew" })
	if x.Failed != "cancelled" {
		t.Errorf("ended as %+v", x)
	}
	c.nothingIsLeft("anew")
}
