package bench

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// The objective of a row's jobs is the record's own: worked out again from sums that
// are rounded, it may lie a millionth below the bound of jobs that nobody could run.
func TestARowHasTheObjectiveOfItsRecord(t *testing.T) {
	totals := history.Totals{ObjectiveUSD: 69.297100, IdleKg: 0.123457, JobsUSD: 69.273644}
	s := spec.Scenario{Weights: spec.Weights{Kappa: 190_000_000}}
	if got := rowOfTotals(s, scenarios.PolicyAuction, totals, boundPair{}).JobsUSD; got != totals.JobsUSD {
		t.Errorf("$%.9f; its record says $%.9f", got, totals.JobsUSD)
	}
}

// What is kept of a row is what was played. Its gap is to the bound of this run,
// though the one before searched for less long.
func TestAKeptRowIsHeldAgainstTheBoundOfThisRun(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 20})
	if err != nil {
		t.Fatal(err)
	}
	p, e := BenchPlan{Dir: t.TempDir()}, scenarios.PolicyAuctionNow
	if err := os.Mkdir(filepath.Join(p.Dir, "rows"), 0o755); err != nil {
		t.Fatal(err)
	}
	first, ran, err := p.rowOf(t.Context(), s, e, boundPair{Jobs: 0.01, Idle: 0.1})
	if err != nil || !ran {
		t.Fatal(ran, err)
	}
	second, ran, err := p.rowOf(t.Context(), s, e, boundPair{Jobs: 0.02, Idle: 0.2})
	if err != nil || ran {
		t.Fatal(ran, err)
	}
	if want := rowOfTotals(s, e, first.Totals, boundPair{Jobs: 0.02, Idle: 0.2}); !reflect.DeepEqual(second, want) {
		t.Errorf("a kept row is\n%+v, one held against today's bounds\n%+v", second, want)
	}
}
