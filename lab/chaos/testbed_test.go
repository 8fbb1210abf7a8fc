package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/internal/ports"
	"github.com/gridbid/gridbid/protocol"
)

// A process is one run of a binary, which can be killed and restarted.
type process struct {
	t    *testing.T
	name string
	path string
	args []string
	log  *os.File

	mu   sync.Mutex
	cmd  *exec.Cmd
	dead chan struct{} // closed when cmd has ended
}

// start starts a process that is not running, and continues one that is stopped.
func (p *process) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		select {
		case <-p.dead:
		default:
			p.signal(syscall.SIGCONT)
			return
		}
	}
	p.cmd, p.dead = exec.Command(p.path, p.args...), make(chan struct{})
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		p.t.Errorf("%s: %v", p.name, err)
		close(p.dead)
		return
	}
	go func(c *exec.Cmd, dead chan struct{}) {
		_ = c.Wait()
		close(dead)
	}(p.cmd, p.dead)
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // an error only means that it has ended

func (p *process) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signal(syscall.SIGSTOP)
}

// kill kills a process and waits for its end.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.dead
}

// A workload is the sites of a testbed, the program that runs them, and the jobs that
// are submitted.
type workload struct {
	sites   []string
	program []string                                   // binary and first arguments
	section string                                     // of a site's configuration: what runs its jobs
	job     func(n int) string                         // fields of the nth job, in YAML
	ran     func(*testbed) map[protocol.JobID][]string // where each job was run, once for each time
}

// simulated is a workload of sites that gridbid site runs.
var simulated = workload{
	sites:   []string{"hydro-north", "wind-coast", "solar-south", "coal-plains"},
	program: []string{"gridbid", "site"},
	section: "simulate: {scenario: six-regions}",
	job: func(n int) string {
		return fmt.Sprintf("gpus: %d\ncpu: 2\nrun: %ds\n", n%3, 1+n%7)
	},
	ran: (*testbed).launched,
}

// A testbed is a federation of processes.
type testbed struct {
	*testing.T
	workload
	dir   string
	ports []int
	fed   *federation.Federation

	hub          *process
	coordinators []*process
	agents       []*process // of the sites
	leaves       []*process
	others       []*process // that no fault touches
	lines        []*proxy   // from each site to the hub
	apis         []string
}

// newTestbed starts a hub, two coordinators, and for each site a leaf server and an agent.
func newTestbed(t *testing.T, w workload) *testbed {
	t.Helper()
	s := &testbed{T: t, workload: w, dir: t.TempDir()}
	for _, name := range []string{"coordinator", w.program[0], "nats-server"} {
		programPath(t, name)
	}
	free, err := ports.FreePorts(5 + len(w.sites)) // now: in the minutes that a build takes others would choose them, too
	s.must(err)
	s.ports = free
	fed, err := federation.InitFederation(filepath.Join(s.dir, "fed"), federation.Setup{
		Hosts: []string{"127.0.0.1"}, Listen: "127.0.0.1", Port: s.ports[0], LeafPort: s.ports[1], Route: s.ports[2],
	}, time.Now())
	s.must(err)
	s.fed = fed
	for i, name := range w.sites {
		s.prepare(name, s.ports[5+i])
	}
	s.hub = s.process("hub", "nats-server", "-c", fed.HubConfigFile(0))
	s.hub.start()
	s.reachable(s.ports[0])
	for i, who := range []string{"coordinator", "standby"} {
		at := fmt.Sprintf("127.0.0.1:%d", s.ports[3+i])
		s.apis = append(s.apis, at)
		c := s.process(who, "coordinator", "--nats", filepath.Join(s.dir, "fed", who, "nats.yaml"), "--listen", at, "--archive", filepath.Join(s.dir, "archive-"+who))
		s.coordinators = append(s.coordinators, c)
		c.start()
	}
	for i := range w.sites {
		s.leaves[i].start()
		s.reachable(s.ports[5+i])
		s.agents[i].start()
	}
	t.Cleanup(s.end)
	return s
}

