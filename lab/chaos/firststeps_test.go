package chaos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What `gridbid federation` writes starts as it is, by the commands that it prints: a
// coordinator with its hub, and two simulated sites, which run a job.
func TestAFederationStartsAsItWasWritten(t *testing.T) {
	if *long == 0 {
		t.Skip("no -chaos; make chaos runs it")
	}
	f := newWrittenFederation(t)
	for _, args := range [][]string{{"add-site", "hydro-north", "--simulate", "six-regions"}, {"add-site", "oslo", "--simulate", "six-regions", "--as", "wind-coast"}} {
		p := f.prepared(f.federation(args...)[0])
		f.agents = append(f.agents, p)
		p.start()
	}
	f.awaitSites(2)
	job := filepath.Join(f.dir, "job.yaml")
	f.must(os.WriteFile(job, []byte("id: first\ngpus: 1\ncpu: 2\nrun: 2s\nurgency: now\n"), 0o600))
	if out := f.operate("submit", "-f", job, "--wait"); !strings.Contains(out, "first  done") {
		t.Fatalf("submit: %s", out)
	}
}
