//go:build kube

package executor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/protocol"
)

// chat returns a list of replicas of two GPUs, each on its own node and devices.
func chat(kind string, revision uint64, numbers ...int) protocol.RunReplicas {
	b := protocol.RunReplicas{
		Service:  protocol.Service{ID: protocol.ServiceID("chat-" + kind), Wanted: 3, GPUs: 2, Share: 1000, CPU: 4000, Memory: 16 << 10, Task: kubetest.ServiceTask(kind, "chat", "2")},
		Revision: revision, Newest: 3,
	}
	for _, n := range numbers {
		b.Replicas = append(b.Replicas, protocol.Replica{Number: n, Node: fmt.Sprintf("gpu-%03d", n%2), Devices: []int{2 * n, 2*n + 1}, Model: "H100", Power: 800_000})
	}
	return b
}

// podsOfService returns the pods of a service that are not being deleted, by the number of their replica.
func (c *cluster) podsOfService(id protocol.ServiceID, most int) map[int]corev1.Pod {
	c.Helper()
	all := make(map[int]corev1.Pod)
	for n := 1; n <= most; n++ {
		for _, p := range c.podsOf(protocol.ReplicaName(id, n)) {
			if p.DeletionTimestamp == nil {
				all[n] = p
			}
		}
	}
	return all
}

// order has the executor run a list of replicas.
func (a *agent) order(b protocol.RunReplicas) {
	a.FailOnError(a.conn.Send(a.Context(), a.sender.NewMessage(protocol.FromStdTime(time.Now()), "hands/oslo", b)))
}

// running returns a condition: of a list of some revision these replicas run.
func running(revision uint64, numbers ...int) func(protocol.ReplicasRunning) bool {
	return func(b protocol.ReplicasRunning) bool {
		return b.Revision == revision && slices.Equal(b.Running, numbers)
	}
}

// TestReplicasOfAService has a real API server, the real controllers of Deployments and StatefulSets, and
// kwok's kubelets.
func TestReplicasOfAService(t *testing.T) {
	shared := newCluster(t, 2)
	o := shared.StartOracle()
	for _, sharing := range []kube.GPUSharing{kube.SharingDRA, kube.SharingDevicePlugin} { // the first has the rights of both
		kind := map[kube.GPUSharing]string{kube.SharingDRA: "Deployment", kube.SharingDevicePlugin: "StatefulSet"}[sharing]
		t.Run(kind, func(t *testing.T) {
			c := &cluster{Cluster: &kubetest.Cluster{TB: t, ControlPlane: shared.ControlPlane, Config: shared.Config, Client: shared.Client, Dynamic: shared.Dynamic}}
			hub := new(membus.Bus)
			a := c.agent(hub)
			_, stop := c.startExecutor(hub, Config{Sharing: sharing})
			await(a, func(v protocol.Inventory) bool { return len(v.Nodes) == 2 && v.Nodes[0].GPUs == 8 })
			id := protocol.ServiceID("chat-" + kind)
			a.order(chat(kind, 1, 1, 2, 3))
			await(a, running(1, 1, 2, 3))
			pods := c.podsOfService(id, 3)
			for n, p := range pods {
				if want := fmt.Sprintf("gpu-%03d", n%2); p.Spec.NodeName != want || p.Annotations[kube.AnnotationDevices] != fmt.Sprintf("%d,%d", 2*n, 2*n+1) || p.Labels["app"] != "chat" {
					t.Errorf("replica %d is on %s with devices %s", n, p.Spec.NodeName, p.Annotations[kube.AnnotationDevices])
				}
			}
			replaced := pods[2].UID
			c.FailOnError(c.Client.CoreV1().Pods("default").Delete(c.Context(), pods[2].Name, metav1.DeleteOptions{}))
			c.eventually("a deleted pod is made anew where it was", func() bool {
				p := c.podsOfService(id, 3)[2]
				return p.UID != replaced && p.Spec.NodeName == "gpu-000" && p.Annotations[kube.AnnotationDevices] == "4,5" && p.Status.Phase == corev1.PodRunning
			})
			a.order(chat(kind, 2, 1, 3))
			await(a, running(2, 1, 3))
			c.nothingIsLeft(protocol.ReplicaName(id, 2))

			stop()
			kept := c.podsOfService(id, 3)
			_, stop = c.startExecutor(hub, Config{Sharing: sharing, Incarnation: 2})
			held := await(a, func(v protocol.Inventory) bool { return len(v.Nodes) == 2 })
			if len(held.Held) != 0 || held.Nodes[1].OtherCPU != 0 {
				t.Errorf("after a restart replicas are %v, and others hold %d of gpu-001", held.Held, held.Nodes[1].OtherCPU)
			}
			a.order(chat(kind, 2, 1, 3))
			await(a, running(2, 1, 3))
			for n, p := range c.podsOfService(id, 3) {
				if p.UID != kept[n].UID {
					t.Errorf("replica %d has another pod after the restart", n)
				}
			}
			a.order(chat(kind, 3))
			await(a, running(3))
			for n := 1; n <= 3; n++ {
				c.nothingIsLeft(protocol.ReplicaName(id, n))
			}
			refused := chat(kind, 4, 4)
			refused.Service.Task = kubetest.BatchJobTask(0, 1, 2, nil)
			a.order(refused)
			await(a, func(b protocol.ReplicasRunning) bool { return b.Revision == 4 && slices.Equal(b.Lost, []int{4}) })
			stop()
		})
	}
	o.StopAndCheck()
}

