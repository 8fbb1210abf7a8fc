package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/history"
)

func TestASentenceSaysWhatWasWonAndWhatItCosts(t *testing.T) {
	ours := history.Totals{Policy: "auction", Jobs: 2000, CostUSD: 60, IdleUSD: 18, CarbonKg: 400, IdleKg: 181, WaitS: history.Spread{Mean: 73 * 60}}
	home := history.Totals{Policy: "home-fifo", Jobs: 2000, CostUSD: 130, IdleUSD: 30, CarbonKg: 500, IdleKg: 200, WaitS: history.Spread{Mean: 10 * 60}, Late: 47, Unplaced: 1}
	for what, tc := range map[string]struct {
		change func(*Gain)
		want   string
	}{
		"one run": {func(*Gain) {}, "auction against home-fifo: -58 % cost, -27 % carbon of the jobs' energy (-54 % cost and -20 % carbon with idle machines); " +
			"jobs wait 73 min on the mean instead of 10; all deadlines kept (48 missed under home-fifo). One run is in part a lottery: `gridbid bench days` shows what of it is chance."},
		"many runs": {func(g *Gain) {
			g.Runs, g.Days, g.Jobs, g.Late = 40, 10, 80_000, 3
			g.Cost.Low, g.Cost.High, g.Cost.HasInterval = -0.61, -0.552, true
			g.Carbon = Change{Fraction: -0.004, Low: -0.03, High: 0.02, HasInterval: true}
		}, "auction against home-fifo: -58 [-61, -55] % cost, carbon within chance (0 [-3, +2] %) of the jobs' energy (-54 % cost and -20 % carbon with idle machines); " +
			"jobs wait 73 min on the mean instead of 10; 3 of 80,000 deadlines missed instead of 48. Over 10 days and 40 runs of each policy."},
		"nothing was late": {func(g *Gain) { g.BaselineLate = 0 }, "; all deadlines kept, as under home-fifo. One"},
		"no base":          {func(g *Gain) { g.Cost = Change{Missing: true} }, ": cost not comparable, -27 % carbon"},
	} {
		g := GainOf(ours, home)
		tc.change(&g)
		if got := g.Sentence(); !strings.Contains(got, tc.want) || what == "one run" && got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", what, got, tc.want)
		}
	}
	if g := GainOf(ours, history.Totals{}); !g.Cost.Missing || !g.CarbonWithIdle.Missing {
		t.Errorf("against nothing: %+v", g)
	}
}

// The sentence stands above the table and on the page, where both policies were replayed.
func TestTheSentenceStandsOnTop(t *testing.T) {
	d := sample()
	for n, want := range map[int]bool{1: false, 2: true} {
		d := d
		d.Policies = d.Policies[:n]
		var all []history.Totals
		for _, p := range d.Policies {
			all = append(all, p.Totals)
		}
		var table bytes.Buffer
		if err := WriteTable(&table, all, false); err != nil {
			t.Fatal(err)
		}
		if got := strings.HasPrefix(table.String(), "auction against home-fifo: -10 % cost"); got != want {
			t.Errorf("%d policies: the table begins with\n%.200s", n, table.String())
		}
		if got := strings.Contains(pageOf(t, d), "<strong>auction against home-fifo: -10 % cost"); got != want {
			t.Errorf("%d policies: the sentence is on the page: %v; want %v", n, got, want)
		}
		if strings.Contains(table.String(), "throughput") || strings.Contains(table.String(), "memory") {
			t.Errorf("the table is wide though --wide was not given:\n%s", table.String())
		}
	}
}

// What a column of a cause shows is that cause: together they are the objective.
func TestColumnsOfCausesSumToTheObjective(t *testing.T) {
	x := history.Totals{JobsEnergyUSD: 1, JobsCarbonUSD: 2, IdleUSD: 4, IdleCarbonUSD: 8, TransferUSD: 16, DelayUSD: 32, LateUSD: 64, ObjectiveUSD: 127}
	sum := 0.0
	for _, c := range tableBlocks[0].columns[2:] {
		sum += c.value(x)
	}
	if sum != x.ObjectiveUSD || tableBlocks[0].columns[0].value(x) != sum {
		t.Errorf("the causes sum to %v; the objective is %v", sum, x.ObjectiveUSD)
	}
}
