//go:build kube

package clusters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/internal/kubeenv"
	"github.com/gridbid/gridbid/internal/ports"
)

// An example is a folder with a federation as operators run it: programs, their
// configuration, and nothing else.
type example struct {
	*testing.T
	dir, api string
}

// do runs a program in the folder, and returns what it printed.
func (e *example) do(program string, args ...string) string {
	e.Helper()
	cmd := exec.Command(filepath.Join(e.dir, "bin", program), args...)
	cmd.Dir = e.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		e.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// start starts a program that ends with the test, and shows its log if that
// failed.
func (e *example) start(program string, args ...string) {
	e.Helper()
	var log bytes.Buffer
	cmd := exec.Command(filepath.Join(e.dir, "bin", program), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = e.dir, &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if e.Failed() {
			text := log.String()
			e.Logf("%s %v ended its log with\n%s", program, args, text[max(0, len(text)-3000):])
		}
	})
}

// get requests a path of the coordinator's API.
func (e *example) get(path string, to any) error {
	r, err := http.Get("http://" + e.api + path)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(r.Body, 300))
		return fmt.Errorf("%s: %s %s", path, r.Status, text)
	}
	if to == nil {
		return nil
	}
	return json.NewDecoder(r.Body).Decode(to)
}

func (e *example) until(what string, holds func() bool) {
	e.Helper()
	for began := time.Now(); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Since(began) > 4*time.Minute {
			e.Fatalf("%s: not within four minutes", what)
		}
	}
}

// A listed job is a job as the API lists it.
type listed struct {
	ID, State, Site, Why, Note string
	Estimated                  bool
}

// The example of deploy/examples/three-clusters, as `make example-federation`
// starts it: programs as they are built, files as they stand, three control
// planes.
func TestExampleFederation(t *testing.T) {
	e := &example{T: t, dir: t.TempDir()}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(e.dir, "bin")+"/", "../../cmd/gridbid", "../../cmd/coordinator", "../../cmd/cluster-agent").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if err := os.CopyFS(e.dir, os.DirFS("../../deploy/examples/three-clusters")); err != nil {
		t.Fatal(err)
	}
	sites := []string{"bern", "lyon", "oslo"}
	free, err := ports.FreePorts(4)
	if err != nil {
		t.Fatal(err)
	}
	port := func(i int) string { return strconv.Itoa(free[i]) }
	e.api = "127.0.0.1:" + port(0)
	e.do("gridbid", "federation", "init", "--host", "127.0.0.1", "--listen", "127.0.0.1", "--port", port(1), "--leaf-port", port(2), "--route-port", port(3))
	planes := make(map[string]*kubetest.Cluster)
	for _, site := range sites {
		e.do("gridbid", "federation", "add-site", site)
		c := kubetest.New(t, kubeenv.PlaneOptions{})
		c.AddNodes(1, site)
		planes[site] = c
		sharing := map[string]string{"lyon": "plugin"}[site]
		if sharing == "" {
			sharing = "dra"
		}
		file, err := os.ReadFile(c.AgentKubeconfig(sharing, "default"))
		c.FailOnError(err)
		c.FailOnError(os.WriteFile(filepath.Join(e.dir, site+".kubeconfig"), file, 0o600))
	}
	e.start("coordinator", "--config", "coordinator.yaml", "--listen", e.api)
	e.until("the coordinator leads", func() bool { return e.get("/readyz", nil) == nil })
	for _, site := range sites {
		e.start("cluster-agent", "--config", site+".yaml")
	}
	var known []struct {
		Site string `json:"name"`
	}
	e.until("three sites", func() bool { known = nil; return e.get("/v1/sites", &known) == nil && len(known) == 3 })
	jobs, err := filepath.Glob(filepath.Join(e.dir, "jobs", "*.yaml"))
	if err != nil || len(jobs) == 0 {
		t.Fatal("no jobs", err)
	}
	args := []string{"submit", "--api", e.api}
	for _, file := range jobs {
		args = append(args, "-f", file)
	}
	fmt.Print(e.do("gridbid", args...))
	var all []listed
	e.until("all jobs have ended", func() bool {
		all = nil
		if e.get("/v1/jobs?limit=50", &all) != nil {
			return false
		}
		over := 0
		for _, j := range all {
			if j.State == "done" || j.State == "refused" {
				over++
			}
		}
		return over == len(jobs)
	})
	fmt.Println()
	fmt.Print(e.do("gridbid", "jobs", "--api", e.api))
	fmt.Println()
	fmt.Print(e.do("gridbid", "sites", "--api", e.api))
	e.check(all, planes)
	if hold, err := time.ParseDuration(os.Getenv("EXAMPLE_HOLD")); err == nil {
		fmt.Printf("\nup for %v: %s/bin/gridbid jobs --api %s, or kubectl with %s/*.kubeconfig\n", hold, e.dir, e.api, e.dir)
		time.Sleep(hold)
	}
}

// check compares the market's records with what ran in the clusters.
func (e *example) check(all []listed, planes map[string]*kubetest.Cluster) {
	e.Helper()
	ran := make(map[string][]string) // job -> sites with a pod of it that succeeded
	for site, c := range planes {
		for _, p := range c.FinishedPodsOfJobs() {
			ran[p.Job] = append(ran[p.Job], site)
			fmt.Printf("%s: pod %s of %s ran on %s\n", site, p.Pod, p.Job, p.Node)
		}
	}
	used := make(map[string]bool)
	for _, j := range all {
		switch {
		case j.ID == "refused":
			if j.State != "refused" || len(ran[j.ID]) > 0 {
				e.Errorf("%+v, ran at %v; want it refused", j, ran[j.ID])
			}
		case j.State != "done" || len(ran[j.ID]) != 1 || ran[j.ID][0] != j.Site:
			e.Errorf("%+v, ran at %v; want it done once, where the market says", j, ran[j.ID])
		case j.ID == "resident" && j.Site != "lyon", j.ID == "share" && j.Site == "lyon":
			e.Errorf("%+v: it may not be there", j)
		case !j.Estimated:
			e.Errorf("%+v: nothing is metered here, and it is not said", j)
		}
		used[j.Site] = true
	}
	for site := range planes {
		if !used[site] {
			e.Errorf("nothing ran at %s", site)
		}
	}
}
