package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/history"
)

// drawnRows are days and draws under the auction, its row `chance`, a rule that is a tenth
// dearer and home-fifo at twice the cost. What days and draws have in common moves all of
// them; chance moves each run by 2 %.
func drawnRows(days, draws int) (out []BenchRow) {
	d := rand.New(rand.NewPCG(3, 4))
	for day := range days {
		for draw := 1; draw <= draws; draw++ {
			common := 10 * math.Exp(0.5*d.NormFloat64())
			for _, x := range []struct {
				entry string
				times float64
			}{{"auction", 1}, {"chance", 1}, {"rule", 1.1}, {"home-fifo", 2}, {"auction/perfect", 0.5}} {
				usd := common * x.times * math.Exp(0.02*d.NormFloat64())
				r := BenchRow{
					Scenario: fmt.Sprint("day-", day), Hash: fmt.Sprint(day, "-", draw), Seed: 1, Draw: draw, Entry: x.entry,
					JobsUSD: usd, BoundUSD: common / 2, Gap: 1, BusyCostUSD: usd / 2, BusyKg: usd * 3,
					Totals: history.Totals{Policy: x.entry, Jobs: 100, CostUSD: usd, CarbonKg: usd * 4, ObjectiveUSD: 2 * usd},
				}
				r.Totals.WaitS.Mean = 600 / x.times
				out = append(out, r)
			}
		}
	}
	return out
}

func TestDifferencesTellWhatIsMoreThanChance(t *testing.T) {
	for what, n := range map[string]struct{ days, draws, units int }{"few days": {2, 10, 20}, "many days": {10, 4, 10}} {
		rows := drawnRows(n.days, n.draws)
		all := Differences(rows)
		for _, tc := range []struct {
			entry, reference, figure string
			verdict                  Verdict
			mean                     float64
		}{
			{"chance", "auction", "jobs_usd", WithinChance, 0},
			{"rule", "auction", "jobs_usd", Worse, 0.1},
			{"auction/perfect", "auction", "jobs_usd", Better, -0.5},
			{"auction", "home-fifo", "busy_cost_usd", Better, -0.5},
			{"auction", "home-fifo", "busy_kg", Better, -0.5},
			{"auction", "home-fifo", "late_jobs", WithinChance, 0},
			{"auction", "home-fifo", "wait_min", Worse, 5},
		} {
			d, ok := findDifference(all, tc.entry, tc.reference, tc.figure)
			if !ok || d.Verdict != tc.verdict || math.Abs(d.Mean-tc.mean) > 0.02 || d.N != n.units || d.Pairs != n.days*n.draws {
				t.Errorf("%s: %+v; want %+v of %d values", what, d, tc, n.units)
			}
		}
		if d, ok := findDifference(all, "chance", "auction", "jobs_usd"); !ok || d.Low > 0 || d.High < 0 || d.High-d.Low > 0.06 {
			t.Errorf("%s: chance is %+v", what, d)
		}
	}
}

// A day is won by a policy that is better beyond chance, and by none that is merely lowest.
func TestBestCountsNoDayWithinChance(t *testing.T) {
	rows := drawnRows(10, 4)
	if got := bestDays(rows); fmt.Sprint(got) != "map[auction:10]" {
		t.Errorf("best: %v; want the auction on ten days: neither chance nor auction/perfect is a rival", got)
	}
	twin := rows
	for _, r := range rows {
		if r.Entry == "chance" { // the same row as a rival: now nothing is better than the other
			r.Entry, r.Totals.Policy = "twin", "twin"
			twin = append(twin, r)
		}
	}
	if got := bestDays(twin); got == nil || len(got) != 0 {
		t.Errorf("best, of two that differ by chance: %v; want no day", got)
	}
	if got := bestDays(drawnRows(2, 2)); got != nil {
		t.Errorf("best of four runs: %v; want no claim", got)
	}
	for _, s := range SummarizePolicies(rows) {
		if s.Best == nil || (*s.Best == 10) != (s.Entry == "auction") {
			t.Errorf("%s is best on %v days", s.Entry, s.Best)
		}
	}
}

