package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/internal/ports"
)

// A writtenFederation is one that runs from the files that `gridbid federation` wrote: a
// coordinator that hosts its hub, and simulated sites, each a process of its own.
type writtenFederation struct {
	*testbed
	folder string // of the federation
	api    string // HOST:PORT of the coordinator's API
	hubAt  string // HOST:PORT at which members join
}

// newWrittenFederation writes a federation and starts its coordinator.
func newWrittenFederation(t *testing.T) *writtenFederation {
	t.Helper()
	f := writeFederation(t)
	f.coordinators[0].start()
	return f
}

// writeFederation writes a federation. Only ports are others, as the usual ones may be taken where the test runs.
func writeFederation(t *testing.T) *writtenFederation {
	t.Helper()
	f := &writtenFederation{testbed: &testbed{T: t, dir: t.TempDir()}}
	for _, name := range []string{"coordinator", "gridbid"} {
		programPath(t, name)
	}
	free, err := ports.FreePorts(4)
	f.must(err)
	f.folder, f.api, f.hubAt = filepath.Join(f.dir, "fed"), fmt.Sprint("127.0.0.1:", free[3]), fmt.Sprint("127.0.0.1:", free[0])
	f.apis = []string{f.api}
	t.Setenv("GRIDBID_COORDINATOR_LISTEN", f.api)
	t.Setenv("GRIDBID_API", f.api)
	t.Cleanup(f.end)
	next := f.federation("init", "--port", fmt.Sprint(free[0]), "--leaf-port", fmt.Sprint(free[1]), "--route-port", fmt.Sprint(free[2]))
	f.coordinators = append(f.coordinators, f.prepared(next[0]))
	return f
}

// gridbid runs a command of an operator and returns what it printed.
func (f *writtenFederation) gridbid(args ...string) (string, error) {
	return f.gridbidAs("", "", args...)
}

// gridbidAs runs a command of who has a token, which reads a text, and returns what it printed.
func (f *writtenFederation) gridbidAs(token, in string, args ...string) (string, error) {
	cmd := exec.Command(programPath(f.T, "gridbid"), args...)
	cmd.Dir, cmd.Stdin, cmd.Env = f.dir, strings.NewReader(in), append(os.Environ(), "GRIDBID_TOKEN="+token)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("gridbid %s: %w\n%s%s", strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return string(out), err
}

// operate runs a command of an operator that must succeed.
func (f *writtenFederation) operate(args ...string) string {
	f.Helper()
	out, err := f.gridbid(args...)
	f.must(err)
	return out
}

// federation runs a command on the members of the federation, and returns the commands that it says
// to run next.
func (f *writtenFederation) federation(args ...string) []string {
	f.Helper()
	out := f.operate(append(append([]string{"federation"}, args...), "--dir", f.folder, "--json")...)
	var said struct {
		Next []string `json:"next"`
	}
	f.must(json.Unmarshal([]byte(out), &said))
	if len(said.Next) == 0 {
		f.Fatalf("gridbid federation %v says no next command:\n%s", args, out)
	}
	return said.Next
}

// prepared returns the process of a command that was printed, named as the folder of its
// configuration file. It is not started.
func (f *writtenFederation) prepared(line string) *process {
	words := strings.Fields(line)
	return f.process(filepath.Base(filepath.Dir(words[len(words)-1])), words[0], words[1:]...)
}

// addSite admits a site that simulates one of six-regions, and returns its process, which is not
// started, so that a test can change its files before.
func (f *writtenFederation) addSite(name, as string) *process {
	f.Helper()
	p := f.prepared(f.federation("add-site", name, "--simulate", "six-regions", "--as", as)[0])
	f.agents = append(f.agents, p)
	return p
}

// memberFile returns the path of a file of a site.
func (f *writtenFederation) memberFile(site, name string) string {
	return filepath.Join(f.folder, "sites", site, name)
}

// rewrite replaces a text that a file of a site must have.
func (f *writtenFederation) rewrite(file, old, new string) {
	f.Helper()
	text, err := os.ReadFile(file)
	f.must(err)
	if !bytes.Contains(text, []byte(old)) {
		f.Fatalf("%s has no %q", file, old)
	}
	f.must(os.WriteFile(file, bytes.ReplaceAll(text, []byte(old), []byte(new)), 0o600))
}

// awaitSites waits until the coordinator leads and knows so many sites.
func (f *writtenFederation) awaitSites(n int) {
	f.Helper()
	f.wait(fmt.Sprint(n, " sites are known"), 2*time.Minute, func() bool {
		var sites []jobstatus.Site
		code, err := ask(f.api, http.MethodGet, "/v1/sites", nil, &sites)
		return err == nil && code == http.StatusOK && len(sites) == n
	})
}
