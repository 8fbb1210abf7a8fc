package main

import (
	"strings"
	"testing"

	"github.com/gridbid/gridbid/scenarios/report"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A report shows hours after the last arrival, into which jobs were deferred. They
// did not arrive then.
func TestAReportNamesTheEndOfArrivals(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 5})
	if err != nil {
		t.Fatal(err)
	}
	d := newDayReport(s)
	d.Policies = make([]report.PolicyRun, 1)
	if got, want := report.ComparisonText(d), s.End.StdTime().Format("to 2 Jan 2006 15:04 UTC"); !strings.Contains(got, want) {
		t.Errorf("the report says %q; want %q in it", got, want)
	}
}
