//go:build kube

package executor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
			say := func(b protocol.RunReplicas) {
				a.FailOnError(a.conn.Send(a.Context(), a.sender.NewMessage(protocol.FromStdTime(time.Now()), "hands/oslo", b)))
			}
			running := func(revision uint64, numbers ...int) func(protocol.ReplicasRunning) bool {
				return func(b protocol.ReplicasRunning) bool {
					return b.Revision == revision && slices.Equal(b.Running, numbers)
				}
			}
			id := protocol.ServiceID("chat-" + kind)
			say(chat(kind, 1, 1, 2, 3))
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
			say(chat(kind, 2, 1, 3))
			await(a, running(2, 1, 3))
			c.nothingIsLeft(protocol.ReplicaName(id, 2))

			stop()
			kept := c.podsOfService(id, 3)
			_, stop = c.startExecutor(hub, Config{Sharing: sharing, Incarnation: 2})
			held := await(a, func(v protocol.Inventory) bool { return len(v.Nodes) == 2 })
			if len(held.Held) != 0 || held.Nodes[1].OtherCPU != 0 {
				t.Errorf("after a restart replicas are %v, and others hold %d of gpu-001", held.Held, held.Nodes[1].OtherCPU)
			}
			say(chat(kind, 2, 1, 3))
			await(a, running(2, 1, 3))
			for n, p := range c.podsOfService(id, 3) {
				if p.UID != kept[n].UID {
					t.Errorf("replica %d has another pod after the restart", n)
				}
			}
			say(chat(kind, 3))
			await(a, running(3))
			for n := 1; n <= 3; n++ {
				c.nothingIsLeft(protocol.ReplicaName(id, n))
			}
			refused := chat(kind, 4, 4)
			refused.Service.Task = kubetest.BatchJobTask(0, 1, 2, nil)
			say(refused)
			await(a, func(b protocol.ReplicasRunning) bool { return b.Revision == 4 && slices.Equal(b.Lost, []int{4}) })
			stop()
		})
	}
	o.StopAndCheck()
}
