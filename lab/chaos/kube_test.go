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

// The same harm, and the site is a real one: the cluster-agent binary over a
// control plane. It is killed and stopped with all others, and what it has started
// runs on in its cluster. An oracle that watches the cluster says what ran there.
func TestARealSiteLosesNothingAndDoublesNothing(t *testing.T) {
	c := kubetest.New(t, kubeenv.PlaneOptions{}) // skips without GRIDBID_PLANE
	c.AddNodes(2, "oslo")
	oracle := c.StartOracle()
	newStage(t, workload{
		sites:   []string{"oslo"},
		program: []string{"cluster-agent"},
		section: fmt.Sprintf("kubernetes: {kubeconfig: %s, namespaces: [default], sharing: plugin}\ngrid: {price: 55, carbon: 30}", c.AgentKubeconfig("plugin", "default")),
		job: func(n int) string {
			task := kubetest.BatchJobTask(time.Duration(1+n%5)*time.Second, 1, 0, nil)
			return fmt.Sprintf("gpus: %d\ncpu: 4\nmemory: 16\nrun: 1m\ntask: '%s'\n", 1+n%2, task)
		},
		ran: func(*stage) map[protocol.JobID][]string {
			time.Sleep(2 * time.Second) // the oracle watches by itself, and may be late
			out := make(map[protocol.JobID][]string)
			for job, times := range oracle.StopAndCheck() {
				for range times {
					out[protocol.JobID(job)] = append(out[protocol.JobID(job)], "oslo")
				}
			}
			return out
		},
	}).suffer(cmp.Or(*long, 30*time.Second))
}
