package bench

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/lab/bound"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// shareRows are rows of one day whose V are as given, with lateness on top.
func shareRows(values map[string]float64, order ...string) (out []BenchRow) {
	for i, entry := range order {
		late := float64(10 * i)
		out = append(out, BenchRow{
			Scenario: "monday", Hash: "monday", Entry: entry, JobsUSD: values[entry] + late, BoundUSD: 48,
			Totals: history.Totals{Policy: entry, Jobs: 100, LateUSD: late, WorstJobUSD: late / 2},
		})
	}
	return out
}

// searchOf is a search that found a schedule of that V.
func searchOf(usd float64) map[string]SearchedDay {
	return map[string]SearchedDay{"monday": {BestKnown: bound.BestKnown{ValueUSD: usd, Steps: 9, BoundUSD: 48}}}
}

func TestShareOfSavable(t *testing.T) {
	values := map[string]float64{"auction": 60, "auction/perfect": 55, "home-fifo": 100}
	all := []string{"auction", "auction/perfect", "home-fifo"}
	tests := []struct {
		name   string
		search float64 // 0: none
		of     string
		change func([]BenchRow)
		want   float64 // NaN: no share
		best   string
		bound  bool
	}{
		{"a search is the best", 50, "auction", nil, 0.8, "search", false},
		{"a baseline saves nothing", 50, "home-fifo", nil, 0, "search", false},
		{"as good as the best", 50, "auction", func(r []BenchRow) { r[0].JobsUSD = 50 + r[0].Totals.LateUSD }, 1, "search", false},
		{"the best run", 58, "auction", func(r []BenchRow) { r[0].BoundUSD = 54 }, 40.0 / 45, "auction/perfect", false},
		{"a row is not its own best", 58, "auction/perfect", func(r []BenchRow) { r[1].BoundUSD = 56 }, 45.0 / 42, "search", false},
		{"no search: far from the bound", 0, "auction", nil, 40.0 / 52, "auction/perfect", true},
		{"no search: near the bound", 0, "auction", func(r []BenchRow) { r[0].BoundUSD = 54 }, 40.0 / 45, "auction/perfect", false},
		{"lateness is no part", 50, "auction", func(r []BenchRow) { r[0].JobsUSD += 7; r[0].Totals.LateUSD += 7 }, 0.8, "search", false},
		{"undone jobs", 50, "auction", func(r []BenchRow) { r[0].Totals.Unplaced = 1 }, math.NaN(), "search", false},
		{"a baseline with undone jobs", 50, "auction", func(r []BenchRow) { r[2].Totals.Unplaced = 1 }, math.NaN(), "search", false},
		{"nothing to save", 50, "auction", func(r []BenchRow) { r[2].JobsUSD = 50 + r[2].Totals.LateUSD }, math.NaN(), "home-fifo", false},
		{"a bound below zero", -4, "auction", func(r []BenchRow) { r[0].BoundUSD = -5 }, 40.0 / 105, "search", true},
	}
	for _, tc := range tests {
		rows := shareRows(values, all...)
		if tc.change != nil {
			tc.change(rows)
		}
		searched := searchOf(tc.search)
		if tc.search == 0 {
			searched = nil
		}
		AddSavableShares(rows, searched)
		for _, r := range rows {
			if r.Entry != tc.of {
				continue
			}
			got := sharePercent(r) / 100
			if math.Abs(got-tc.want) > 1e-9 || math.IsNaN(got) != math.IsNaN(tc.want) || r.Savable.Best != tc.best || r.Savable.AgainstBound != tc.bound {
				t.Errorf("%s: %s has a share of %v, best %q, against the bound %v; want %v, %q, %v", tc.name, tc.of, got, r.Savable.Best, r.Savable.AgainstBound, tc.want, tc.best, tc.bound)
			}
		}
	}
}

// Jobs that the search leaves undone and a run does not make it no best.
func TestASearchThatLeavesJobsUndoneIsNotTheBest(t *testing.T) {
	rows := shareRows(map[string]float64{"auction": 60, "home-fifo": 100}, "auction", "home-fifo")
	searched := searchOf(50)
	k := searched["monday"]
	k.Unplaced = 1
	searched["monday"] = k
	AddSavableShares(rows, searched)
	if rows[0].Savable.Best != "home-fifo" {
		t.Errorf("the best is %q", rows[0].Savable.Best)
	}
}

