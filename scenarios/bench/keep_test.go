package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/script"
)

// What is kept of a row is what was played. Its gap is to the bound of this run,
// though the one before searched for less long.
func TestAKeptRowIsHeldAgainstTheBoundOfThisRun(t *testing.T) {
	s, err := script.Load(script.Default, script.Options{MaxJobs: 20})
	if err != nil {
		t.Fatal(err)
	}
	p, e := Plan{Dir: t.TempDir()}, Entry{Policy: scenarios.AuctionNow}
	if err := os.Mkdir(filepath.Join(p.Dir, "rows"), 0o755); err != nil {
		t.Fatal(err)
	}
	first, ran, err := p.row(t.Context(), s, e, pair{Jobs: 0.01, Idle: 0.1})
	if err != nil || !ran {
		t.Fatal(ran, err)
	}
	second, ran, err := p.row(t.Context(), s, e, pair{Jobs: 0.02, Idle: 0.2})
	if err != nil || ran {
		t.Fatal(ran, err)
	}
	if want := measure(s, e, first.Totals, pair{Jobs: 0.02, Idle: 0.2}); second != want {
		t.Errorf("a kept row is\n%+v, one held against today's bounds\n%+v", second, want)
	}
}

func TestAFileIsSavedWholeOrNotAtAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "row.json")
	if err := os.Mkdir(path+".part", 0o755); err != nil { // it cannot be written
		t.Fatal(err)
	}
	if err := save(path, 1); err == nil {
		t.Error("nothing was written, and save says no word")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("what was not written stands in its place")
	}
}
