package kubeenv

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/gridbid/gridbid/internal/ports"
)

// PlaneOptions says what to start.
type PlaneOptions struct {
	Assets    string // folder of the binaries, as controlplane/build.sh prints it
	Dir       string // for state and logs; it must exist
	Scheduler bool   // also the stock kube-scheduler
}

// A ControlPlane is a running control plane.
type ControlPlane struct {
	URL        string
	Kubeconfig string // file with an administrator's credentials

	opts  PlaneOptions
	creds credentials
	ports []int // of etcd, etcd's peers, the API server and kwok
	procs []*planeProcess
}

// A planeProcess is a process of the control plane, named like its binary.
type planeProcess struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
}

//go:embed stages.yaml
var kwokStages []byte

// enabledControllers are the controllers that jobs, services, quotas, node health and device claims
// need. Starting all of them would take longer.
const enabledControllers = "job-controller,namespace-controller,serviceaccount-controller,garbage-collector-controller," +
	"pod-garbage-collector-controller,node-lifecycle-controller,taint-eviction-controller,ttl-after-finished-controller," +
	"disruption-controller,resourceclaim-controller,resourcequota-controller," +
	"deployment-controller,replicaset-controller,statefulset-controller"

// StartPlane starts a control plane and returns when it is ready, after some seconds.
// On an error it stops what it has started.
func StartPlane(ctx context.Context, o PlaneOptions) (*ControlPlane, error) {
	p := &ControlPlane{opts: o}
	if err := p.startProcesses(ctx); err != nil {
		p.StopPlane()
		return nil, fmt.Errorf("plane: %w", err)
	}
	return p, nil
}

