//go:build kube

package executor

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/protocol"
)

// gangOfFour is a launch of four pods of eight GPUs, on four nodes.
func gangOfFour(id string, run time.Duration, notes map[string]string) protocol.Launch {
	j := protocol.Job{ID: protocol.JobID(id), Run: time.Hour}.WithPods([]protocol.Component{{Role: "worker", Pods: 4, GPUs: 8, Share: 1000, CPU: 4000, Memory: 16 << 10}})
	l := protocol.Launch{Job: j, Epoch: 1, Model: "H100", Run: time.Hour, Power: 1_600_000, Task: kubetest.BatchJobTask(run, 4, 8, notes)}
	for i := range 4 {
		l.Places = append(l.Places, protocol.Place{Pods: 1, Node: fmt.Sprintf("gpu-%03d", i), Devices: []int{0, 1, 2, 3, 4, 5, 6, 7}})
	}
	l.Node, l.Devices = l.Places[0].Node, l.Places[0].Devices
	return l
}

// podsOf returns the pods of a job's first epoch.
func (c *cluster) podsOf(id protocol.JobID) []corev1.Pod {
	c.Helper()
	l, err := c.Client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{LabelSelector: kube.LabelRun + "=" + kube.RunName(id, 1)})
	c.FailOnError(err)
	return l.Items
}

// eventually waits until what is asked holds, and says what it was that did not.
func (c *cluster) eventually(what string, holds func() bool) {
	c.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			c.Fatal("this did not come true: " + what)
		}
	}
}

// nothingIsLeft waits until no object of a run is in the cluster.
func (c *cluster) nothingIsLeft(id protocol.JobID) {
	c.Helper()
	run := metav1.ListOptions{LabelSelector: kube.LabelRun + "=" + kube.RunName(id, 1)}
	c.eventually("nothing is left of "+string(id), func() bool {
		jobs, err := c.Client.BatchV1().Jobs("default").List(c.Context(), run)
		c.FailOnError(err)
		services, err := c.Client.CoreV1().Services("default").List(c.Context(), run)
		c.FailOnError(err)
		claims, err := c.Client.ResourceV1().ResourceClaims("default").List(c.Context(), run)
		c.FailOnError(err)
		templates, err := c.Client.ResourceV1().ResourceClaimTemplates("default").List(c.Context(), run)
		c.FailOnError(err)
		return len(c.podsOf(id))+len(jobs.Items)+len(services.Items)+len(claims.Items)+len(templates.Items) == 0
	})
}

// fourNodes waits until all four nodes are offered.
func fourNodes(a *agent) {
	a.Helper()
	await(a, func(v protocol.Inventory) bool {
		open := 0
		for _, n := range v.Nodes {
			if n.Closed == "" && n.GPUs == 8 {
				open++
			}
		}
		return open == 4
	})
}

// TestGangOverFourNodes has a real API server, a real Job controller and kwok's kubelets.
func TestGangOverFourNodes(t *testing.T) {
	c := newCluster(t, 4)
	o := c.StartOracle()
	for _, sharing := range []kube.GPUSharing{kube.SharingDRA, kube.SharingDevicePlugin} {
		t.Run(string(sharing), func(t *testing.T) {
			c := &cluster{Cluster: &kubetest.Cluster{TB: t, ControlPlane: c.ControlPlane, Config: c.Config, Client: c.Client, Dynamic: c.Dynamic}}
			hub := new(membus.Bus)
			a := c.agent(hub)
			_, stop := c.startExecutor(hub, Config{Sharing: sharing})
			defer stop()
			fourNodes(a)
			runsWhole(t, c, a, sharing)
			failsAsOne(t, c, a, sharing)
		})
	}
	t.Run("its last pod never starts", func(t *testing.T) {
		c := &cluster{Cluster: &kubetest.Cluster{TB: t, ControlPlane: c.ControlPlane, Config: c.Config, Client: c.Client, Dynamic: c.Dynamic}}
		hub := new(membus.Bus)
		a := c.agent(hub)
		_, stop := c.startExecutor(hub, Config{Sharing: kube.SharingDevicePlugin, StartTimeout: 40 * time.Second})
		defer stop()
		fourNodes(a)
		waitsForItsLastPod(t, c, a)
	})
	o.StopAndCheck()
}

