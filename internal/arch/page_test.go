package arch

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the plan into ARCHITECTURE.md")

func TestPlanReadsDownwards(t *testing.T) {
	var above []string
	for _, l := range plan {
		for _, ours := range strings.Fields(l.ours) {
			if ours != "*" && !slices.Contains(above, ours) {
				t.Errorf("%s may import %s, which is not listed above it", l.pkg, ours)
			}
		}
		if l.why == "" {
			t.Errorf("the line of %s does not say what the package is for", l.pkg)
		}
		above = append(above, l.pkg)
	}
}

// ARCHITECTURE.md contains the plan as a table, which must be the same.
func TestPlanIsInARCHITECTURE(t *testing.T) {
	const page, begin, end = root + "/ARCHITECTURE.md", "<!-- plan -->\n", "<!-- /plan -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(text), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("ARCHITECTURE.md has no place for the plan between %q and %q", begin, end)
	}
	want := head + begin + table() + end + tail
	switch {
	case want == string(text):
	case !*update:
		t.Errorf("ARCHITECTURE.md shows another plan; go test ./internal/arch -update writes this one")
	default:
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// table returns the plan as a Markdown table.
func table() string {
	var b strings.Builder
	b.WriteString("| package | pure | may import of this module | and of others | what it is for |\n|---|---|---|---|---|\n")
	for _, l := range plan {
		yes := ""
		if l.pure {
			yes = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", l.pkg, yes, cell(l.ours), cell(l.others), l.why)
	}
	return b.String()
}

// cell formats a list of packages.
func cell(list string) string {
	switch list {
	case "":
		return "–"
	case "*":
		return "all"
	}
	return "`" + strings.ReplaceAll(list, " ", "` `") + "`"
}
