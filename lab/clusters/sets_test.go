//go:build kube

package clusters

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/cluster-agent/kube/queue"
	"github.com/gridbid/gridbid/internal/kubeenv"
)

// stateIs returns a condition: a set's state in the market begins with a word and contains others.
func stateIs(reason, words string) func(string) bool {
	return func(s string) bool { return strings.HasPrefix(s, reason+": ") && strings.Contains(s, words) }
}

// setPods is a job's pods as their user sees them.
func setPods(run time.Duration, gpus string) map[string]any {
	spec := kubetest.PodSpec(map[string]any{})
	if gpus != "" {
		spec = kubetest.PodSpec(map[string]any{"nvidia.com/gpu": gpus})
	}
	notes := map[string]any{}
	if run > 0 {
		notes["plane.test/run"] = run.String()
	}
	return map[string]any{"metadata": map[string]any{"annotations": notes}, "spec": spec}
}

// Sets that a user created in the site's own cluster, of each kind with its own controller: they wait
// suspended, are released over four nodes at once, wait and are released once more when a node is lost,
// survive a restart of the site, end by their own policy, and are gone when their owner deletes
// them.
func TestUsersSetsOverFourNodes(t *testing.T) {
	t.Parallel()
	x := &queueTestbed{hub: newHub(), sites: map[string]LiveSite{}, stops: map[string]func(){}}
	x.testbed, x.ctx = open(t, x.hub)
	c := kubetest.New(t, kubeenv.PlaneOptions{})
	c.AddNodes(5, "oslo")
	c.InstallJobSet()
	c.InstallTrainingOperator()
	c.InstallMPIOperator()
	c.InstallLeaderWorkerSet()
	x.oslo = kubetest.ClusterUser{Cluster: c}
	x.sites["oslo"] = LiveSite{
		Config: executor.Config{Site: "oslo", Sharing: kube.SharingDevicePlugin}, Kubeconfig: c.AgentKubeconfig("plugin", "default"), DataDir: t.TempDir(),
		Price: 60_000, Carbon: 20_000, Queue: &queue.Config{StatusInterval: 2 * time.Second},
	}
	x.stops["oslo"] = x.testbed.add(x.ctx, t, x.sites["oslo"])
	x.hub.await(t, 1)
	o := c.StartOracle()
	const run = 8 * time.Second
	indexed := func(run time.Duration) map[string]any {
		return map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{}, "spec": map[string]any{
			"completionMode": "Indexed", "parallelism": int64(4), "completions": int64(4), "backoffLimit": int64(6), "template": setPods(run, "8")}}
	}
	for _, f := range []struct {
		name string
		make func(run time.Duration) map[string]any
		pods int
	}{
		{"a Job", indexed, 4},
		{"a JobSet", func(run time.Duration) map[string]any {
			return kubetest.JobSet(setPods(run, ""), setPods(run, "4"))
		}, 9},
		{"a PyTorchJob", func(run time.Duration) map[string]any { return kubetest.PyTorchJob(run, nil) }, 4},
		{"an MPIJob", func(run time.Duration) map[string]any { return kubetest.MPIJob(run, nil) }, 9},
		{"a LeaderWorkerSet", func(time.Duration) map[string]any { return kubetest.LeaderWorkerSet() }, 8},
	} {
		t.Run(f.name, func(t *testing.T) {
			oslo := x.oslo.WithTest(t)
			x.runsInPlace(t, oslo, f.make(run), f.pods, f.name == "a LeaderWorkerSet")
			x.isDeletedByItsOwner(oslo, f.make(0), f.pods)
		})
	}
	o.StopAndCheck()
}

// running returns on which nodes so many pods of a set run, nil if not all do.
func running(oslo kubetest.ClusterUser, u *kubetest.UserSet, pods int) []string {
	oslo.Helper()
	now := oslo.ViewSet(u)
	if now == nil || now.GetLabels()[kube.LabelRun] == "" {
		return nil
	}
	nodes := oslo.NodesOfPods(kube.LabelRun + "=" + now.GetLabels()[kube.LabelRun])
	if len(nodes) != pods || slices.Contains(nodes, "") {
		return nil
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// runsInPlace has a set run over four nodes while its site is restarted, to its own end if it has one.
func (x *queueTestbed) runsInPlace(t *testing.T, oslo kubetest.ClusterUser, object map[string]any, pods int, endless bool) {
	u := oslo.QueueSet(object, "whole")
	var nodes []string
	oslo.AwaitCondition("all pods are bound", func() bool { nodes = running(oslo, u, pods); return nodes != nil }, func() any { return oslo.DescribeSet(u) })
	if len(nodes) < 4 {
		t.Errorf("its pods are on %v", nodes)
	}
	if u.GetKind() != "Job" {
		oslo.AwaitSet(u, "placed", stateIs("Placed", "oslo has it on H100"))
	}
	first := oslo.ViewSet(u).GetLabels()[kube.LabelRun]
	oslo.DeleteNode(nodes[0])
	oslo.AwaitCondition("it is lost as a whole", func() bool { return oslo.ViewSet(u).GetLabels()[kube.LabelRun] != first }, func() any { return oslo.DescribeSet(u) })
	oslo.ForgetNode(nodes[0])
	oslo.AwaitCondition("it runs once more", func() bool { return running(oslo, u, pods) != nil }, func() any { return oslo.DescribeSet(u) })
	oslo.AddNode(nodes[0], "oslo")
	x.restartSite(t, "oslo")
	switch {
	case endless:
	case u.GetKind() == "Job":
		oslo.AwaitJob("whole", "over", over)
	default:
		oslo.AwaitSet(u, "over", stateIs("Finished", "oslo ran it to its end"))
		oslo.HasEvent("whole", "Finished", "kWh")
		oslo.AwaitCondition("no pod of it runs", func() bool { return len(oslo.NodesOfPods("")) == 0 }, func() any { return oslo.DescribeSet(u) })
	}
	oslo.DeleteSet(u)
	nothingOf(oslo, u)
}

// isDeletedByItsOwner has the owner delete a set that runs.
func (x *queueTestbed) isDeletedByItsOwner(oslo kubetest.ClusterUser, object map[string]any, pods int) {
	oslo.Helper()
	u := oslo.QueueSet(object, "unwanted")
	oslo.AwaitCondition("all pods are bound", func() bool { return running(oslo, u, pods) != nil }, func() any { return oslo.DescribeSet(u) })
	oslo.DeleteSet(u)
	nothingOf(oslo, u)
}

// nothingOf waits until a set is gone with all its pods.
func nothingOf(oslo kubetest.ClusterUser, u *kubetest.UserSet) {
	oslo.Helper()
	oslo.AwaitCondition("it is gone with all its pods", func() bool { return oslo.ViewSet(u) == nil && len(oslo.NodesOfPods("")) == 0 }, func() any { return oslo.DescribeSet(u) })
}
