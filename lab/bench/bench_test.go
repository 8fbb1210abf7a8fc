package bench

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// two rows of each entry, on two days.
func rows() []BenchRow {
	row := func(day, entry string, usd, kg float64, late int) BenchRow {
		return BenchRow{
			Scenario: day, Hash: day, Entry: entry, Seed: 1, KappaUSD: 100, Load: 0.65,
			JobsUSD: usd, BoundUSD: 10, Gap: usd/10 - 1, IdleBound: 20, IdleGap: usd/20 + 0.5, BusyKg: kg, BusyCostUSD: usd / 2,
			Totals: history.Totals{Policy: entry, Jobs: 200, Late: late, CarbonKg: kg + 5, CostUSD: usd},
		}
	}
	return []BenchRow{
		row("monday", "auction", 11, 60, 0), row("monday", "auction/perfect", 10.5, 50, 0), row("monday", "home-fifo", 20, 100, 2),
		row("tuesday", "auction", 13, 80, 1), row("tuesday", "home-fifo", 12, 100, 0),
	}
}

func TestSummariesCompareWithinADay(t *testing.T) {
	all := SummarizePolicies(rows())
	auction, perfect, fifo := all[0], all[1], all[2]
	if auction.Entry != "auction" || auction.Rows != 2 || auction.Best != nil || fifo.Best != nil || perfect.Entry != "auction/perfect" {
		t.Errorf("%s has %d rows, best %v; home-fifo %v; want two rows, and of two days no claim of who is best", auction.Entry, auction.Rows, auction.Best, fifo.Best)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if d := got - want; d > 1e-9 || d < -1e-9 {
			t.Errorf("%s = %v; want %v", what, got, want)
		}
	}
	near("median gap", auction.Gap.Median, 0.2)
	near("lowest gap", auction.Gap.Low, 0.1)
	near("late", auction.Late.High, 0.005)
	near("carbon against home-fifo", auction.Carbon.FIFO.Median, -0.3)
	near("cost against home-fifo", auction.Cost.FIFO.Low, -0.45)
	if got, want := auction.Figures["carbon_kg"], (Distribution{2, 75, 75, 65, 85}); got != want {
		t.Errorf("carbon of both days is %+v; want %+v", got, want)
	}
	if auction.Carbon.Least.N != 0 {
		t.Errorf("compared with k8s-least-allocated, which was not run")
	}
}

// A stress day is held against the day that it was, and is no other day of the policy.
func TestStressDaysAreSummedApart(t *testing.T) {
	all := rows()
	for _, of := range rows() {
		of.Scenario, of.Hash, of.Stress, of.JobsUSD = of.Scenario+"-outage", of.Hash+"-outage", "outage", 99
		of.Totals.ObjectiveUSD, of.Totals.Late = 30, 10
		all = append(all, of)
	}
	if want := SummarizePolicies(rows()); !reflect.DeepEqual(SummarizePolicies(all), want) {
		t.Errorf("with stress days the summary is %+v; want %+v", SummarizePolicies(all), want)
	}
	for i := range rows() {
		all[i].Totals.ObjectiveUSD = float64(10 + i)
	}
	strains := StressEffects(all)
	want := StressEffect{"auction", "outage", Distribution{2, 30, 30, 30, 30}, Distribution{2, 18.5, 18.5, 17, 20}, Distribution{2, 0.05, 0.05, 0.05, 0.05}}
	if len(strains) != 3 || strains[0] != want {
		t.Errorf("strains are %+v; want %+v, perfect and home-fifo", strains, want)
	}
	for _, of := range all { // at other weights it is no row of the policy's
		of.Sweep, of.KappaUSD, of.Totals.ObjectiveUSD = true, 800, 1000
		all = append(all, of)
	}
	if got := StressEffects(all); !reflect.DeepEqual(got, strains) {
		t.Errorf("with a sweep strains are %+v; want %+v", got, strains)
	}
	var table, page bytes.Buffer
	if err := errors.Join(WriteMarkdown(&table, all), WritePage(&page, all)); err != nil {
		t.Fatal(err)
	}
	if line := "| auction | – | – | – | – | – | – | 18.50 [17.00..20.00] | 5.00 [5.00..5.00] | – | – |"; !strings.Contains(table.String(), line) || !strings.Contains(page.String(), "<th>outage, $ more</th>") {
		t.Errorf("no %s in\n%s\nor no outage in the page", line, table.String())
	}
}

