package acceptance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/acceptance"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Every case of this folder is met.
func TestEveryCaseIsMet(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d cases: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			for _, v := range play(t, file) {
				if !v.Holds() {
					t.Errorf("%s:%d: %s; %s (`gridbid scenario test` explains it)", file, v.Line, v.Expected, v.Got)
				}
			}
		})
	}
}

// play replays a scenario and returns what became of its expectations.
func play(t *testing.T, file string) (all []acceptance.Verdict) {
	t.Helper()
	s, err := spec.LoadScenario(file, spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Expect) == 0 {
		t.Fatalf("%s expects nothing", file)
	}
	for _, policy := range scenarios.PoliciesToJudge(s) {
		verdicts, _, err := scenarios.JudgeReplay(t.Context(), s, policy)
		if err != nil {
			t.Fatalf("%s: %v", policy, err)
		}
		all = append(all, verdicts...)
	}
	return all
}

// The example of the documentation is met, too.
func TestTheExampleOfTheDocsIsMet(t *testing.T) {
	doc, err := os.ReadFile("../../docs/acceptance.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/acceptance.md has no example")
	}
	file := filepath.Join(t.TempDir(), "example.yaml")
	if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, v := range play(t, file) {
		if !v.Holds() {
			t.Errorf("line %d: %s; %s", v.Line, v.Expected, v.Got)
		}
	}
}
