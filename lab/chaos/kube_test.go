//go:build kube

package chaos

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/internal/kubeenv"
	"github.com/gridbid/gridbid/protocol"
)

// The same faults with a real site: the cluster-agent binary over a control plane. It is
// killed and stopped like the others, while the jobs that it started run on in its cluster.
// An oracle that watches the cluster reports what ran there.
func TestClusterAgentRunsEachJobOnceUnderFaults(t *testing.T) {
	c := kubetest.New(t, kubeenv.PlaneOptions{}) // skips without GRIDBID_PLANE
	c.AddNodes(2, "oslo")
	oracle := c.StartOracle()
	newTestbed(t, workload{
		sites:   []string{"oslo"},
		program: []string{"cluster-agent"},
		section: fmt.Sprintf("kubernetes: {kubeconfig: %s, namespaces: [default], sharing: plugin}\ngrid: {price: 55, carbon: 30}", c.AgentKubeconfig("plugin", "default")),
		job: func(n int) string {
			task := kubetest.BatchJobTask(time.Duration(1+n%5)*time.Second, 1, 0, nil)
			return fmt.Sprintf("gpus: %d\ncpu: 4\nmemory: 16\nrun: 1m\ntask: '%s'\n", 1+n%2, task)
		},
		ran: func(*testbed) map[protocol.JobID][]string {
			time.Sleep(2 * time.Second) // the oracle's own watch may be behind
			out := make(map[protocol.JobID][]string)
			for job, times := range oracle.StopAndCheck() {
				for range times {
					out[protocol.JobID(job)] = append(out[protocol.JobID(job)], "oslo")
				}
			}
			return out
		},
	}).runUnderFaults(cmp.Or(*long, 30*time.Second))
}