// runsWhole launches a gang and looks at what its pods know, and at its end and cancellation.
func runsWhole(t *testing.T, c *cluster, a *agent, sharing kube.GPUSharing) {
	id := protocol.JobID("whole-" + string(sharing))
	atFirst := watchFirstBinding(c, id)
	a.launch(gangOfFour(string(id), 4*time.Second, nil))
	await(a, hasBegun(id))
	if n := <-atFirst; n != 4 {
		t.Errorf("when the first pod was bound there were %d of 4", n)
	}
	name := kube.RunName(id, 1)
	for _, p := range c.podsOf(id) {
		i := p.Annotations["batch.kubernetes.io/job-completion-index"]
		if p.Spec.NodeName != "gpu-00"+i || p.Spec.Hostname != name+"-"+i || p.Spec.Subdomain != name || len(p.Spec.SchedulingGates) > 0 {
			t.Errorf("pod %s is %s.%s on node %s, with gates %v", p.Name, p.Spec.Hostname, p.Spec.Subdomain, p.Spec.NodeName, p.Spec.SchedulingGates)
		}
		if p.Annotations[kube.AnnotationDevices] != "0,1,2,3,4,5,6,7" {
			t.Errorf("pod %s has devices %q", p.Name, p.Annotations[kube.AnnotationDevices])
		}
	}
	s, err := c.Client.CoreV1().Services("default").Get(c.Context(), name, metav1.GetOptions{})
	c.FailOnError(err)
	if s.Spec.ClusterIP != "None" || !s.Spec.PublishNotReadyAddresses || s.Spec.Selector[kube.LabelRun] != name {
		t.Errorf("its service is %+v", s.Spec)
	}
	x := await(a, func(x protocol.Finished) bool { return x.Job == id })
	drew := protocol.Millijoules(0)
	for _, s := range x.Draw {
		drew += s.Energy
	}
	if x.Failed != "" || drew < 3*1_600_000 {
		t.Errorf("ended as %+v; want four seconds of 1.6 kW, once", x)
	}

	id = protocol.JobID("cancelled-" + string(sharing))
	a.launch(gangOfFour(string(id), 0, nil))
	await(a, hasBegun(id))
	a.cancel(id)
	await(a, func(x protocol.Finished) bool { return x.Job == id })
	c.nothingIsLeft(id)
}

// cancel ends a job.
func (a *agent) cancel(id protocol.JobID) {
	a.Helper()
	a.FailOnError(a.conn.Send(a.Context(), a.sender.NewMessage(protocol.FromStdTime(time.Now()), "hands/oslo", protocol.Cancel{Job: id, Epoch: 1})))
}

// watchFirstBinding returns how many pods of a job exist when the first of them is bound.
func watchFirstBinding(c *cluster, id protocol.JobID) <-chan int {
	c.Helper()
	w, err := c.Client.CoreV1().Pods("default").Watch(c.Context(), metav1.ListOptions{LabelSelector: kube.LabelRun + "=" + kube.RunName(id, 1)})
	c.FailOnError(err)
	out := make(chan int, 1)
	go func() {
		defer w.Stop()
		seen := make(map[types.UID]bool)
		for e := range w.ResultChan() {
			p, ok := e.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			seen[p.UID] = true
			if p.Spec.NodeName != "" {
				out <- len(seen)
				return
			}
		}
	}()
	return out
}

// waitsForItsLastPod has kubelets that start three pods of four: the gang has not begun, and
// when its time is over nothing of it is left.
func waitsForItsLastPod(t *testing.T, c *cluster, a *agent) {
	const id = "late"
	a.launch(gangOfFour(id, 0, kubetest.HeldAnnotations()))
	c.eventually("all pods are bound", func() bool {
		bound := 0
		for _, p := range c.podsOf(id) {
			if p.Spec.NodeName != "" {
				bound++
			}
		}
		return bound == 4
	})
	c.StartHeldPods(c.podsOf(id)[:3])
	x := await(a, isLost(id, protocol.NotStarted))
	if !strings.Contains(x.Why.Note, "of 4 pods 4 exist; not running: ") || len(x.Draw) == 0 {
		t.Errorf("lost %+v", x)
	}
	for _, b := range a.heard {
		if s, ok := b.(protocol.Started); ok && s.Job == id {
			t.Error("a gang of which three pods run was reported as started")
		}
	}
	c.nothingIsLeft(id)
}

// failsAsOne has pods that fail: the Job's own policy ends all of it, and the gang has failed once.
func failsAsOne(t *testing.T, c *cluster, a *agent, sharing kube.GPUSharing) {
	id := protocol.JobID("fails-" + string(sharing))
	a.launch(gangOfFour(string(id), time.Second, map[string]string{"plane.test/fails": "true"}))
	x := await(a, func(x protocol.Finished) bool { return x.Job == id })
	if !strings.Contains(x.Failed, "Failed") {
		t.Errorf("ended as %+v", x)
	}
	for _, p := range c.podsOf(id) {
		if !kube.PodEnded(&p) {
			t.Errorf("pod %s still runs", p.Name)
		}
	}
}

