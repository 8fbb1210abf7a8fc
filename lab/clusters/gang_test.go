//go:build kube

package clusters

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/internal/kubeenv"
	"github.com/gridbid/gridbid/protocol"
)

// submitGang submits a job of some components whose pods run for a while.
func (s *submitter) submitGang(id string, run time.Duration, all ...protocol.Component) {
	s.Helper()
	now := WallClock()
	j := protocol.Job{Urgency: protocol.UrgencyNow, ID: protocol.JobID(id), Tenant: "vision", Arrival: now, Run: 10 * time.Minute, Deadline: now.Add(2 * time.Hour)}.WithPods(all)
	s.send(protocol.Submit{Job: j, Task: kubetest.BatchJobTask(run, all[0].Pods, all[0].GPUs, nil)})
}

// send sends a message to the coordinator.
func (s *submitter) send(b protocol.Body) {
	s.Helper()
	if err := s.port.Send(s.Context(), s.sender.NewMessage(WallClock(), protocol.Coordinator, b)); err != nil {
		s.Fatal(err)
	}
}

// killAtFirstBinding kills the agent with -9 as soon as a pod of a job is bound, and returns how
// many were bound then.
func killAtFirstBinding(c *kubetest.Cluster, a *agent, job string) int {
	c.Helper()
	c.AwaitFirstBinding(job)
	a.kill()
	return c.BoundPodsOfJob(job)
}

// A gang over four nodes goes through the market to the agent as it is installed, which is killed
// with -9 while it binds. The next process completes the gang, or removes all of it when the job is
// cancelled.
func TestKilledAgentLeavesNoHalfGang(t *testing.T) {
	c := kubetest.New(t, kubeenv.PlaneOptions{})
	c.AddNodes(4, "oslo")
	o := c.StartOracle()
	a, sub := installAgent(t, c.AgentKubeconfig("dra", "default"), "dra", false)
	a.begin()
	worker := protocol.Component{Role: "worker", Pods: 32, GPUs: 1, Share: 1000, CPU: 4000, Memory: 16 << 10}

	sub.submitGang("whole", 15*time.Second, worker)
	t.Logf("killed with %d of 32 pods bound", killAtFirstBinding(c, a, "whole"))
	a.begin()
	sub.await(1, 6*time.Minute)
	if x, ok := sub.ended["whole"].(protocol.Settlement); !ok || x.Site != "oslo" {
		t.Errorf("the first gang ended as %+v", sub.ended["whole"])
	}

	sub.submitGang("cancelled", 0, worker)
	t.Logf("killed with %d of 32 pods bound", killAtFirstBinding(c, a, "cancelled"))
	sub.send(protocol.Cancel{Job: "cancelled"})
	a.begin()
	for end := time.Now().Add(5 * time.Minute); c.ObjectsOfJob("cancelled") > 0; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d objects of the cancelled gang are left", c.ObjectsOfJob("cancelled"))
		}
	}

	if ran := o.StopAndCheck(); ran["whole"] != 32 || ran["cancelled"] != 0 {
		t.Errorf("pods that ran to their end: %v; want 32 of the first gang", ran)
	}
}
