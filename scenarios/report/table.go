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

// A totalsColumn is one figure, shown for all policies.
type totalsColumn struct {
	head, unit string
	value      func(history.Totals) float64
	show       func(float64) string
	lower      bool // the lowest value is marked as best; otherwise no value is
}

// costTableColumns and jobs are the two blocks of the comparison, each at most 100 columns wide.
var costTableColumns = []totalsColumn{
	{"objective", "$", func(t history.Totals) float64 { return t.ObjectiveUSD }, formatMoney, true},
	{"gap", "%", func(t history.Totals) float64 { return 100 * t.GapToBound }, formatGap, true},
	{"cost", "$", func(t history.Totals) float64 { return t.CostUSD }, formatMoney, true},
	{"carbon", "kg", func(t history.Totals) float64 { return t.CarbonKg }, formatOneDecimal, true},
	{"energy", "kWh", func(t history.Totals) float64 { return t.EnergyKWh }, formatOneDecimal, true},
	{"late", "jobs", func(t history.Totals) float64 { return float64(t.Late) }, formatWhole, true},
	{"unpl.", "jobs", func(t history.Totals) float64 { return float64(t.Unplaced) }, formatWhole, true},
	{"GPU", "%", func(t history.Totals) float64 { return 100 * t.GPUUtil }, formatOneDecimal, false},
	{"frag.", "%", func(t history.Totals) float64 { return 100 * t.FragRatio }, formatOneDecimal, true},
}

var jobTableColumns = []totalsColumn{
	{"wait", "min mean", func(t history.Totals) float64 { return t.WaitS.Mean / 60 }, formatOneDecimal, true},
	{"wait", "min p95", func(t history.Totals) float64 { return t.WaitS.P95 / 60 }, formatOneDecimal, true},
	{"JCT", "h mean", func(t history.Totals) float64 { return t.JCTS.Mean / 3600 }, formatTwoDecimals, true},
	{"JCT", "h p95", func(t history.Totals) float64 { return t.JCTS.P95 / 3600 }, formatTwoDecimals, true},
	{"slowdown", "mean", func(t history.Totals) float64 { return t.Slowdown.Mean }, formatTwoDecimals, true},
	{"slowdown", "p95", func(t history.Totals) float64 { return t.Slowdown.P95 }, formatTwoDecimals, true},
	{"CO2 avg", "kg", func(t history.Totals) float64 { return t.AverageKg }, formatOneDecimal, true},
	{"CO2 marg", "kg", func(t history.Totals) float64 { return t.MarginalKg }, formatOneDecimal, true},
}

// WriteTable writes the comparison as plain text for a terminal, in two blocks. With more
// than one policy, a star marks the best value of each column.
func WriteTable(w io.Writer, all []history.Totals) error {
	out := bufio.NewWriter(w)
	writeTableBlock(out, all, costTableColumns)
	fmt.Fprintln(out)
	writeTableBlock(out, all, jobTableColumns)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("report: write the table: %w", err)
	}
	return nil
}

// writeTableBlock writes one block, with columns as wide as their widest cell.
func writeTableBlock(out *bufio.Writer, all []history.Totals, columns []totalsColumn) {
	wide := make([]int, len(columns))
	cells := make([][]string, len(all))
	name := len("policy")
	for _, t := range all {
		name = max(name, utf8.RuneCountInString(shortPolicyName(t.Policy)))
	}
	for i, c := range columns {
		marks := c.markBest(all)
		wide[i] = max(len(c.head), len(c.unit))
		for k, t := range all {
			cell := c.show(c.value(t))
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
		line(shortPolicyName(t.Policy), func(i int) string { return cells[k][i] })
	}
}

// markBest returns "*" for the best printed value among runs with the usual signals, and
// " " for the others. If all printed values are equal, none is marked.
func (c totalsColumn) markBest(all []history.Totals) []string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, t := range all {
		if t.HasDefaultKnowledge() {
			low, high = min(low, c.value(t)), max(high, c.value(t))
		}
	}
	marks := make([]string, len(all))
	for i, t := range all {
		marks[i] = " "
		if c.lower && t.HasDefaultKnowledge() && c.show(low) != c.show(high) && c.show(c.value(t)) == c.show(low) {
			marks[i] = "*"
		}
	}
	return marks
}

// formatWhole formats a value without decimals, one and two with that many, money in dollars.
func formatWhole(v float64) string       { return chart.FormatNumber(v, 0) }
func formatOneDecimal(v float64) string  { return chart.FormatNumber(v, 1) }
func formatTwoDecimals(v float64) string { return chart.FormatNumber(v, 2) }
func formatMoney(v float64) string       { return chart.FormatNumber(v, 2) }

// formatGap shows a gap of zero, which was not computed or has no meaning, as a dash.
func formatGap(v float64) string {
	if v == 0 {
		return "–"
	}
	return chart.FormatNumber(v, 1)
}

// legibleText removes control and direction characters from external text: they would move
// a terminal's cursor or reorder the text.
func legibleText(s string) string { return strings.Map(format.LegibleRune, s) }

// shortPolicyName shortens a policy's name to 20 characters. The signals after the slash stay,
// because runs may differ in them alone.
func shortPolicyName(name string) string {
	const room = 20
	name = legibleText(name)
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