// prepare admits a site to the federation, and gives it a leaf server that reaches the
// hub through a proxy.
func (s *testbed) prepare(name string, port int) {
	dir, err := s.fed.AddSite(federation.SiteSetup{Name: name, LeafListen: fmt.Sprintf("127.0.0.1:%d", port)})
	s.must(err)
	line := newProxy(s.T, fmt.Sprintf("127.0.0.1:%d", s.ports[1]))
	s.lines = append(s.lines, line)
	conf := filepath.Join(dir, "leaf.conf")
	text, err := os.ReadFile(conf)
	s.must(err)
	through := strings.ReplaceAll(string(text), fmt.Sprintf("127.0.0.1:%d", s.ports[1]), line.listener.Addr().String())
	if through == string(text) {
		s.Fatalf("%s does not name the hub:\n%s", conf, regexp.MustCompile(`SU\w+`).ReplaceAllString(through, "SEED"))
	}
	s.must(os.WriteFile(conf, []byte(through), 0o600))
	config := filepath.Join(s.dir, name+".yaml")
	s.must(os.WriteFile(config, fmt.Appendf(nil, `site: %s
folder: %s
nats: {url: "nats://127.0.0.1:%d", seed: %s}
%s
`, name, filepath.Join(s.dir, "state", name), port, filepath.Join(dir, name+".nk"), s.section), 0o600))
	s.leaves = append(s.leaves, s.process("leaf-"+name, "nats-server", "-c", conf))
	s.agents = append(s.agents, s.process(name, s.program[0], append(slices.Clone(s.program[1:]), "--config", config)...))
}

// process prepares a process of one of the programs.
func (s *testbed) process(name, program string, args ...string) *process {
	return s.processOf(name, programPath(s.T, program), args...)
}

// processOf prepares a process of any executable; its output goes to NAME.log.
func (s *testbed) processOf(name, path string, args ...string) *process {
	log, err := os.Create(filepath.Join(s.dir, name+".log"))
	s.must(err)
	return &process{t: s.T, name: name, path: path, args: args, log: log}
}

func (s *testbed) all() (all []*process) {
	if s.hub != nil { // else a coordinator hosts it
		all = append(all, s.hub)
	}
	all = append(all, s.coordinators...)
	all = append(all, s.leaves...)
	all = append(all, s.agents...)
	return append(all, s.others...)
}

func (s *testbed) end() {
	for _, p := range s.all() {
		p.kill()
		_ = p.log.Close()
	}
	if !s.Failed() {
		return
	}
	for _, p := range s.all() {
		text, _ := os.ReadFile(p.log.Name())
		s.Logf("%s:\n%s", p.name, text[max(0, len(text)-4000):])
	}
}

func (s *testbed) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *testbed) reachable(port int) {
	s.Helper()
	for range 1200 {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.Fatalf("no process listens on port %d", port)
}

// ask sends a request to a coordinator's API and returns status and answer.
func ask(apiAddress, method, path string, body []byte, out any) (int, error) {
	return within(2*time.Second, apiAddress, method, path, body, out)
}

func within(most time.Duration, apiAddress, method, path string, body []byte, out any) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+apiAddress+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/yaml")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode == http.StatusOK && out != nil {
		err = json.Unmarshal(text, out)
	}
	return answer.StatusCode, err
}

// leader returns the index of the coordinator that answers as leader, or -1. A stopped
// process does not answer at all, so all are asked concurrently.
func (s *testbed) leader() int {
	leads := make(chan int, len(s.apis))
	for i, apiAddress := range s.apis {
		go func() {
			code, err := within(500*time.Millisecond, apiAddress, http.MethodGet, "/v1/sites", nil, nil)
			if err != nil || code != http.StatusOK {
				i = -1
			}
			leads <- i
		}()
	}
	for range s.apis {
		if i := <-leads; i >= 0 {
			return i
		}
	}
	return -1
}
