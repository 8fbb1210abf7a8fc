package acceptance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A division that is not as expected fails in each thing that it may say, and says what happened instead.
func TestAnExpectedDivisionCanFail(t *testing.T) {
	text, err := os.ReadFile("s1-stuck-replicas-go-where-room-is.yaml")
	if err != nil {
		t.Fatal(err)
	}
	story, _, _ := strings.Cut(string(text), "expect:\n")
	for expectation, got := range map[string]string{
		"{service: llm, divided: {at: 11m, sites: {m1: 4, m2: 3, m3: 2}, running: 7}}":                      "it has m1 5, m2 3, m3 2, 0 pending, 7 running, for service-placed",
		"{service: llm, divided: {at: 11m, sites: {m1: 5, m2: 3, m3: 2}}}":                                  "it has m1 5, m2 3, m3 2, 0 pending, 7 running, for service-placed",
		"{service: llm, divided: {at: 11m, sites: {m1: 5, m2: 3, m3: 2}, running: 7, pending: 3}}":          "it has m1 5, m2 3, m3 2, 0 pending, 7 running, for service-placed",
		"{service: llm, divided: {at: 11m, sites: {m1: 5, m2: 3, m3: 2}, running: 7, why: rescheduled}}":    "it has m1 5, m2 3, m3 2, 0 pending, 7 running, for service-placed",
		"{service: llm, divided: {at: 30s, sites: {m1: 5}}}":                                                "it was not divided by then",
		"{service: llm, divided: {at: 11m, sites: {m1: 5, m2: 3, m3: 2}, running: 7, why: service-placed}}": "",
	} {
		file := filepath.Join(t.TempDir(), "case.yaml")
		if err := os.WriteFile(file, []byte(story+"expect:\n  - "+expectation+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if v := play(t, file)[0]; v.Got != got {
			t.Errorf("%s: %q; want %q", expectation, v.Got, got)
		}
	}
}
