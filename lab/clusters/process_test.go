//go:build kube

package clusters

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/internal/kubeenv"
	"github.com/gridbid/gridbid/internal/ports"
)

// An agent is a process of the real binary, with a configuration.
type agent struct {
	*testing.T
	args []string
	cmd  *exec.Cmd
}

func (a *agent) begin() {
	a.Helper()
	a.cmd = exec.Command(a.args[0], a.args[1:]...)
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it must not outlive the test
	log, err := os.OpenFile(filepath.Join(filepath.Dir(a.args[0]), "agent.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		a.Fatal(err)
	}
	defer log.Close()
	a.cmd.Stderr = log
	if err := a.cmd.Start(); err != nil {
		a.Fatal(err)
	}
}

// kill kills the process.
func (a *agent) kill() {
	_ = a.cmd.Process.Kill()
	_ = a.cmd.Wait()
}

// federate starts a hub with its accounts, which one site may join.
func federate(t *testing.T, dir, site string) *natsbus.ConfiguredServer {
	t.Helper()
	ports, err := ports.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	fed, err := federation.InitFederation(dir, federation.Setup{Hosts: []string{"127.0.0.1"}, Listen: "127.0.0.1", Port: ports[0], LeafPort: ports[1], Route: ports[2]}, time.Now())
	if err == nil {
		_, err = fed.AddSite(federation.SiteSetup{Name: site, LeafListen: "127.0.0.1:-1"})
	}
	if err != nil {
		t.Fatal(err)
	}
	hub, err := natsbus.ServeConfigFile(fed.HubConfigFile(0), natsbus.Access{URL: fed.HubURL(), CA: "ca.pem", Seed: "coordinator.nk"}.ResolvePaths(filepath.Join(dir, "coordinator")))
	if err != nil {
		t.Fatal(err)
	}
	return hub
}

// The agent as it is installed, over a hub with accounts, in a cluster whose own
// scheduler places other pods all the time. It is killed with -9
// with jobs running, twice. Each job ends once, and no node is ever overcommitted:
// the other scheduler uses only nodes that do not belong to the site.
func TestKilledAgentBesideAnotherScheduler(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := filepath.Join(dir, "cluster-agent")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/gridbid/gridbid/cmd/cluster-agent").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := kubetest.ClusterUser{Cluster: kubetest.New(t, kubeenv.PlaneOptions{Scheduler: true})}
	c.AddNodes(4, "oslo")
	for i := range 2 {
		c.AddNode(fmt.Sprintf("shared-%d", i), "")
	}
	o := c.StartOracle()
	hub := federate(t, filepath.Join(dir, "fed"), "oslo")
	defer hub.Close()
	_, _ = open(t, hub)
	sub := newSubmitter(t, hub)
	config := filepath.Join(dir, "agent.yaml")
	c.FailOnError(os.WriteFile(config, fmt.Appendf(nil, `site: oslo
folder: %s
nats_file: %s
kubernetes: {kubeconfig: %s, namespaces: [default], sharing: plugin}
queue: {}
grid: {price: 55, carbon: 30, pue: 1.1}
`, filepath.Join(dir, "facts"), filepath.Join(dir, "fed", "sites", "oslo", "nats.yaml"), c.AgentKubeconfig("plugin", "default")), 0o600))
	a := &agent{T: t, args: []string{binary, "--config", config}}
	a.begin()
	defer func() { a.kill() }()
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
