package main

import (
	"strings"
	"testing"

	"github.com/gridbid/gridbid/scenarios/report"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A report shows hours after the last arrival, into which jobs were deferred. They
// did not arrive then.
func TestAReportSaysUntilWhenJobsArrive(t *testing.T) {
	s, err := spec.Load(spec.Default, spec.Options{MaxJobs: 5})
	if err != nil {
		t.Fatal(err)
	}
	d := newDay(s)
	d.Policies = make([]report.Policy, 1)
	if got, want := report.Compared(d), s.End.Go().Format("to 2 Jan 2006 15:04 UTC"); !strings.Contains(got, want) {
		t.Errorf("the report says %q; want %q in it", got, want)
	}
}
