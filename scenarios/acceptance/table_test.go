package acceptance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	gangRow  = regexp.MustCompile(`(?m)^\| (G-[A-Z]\d+) \| ([^|]+) \| ([^|]+) \|([^|]*)\|$`)
	testOf   = regexp.MustCompile("`(Test\\w+)` of `([\\w/]+)`")
	fileName = regexp.MustCompile("`([a-z][\\w-]+)`")
	gangID   = regexp.MustCompile(`\bG-[TBEX]\d+\b`)
)

// The table of docs/acceptance.md has each case of gangs once; what it names exists and says which case it is,
// and each file of a case is named.
func TestTheTableOfGangCasesIsTrue(t *testing.T) {
	doc, err := os.ReadFile("../../docs/acceptance.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]string)
	for _, row := range gangRow.FindAllStringSubmatch(string(doc), -1) {
		id, by, other := row[1], row[3], strings.TrimSpace(row[4])
		if rows[id] != "" {
			t.Errorf("%s has two rows", id)
		}
		rows[id] = by
		if by == "–" {
			if other == "" {
				t.Errorf("%s is held by nothing, and its row does not say why", id)
			}
			continue
		}
		held := 0
		for _, x := range testOf.FindAllStringSubmatch(by, -1) {
			held++
			if !hasTest(t, x[2], x[1]) {
				t.Errorf("%s: there is no %s in %s", id, x[1], x[2])
			}
		}
		for _, x := range fileName.FindAllStringSubmatch(testOf.ReplaceAllString(by, ""), -1) {
			held++
			if !slices.Contains(casesOf(t, x[1]+".yaml"), id) {
				t.Errorf("%s: %s.yaml does not say at its top that it is %s", id, x[1], id)
			}
		}
		if held == 0 {
			t.Errorf("%s: %q names no file and no test", id, by)
		}
	}
	for letter, n := range map[string]int{"T": 14, "B": 8, "E": 8, "X": 9} {
		for i := range n {
			if id := fmt.Sprintf("G-%s%d", letter, i+1); rows[id] == "" {
				t.Errorf("%s has no row", id)
			}
		}
	}
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d cases: %v", len(files), err)
	}
	for _, f := range files {
		for _, id := range casesOf(t, f) {
			if name := strings.TrimSuffix(f, ".yaml"); !strings.Contains(rows[id], "`"+name+"`") {
				t.Errorf("the row of %s does not name %s", id, name)
			}
		}
	}
}

// casesOf returns the cases that a file says at its top to be: those of its first sentence.
func casesOf(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	top, _, _ := strings.Cut(line, ". ")
	return gangID.FindAllString(top, -1)
}

// hasTest reports whether a package has a test.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(f string) bool {
		text, err := os.ReadFile(f)
		return err == nil && strings.Contains(string(text), "func "+name+"(")
	})
}