// TestAGroupOfPodsIsOneReplica has LeaderWorkerSet's own controller: a replica of four pods runs once all of
// them do, together on its node and devices, and a group that is made anew goes where it was.
func TestAGroupOfPodsIsOneReplica(t *testing.T) {
	c := newCluster(t, 2)
	c.InstallLeaderWorkerSet()
	o := c.StartOracle()
	hub := new(membus.Bus)
	a := c.agent(hub)
	_, stop := c.startExecutor(hub, Config{Sharing: kube.SharingDRA})
	twoNodes := func(v protocol.Inventory) bool { return len(v.Nodes) == 2 && v.Nodes[0].GPUs == 8 }
	await(a, twoNodes)
	list := protocol.RunReplicas{
		Service:  protocol.Service{ID: "llama", Wanted: 2, GPUs: 4, Share: 1000, CPU: 16_000, Memory: 64 << 10, Task: kubetest.EncodeTask(kubetest.GroupOfPods())},
		Revision: 1, Newest: 2, Replicas: []protocol.Replica{
			{Number: 1, Node: "gpu-000", Devices: []int{0, 1, 2, 3}, Model: "H100", Power: 1_600_000},
			{Number: 2, Node: "gpu-001", Devices: []int{4, 5, 6, 7}, Model: "H100", Power: 1_600_000},
		},
	}
	// group returns the pods of a replica that run, if they have its devices, each once.
	group := func(n int) (uids []string) {
		c.Helper()
		var devices []int
		for _, p := range c.podsOf(protocol.ReplicaName("llama", n)) {
			if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && p.Spec.NodeName == list.Replicas[n-1].Node {
				devices, uids = append(devices, kube.DevicesOf(&p)...), append(uids, string(p.UID))
			}
		}
		if slices.Sort(devices); !slices.Equal(devices, list.Replicas[n-1].Devices) {
			return nil
		}
		slices.Sort(uids)
		return uids
	}
	a.order(list)
	await(a, running(1, 1, 2))
	first := group(2)
	if len(first) != 4 || len(group(1)) != 4 {
		t.Fatalf("when both replicas run, pods are %v and %v", group(1), first)
	}
	victim := c.podsOf(protocol.ReplicaName("llama", 2))[0]
	_, err := c.Client.CoreV1().Pods("default").Patch(c.Context(), victim.Name, types.StrategicMergePatchType, []byte(`{"status":{"containerStatuses":[{"name":"main","restartCount":1}]}}`), metav1.PatchOptions{}, "status")
	c.FailOnError(err)
	c.eventually("the group is made anew where it was", func() bool {
		now := group(2)
		return len(now) == 4 && !slices.ContainsFunc(now, func(uid string) bool { return slices.Contains(first, uid) })
	})
	stop()
	kept := group(2)
	_, stop = c.startExecutor(hub, Config{Sharing: kube.SharingDRA, Incarnation: 2})
	await(a, twoNodes)
	fewer := list
	fewer.Revision, fewer.Replicas = 2, list.Replicas[1:]
	a.order(fewer)
	await(a, running(2, 2))
	c.nothingIsLeft(protocol.ReplicaName("llama", 1))
	if now := group(2); !slices.Equal(now, kept) {
		t.Errorf("after a restart the pods are %v; were %v", now, kept)
	}
	fewer.Revision, fewer.Replicas = 3, nil
	a.order(fewer)
	await(a, running(3))
	c.nothingIsLeft(protocol.ReplicaName("llama", 2))
	stop()
	o.StopAndCheck()
}