// startProcesses writes credentials and configuration, and starts the components in the order
// in which they depend on each other.
func (p *ControlPlane) startProcesses(ctx context.Context) (err error) {
	if p.ports, err = ports.FreePorts(4); err != nil {
		return err
	}
	p.URL = fmt.Sprintf("https://127.0.0.1:%d", p.ports[2])
	if p.creds, err = newCredentials(); err != nil {
		return err
	}
	if err := p.creds.writeFiles(p.opts.Dir); err != nil {
		return err
	}
	p.Kubeconfig = p.stateFile("kubeconfig")
	if err := os.WriteFile(p.Kubeconfig, p.creds.adminKubeconfig(p.URL), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(p.stateFile("stages.yaml"), kwokStages, 0o600); err != nil {
		return err
	}
	order := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kwok"}
	if p.opts.Scheduler {
		order = append(order, "kube-scheduler")
	}
	for _, name := range order {
		if err := p.startComponent(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// KillAndRestart kills a component, waits for the time dead, and restarts it with its
// state.
func (p *ControlPlane) KillAndRestart(ctx context.Context, name string, dead time.Duration) error {
	i := slices.IndexFunc(p.procs, func(x *planeProcess) bool { return x.name == name })
	if i < 0 {
		return fmt.Errorf("plane: no %s runs", name)
	}
	_ = p.procs[i].cmd.Process.Kill()
	<-p.procs[i].done
	p.procs = slices.Delete(p.procs, i, i+1)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(dead):
	}
	return p.startComponent(ctx, name)
}

// StopPlane stops all processes, newest first; each has five seconds before it is
// killed.
func (p *ControlPlane) StopPlane() {
	for _, x := range slices.Backward(p.procs) {
		_ = x.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-x.done:
		case <-time.After(5 * time.Second):
			_ = x.cmd.Process.Kill()
			<-x.done
		}
	}
	p.procs = nil
}

// startComponent starts a component and waits until it is healthy.
func (p *ControlPlane) startComponent(ctx context.Context, name string) error {
	x, err := p.launchProcess(name, filepath.Join(p.opts.Assets, name), p.componentArgs(name))
	if err != nil {
		return err
	}
	return p.awaitHealthy(ctx, x, p.healthURL(name))
}

// StartExtraProcess starts a further process, with KUBECONFIG in its environment. It
// is stopped together with the control plane; its log is NAME.log in the control
// plane's folder.
func (p *ControlPlane) StartExtraProcess(name, binary string, args ...string) error {
	_, err := p.launchProcess(name, binary, args)
	return err
}

// launchProcess starts a process whose output goes to its log file.
func (p *ControlPlane) launchProcess(name, binary string, args []string) (*planeProcess, error) {
	log, err := os.OpenFile(p.stateFile(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, p.opts.Dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Kubeconfig)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it must not outlive a test
	if err := cmd.Start(); err != nil {
		log.Close()
		return nil, err
	}
	x := &planeProcess{name: name, cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // its log contains the reason
		log.Close()
		close(x.done)
	}()
	p.procs = append(p.procs, x)
	return x, nil
}

// componentArgs returns a component's arguments. etcd does not sync to disk and
// clients are not rate-limited, for speed: the data of a test needs no durability.
func (p *ControlPlane) componentArgs(name string) []string {
	etcd := fmt.Sprintf("http://127.0.0.1:%d", p.ports[0])
	peer := fmt.Sprintf("http://127.0.0.1:%d", p.ports[1])
	switch name {
	case "etcd":
		return []string{
			"--data-dir=" + p.stateFile("etcd"), "--unsafe-no-fsync", "--log-level=warn",
			"--listen-client-urls=" + etcd, "--advertise-client-urls=" + etcd,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		}
	case "kube-apiserver":
		return []string{
			"--etcd-servers=" + etcd, "--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(p.ports[2]),
			"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
			"--tls-cert-file=" + p.stateFile("server.crt"), "--tls-private-key-file=" + p.stateFile("server.key"), "--cert-dir=" + p.opts.Dir,
			"--client-ca-file=" + p.stateFile("ca.crt"), "--token-auth-file=" + p.stateFile("tokens.csv"), "--authorization-mode=RBAC",
			"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + p.stateFile("sa.key"),
			"--service-account-signing-key-file=" + p.stateFile("sa.key"),
			"--max-requests-inflight=0", "--max-mutating-requests-inflight=0", "--enable-priority-and-fairness=false",
		}
	case "kube-controller-manager":
		return []string{
			"--kubeconfig=" + p.Kubeconfig, "--secure-port=0", "--leader-elect=false", "--controllers=" + enabledControllers,
			"--use-service-account-credentials=false", "--service-account-private-key-file=" + p.stateFile("sa.key"), "--root-ca-file=" + p.stateFile("ca.crt"),
			"--kube-api-qps=500", "--kube-api-burst=1000", "--concurrent-job-syncs=5",
		}
	case "kwok":
		return []string{
			"--kubeconfig=" + p.Kubeconfig, "--config=" + p.stateFile("stages.yaml"), "--manage-all-nodes=true",
			"--node-lease-duration-seconds=40", "--cidr=10.1.0.0/16", "--server-address=127.0.0.1:" + strconv.Itoa(p.ports[3]),
		}
	default: // kube-scheduler
		return []string{
			"--kubeconfig=" + p.Kubeconfig, "--authentication-kubeconfig=" + p.Kubeconfig, "--authorization-kubeconfig=" + p.Kubeconfig,
			"--secure-port=0", "--leader-elect=false",
		}
	}
}

// healthURL returns a URL that answers 200 when a component is ready, or "" if there
// is none.
func (p *ControlPlane) healthURL(name string) string {
	switch name {
	case "etcd":
		return fmt.Sprintf("http://127.0.0.1:%d/readyz", p.ports[0])
	case "kube-apiserver":
		return p.URL + "/readyz"
	case "kube-controller-manager": // it creates this service account, without which no pod can be created
		return p.URL + "/api/v1/namespaces/default/serviceaccounts/default"
	case "kwok":
		return fmt.Sprintf("http://127.0.0.1:%d/healthz", p.ports[3])
	}
	return ""
}

// awaitHealthy waits until url answers 200. It fails with the end of the log if the process
// ends before.
func (p *ControlPlane) awaitHealthy(ctx context.Context, x *planeProcess, url string) error {
	if url == "" {
		return nil
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.creds.ca)
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	for {
		answer := p.probeURL(ctx, client, url)
		if answer == "" {
			return nil
		}
		select {
		case <-x.done:
			return fmt.Errorf("%s ended; its log ends in\n%s", x.name, fileTail(p.stateFile(x.name+".log"), 3000))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: %s", x.name, ctx.Err(), answer)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// probeURL returns "" if url answers 200, and the answer or the error otherwise.
func (p *ControlPlane) probeURL(ctx context.Context, client *http.Client, url string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+p.creds.token)
	r, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	if r.StatusCode == http.StatusOK {
		return ""
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 500))
	return r.Status + " " + string(body)
}

// stateFile returns a path in the control plane's folder.
func (p *ControlPlane) stateFile(name string) string { return filepath.Join(p.opts.Dir, name) }

// fileTail returns the last bytes of a file, at most so many.
func fileTail(file string, most int) []byte {
	b, _ := os.ReadFile(file)
	return b[max(0, len(b)-most):]
}
