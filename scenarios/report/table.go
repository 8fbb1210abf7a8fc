package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/internal/format"
)

// WriteTable writes the comparison as plain text for a terminal: what the auction won, then the
// main blocks or, if wide, all. With more than one policy, a star marks the lowest value of each
// column of figures that are better when lower.
func WriteTable(w io.Writer, all []history.Totals, wide bool) error {
	out := bufio.NewWriter(w)
	if s := gainOf(all); s != "" {
		fmt.Fprintf(out, "%s\n\n", wrapText(s, 100))
	}
	first := true
	for _, b := range tableBlocks {
		if b.wide && !wide {
			continue
		}
		if !first {
			fmt.Fprintln(out)
		}
		first = false
		writeTableBlock(out, all, b.columns)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("report: write the table: %w", err)
	}
	return nil
}

// wrapText breaks a text into lines of at most width characters, at spaces.
func wrapText(text string, width int) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
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
		if t.IsRival() {
			low, high = min(low, c.value(t)), max(high, c.value(t))
		}
	}
	marks := make([]string, len(all))
	for i, t := range all {
		marks[i] = " "
		if c.lower && t.IsRival() && c.show(low) != c.show(high) && c.show(c.value(t)) == c.show(low) {
			marks[i] = "*"
		}
	}
	return marks
}

// Formats of a column's values, by their decimals; money has cents.
func formatWhole(v float64) string       { return chart.FormatNumber(v, 0) }
func formatOneDecimal(v float64) string  { return chart.FormatNumber(v, 1) }
func formatTwoDecimals(v float64) string { return chart.FormatNumber(v, 2) }
func formatMoney(v float64) string       { return chart.FormatNumber(v, 2) }

// formatGap shows a gap of zero, which was not computed or has no meaning, as a dash.
func formatGap(v float64) string {
	if v == 0 {
		return "–"
	}
	if v >= 1000 {
		return chart.FormatNumber(v, 0)
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
