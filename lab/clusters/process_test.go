//go:build kube

package clusters

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/internal/kubeenv"
)

// The agent as it is installed, over a hub with accounts, in a cluster whose own
// scheduler places other pods all the time. It is killed with -9
// with jobs running, twice. Each job ends once, and no node is ever overcommitted:
// the other scheduler uses only nodes that do not belong to the site.
func TestKilledAgentBesideAnotherScheduler(t *testing.T) {
	t.Parallel()
	c := kubetest.ClusterUser{Cluster: kubetest.New(t, kubeenv.PlaneOptions{Scheduler: true})}
	c.AddNodes(4, "oslo")
	for i := range 2 {
		c.AddNode(fmt.Sprintf("shared-%d", i), "")
	}
	o := c.StartOracle()
	a, sub := installAgent(t, c.AgentKubeconfig("plugin", "default"), "plugin", true)
	a.begin()
	c.CreateJob(kubetest.JobRequest{Name: "in-the-queue", GPUs: 1, Run: 6 * time.Second})
	const jobs = 40
	for i := range jobs {
		sub.submit(fmt.Sprintf("job-%02d", i), 1, 1000, 5*time.Second)
		c.CreateJob(kubetest.JobRequest{Name: fmt.Sprintf("others-%02d", i), GPUs: 1, Run: 3 * time.Second, Unsuspended: true, Labels: map[string]string{}})
		if i == 15 || i == 30 {
			time.Sleep(4 * time.Second) // some run, some are bound, some wait
			a.kill()
			time.Sleep(time.Second)
			a.begin()
		}
	}
	sub.await(jobs, 5*time.Minute)
	c.AwaitJob("in-the-queue", "over", over)
	for i := range jobs {
		name := fmt.Sprintf("others-%02d", i)
		if v := c.AwaitJob(name, "complete", func(v kubetest.JobView) bool { return v.IsComplete }); v.Failed > 0 {
			t.Errorf("%s: %+v", name, v)
		}
	}
	time.Sleep(2 * time.Second) // the oracle hears by itself, and perhaps later
	ran := o.StopAndCheck()
	for i := range jobs {
		if job := fmt.Sprintf("job-%02d", i); ran[job] != 1 {
			t.Errorf("%s ran %d times to its end", job, ran[job])
		}
	}
	for _, r := range c.AllFinishedPods() {
		if (r.Job != "") == strings.HasPrefix(r.Node, "shared-") {
			t.Errorf("%+v: it has no place there", r)
		}
	}
	t.Logf("%d jobs of ours and %d of others; at most %d pods at once; the oracle saw %d events", len(ran), jobs, o.MaxBoundPods, o.Events)
}
