package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/internal/servicefile"
)

// A file of quotas is printed, proposed with its effect on the day of a run, and refused with its line.
func TestQuotasAreImportedAsAProposal(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GRIDBID_API", "")
	tiny := `{name: tiny, about: a day., seed: 1, start: 2026-03-11T00:00:00Z, sites: [{name: oslo, host: {wake: 1},
  region: {price: {mean: 50, swing: 0}, carbon: {mean: 300, swing: 0}, match: 0}, fleet: [{count: 2, model: A100, gpus: 8, cpu: 128, memory: 1024}]}],
  jobs: {list: [{id: one, tenant: a, gpus: 1, cpu: 1, memory: 1, run: 2h, within: 48h, urgency: now}, {id: two, tenant: a, gpus: 1, cpu: 1, memory: 1, run: 2h, within: 48h, urgency: now}]}}`
	quotas := "quotas:\n- {name: a, max: 1}\n"
	if err := errors.Join(os.Mkdir("tiny", 0o755), os.WriteFile("tiny/scenario.yaml", []byte(tiny), 0o600), os.WriteFile("q.yaml", []byte(quotas), 0o600), os.WriteFile("bad.yaml", []byte("quotas:\n- {name: a}\n- {name: b, parent: c}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := execute(newReplayCommand(), "tiny", "--policy", "auction", "--bus", "mem", "--no-bound"); err != nil {
		t.Fatalf("replay: %v\n%s", err, stderr)
	}
	if out, _, err := execute(newImportCommand(), "-f", "q.yaml", "--dry-run", "-o", "csv"); err != nil || !strings.Contains(out, "\na,,0,1,1,0,0,,,\n") {
		t.Errorf("dry run: %v\n%s", err, out)
	}
	if files, _ := os.ReadDir(pendingPolicyFolder); len(files) > 0 {
		t.Errorf("a dry run stored %v", files)
	}
	out, stderr, err := execute(newImportCommand(), "-f", "q.yaml")
	if err != nil {
		t.Fatalf("import: %v\n%s", err, stderr)
	}
	for _, want := range []string{"tightens: GPUs are divided by quotas: a min 0 max 1 weight 1", "effect on that day: 1 of 2 jobs run elsewhere or at another time", "nothing has changed yet.   apply: gridbid policy apply p-"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if _, _, err := execute(newImportCommand(), "-f", "bad.yaml"); err == nil || !strings.Contains(err.Error(), "bad.yaml:3: quotas/1/parent: b: no quota is named c") {
		t.Errorf("a tree with a hole: %v", err)
	}
}

// A policy that propagates a Deployment is printed as the service that it makes, and submitted as that.
func TestAPropagationPolicyIsImportedAsAService(t *testing.T) {
	t.Chdir(t.TempDir())
	policy := "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: p}\nspec:\n  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]\n" +
		"  placement:\n    clusterAffinity: {clusterNames: ['${one}']}\n    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}\n"
	deployment := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: chat}\nspec:\n  replicas: 3\n  template: {spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 2, memory: 4Gi}}}]}}\n"
	if err := errors.Join(os.WriteFile("p.yaml", []byte(policy), 0o600), os.WriteFile("d.yaml", []byte(deployment), 0o600), os.WriteFile("q.yaml", []byte("quotas: []\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	out, _, err := execute(newImportCommand(), "-f", "p.yaml", "-f", "d.yaml", "--set", "one=oslo", "--dry-run")
	if err != nil || !strings.Contains(out, "id: chat\nreplicas: 3\ncpu: 2\nmemory: 4\nsites:\n    - oslo\ndivision: aggregated\ntask: ") {
		t.Errorf("dry run: %v\n%s", err, out)
	}
	var submitted []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		s, err := servicefile.Parse("service", text)
		if err != nil {
			t.Error(err)
		}
		submitted = append(submitted, r.Method+" "+r.URL.Path+" "+string(s.ID))
		_, _ = io.WriteString(w, `{"service": "chat", "wanted": 3}`)
	}))
	defer api.Close()
	at := strings.TrimPrefix(api.URL, "http://")
	if out, _, err := execute(newImportCommand(), "-f", "p.yaml", "-f", "d.yaml", "--set", "one=oslo", "--api", at); err != nil || out != "chat  3 wanted, 0 run\n" || !slices.Equal(submitted, []string{"POST /v1/services chat"}) {
		t.Errorf("import: %v\n%s%v", err, out, submitted)
	}
	for want, args := range map[string][]string{
		"names ${one}: say which site that is":   {"-f", "p.yaml", "-f", "d.yaml"},
		"want NAME=SITE":                         {"-f", "p.yaml", "--set", "one"},
		"are for files with a PropagationPolicy": {"-f", "q.yaml", "--set", "a=b"},
		"write them into one file":               {"-f", "q.yaml", "-f", "q.yaml"},
	} {
		if _, _, err := execute(newImportCommand(), args...); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want %q", args, err, want)
		}
	}
}
