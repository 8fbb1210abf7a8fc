package bench

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/scenarios/spec"
)

// A day of five jobs warns in the progress, in its rows, also cached ones, and in the tables.
func TestADayOfFewJobsIsMarkedInEveryTable(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 5})
	if err != nil {
		t.Fatal(err)
	}
	const want = "5 jobs are worth 3 by GPU-hours"
	dir := t.TempDir()
	for _, how := range []string{"replayed", "cached"} {
		var lines []string
		rows, err := RunPlan(t.Context(), BenchPlan{
			Days: []BenchDay{{Scenario: s}}, Entries: []string{"home-fifo"}, Steps: 1, Dir: dir,
			Progress: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) },
		})
		if err != nil || len(rows) != 1 || len(rows[0].Totals.Warnings) != 1 || !strings.Contains(rows[0].Totals.Warnings[0], want) {
			t.Fatalf("%s: %+v, %v; want one row with one warning", how, rows, err)
		}
		if all := strings.Join(lines, "\n"); !strings.Contains(all, "warning: six-regions seed 1: "+want) {
			t.Errorf("%s: progress lacks the warning:\n%s", how, all)
		}
		var markdown, page bytes.Buffer
		if err := WriteMarkdown(&markdown, rows); err != nil || !strings.Contains(markdown.String(), "Warning: "+want) {
			t.Errorf("%s: the Markdown lacks the warning (%v)", how, err)
		}
		if err := WritePage(&page, rows); err != nil || !strings.Contains(page.String(), "Warning: six-regions, seed 1: "+want) {
			t.Errorf("%s: the page lacks the warning (%v)", how, err)
		}
	}
}
