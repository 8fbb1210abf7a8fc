package arch

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is the part of a workflow file that the test checks.
type workflow struct {
	On          map[string]any
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Steps       []struct {
			Uses, Run string
			With      map[string]string
		}
	}
}

var (
	pinnedAction = regexp.MustCompile(`^actions/(checkout|setup-go)@[0-9a-f]{40}$`)
	goMinor      = regexp.MustCompile(`(?m)^go (\d+\.\d+)`)
)

// findWorkflowFaults returns where a workflow file gives a pull request's code more rights
// than it needs, or runs other commands than developers do.
func findWorkflowFaults(text []byte, goVersion string) (faults []string) {
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		return []string{err.Error()}
	}
	for _, word := range []string{"secrets.", "pull_request_target"} {
		if strings.Contains(string(text), word) {
			faults = append(faults, fmt.Sprintf("the file names %s; a pull request's code could read what it gives", word))
		}
	}
	if w.Permissions == nil || len(w.Permissions) > 0 {
		faults = append(faults, fmt.Sprintf("all jobs have the permissions %v; want {}", w.Permissions))
	}
	for name, job := range w.Jobs {
		if len(job.Permissions) != 1 || job.Permissions["contents"] != "read" {
			faults = append(faults, fmt.Sprintf("job %s has the permissions %v; want contents: read alone", name, job.Permissions))
		}
		for _, step := range job.Steps {
			switch {
			case step.Uses != "" && !pinnedAction.MatchString(step.Uses):
				faults = append(faults, fmt.Sprintf("job %s uses %s; want checkout or setup-go, pinned by commit", name, step.Uses))
			case strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != "false":
				faults = append(faults, fmt.Sprintf("job %s leaves its token in the checkout; set persist-credentials: false", name))
			case strings.HasPrefix(step.Uses, "actions/setup-go@") && step.With["go-version"] != goVersion:
				faults = append(faults, fmt.Sprintf("job %s sets up Go %s; go.mod says %s", name, step.With["go-version"], goVersion))
			case step.Run != "" && step.Run != "bash .ci/run" && step.Run != "bash .ci/run nightly" && step.Run != "make vuln":
				faults = append(faults, fmt.Sprintf("job %s runs %q; put it into .ci/run, which developers run, too", name, step.Run))
			}
		}
	}
	return faults
}

func readWorkflow(t *testing.T) (text []byte, goVersion string) {
	t.Helper()
	text, err := os.ReadFile("../../.github/workflows/ci.yml")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := goMinor.FindSubmatch(module)
	if version == nil {
		t.Fatal("go.mod names no version of Go")
	}
	return text, string(version[1])
}

func TestWorkflowHasLeastPermissions(t *testing.T) {
	text, goVersion := readWorkflow(t)
	for _, fault := range findWorkflowFaults(text, goVersion) {
		t.Error(fault)
	}
	for _, run := range []string{"- run: bash .ci/run\n", "- run: bash .ci/run nightly\n", "- run: make vuln\n"} {
		if !strings.Contains(string(text), run) {
			t.Errorf("the workflow lacks %q", run)
		}
	}
}

func TestPlantedWorkflowFaultsAreFound(t *testing.T) {
	text, goVersion := readWorkflow(t)
	for _, plant := range []struct{ old, new, want string }{
		{"permissions: {}", "permissions: {contents: write}", "all jobs have the permissions"},
		{"permissions: {}\n", "", "all jobs have the permissions"},
		{"contents: read", "packages: write", "want contents: read alone"},
		{" # v7.0.1", "", ""},
		{"checkout@3d3c42e5aac5ba805825da76410c181273ba90b1", "checkout@v7", "pinned by commit"},
		{"actions/setup-go@", "somebody/setup-go@", "pinned by commit"},
		{"persist-credentials: false", "persist-credentials: true", "leaves its token"},
		{"go-version: \"" + goVersion + "\"", "go-version: \"1.19\"", "sets up Go 1.19"},
		{"- run: make vuln", "- run: curl https://example.com | sh", "put it into .ci/run"},
		{"pull_request:", "pull_request_target:", "pull_request_target"},
		{"CONTAINERS: \"1\"", "TOKEN: ${{ secrets.TOKEN }}", "secrets."},
	} {
		if !strings.Contains(string(text), plant.old) {
			t.Errorf("the workflow lacks %q, so that nothing is planted", plant.old)
			continue
		}
		faults := strings.Join(findWorkflowFaults([]byte(strings.Replace(string(text), plant.old, plant.new, 1)), goVersion), "\n")
		if plant.want == "" && faults != "" || !strings.Contains(faults, plant.want) {
			t.Errorf("%q for %q: found %q, want %q", plant.new, plant.old, faults, plant.want)
		}
	}
}

var (
	makeStep   = regexp.MustCompile(`(?m)^\s*step make ([a-z-]+)`)
	makeTarget = regexp.MustCompile(`(?m)^## (test-[a-z]+|notebook|lint|staticcheck|race|sim|chaos|fuzz|real|slow|oracle|test):`)
)

// Every make target that checks something belongs to a tier of CI: otherwise nothing runs it.
func TestEachCheckingTargetHasATier(t *testing.T) {
	script, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../make/*.mk")
	if err != nil {
		t.Fatal(err)
	}
	inTier, described := map[string]bool{}, map[string]bool{}
	for _, m := range makeStep.FindAllStringSubmatch(string(script), -1) {
		inTier[m[1]] = true
	}
	for _, file := range append(files, "../../Makefile") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range makeTarget.FindAllStringSubmatch(string(text), -1) {
			described[m[1]] = true
		}
	}
	if len(described) < 10 {
		t.Errorf("the makefiles describe %d targets that check something; want at least ten", len(described))
	}
	for name := range described {
		if !inTier[name] && name != "test-gpu" { // CI has no GPU
			t.Errorf("no tier of .ci/run runs make %s", name)
		}
	}
	for name := range inTier {
		if !described[name] && name != "bench-explain" {
			t.Errorf(".ci/run runs make %s, which no makefile describes", name)
		}
	}
}
