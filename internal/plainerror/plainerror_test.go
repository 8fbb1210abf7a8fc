package plainerror

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestAUserReadsNoNamesOfPackages(t *testing.T) {
	for said, want := range map[string]string{
		"scenarios: spec: no scenario \"x\"":              `no scenario "x"`,
		"why: stat .gridbid/last: no such file":           "stat .gridbid/last: no such file",
		"--nats: natsbus: listen as x: in use":            "--nats: listen as x: in use",
		"api: job.yaml:2: policy: unknown key":            "job.yaml:2: policy: unknown key",
		"spec: a.yaml:1: x\nspec: b.yaml:2: trace: wrong": "a.yaml:1: x\nb.yaml:2: trace: wrong",
		"policy": "policy",
		"up: oslo: wal: write agent.wal: no space left":     "oslo: write agent.wal: no space left",
		"traces: want a URL":                                "traces: want a URL",
		"kube: list nodes: Get \"https://h:6443\": refused": `list nodes: Get "https://h:6443": refused`,
	} {
		if got := Text(errors.New(said)); got != want {
			t.Errorf("%q is worded %q; want %q", said, got, want)
		}
	}
	if got := Text(fmt.Errorf("bus: %w", errors.Join(errors.New("wal: a"), errors.New("wal: b")))); got != "a\nb" {
		t.Errorf("joined errors: %q", got)
	}
}

// Whoever writes a package with errors adds its name here.
func TestEveryPrefixOfAnErrorIsKnown(t *testing.T) {
	prefix := regexp.MustCompile(`(?:fmt\.Errorf|errors\.New|fmt\.Sprintf)\("([a-z][a-z-]*): `)
	clause := regexp.MustCompile(`(?m)^package (\w+)`)
	use := regexp.MustCompile(`Use:\s+"(\w+)`)
	checked := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "deploy" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		own := []string{filepath.Base(filepath.Dir(path)), string(clause.FindSubmatch(text)[1])}
		for _, m := range use.FindAllSubmatch(text, -1) {
			own = append(own, string(m[1])) // a command
		}
		for _, m := range prefix.FindAllSubmatch(text, -1) {
			if word := string(m[1]); slices.Contains(own, word) {
				if checked++; !slices.Contains(names, word) {
					t.Errorf("%s: an error begins with %q, which is not among the names", path, word)
				}
			}
		}
		return nil
	})
	if err != nil || checked < 300 {
		t.Errorf("%d prefixes checked, %v; want more than 300", checked, err)
	}
}
