package main

import (
	"errors"
	"os"
	"strings"
	"testing"
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
	if out, _, err := execute(newImportCommand(), "-f", "q.yaml", "--dry-run", "-o", "csv"); err != nil || !strings.Contains(out, "\na,,0,1,1,0,0\n") {
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