// Prices below zero leave no ratio; where a mean is left the difference is a part of that.
func TestRatiosOfFiguresThatMayBeBelowZero(t *testing.T) {
	days := []string{"a", "a", "b", "b", "c", "c"}
	y := []float64{4, 2, -1, 3, 2, 2} // mean 2
	x := []float64{5, 3, 0, 4, 3, 3}  // one dollar more
	if got := RatioInterval(days, x, y); math.Abs(got.Mean-0.5) > 1e-12 || got.N != 6 {
		t.Errorf("%+v; want a mean of one half", got)
	}
	if got := RatioInterval(days, x, []float64{-4, 2, -1, 1, 1, 1}); got != (Interval{}) {
		t.Errorf("against a mean of zero: %+v", got)
	}
	// A run at twice the cost and one at half of it cancel.
	if got := RatioInterval(days, []float64{2, 1, 2, 1, 2, 1}, []float64{1, 2, 1, 2, 1, 2}); math.Abs(got.Mean) > 1e-12 || got.Low >= 0 || got.High <= 0 {
		t.Errorf("twice and half: %+v", got)
	}
}

// Intervals are where people look: in each of the tables, and what is within chance is marked.
func TestTablesHaveIntervals(t *testing.T) {
	rows := drawnRows(10, 4)
	var table, page, csv, raw bytes.Buffer
	if err := errors.Join(WriteMarkdown(&table, rows), WritePage(&page, rows), WriteDifferencesCSV(&csv, rows), WriteJSON(&raw, rows)); err != nil {
		t.Fatal(err)
	}
	d, _ := findDifference(Differences(rows), "rule", "auction", "jobs_usd")
	cell := d.text(1) // "+10.2 [+9.0, +11.4]"
	for what, text := range map[string]string{"Markdown": table.String(), "page": page.String()} {
		for _, want := range []string{cell, "≈ ", "within chance", "Against auction", "Against home-fifo", "Chance: the auction against itself", "auction against home-fifo: -5", "jobs wait 10 min on the mean instead of 5", "all deadlines kept"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", what, want, text)
			}
		}
	}
	if want := fmt.Sprintf("rule,auction,jobs_usd,%%,40,10,%.6f,%.6f,%.6f,worse\n", d.Mean, d.Low, d.High); !strings.Contains(csv.String(), want) {
		t.Errorf("no %q in\n%s", want, csv.String())
	}
	var got struct {
		Schema      int
		Differences []Difference
	}
	if err := json.Unmarshal(raw.Bytes(), &got); err != nil || got.Schema != 2 || len(got.Differences) != len(Differences(rows)) {
		t.Errorf("JSON: %v, schema %d, %d differences", err, got.Schema, len(got.Differences))
	}
	var few bytes.Buffer
	if err := WriteMarkdown(&few, drawnRows(1, 2)); err != nil || !strings.Contains(few.String(), "too few pairs") || strings.Contains(few.String(), "| ≈") {
		t.Errorf("of two runs: %v\n%s", err, few.String())
	}
}

// A study of runs that differ by chance alone: most intervals hold 0, and a difference that is
// larger than chance is told.
func TestCoverageOfInventedRuns(t *testing.T) {
	d := rand.New(rand.NewPCG(5, 6))
	var runs [][]BenchRow
	for day := range 10 {
		for draw := range 4 {
			common := math.Exp(d.NormFloat64())
			var under []BenchRow
			for range 6 {
				usd := common * math.Exp(0.02*d.NormFloat64())
				under = append(under, BenchRow{
					Scenario: fmt.Sprint("day-", day), Draw: draw + 1, JobsUSD: usd, BusyCostUSD: usd, BusyKg: usd,
					Totals: history.Totals{ObjectiveUSD: usd, CostUSD: usd, CarbonKg: usd},
				})
			}
			runs = append(runs, under)
		}
	}
	got := computeCoverage(runs, 200, 0.03)
	if err := got.Check(); err != nil || got.Runs != 40 || got.Units != 10 || got.Figures[0].Figure != "jobs_usd" || math.Abs(got.Figures[0].PerRun-0.02) > 0.003 {
		t.Errorf("%+v, %v; want 40 runs of 2 %%, and intervals that hold", got, err)
	}
	if again := computeCoverage(runs, 200, 0.03); !reflect.DeepEqual(again, got) {
		t.Errorf("the same runs give %+v, then %+v", got, again)
	}
	// Planted fault: a difference that is no more than chance.
	if got := computeCoverage(runs, 200, 0.003); got.Figures[0].Detected > 60 || got.Check() == nil {
		t.Errorf("a planted 0.3 %% is detected in %d of 200", got.Figures[0].Detected)
	}
	result := func(held, detected int) CoverageResult {
		return CoverageResult{Pairs: 200, Figures: []FigureCoverage{{Held: held, Detected: detected}}}
	}
	for _, bad := range []CoverageResult{result(179, 200), result(200, 200), result(190, 159)} {
		if bad.Check() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
	for _, ok := range []CoverageResult{result(180, 160), result(199, 160)} {
		if err := ok.Check(); err != nil {
			t.Error(err)
		}
	}
}
