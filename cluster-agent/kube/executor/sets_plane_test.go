//go:build kube

package executor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// overFourNodes is a launch of components over four nodes. Each place is "component pods node devices".
func overFourNodes(id string, task object, components []protocol.Component, places ...string) protocol.Launch {
	for i := range components {
		components[i].CPU, components[i].Memory = 4000, 16<<10
		if components[i].GPUs > 0 {
			components[i].Share = 1000
		}
	}
	l := protocol.Launch{Job: protocol.Job{ID: protocol.JobID(id), Run: time.Hour}.WithPods(components), Epoch: 1, Model: "H100", Run: time.Hour, Power: 1_600_000, Task: kubetest.EncodeTask(task)}
	for _, text := range places {
		var p protocol.Place
		node, first, last := 0, 0, -1
		if _, err := fmt.Sscanf(text, "%d %d %d %d-%d", &p.Component, &p.Pods, &node, &first, &last); err != nil {
			panic(err) // cannot happen: this file wrote it
		}
		for d := first; d <= last; d++ {
			p.Devices = append(p.Devices, d)
		}
		p.Node = fmt.Sprintf("gpu-%03d", node)
		l.Places = append(l.Places, p)
	}
	l.Node, l.Devices = l.Places[0].Node, l.Places[0].Devices
	return l
}

func pyTorchGang(id string, run time.Duration, notes map[string]string) protocol.Launch {
	return overFourNodes(id, kubetest.PyTorchJob(run, notes), []protocol.Component{{Role: "worker", Pods: 3, GPUs: 8}, {Role: "master", Pods: 1, GPUs: 8}},
		"0 1 0 0-7", "0 1 1 0-7", "0 1 2 0-7", "1 1 3 0-7")
}

func mpiGang(id string, run time.Duration, notes map[string]string) protocol.Launch {
	return overFourNodes(id, kubetest.MPIJob(run, notes), []protocol.Component{{Role: "launcher", Pods: 1}, {Role: "worker", Pods: 8, GPUs: 4}},
		"0 1 3 1-0", "1 2 0 0-7", "1 2 1 0-7", "1 2 2 0-7", "1 2 3 0-7")
}

func leaderWorkerGang(id string, _ time.Duration, _ map[string]string) protocol.Launch {
	return overFourNodes(id, kubetest.LeaderWorkerSet(), []protocol.Component{{Role: "leader", Pods: 2, GPUs: 4}, {Role: "worker", Pods: 6, GPUs: 4}},
		"0 1 0 0-3", "0 1 1 0-3", "1 1 0 4-7", "1 1 1 4-7", "1 2 2 0-7", "1 2 3 0-7")
}

// envOf returns a variable of a pod's first container.
func envOf(p *corev1.Pod, name string) string {
	i := slices.IndexFunc(p.Spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == name })
	if i < 0 {
		return ""
	}
	return p.Spec.Containers[0].Env[i].Value
}

// setCluster is four nodes with a controller, an executor and its agent.
func setCluster(t *testing.T, install func(*kubetest.Cluster)) (c *cluster, a *agent, hub *membus.Bus, stop func()) {
	t.Helper()
	c = newCluster(t, 4)
	install(c.Cluster)
	hub = new(membus.Bus)
	a = c.agent(hub)
	_, stop = c.startExecutor(hub, Config{Sharing: kube.SharingDRA})
	fourNodes(a)
	return c, a, hub, stop
}

// runsAsSet launches a gang and returns its pods when it has begun: all existed when the first was
// bound, and together they have each device once.
func (c *cluster) runsAsSet(a *agent, l protocol.Launch) []corev1.Pod {
	c.Helper()
	id := l.Job.ID
	atFirst := watchFirstBinding(c, id)
	a.launch(l)
	await(a, hasBegun(id))
	if n := <-atFirst; n != l.Job.PodCount() {
		c.Errorf("when the first pod of %s was bound there were %d of %d", id, n, l.Job.PodCount())
	}
	pods, devices := c.podsOf(id), map[string]int{}
	for _, p := range pods {
		for _, d := range kube.DevicesOf(&p) {
			devices[fmt.Sprint(p.Spec.NodeName, "/", d)]++
		}
	}
	if len(devices) != 32 || len(pods) != l.Job.PodCount() {
		c.Errorf("%s has %d pods and %d devices; want %d and 32: %v", id, len(pods), len(devices), l.Job.PodCount(), devices)
	}
	return pods
}

// survivesItsAgent has the executor die when four pods of a gang are bound. The next one completes it,
// and removes all of it when it is cancelled.
func (c *cluster) survivesItsAgent(a *agent, hub *membus.Bus, k *podsets.Kind, l protocol.Launch) {
	c.Helper()
	dead, stop := c.dyingExecutor(hub, kube.SharingDRA, 2)
	fourNodes(a)
	a.launch(l)
	select {
	case <-dead:
	case <-time.After(3 * time.Minute):
		c.Fatal("no third binding was tried")
	}
	stop()
	_, stop = c.startExecutor(hub, Config{Sharing: kube.SharingDRA, Incarnation: 2})
	defer stop()
	a.launch(l) // the agent asks how it stands, as it does when it begins anew
	await(a, hasBegun(l.Job.ID))
	a.cancel(l.Job.ID)
	await(a, func(x protocol.Finished) bool { return x.Job == l.Job.ID })
	c.nothingIsLeft(l.Job.ID)
	c.nothingIsLeftOfKind(k, l.Job.ID)
}

