//go:build kube

package clusters

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/internal/kubeenv"
)

// A killedSets is the agent as it is installed, with a cluster whose users have sets for it.
type killedSets struct {
	*agent
	proxy   *kubetest.BindingProxy
	slowest time.Duration // from a restart until no set was in part
}

// Sets of the cluster's users over four of five nodes, of each kind with its own controller. The
// agent's own process is killed with -9 between two of their bindings. The next process completes the
// set; takes all of it down before it is released once more, if a node was lost meanwhile; and leaves
// nothing of it if its owner deleted it meanwhile.
func TestKilledAgentLeavesNoHalfSet(t *testing.T) {
	c := kubetest.New(t, kubeenv.PlaneOptions{})
	c.AddNodes(5, "oslo")
	c.InstallJobSet()
	c.InstallTrainingOperator()
	c.InstallMPIOperator()
	c.InstallLeaderWorkerSet()
	o := c.StartOracle()
	proxy, kubeconfig := c.StartBindingProxy(c.AgentKubeconfig("plugin", "default"))
	a, _ := installAgent(t, kubeconfig, "plugin", true)
	x := &killedSets{agent: a, proxy: proxy}
	x.begin()
	for _, f := range []struct {
		name string
		make func() map[string]any
		pods int
	}{
		{"a PyTorchJob", func() map[string]any { return kubetest.PyTorchJob(0, nil) }, 4},
		{"an MPIJob", func() map[string]any { return kubetest.MPIJob(0, nil) }, 9},
		{"a JobSet", func() map[string]any { return kubetest.JobSet(setPods(0, ""), setPods(0, "4")) }, 9},
		{"a LeaderWorkerSet", kubetest.LeaderWorkerSet, 8},
	} {
		t.Run(f.name, func(t *testing.T) {
			oslo := kubetest.ClusterUser{Cluster: c}.WithTest(t)
			x.completes(oslo, f.make(), f.pods)
			x.takesDown(oslo, f.make())
		})
	}
	o.StopAndCheck()
	t.Logf("no set was in part for longer than %v after a restart", x.slowest.Round(time.Second))
}

// killBetweenBindings has the agent killed when n pods of a set are bound, and the next one is not.
func (x *killedSets) killBetweenBindings(oslo kubetest.ClusterUser, u *kubetest.UserSet, stuck <-chan struct{}, n int) {
	oslo.Helper()
	select {
	case <-stuck:
	case <-time.After(3 * time.Minute):
		oslo.Fatalf("no binding was held: %v", oslo.DescribeSet(u))
	}
	x.kill()
	if got := boundPods(oslo, u); len(got) != n {
		oslo.Fatalf("%d pods are bound where the agent was killed, want %d", len(got), n)
	}
}

// boundPods returns the nodes of the pods of a set that are bound.
func boundPods(oslo kubetest.ClusterUser, u *kubetest.UserSet) []string {
	oslo.Helper()
	run := oslo.ViewSet(u).GetLabels()[kube.LabelRun]
	return slices.DeleteFunc(oslo.NodesOfPods(kube.LabelRun+"="+run), func(node string) bool { return node == "" })
}

// beginAndAwait restarts the agent, and waits until a condition holds.
func (x *killedSets) beginAndAwait(oslo kubetest.ClusterUser, u *kubetest.UserSet, what string, holds func() bool) {
	oslo.Helper()
	since := time.Now()
	x.begin()
	oslo.AwaitCondition(what, holds, func() any { return oslo.DescribeSet(u) })
	x.slowest = max(x.slowest, time.Since(since))
}

// completes has the agent killed when two pods of a set are bound, and the next one bind the rest.
func (x *killedSets) completes(oslo kubetest.ClusterUser, object map[string]any, pods int) {
	oslo.Helper()
	stuck := x.proxy.Limit(2)
	u := oslo.QueueSet(object, "whole")
	x.killBetweenBindings(oslo, u, stuck, 2)
	run := oslo.ViewSet(u).GetLabels()[kube.LabelRun]
	x.proxy.ForwardAll()
	x.beginAndAwait(oslo, u, "all pods are bound", func() bool { return running(oslo, u, pods) != nil })
	if nodes := running(oslo, u, pods); len(nodes) < 4 || oslo.ViewSet(u).GetLabels()[kube.LabelRun] != run {
		oslo.Errorf("its pods are on %v, in run %s after %s", nodes, oslo.ViewSet(u).GetLabels()[kube.LabelRun], run)
	}
	oslo.DeleteSet(u)
	nothingOf(oslo, u)
}

// takesDown has the agent killed when three pods of a set are bound. Then a node of theirs is lost, so
// the next agent has to take the whole set down before it is released over the other nodes. There it is
// killed when one pod is bound, and the owner deletes the set before the next one begins.
func (x *killedSets) takesDown(oslo kubetest.ClusterUser, object map[string]any) {
	oslo.Helper()
	stuck := x.proxy.Limit(3)
	u := oslo.QueueSet(object, "half")
	x.killBetweenBindings(oslo, u, stuck, 3)
	run, lost := oslo.ViewSet(u).GetLabels()[kube.LabelRun], boundPods(oslo, u)[0]
	oslo.DeleteNode(lost)
	stuck = x.proxy.Limit(1)
	x.beginAndAwait(oslo, u, "it is taken down as a whole", func() bool {
		return oslo.ViewSet(u).GetLabels()[kube.LabelRun] != run && !slices.ContainsFunc(oslo.NodesOfPods(kube.LabelRun+"="+run), func(node string) bool { return node != lost })
	})
	oslo.ForgetNode(lost) // no kubelet ends its pods there
	x.killBetweenBindings(oslo, u, stuck, 1)
	if left := oslo.NodesOfPods(kube.LabelRun + "=" + run); len(left) > 0 {
		oslo.Errorf("it was released once more with pods of the run before on %v", left)
	}
	oslo.DeleteSet(u)
	x.proxy.ForwardAll()
	x.beginAndAwait(oslo, u, "nothing of it is left", func() bool { return oslo.ViewSet(u) == nil && len(oslo.NodesOfPods("")) == 0 })
	oslo.AwaitCondition("its controller's objects are gone", func() bool { return len(oslo.ObjectsNamed(u.GetName())) == 0 }, func() any { return oslo.ObjectsNamed(u.GetName()) })
	oslo.AddNode(lost, "oslo")
}
