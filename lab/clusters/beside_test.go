//go:build kube

package clusters

import (
	"fmt"
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/internal/kubeenv"
)

// A site that uses nodes which the cluster's own scheduler fills too, and on which
// a user places pods without any check. The API server lets all of them bind to
// capacity that is taken. The kubelet gives devices to pods and rejects the later
// pod: pods never run with more devices than there are, and a run that had to yield
// runs later, once.
func TestNodesSharedWithAnotherScheduler(t *testing.T) {
	t.Parallel()
	c := kubetest.ClusterUser{Cluster: kubetest.New(t, kubeenv.PlaneOptions{Scheduler: true})}
	c.AddNodes(2, "")
	o := c.StartOracle()
	o.AllowOtherScheduler()
	kubelet := c.StartKubelet()
	hub := newHub()
	s, ctx := open(t, hub)
	sub := newSubmitter(t, hub)
	s.add(ctx, t, LiveSite{Config: executor.Config{Site: "oslo", Sharing: kube.SharingDevicePlugin, Nodes: kube.AllNodes}, Kubeconfig: c.AgentKubeconfig("plugin", "default"), Price: 40_000, Carbon: 30_000})
	hub.await(t, 1)
	const jobs = 24
	for i := range jobs {
		sub.submit(fmt.Sprintf("job-%02d", i), 1, 1000, 3*time.Second, kubetest.HeldAnnotations())
		c.CreateJob(kubetest.JobRequest{Name: fmt.Sprintf("others-%02d", i), GPUs: 1, Run: 2 * time.Second, Unsuspended: true, AwaitKubelet: true, Labels: map[string]string{}})
	}
	bound := func() (n int) {
		for _, node := range c.NodesOfPods("") {
			if node != "" {
				n++
			}
		}
		return n
	}
	c.AwaitCondition("both nodes are full", func() bool { return bound() >= 16 }, func() any { return c.NodesOfPods("") })
	for i := range 4 {
		c.PlacePodOnNode(fmt.Sprintf("blind-%d", i), fmt.Sprintf("gpu-%03d", i%2), 4, time.Second)
		time.Sleep(500 * time.Millisecond)
	}
	sub.await(jobs, 5*time.Minute)
	for i := range jobs {
		c.AwaitJob(fmt.Sprintf("others-%02d", i), "complete", func(v kubetest.JobView) bool { return v.IsComplete })
	}
	time.Sleep(2 * time.Second) // the oracle hears by itself, and perhaps later
	ran := o.StopAndCheck()
	for i := range jobs {
		if job := fmt.Sprintf("job-%02d", i); ran[job] != 1 {
			t.Errorf("%s ran %d times to its end", job, ran[job])
		}
	}
	if o.OvercommitEvents == 0 || kubelet.RefusedPods() == 0 {
		t.Errorf("at %d events more was bound to a node than it has, and kubelets refused %d pods; want some of both", o.OvercommitEvents, kubelet.RefusedPods())
	}
	t.Logf("%d jobs of ours and %d of others; the oracle saw %d events, at %d of which more was bound to a node than it has; kubelets refused %d pods", len(ran), jobs, o.Events, o.OvercommitEvents, kubelet.RefusedPods())
}