// nothingIsLeftOfKind waits until the object of a run is gone, and what its controller made beside pods.
func (c *cluster) nothingIsLeftOfKind(k *podsets.Kind, id protocol.JobID) {
	c.Helper()
	name := kube.RunName(id, 1)
	c.eventually("nothing is left of "+k.Kind+" "+name, func() bool {
		_, err := c.Dynamic.Resource(k.Resource()).Namespace("default").Get(c.Context(), name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return false
		}
		return len(kubetest.ClusterUser{Cluster: c.Cluster}.ObjectsNamed(name)) == 0
	})
}

// TestPyTorchJobOverFourNodes has Kubeflow's own operator, with its webhook.
func TestPyTorchJobOverFourNodes(t *testing.T) {
	c, a, hub, stop := setCluster(t, (*kubetest.Cluster).InstallTrainingOperator)
	o := c.StartOracle()
	for _, p := range c.runsAsSet(a, pyTorchGang("whole", 4*time.Second, nil)) {
		role, index := p.Labels["training.kubeflow.org/replica-type"], p.Labels["training.kubeflow.org/replica-index"]
		node, rank := "gpu-003", "0"
		if role == "worker" {
			node, rank = "gpu-00"+index, fmt.Sprint(index[0]-'0'+1)
		}
		if got := envOf(&p, "RANK"); p.Spec.NodeName != node || got != rank || envOf(&p, "WORLD_SIZE") != "4" || envOf(&p, "MASTER_ADDR") != kube.RunName("whole", 1)+"-master-0" {
			t.Errorf("%s %s is on %s with rank %s, and is told %v", role, index, p.Spec.NodeName, got, p.Spec.Containers[0].Env)
		}
	}
	if x := await(a, func(x protocol.Finished) bool { return x.Job == "whole" }); x.Failed != "" {
		t.Errorf("ended as %+v", x)
	}
	a.launch(pyTorchGang("fails", time.Second, map[string]string{"plane.test/fails": "true"}))
	if x := await(a, func(x protocol.Finished) bool { return x.Job == "fails" }); !strings.Contains(x.Failed, "Failed") {
		t.Errorf("ended as %+v", x)
	}
	stop()
	c.survivesItsAgent(a, hub, &podsets.PyTorchJob, pyTorchGang("half", 0, nil))
	o.StopAndCheck()
}

// TestMPIJobOverFourNodes has Kubeflow's own operator.
func TestMPIJobOverFourNodes(t *testing.T) {
	c, a, hub, stop := setCluster(t, (*kubetest.Cluster).InstallMPIOperator)
	o := c.StartOracle()
	name := kube.RunName("whole", 1)
	for _, p := range c.runsAsSet(a, mpiGang("whole", 4*time.Second, nil)) {
		role, index := p.Labels["training.kubeflow.org/job-role"], p.Labels["training.kubeflow.org/replica-index"]
		node, host := "gpu-003", name+"-launcher"
		if role == "worker" {
			node, host = fmt.Sprintf("gpu-%03d", (index[0]-'0')/2), name+"-worker-"+index
		}
		if p.Spec.NodeName != node || p.Spec.Hostname != host || p.Spec.Subdomain != name {
			t.Errorf("%s %s is on %s as %s.%s; want %s as %s", role, index, p.Spec.NodeName, p.Spec.Hostname, p.Spec.Subdomain, node, host)
		}
	}
	m, err := c.Client.CoreV1().ConfigMaps("default").Get(c.Context(), name+"-config", metav1.GetOptions{})
	c.FailOnError(err)
	if hosts := strings.Fields(m.Data["hostfile"]); len(hosts) != 16 || !strings.HasPrefix(hosts[0], name+"-worker-0."+name) {
		t.Errorf("the list of hosts is %q", m.Data["hostfile"])
	}
	if x := await(a, func(x protocol.Finished) bool { return x.Job == "whole" }); x.Failed != "" {
		t.Errorf("ended as %+v", x)
	}
	a.launch(mpiGang("fails", time.Second, map[string]string{"plane.test/fails": "true"}))
	if x := await(a, func(x protocol.Finished) bool { return x.Job == "fails" }); !strings.Contains(x.Failed, "Failed") {
		t.Errorf("ended as %+v", x)
	}
	stop()
	c.survivesItsAgent(a, hub, &podsets.MPIJob, mpiGang("half", 0, nil))
	c.usersSetSurvivesTheAgent(a, hub)
	o.StopAndCheck()
}

