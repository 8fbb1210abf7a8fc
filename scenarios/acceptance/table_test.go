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
	caseRow  = regexp.MustCompile(`(?m)^\| ([GR]-[A-Z]\d+|[XUQ]\d+) \| ([^|]+) \| ([^|]+) \|([^|]*)\|$`)
	testOf   = regexp.MustCompile("`((?:Test|Fuzz)\\w+)` of `([\\w/]+)`")
	testsOf  = regexp.MustCompile("((?:`Test\\w+`(?:, )?)+) of `([\\w/]+)`")
	testName = regexp.MustCompile(`Test\w+`)
	fileName = regexp.MustCompile("`([a-z][\\w-]+)`")
	named    = regexp.MustCompile(`^(G|R-[HOE])`) // cases whose tests need not name them
	caseID   = regexp.MustCompile(`\bG-[TBEX]\d+\b|\bR-[PQBVHOE]\d+\b|\b[XUQ]\d+\b`)
)

// The tables of docs/acceptance.md have each case of gangs, precedence, quotas and payment once; what they name exists
// and says which case it is, and each file of a case is named.
func TestTheTablesOfCasesAreTrue(t *testing.T) {
	doc, err := os.ReadFile("../../docs/acceptance.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]string)
	for _, row := range caseRow.FindAllStringSubmatch(string(doc), -1) {
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
			switch text := fileOfTest(t, x[2], x[1]); {
			case text == "":
				t.Errorf("%s: there is no %s in %s", id, x[1], x[2])
			case !named.MatchString(id) && !slices.Contains(caseID.FindAllString(text, -1), id):
				t.Errorf("%s: the file of %s in %s does not name it", id, x[1], x[2])
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
	for of, n := range map[string]int{"G-T": 14, "G-B": 8, "G-E": 8, "G-X": 9, "X": 6, "U": 2, "Q": 15, "R-P": 15, "R-Q": 21, "R-B": 8, "R-V": 2, "R-H": 6, "R-O": 2, "R-E": 2} {
		for i := range n {
			if id := fmt.Sprint(of, i+1); rows[id] == "" {
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

// The tables of rights and of what learns name tests that exist, and at least one for each of their rows.
func TestTheTablesOfWhatIsHeldAreTrue(t *testing.T) {
	doc, err := os.ReadFile("../../docs/acceptance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, title := range []string{"Rights, quotas, payment and proof", "What learns"} {
		_, section, _ := strings.Cut(string(doc), "\n## "+title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		rows := regexp.MustCompile(`(?m)^\| ([^|-][^|]*) \| ([^|]+) \|$`).FindAllStringSubmatch(section, -1)
		if len(rows) < 2 {
			t.Fatalf("docs/acceptance.md has no table of %q", title)
		}
		for _, row := range rows[1:] { // the first is the head
			held := testsOf.FindAllStringSubmatch(row[2], -1)
			if len(held) == 0 {
				t.Errorf("%q is held by no test: %s", row[1], row[2])
			}
			for _, x := range held {
				for _, name := range testName.FindAllString(x[1], -1) {
					if fileOfTest(t, x[2], name) == "" {
						t.Errorf("%q: there is no %s in %s", row[1], name, x[2])
					}
				}
			}
		}
	}
}

var (
	serviceRow  = regexp.MustCompile(`(?m)^\| (S-D\d+|(?:SW|[WEPDKRSM])\d+[a-d]?) \| ([^|]+) \| ([^|]+) \|([^|]*)\|$`)
	serviceCase = regexp.MustCompile(`^# (?:(?:S-D|[WEPDKRS])\d+[a-d]?(?:, )?)+`)
	oneOfThem   = regexp.MustCompile(`(?:S-D|[WEPDKRS])\d+[a-d]?`)
)

// The table of services has each case once, and what it names exists; a file that says at its top which case it is
// stands in the row of that.
func TestTheTableOfServicesIsTrue(t *testing.T) {
	doc, err := os.ReadFile("../../docs/acceptance.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]string)
	for _, row := range serviceRow.FindAllStringSubmatch(string(doc), -1) {
		id, by := row[1], row[3]
		if rows[id] != "" {
			t.Errorf("%s has two rows", id)
		}
		if rows[id] = by; by == "–" && strings.TrimSpace(row[4]) == "" {
			t.Errorf("%s is held by nothing, and its row does not say why", id)
		}
		for _, x := range testOf.FindAllStringSubmatch(by, -1) {
			if fileOfTest(t, x[2], x[1]) == "" {
				t.Errorf("%s: there is no %s in %s", id, x[1], x[2])
			}
		}
		for _, x := range fileName.FindAllStringSubmatch(testOf.ReplaceAllString(by, ""), -1) {
			if _, err := os.Stat(x[1] + ".yaml"); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
	for of, n := range map[string]int{"W": 9, "E": 4, "P": 14, "D": 7, "SW": 9, "R": 4, "S": 4, "M": 5, "S-D": 10} {
		for i := range n {
			if id := fmt.Sprint(of, i+1); rows[id] == "" {
				t.Errorf("%s has no row", id)
			}
		}
	}
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d cases: %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Error(err)
		}
		for _, id := range oneOfThem.FindAllString(serviceCase.FindString(string(text)), -1) {
			if name := strings.TrimSuffix(f, ".yaml"); !strings.Contains(rows[id], "`"+name+"`") && (id[0] != 'E' || strings.Contains(string(text), "\nservices:")) {
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
	return caseID.FindAllString(top, -1)
}

// fileOfTest returns the file of a package that has a test; "" if none has.
func fileOfTest(t *testing.T, folder, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), "func "+name+"(") {
			return string(text)
		}
	}
	return ""
}