// A plan computes V as the record's own parts give it, adds the search, and prints the shares.
func TestAPlanSearchesAndPrintsShares(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 60})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	p := BenchPlan{
		Days: []BenchDay{{Scenario: s}}, Entries: []string{scenarios.PolicyAuction, "home-fifo"}, Steps: 60, SearchSteps: 300, Dir: t.TempDir(),
		Progress: func(format string, args ...any) { log.WriteString(format) },
	}
	rows, err := RunPlan(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	kappa := scenarios.MarketWeights(s).Carbon.InDollars()
	for _, r := range rows {
		x := r.Totals
		if want := x.CostUSD - x.IdleUSD + (x.CarbonKg-x.IdleKg)*kappa + x.TransferUSD + x.DelayUSD; math.Abs(r.Savable.ValueUSD-want) > 1e-4 {
			t.Errorf("%s: V is $%.6f; its parts add up to $%.6f", r.Entry, r.Savable.ValueUSD, want)
		}
		if r.Savable.SearchUSD+r.Savable.SearchLateUSD > r.JobsUSD || !r.Savable.Known || r.Savable.SearchSteps != 300 {
			t.Errorf("%s: %+v; its jobs cost $%.4f", r.Entry, r.Savable, r.JobsUSD)
		}
	}
	if a, f := rows[0].Savable, rows[1].Savable; f.Share != 0 || a.Share <= 0 || a.Share > 1 {
		t.Errorf("the shares are %v of the auction and %v of home-fifo", a.Share, f.Share)
	}
	var table, lines bytes.Buffer
	if err := WriteMarkdown(&table, rows); err != nil {
		t.Fatal(err)
	}
	if err := WriteCSV(&lines, rows); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"share of savable % |", rows[0].Savable.searchText(rows[0].BoundUSD)} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, table.String())
		}
	}
	if !strings.Contains(lines.String(), ",V_$,share_of_savable_%,") {
		t.Errorf("no shares in\n%s", lines.String())
	}
	// Again from the cache: the same rows, nothing searched.
	was := len(rows)
	log.Reset()
	again, err := RunPlan(t.Context(), p)
	if err != nil || len(again) != was || !reflect.DeepEqual(again[0], rows[0]) || strings.Contains(log.String(), "searching") {
		t.Errorf("from the cache: %v\n%+v\n%+v\n%s", err, again[0], rows[0], log.String())
	}
	files, err := filepath.Glob(filepath.Join(p.Dir, "rows", "*.schedule.json.gz"))
	if err != nil || len(files) != 2 {
		t.Errorf("%d schedules in the cache: %v", len(files), err)
	}
	if run, err := readSchedule(files[0]); err != nil || len(run) != 60 {
		t.Errorf("a schedule has %d jobs: %v", len(run), err)
	}
	if err := os.WriteFile(files[0], []byte("no gzip"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readSchedule(files[0]); err == nil {
		t.Error("a damaged schedule is no error")
	}
}

// The job that waited at the highest price is shown as a part of the day's objective.
func TestTheWorstJobIsAPartOfTheObjective(t *testing.T) {
	rows := shareRows(map[string]float64{"auction": 60, "home-fifo": 100}, "auction", "home-fifo")
	if got := worstJobPercent(rows[1]); math.Abs(got-100*5/110.0) > 1e-9 {
		t.Errorf("the worst job is %v %%", got)
	}
}

// A day with a gang of several nodes has no best known schedule. Its rows stay, with the best run as the best.
func TestAPlanWithoutAScheduleSaysSo(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 20})
	if err != nil {
		t.Fatal(err)
	}
	s.Jobs[3] = s.Jobs[3].WithPods([]protocol.Component{{Role: "worker", Pods: 3, GPUs: 8, Share: 1000, CPU: 8000, Memory: 8 << 10}})
	s.Jobs[3].Models, s.Jobs[3].Regions = nil, nil
	s.Hash += "-gang"
	var log strings.Builder
	rows, err := RunPlan(t.Context(), BenchPlan{
		Days: []BenchDay{{Scenario: s}}, Entries: []string{scenarios.PolicyAuction, "home-fifo"}, Steps: 20, SearchSteps: 50, Dir: t.TempDir(),
		Progress: func(format string, args ...any) { fmt.Fprintf(&log, format+"\n", args...) },
	})
	if err != nil || len(rows) != 2 || rows[0].Savable.Best != "home-fifo" || rows[0].Savable.SearchSteps != 0 {
		t.Errorf("%v: %+v", err, rows)
	}
	if want := "no best known schedule: no schedule can be searched for: job " + string(s.Jobs[3].ID); !strings.Contains(log.String(), want) {
		t.Errorf("no %q in\n%s", want, log.String())
	}
}
