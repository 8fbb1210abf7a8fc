package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/gridbid/gridbid/explain/chart"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
)

// A column is one figure, shown for all policies.
type column struct {
	head, unit string
	of         func(history.Totals) float64
	show       func(float64) string
	lower      bool // the lowest value is marked as best; otherwise no value is
}

// cost and jobs are the two blocks of the comparison, each at most 100 columns wide.
var cost = []column{
	{"objective", "$", func(t history.Totals) float64 { return t.ObjectiveUSD }, money, true},
	{"gap", "%", func(t history.Totals) float64 { return 100 * t.GapToBound }, gap, true},
	{"cost", "$", func(t history.Totals) float64 { return t.CostUSD }, money, true},
	{"carbon", "kg", func(t history.Totals) float64 { return t.CarbonKg }, one, true},
	{"energy", "kWh", func(t history.Totals) float64 { return t.EnergyKWh }, one, true},
	{"late", "jobs", func(t history.Totals) float64 { return float64(t.Late) }, whole, true},
	{"unpl.", "jobs", func(t history.Totals) float64 { return float64(t.Unplaced) }, whole, true},
	{"GPU", "%", func(t history.Totals) float64 { return 100 * t.GPUUtil }, one, false},
	{"frag.", "%", func(t history.Totals) float64 { return 100 * t.FragRatio }, one, true},
}

var jobs = []column{
	{"wait", "min mean", func(t history.Totals) float64 { return t.WaitS.Mean / 60 }, one, true},
	{"wait", "min p95", func(t history.Totals) float64 { return t.WaitS.P95 / 60 }, one, true},
	{"JCT", "h mean", func(t history.Totals) float64 { return t.JCTS.Mean / 3600 }, two, true},
	{"JCT", "h p95", func(t history.Totals) float64 { return t.JCTS.P95 / 3600 }, two, true},
	{"slowdown", "mean", func(t history.Totals) float64 { return t.Slowdown.Mean }, two, true},
	{"slowdown", "p95", func(t history.Totals) float64 { return t.Slowdown.P95 }, two, true},
	{"CO2 avg", "kg", func(t history.Totals) float64 { return t.AverageKg }, one, true},
	{"CO2 marg", "kg", func(t history.Totals) float64 { return t.MarginalKg }, one, true},
}

// Table writes the comparison as plain text for a terminal, in two blocks. With more than one policy, a star marks
// the best value of each column.
func Table(w io.Writer, all []history.Totals) error {
	out := bufio.NewWriter(w)
	block(out, all, cost)
	fmt.Fprintln(out)
	block(out, all, jobs)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("report: write the table: %w", err)
	}
	return nil
}

// block writes one block, with columns as wide as their widest cell.
func block(out *bufio.Writer, all []history.Totals, columns []column) {
	wide := make([]int, len(columns))
	cells := make([][]string, len(all))
	name := len("policy")
	for _, t := range all {
		name = max(name, utf8.RuneCountInString(short(t.Policy)))
	}
	for i, c := range columns {
		marks := c.marks(all)
		wide[i] = max(len(c.head), len(c.unit))
		for k, t := range all {
			cell := c.show(c.of(t))
			wide[i] = max(wide[i], len(cell))
			cells[k] = append(cells[k], cell+marks[k])
		}
	}
	line := func(label string, cell func(int) string) {
		s := fmt.Sprintf("%-*s", name, label)
		for i := range columns {
			s += fmt.Sprintf("  %*s", wide[i]+1, cell(i))
		}
		fmt.Fprintln(out, strings.TrimRight(s, " "))
	}
	line("policy", func(i int) string { return columns[i].head + " " })
	line("", func(i int) string { return columns[i].unit + " " })
	for k, t := range all {
		line(short(t.Policy), func(i int) string { return cells[k][i] })
	}
}

// marks returns "*" for the best printed value among runs with the usual signals, and " " for the others. If all
// printed values are equal, none is marked.
func (c column) marks(all []history.Totals) []string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, t := range all {
		if t.Usual() {
			low, high = min(low, c.of(t)), max(high, c.of(t))
		}
	}
	marks := make([]string, len(all))
	for i, t := range all {
		marks[i] = " "
		if c.lower && t.Usual() && c.show(low) != c.show(high) && c.show(c.of(t)) == c.show(low) {
			marks[i] = "*"
		}
	}
	return marks
}

func whole(v float64) string { return chart.Number(v, 0) }
func one(v float64) string   { return chart.Number(v, 1) }
func two(v float64) string   { return chart.Number(v, 2) }
func money(v float64) string { return chart.Number(v, 2) }

// gap shows a gap of zero, which was not computed or has no meaning, as a dash.
func gap(v float64) string {
	if v == 0 {
		return "–"
	}
	return chart.Number(v, 1)
}

// plain removes control and direction characters from external text: they would move a terminal's cursor or reorder
// the text.
func plain(s string) string { return strings.Map(format.Legible, s) }

// short shortens a policy's name to 20 characters. The signals after the slash stay, because runs may differ in
// them alone.
func short(name string) string {
	const room = 20
	name = plain(name)
	head, tail, more := strings.Cut(name, "/")
	if more {
		tail = "/" + tail
	}
	h, t := []rune(head), []rune(tail)
	switch {
	case len(h)+len(t) <= room:
		return name
	case len(t) > room/2: // not one of our policy names: cut it as a whole
		h, t = []rune(name), nil
	}
	return string(h[:room-1-len(t)]) + "…" + string(t)
}
