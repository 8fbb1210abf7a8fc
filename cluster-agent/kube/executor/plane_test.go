//go:build kube

package executor

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/internal/kubeenv"
	"github.com/gridbid/gridbid/protocol"
)

// A cluster is one of kubetest's, with an executor.
type cluster struct {
	*kubetest.Cluster
	file string // kubeconfig of the executor
}

func newCluster(t testing.TB, nodes int) *cluster {
	c := &cluster{Cluster: kubetest.New(t, kubeenv.PlaneOptions{})}
	c.AddNodes(nodes, "oslo")
	return c
}

// rights are those of the chart, given once for each cluster.
func (c *cluster) rights(s kube.GPUSharing) string {
	if c.file == "" {
		c.file = c.AgentKubeconfig(string(s), "default")
	}
	return c.file
}

// startExecutor starts a site's executor on a bus, and returns a function that stops it.
func (c *cluster) startExecutor(hub bus.Bus, cfg Config) (h *KubeExecutor, stop func()) {
	c.Helper()
	if cfg.Site == "" {
		cfg.Site = "oslo"
	}
	if cfg.Client == nil {
		c.FailOnError(cfg.ConnectToCluster(c.rights(cfg.Sharing)))
	}
	if testing.Verbose() && os.Getenv("KUBELOG") != "" {
		cfg.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	ctx, cancel := context.WithCancel(context.Background())
	port, err := hub.Connect(ctx, protocol.ExecutorParty(cfg.Site))
	c.FailOnError(err)
	h = New(cfg)
	var done sync.WaitGroup
	done.Go(func() { _ = h.Run(ctx, port) })
	stop = sync.OnceFunc(func() { cancel(); done.Wait() })
	c.Cleanup(stop)
	return h, stop
}

// An agent is the test in the role of the agent: it sends launches, and keeps what the executor sends.
type agent struct {
	*cluster
	conn   bus.Conn
	sender protocol.Sender
	heard  []protocol.Body
}

func (c *cluster) agent(hub bus.Bus) *agent {
	c.Helper()
	port, err := hub.Connect(c.Context(), "agent/oslo")
	c.FailOnError(err)
	return &agent{cluster: c, conn: port, sender: protocol.Sender{Party: "agent/oslo"}}
}

func (a *agent) launch(l protocol.Launch) {
	a.Helper()
	a.FailOnError(a.conn.Send(a.Context(), a.sender.NewMessage(protocol.FromStdTime(time.Now()), "hands/oslo", l)))
}

// await hears until a sentence of its type holds, and returns it.
func await[B protocol.Body](a *agent, holds func(B) bool) (b B) {
	a.Helper()
	limit := time.After(2 * time.Minute)
	for {
		select {
		case m, ok := <-a.conn.Messages():
			if !ok {
				a.Fatal("the port closed: ", a.conn.Close())
			}
			a.heard = append(a.heard, m.Body)
			if b, ok := m.Body.(B); ok && holds(b) {
				return b
			}
		case <-limit:
			a.Fatalf("no %T came that holds; heard last %v", b, a.heard[max(0, len(a.heard)-5):])
		}
	}
}

// job is a launch of a Job of one pod that runs for a while.
func job(id string, node string, devices []int, share protocol.Milli, run time.Duration) protocol.Launch {
	j := protocol.Job{ID: protocol.JobID(id), GPUs: len(devices), Share: share, CPU: 4000, Memory: 16 << 10, Run: time.Hour}
	if share < 1000 {
		j.GPUMemory = protocol.MiB(int64(share) * 80 << 10 / 1000)
	}
	return protocol.Launch{Job: j, Epoch: 1, Node: node, Devices: devices, Model: "H100", Run: time.Hour, Power: 400_000, Task: kubetest.BatchJobTask(run, 1, 0, nil)}
}

func TestAJobIsBoundRunsAndExits(t *testing.T) {
	for _, sharing := range []kube.GPUSharing{kube.SharingDRA, kube.SharingDevicePlugin} {
		t.Run(string(sharing), func(t *testing.T) {
			c := newCluster(t, 2)
			hub := new(membus.Bus)
			a := c.agent(hub)
			c.startExecutor(hub, Config{Sharing: sharing})
			v := await(a, func(v protocol.Inventory) bool {
				return len(v.Nodes) == 2 && v.Nodes[0].Closed == "" && v.Nodes[1].GPUs == 8
			})
			if n := v.Nodes[0]; n.Model != "H100" || n.GPUMemory != 81920 || n.CPU != 96_000 || n.Memory != 768<<10 {
				t.Errorf("node %+v", n)
			}
			a.launch(job("train/1", "gpu-001", []int{2, 5}, 1000, 2*time.Second))
			await(a, func(s protocol.Started) bool { return s.Job == "train/1" && s.Epoch == 1 })
			pods, err := c.Client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{})
			c.FailOnError(err)
			if len(pods.Items) != 1 || pods.Items[0].Spec.NodeName != "gpu-001" || pods.Items[0].Annotations[kube.AnnotationDevices] != "2,5" {
				t.Errorf("pods %+v", pods.Items)
			}
			x := await(a, func(x protocol.Finished) bool { return true })
			drew := protocol.Millijoules(0)
			for _, s := range x.Draw { // an hour may end meanwhile
				drew += s.Energy
			}
			if x.Failed != "" || drew < 300_000 || drew > 4_000_000 {
				t.Errorf("exited %+v; want about two seconds at 400 W", x)
			}
			if ago := protocol.FromStdTime(time.Now()).Sub(x.Ended); ago < 0 || ago > 2*time.Minute {
				t.Errorf("its reported end is %v ago", ago)
			}
		})
	}
}