// A cut lets some bindings through and then nothing at all, as if the agent's process were
// killed between two of them.
type cut struct {
	http.RoundTripper
	mu   sync.Mutex
	left int
	dead chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (x *cut) RoundTrip(r *http.Request) (*http.Response, error) {
	x.mu.Lock()
	if strings.HasSuffix(r.URL.Path, "/binding") {
		if x.left--; x.left == -1 {
			close(x.dead)
		}
	}
	dead := x.left < 0
	x.mu.Unlock()
	if dead {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return x.RoundTripper.RoundTrip(r)
}

// dyingExecutor starts an executor that is dead after so many bindings, and returns when it is.
func (c *cluster) dyingExecutor(hub *membus.Bus, sharing kube.GPUSharing, bindings int) (dead <-chan struct{}, stop func()) {
	c.Helper()
	x := &cut{left: bindings, dead: make(chan struct{})}
	at, err := clientcmd.BuildConfigFromFlags("", c.rights(sharing))
	c.FailOnError(err)
	at.QPS = -1
	at.Wrap(func(rt http.RoundTripper) http.RoundTripper { x.RoundTripper = rt; return x })
	_, stop = c.startExecutor(hub, Config{Sharing: sharing, Client: kubernetes.NewForConfigOrDie(at), Dynamic: dynamic.NewForConfigOrDie(at)})
	return x.dead, stop
}

// The agent dies when two pods of four are bound. The next one completes the gang, or removes
// all of it, as its own agent says; it never stays half.
func TestAgentKilledBetweenBindingsOfAGang(t *testing.T) {
	c := newCluster(t, 4)
	o := c.StartOracle()
	for _, tc := range []struct {
		name string
		then func(a *agent, l protocol.Launch)
	}{
		{"is completed", func(a *agent, l protocol.Launch) {
			a.launch(l) // the agent asks how it stands, as it does when it begins anew
			await(a, hasBegun(l.Job.ID))
			await(a, func(x protocol.Finished) bool { return x.Job == l.Job.ID && x.Failed == "" })
		}},
		{"is removed", func(a *agent, l protocol.Launch) {
			a.cancel(l.Job.ID)
			await(a, func(x protocol.Finished) bool { return x.Job == l.Job.ID })
			a.nothingIsLeft(l.Job.ID)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &cluster{Cluster: &kubetest.Cluster{TB: t, ControlPlane: c.ControlPlane, Config: c.Config, Client: c.Client, Dynamic: c.Dynamic}, file: c.file}
			hub := new(membus.Bus)
			a := c.agent(hub)
			dead, stop := c.dyingExecutor(hub, kube.SharingDRA, 2)
			fourNodes(a)
			l := gangOfFour("half-"+strings.Fields(tc.name)[1], 20*time.Second, nil)
			a.launch(l)
			select {
			case <-dead:
			case <-time.After(3 * time.Minute):
				t.Fatal("no third binding was tried")
			}
			c.eventually("two pods are bound", func() bool {
				bound := 0
				for _, p := range c.podsOf(l.Job.ID) {
					if p.Spec.NodeName != "" {
						bound++
					}
				}
				return bound == 2
			})
			stop()
			_, stop = c.startExecutor(hub, Config{Sharing: kube.SharingDRA, Incarnation: 1})
			defer stop()
			v := await(a, func(v protocol.Inventory) bool { return len(v.Held) == 1 })
			if got := v.Held[0].Launch; got.Job.ID != l.Job.ID || len(got.Places) != 4 {
				t.Errorf("found %+v", v.Held)
			}
			tc.then(a, l)
		})
	}
	o.StopAndCheck()
}

// A gang's pods cannot be bound by anybody while they wait for each other.
func TestAPIServerBindsNoPodBehindTheGangsGate(t *testing.T) {
	c := newCluster(t, 1)
	p := waiting("gated", kube.SchedulerName, nil)
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: kube.GateGang}}
	p, err := c.Client.CoreV1().Pods("default").Create(c.Context(), p, metav1.CreateOptions{})
	c.FailOnError(err)
	err = c.Client.CoreV1().Pods("default").Bind(context.Background(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID},
		Target: corev1.ObjectReference{Kind: "Node", Name: "gpu-000"}}, metav1.CreateOptions{})
	if !apierrors.IsConflict(err) {
		t.Errorf("bound: %v", err)
	}
}
