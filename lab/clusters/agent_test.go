//go:build kube

package clusters

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/internal/ports"
)

// An agent is a process of the real binary, with a configuration.
type agent struct {
	testing.TB
	args []string
	cmd  *exec.Cmd
}

// installAgent builds the agent, and configures it for the site oslo on a cluster over a hub with
// accounts, where a market runs. The test begins it, and submits jobs. queued has it take in
// objects of the cluster's users.
func installAgent(t *testing.T, kubeconfig, sharing string, queued bool) (*agent, *submitter) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "cluster-agent")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/gridbid/gridbid/cmd/cluster-agent").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	hub := federate(t, filepath.Join(dir, "fed"), "oslo")
	t.Cleanup(func() { hub.Close() })
	_, _ = open(t, hub)
	queue := ""
	if queued {
		queue = "queue: {}\n"
	}
	config := filepath.Join(dir, "agent.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `site: oslo
folder: %s
nats_file: %s
kubernetes: {kubeconfig: %s, namespaces: [default], sharing: %s}
%sgrid: {price: 55, carbon: 30, pue: 1.1}
`, filepath.Join(dir, "facts"), filepath.Join(dir, "fed", "sites", "oslo", "nats.yaml"), kubeconfig, sharing, queue), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &agent{TB: t, args: []string{binary, "--config", config}}
	t.Cleanup(func() { a.kill() })
	return a, newSubmitter(t, hub)
}

// begin starts the process, which writes to the log of the one before.
func (a *agent) begin() {
	a.Helper()
	a.cmd = exec.Command(a.args[0], a.args[1:]...)
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it must not outlive the test
	out, err := os.OpenFile(filepath.Join(filepath.Dir(a.args[0]), "agent.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		a.Fatal(err)
	}
	defer out.Close()
	a.cmd.Stderr = out
	if err := a.cmd.Start(); err != nil {
		a.Fatal(err)
	}
}

// kill kills the process, if it was begun.
func (a *agent) kill() {
	if a.cmd != nil {
		_ = a.cmd.Process.Kill()
		_ = a.cmd.Wait()
	}
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