// Each figure has its median and its spread where people look.
func TestTablesSayHowFiguresAreSpread(t *testing.T) {
	var table, page bytes.Buffer
	if err := errors.Join(WriteMarkdown(&table, rows()), WritePage(&page, rows())); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"75.0 [65.0..85.0]", "12.00 [11.00..13.00]"} { // kg, $
		if !strings.Contains(table.String(), " "+want+" |") || !strings.Contains(page.String(), "<td>"+want+"</td>") {
			t.Errorf("no %s in\n%s\nor in the page", want, table.String())
		}
	}
}

func TestTablesHaveEveryRow(t *testing.T) {
	for name, write := range map[string]func(*bytes.Buffer) error{
		"Markdown": func(b *bytes.Buffer) error { return WriteMarkdown(b, rows()) },
		"CSV":      func(b *bytes.Buffer) error { return WriteCSV(b, rows()) },
		"Page":     func(b *bytes.Buffer) error { return WritePage(b, rows()) },
		"JSON":     func(b *bytes.Buffer) error { return WriteJSON(b, rows()) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := strings.Count(b.String(), "home-fifo"); n < 2 {
			t.Errorf("%s names home-fifo %d times; want each of its 2 rows:\n%s", name, n, b.String())
		}
	}
}

// Where power earns a bound may be below zero. Nothing is so many per cent above
// that, and 0 % would say that nobody could do better.
func TestARowHasNoGapToABoundBelowZero(t *testing.T) {
	r := rows()[0]
	r.JobsUSD, r.BoundUSD, r.Gap, r.IdleGap = -3, -7.5, 0, 0.25
	var table, lines bytes.Buffer
	if err := errors.Join(WriteMarkdown(&table, []BenchRow{r}), WriteCSV(&lines, []BenchRow{r})); err != nil {
		t.Fatal(err)
	}
	if want := "| auction | -3.00 | – | 25.0 |"; !strings.Contains(table.String(), want) {
		t.Errorf("the table has no %q:\n%s", want, table.String())
	}
	if want := ",-7.5000,20.0000,-3.0000,,25.0000,"; !strings.Contains(lines.String(), want) {
		t.Errorf("the CSV has no %q:\n%s", want, lines.String())
	}
}

func TestAPageTakesNamesAsText(t *testing.T) {
	all := rows()
	all[0].Scenario = `<script>alert("x")</script>`
	var b bytes.Buffer
	if err := WritePage(&b, all); err != nil || strings.Contains(b.String(), "<script") {
		t.Errorf("the page has a script of a name's: %v", err)
	}
}

func TestASweepIsDrawnForItsDay(t *testing.T) {
	all := rows()
	for _, kappa := range []float64{0, 50, 200} {
		r := all[0]
		r.Sweep, r.KappaUSD, r.BusyKg, r.BusyCostUSD = true, kappa, 70-kappa/10, 5+kappa/100
		all = append(all, r)
	}
	for _, delay := range []float64{1, 10} {
		r := all[0]
		r.Sweep, r.KappaUSD, r.DelayUSD = true, 50, delay
		all = append(all, r)
	}
	var b bytes.Buffer
	if err := WritePage(&b, all); err != nil || strings.Count(b.String(), "/t</text>") != 3 || strings.Count(b.String(), "/GPU-h</text>") != 3 {
		t.Errorf("the page has no charts of 3 points each: %v", err)
	}
	if n := SummarizePolicies(all)[0].Rows; n != 2 {
		t.Errorf("the summary counts %d rows of auction; the sweep's are not its", n)
	}
}

func TestStressChangesOneSiteAndNothingElse(t *testing.T) {
	start := protocol.FromStdTime(time.Date(2022, 4, 13, 0, 0, 0, 0, time.UTC))
	s := spec.Scenario{Name: "day", Hash: "h", Start: start, End: start.Add(24 * time.Hour)}
	for i, name := range []string{"cheap", "clean", "dear"} {
		site := spec.Site{Name: name, Signals: map[protocol.Quantity][]protocol.Point{}}
		for h := -24; h < 48; h++ {
			at := start.Add(time.Duration(h) * time.Hour)
			site.Signals[protocol.GridPrice] = append(site.Signals[protocol.GridPrice], protocol.Point{At: at, Value: []int64{10, 50, 90}[i] * 1000})
			site.Signals[protocol.GridCarbon] = append(site.Signals[protocol.GridCarbon], protocol.Point{At: at, Value: []int64{500, 20, 400}[i] * 1000})
		}
		s.Sites = append(s.Sites, site)
	}
	tests := []struct {
		kind         string
		site, hour   int
		price, grams int64 // there and then, thousandths
		before       int   // an hour that stays
	}{
		{"spike", 0, 13, 3_000_000, 500_000, 11},
		{"drought", 1, 3, 150_000, 100_000, -1},
		{"negative", 2, 12, -50_000, 400_000, 15},
	}
	for _, tc := range tests {
		x, err := StressScenario(s, tc.kind)
		if err != nil || x.Hash == s.Hash || x.Name != "day-"+tc.kind || x.Stress != tc.kind {
			t.Fatalf("Stress(%s) = %s %s, %v", tc.kind, x.Name, x.Hash, err)
		}
		at := func(s spec.Scenario, q protocol.Quantity, h int) int64 {
			return s.Sites[tc.site].Signals[q][h+24].Value
		}
		if p, g := at(x.Scenario, protocol.GridPrice, tc.hour), at(x.Scenario, protocol.GridCarbon, tc.hour); p != tc.price || g != tc.grams {
			t.Errorf("%s: price %d, carbon %d; want %d, %d", tc.kind, p, g, tc.price, tc.grams)
		}
		if at(x.Scenario, protocol.GridPrice, tc.before) != at(s, protocol.GridPrice, tc.before) {
			t.Errorf("%s: hour %d changed too", tc.kind, tc.before)
		}
	}
	if x, _ := StressScenario(s, "outage"); len(x.Sites[1].Outages) != 1 || x.Sites[1].Outages[0] != (spec.Outage{From: start.Add(12 * time.Hour), To: start.Add(20 * time.Hour)}) || s.Sites[1].Outages != nil {
		t.Errorf("outage: %+v", x.Sites[1].Outages)
	}
	own := s
	own.Sites = slices.Clone(s.Sites)
	own.Sites[1].Outages = []spec.Outage{{From: start.Add(time.Hour), To: start.Add(2 * time.Hour)}}
	if x, _ := StressScenario(own, "outage"); len(x.Sites[1].Outages) != 2 || len(own.Sites[1].Outages) != 1 {
		t.Errorf("an outage beside one of the scenario's own: %+v", x.Sites[1].Outages)
	}
	late := s // jobs arrive from the evening on: what happens at noon happens on the day after
	late.Start, late.End = start.Add(21*time.Hour), start.Add(45*time.Hour)
	if x, _ := StressScenario(late, "outage"); x.Sites[1].Outages[0].From != start.Add(36*time.Hour) {
		t.Errorf("an outage of a day that begins in the evening: %+v", x.Sites[1].Outages)
	}
	if x, _ := StressScenario(late, "spike"); x.Sites[0].Signals[protocol.GridPrice][24+37].Value != 3_000_000 {
		t.Errorf("a spike of a day that begins in the evening: %+v", x.Sites[0].Signals[protocol.GridPrice][50:])
	}
	marginal := s // by which bids go
	marginal.Carbon, marginal.Sites = spec.ByMarginal, slices.Clone(s.Sites)
	clean := &marginal.Sites[1]
	clean.Signals = maps.Clone(clean.Signals)
	clean.Signals[spec.MarginalCarbon], clean.Signals[spec.AverageCarbon] = clean.Signals[protocol.GridCarbon], clean.Signals[protocol.GridCarbon]
	if x, _ := StressScenario(marginal, "drought"); !slices.Equal(x.Sites[1].Signals[spec.MarginalCarbon], x.Sites[1].Signals[protocol.GridCarbon]) || x.Sites[1].Signals[spec.MarginalCarbon][27].Value != 100_000 {
		t.Errorf("a drought where bids go by marginal intensity is accounted as %+v", x.Sites[1].Signals[spec.MarginalCarbon][24:48])
	}
	if x, _ := StressScenario(s, "liar"); x.Sites[2].Bids != (spec.Misreport{Price: 500, Energy: 500}) || s.Sites[2].Bids != (spec.Misreport{}) {
		t.Errorf("liar: %+v", x.Sites[2].Bids)
	}
	if s.Sites[0].Signals[protocol.GridPrice][37].Value != 10_000 {
		t.Errorf("the scenario that was stressed has changed itself")
	}
	if _, err := StressScenario(s, "luck"); err == nil {
		t.Errorf("Stress of an unknown kind is no error")
	}
}