// usersSetSurvivesTheAgent has the executor die when two pods of an MPIJob of the cluster's users are
// bound. The next one completes it in place, and suspends it when it is cancelled.
func (c *cluster) usersSetSurvivesTheAgent(a *agent, hub *membus.Bus) {
	c.Helper()
	dead, stop := c.dyingExecutor(hub, kube.SharingDevicePlugin, 2)
	fourNodes(a)
	user := kubetest.ClusterUser{Cluster: c.Cluster}
	u := user.QueueSet(kubetest.MPIJob(0, nil), "mine")
	var uid types.UID
	c.eventually("its launcher waits, made of the template of before the release", func() bool {
		uid = user.ViewSet(u).GetUID()
		_, err := c.Client.BatchV1().Jobs("default").Get(c.Context(), "mine-launcher", metav1.GetOptions{})
		return err == nil
	})
	l := mpiGang("oslo/"+string(uid), 0, nil)
	l.Task = kubetest.EncodeTask(object{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": object{"name": "mine", "namespace": "default", "annotations": object{kube.AnnotationRelease: uid}}})
	a.launch(l)
	select {
	case <-dead:
	case <-time.After(3 * time.Minute):
		c.Fatal("no third binding was tried")
	}
	stop()
	_, stop = c.startExecutor(hub, Config{Sharing: kube.SharingDevicePlugin, Incarnation: 3})
	defer stop()
	if v := await(a, func(v protocol.Inventory) bool { return len(v.Held) == 1 }); v.Held[0].Launch.Job.ID != l.Job.ID {
		c.Errorf("found %+v", v.Held)
	}
	a.launch(l)
	await(a, hasBegun(l.Job.ID))
	if n := len(c.podsOf(l.Job.ID)); n != 9 {
		c.Errorf("%d pods of it exist; want 9", n)
	}
	a.cancel(l.Job.ID)
	await(a, func(x protocol.Finished) bool { return x.Job == l.Job.ID })
	if now := user.ViewSet(u); now == nil || !podsets.MPIJob.IsSuspended(now.Object) || now.GetLabels()[kube.LabelRun] != "" {
		c.Errorf("its owner has %v", now)
	}
	c.eventually("it has no pods", func() bool { return len(user.NodesOfPods("")) == 0 })
}

// TestLeaderWorkerSetOverFourNodes has LeaderWorkerSet's own controller, with its webhooks.
func TestLeaderWorkerSetOverFourNodes(t *testing.T) {
	c, a, hub, stop := setCluster(t, (*kubetest.Cluster).InstallLeaderWorkerSet)
	o := c.StartOracle()
	at := map[string]string{"0/0": "gpu-000", "1/0": "gpu-001", "0/1": "gpu-000", "0/2": "gpu-001", "0/3": "gpu-002", "1/1": "gpu-002", "1/2": "gpu-003", "1/3": "gpu-003"}
	name, first := kube.RunName("whole", 1), map[types.UID]bool{}
	look := func(p corev1.Pod) string {
		group, worker := p.Labels["leaderworkerset.sigs.k8s.io/group-index"], p.Labels["leaderworkerset.sigs.k8s.io/worker-index"]
		leader := fmt.Sprintf("%s-%s.%s.default", name, group, name)
		if node := at[group+"/"+worker]; p.Spec.NodeName != node || envOf(&p, "LWS_LEADER_ADDRESS") != leader || envOf(&p, "LWS_GROUP_SIZE") != "4" || envOf(&p, "LWS_WORKER_INDEX") != worker {
			t.Errorf("pod %s of group %s is on %s, and is told %v; want %s and %s", worker, group, p.Spec.NodeName, p.Spec.Containers[0].Env, node, leader)
		}
		return group
	}
	pods := c.runsAsSet(a, leaderWorkerGang("whole", 0, nil))
	for _, p := range pods {
		look(p)
		first[p.UID] = true
	}
	// A container that ends has its whole group made anew, which goes to the same places.
	victim := pods[slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Labels["leaderworkerset.sigs.k8s.io/group-index"] == "1" })]
	_, err := c.Client.CoreV1().Pods("default").Patch(c.Context(), victim.Name, types.StrategicMergePatchType, []byte(`{"status":{"containerStatuses":[{"name":"main","restartCount":1}]}}`), metav1.PatchOptions{}, "status")
	c.FailOnError(err)
	c.eventually("the four pods of group 1 run anew", func() bool {
		anew := 0
		for _, p := range c.podsOf("whole") {
			if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && !first[p.UID] && look(p) == "1" {
				anew++
			}
		}
		return anew == 4
	})
	a.cancel("whole")
	if x := await(a, func(x protocol.Finished) bool { return x.Job == "whole" }); x.Failed != "cancelled" {
		t.Errorf("ended as %+v", x)
	}
	c.nothingIsLeft("whole")
	c.nothingIsLeftOfKind(&podsets.LeaderWorkerSet, "whole")
	stop()
	c.survivesItsAgent(a, hub, &podsets.LeaderWorkerSet, leaderWorkerGang("half", 0, nil))
	o.StopAndCheck()
}
