package bench

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
)

// WritePage writes a self-contained HTML page: the summaries, a chart of gaps, the trade-offs
// of each day with a sweep, and all rows.
func WritePage(w io.Writer, rows []BenchRow) error {
	b := new(strings.Builder)
	b.WriteString(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Gridbid: days by policy</title><style>
body{font:15px/1.45 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;color:#1c2530}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:1rem 0;display:block;overflow-x:auto}
td,th{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #e3e7ec;white-space:nowrap}td:first-child,th:first-child{text-align:left}
svg{max-width:100%;height:auto}.s{color:#5b6775}</style>
`)
	b.WriteString("<h1>Days by policy</h1>")
	differences := Differences(rows)
	if s := gainSentence(rows, differences); s != "" {
		fmt.Fprintf(b, "<p><strong>%s</strong></p>", html.EscapeString(s))
	}
	fmt.Fprintf(b, "<p class=s>%s</p>", summaryNote+" "+savableNote)
	all := SummarizePolicies(rows)
	b.WriteString(drawGapChart(all))
	writeHTMLTable(b, summaryHeads, len(all), func(i int) []string { return all[i].summaryCells() })
	writeDifferencesHTML(b, rows, differences)
	b.WriteString("<h2>Figures</h2><p class=s>Median [lowest..highest] of the rows.</p>")
	writeHTMLTable(b, figureHeads(benchColumns), len(all), func(i int) []string { return all[i].figureCells(benchColumns) })
	if heads, lines := stressTable(StressEffects(rows)); len(lines) > 0 {
		fmt.Fprintf(b, "<h2>Stress days</h2><p class=s>%s</p>", underStressNote)
		writeHTMLTable(b, heads, len(lines), func(i int) []string { return lines[i] })
	}
	for _, d := range drawSweeps(rows) {
		b.WriteString(d)
	}
	b.WriteString("<h2>All rows</h2>")
	last := ""
	for _, r := range rows {
		if dayKey(r) == last {
			continue
		}
		last = dayKey(r)
		for _, w := range r.Totals.Warnings {
			fmt.Fprintf(b, "<p>Warning: %s: %s.</p>", html.EscapeString(r.heading()), html.EscapeString(w))
		}
	}
	head := []string{"scenario", "seed", "draw", "policy", "$/t"}
	for _, c := range benchColumns {
		head = append(head, c.headWithUnit())
	}
	writeHTMLTable(b, head, len(rows), func(i int) []string {
		r := rows[i]
		cells := []string{r.Scenario, fmt.Sprint(r.Seed), fmt.Sprint(r.Draw), r.Entry, fmt.Sprintf("%g", r.KappaUSD)}
		for _, c := range benchColumns {
			cells = append(cells, c.cellText(r, c.places, "–"))
		}
		return cells
	})
	b.WriteString("</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeDifferencesHTML writes the tables of differences.
func writeDifferencesHTML(b *strings.Builder, rows []BenchRow, all []Difference) {
	tables := differenceTables(rows, all)
	if len(tables) == 0 {
		return
	}
	fmt.Fprintf(b, "<h2>Differences and chance</h2><p class=s>%s</p>", differencesNote)
	if s := chanceSentence(rows, all); s != "" {
		fmt.Fprintf(b, "<p>%s</p>", html.EscapeString(s))
	}
	for _, t := range tables {
		fmt.Fprintf(b, "<h3>%s</h3>", html.EscapeString(t.title))
		writeHTMLTable(b, t.heads, len(t.lines), func(i int) []string { return t.lines[i] })
	}
}

// writeHTMLTable writes a table of n rows; all text is escaped.
func writeHTMLTable(b *strings.Builder, head []string, n int, cells func(int) []string) {
	b.WriteString("<table><tr>")
	for _, h := range head {
		fmt.Fprintf(b, "<th>%s</th>", html.EscapeString(h))
	}
	for i := range n {
		b.WriteString("<tr>")
		for _, c := range cells(i) {
			fmt.Fprintf(b, "<td>%s</td>", html.EscapeString(c))
		}
	}
	b.WriteString("</table>")
}

// drawGapChart draws the range and median of each entry's gap. The scale is logarithmic, as
// gaps of baselines are hundreds of per cent.
func drawGapChart(all []PolicySummary) string {
	const left, width, row = 180.0, 640.0, 22.0
	least, most := 1.0, 10.0 // per cent
	for _, s := range all {
		most = max(most, 100*s.Gap.High)
	}
	x := func(gap float64) float64 {
		return left + width*math.Log(max(100*gap, least)/least)/math.Log(most/least)
	}
	b := new(strings.Builder)
	height := row*float64(len(all)) + 40
	fmt.Fprintf(b, `<svg viewBox="0 0 %g %g" role="img" aria-label="gap to the bound by policy" font-family="system-ui,sans-serif" font-size="12">`, left+width+70, height)
	// A line at each power of ten.
	for tick := 1.0; tick <= most; tick *= 10 {
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="10" y2="%.1f" stroke="#e3e7ec"/><text x="%.1f" y="%.1f" text-anchor="middle" fill="#5b6775">%g %%</text>`,
			x(tick/100), x(tick/100), height-24, x(tick/100), height-8, tick)
	}
	for i, s := range all {
		y := row*float64(i) + 22
		if s.Gap.N == 0 {
			continue
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="end">%s</text><line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#7aa5d6" stroke-width="5"/><circle cx="%.1f" cy="%.1f" r="5" fill="#1f5fa8"/><text x="%.1f" y="%.1f" fill="#5b6775">%.1f</text>`,
			left-12, y+4, html.EscapeString(s.Entry), x(s.Gap.Low), x(s.Gap.High), y, y, x(s.Gap.Median), y, x(s.Gap.High)+10, y+4, 100*s.Gap.Median)
	}
	b.WriteString("</svg>")
	return b.String()
}

// A tradeOffChart plots two figures of rows that differ in one weight, against each other.
type tradeOffChart struct {
	title, aria string
	weight      func(BenchRow) float64
	other       func(BenchRow) float64 // the other weight, equal in all rows of a chart
	unit        string
	x, y        func(BenchRow) float64
	xs, ys      string // formats
}

var tradeOffCharts = []tradeOffChart{
	{
		"money against carbon", "cost against carbon",
		func(r BenchRow) float64 { return r.KappaUSD }, func(r BenchRow) float64 { return r.DelayUSD }, "$%g/t",
		func(r BenchRow) float64 { return r.BusyCostUSD }, func(r BenchRow) float64 { return r.BusyKg }, "$%.2f of busy energy", "%.1f kg",
	},
	{
		"money and carbon against waiting", "cost against waiting",
		func(r BenchRow) float64 { return r.DelayUSD }, func(r BenchRow) float64 { return r.KappaUSD }, "$%g/GPU-h",
		func(r BenchRow) float64 { return r.BusyCostUSD + r.BusyKg*r.KappaUSD/1000 }, func(r BenchRow) float64 { return r.Totals.WaitS.Mean / 3600 }, "$%.2f of money and carbon", "%.2f h",
	},
}

// drawSweeps draws the trade-offs of each scenario that was run at several weights. The one
// row at the usual weights belongs to both charts.
func drawSweeps(rows []BenchRow) (out []string) {
	type key struct {
		scenario, entry string
		seed            uint64
	}
	var order []key
	points := make(map[key][]BenchRow)
	for _, r := range rows {
		if !r.Sweep {
			continue
		}
		k := key{r.Scenario, r.Entry, r.Seed}
		if points[k] == nil {
			order = append(order, k)
		}
		points[k] = append(points[k], r)
	}
	for _, k := range order {
		for _, t := range tradeOffCharts {
			if p := t.sweepRows(points[k]); p != nil {
				out = append(out, fmt.Sprintf("<h2>%s under %s: %s</h2>", html.EscapeString(k.scenario), html.EscapeString(k.entry), t.title)+t.drawScatter(p))
			}
		}
	}
	return out
}

// sweepRows returns the rows that differ only in the chart's weight, sorted by it: those with
// the most frequent value of the other weight. Fewer than three rows make no chart.
func (t tradeOffChart) sweepRows(rows []BenchRow) (out []BenchRow) {
	count := make(map[float64]int)
	most := 0
	for _, r := range rows {
		count[t.other(r)]++
		most = max(most, count[t.other(r)])
	}
	for _, r := range rows {
		if most > 2 && count[t.other(r)] == most {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(x, y BenchRow) int { return cmp.Compare(t.weight(x), t.weight(y)) })
	return out
}

func (t tradeOffChart) drawScatter(p []BenchRow) string {
	const left, top, width, height = 70.0, 20.0, 520.0, 260.0
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	at := func(r BenchRow) [2]float64 { return [2]float64{t.x(r), t.y(r)} }
	for _, r := range p {
		for i, v := range at(r) {
			low[i], high[i] = min(low[i], v), max(high[i], v)
		}
	}
	place := func(r BenchRow) (x, y float64) {
		v := at(r)
		part := func(i int) float64 { return (v[i] - low[i]) / max(high[i]-low[i], 1e-9) }
		return left + width*part(0), top + height*(1-part(1))
	}
	b := new(strings.Builder)
	fmt.Fprintf(b, `<svg viewBox="0 0 680 330" role="img" aria-label="%s" font-family="system-ui,sans-serif" font-size="12"><rect x="%g" y="%g" width="%g" height="%g" fill="none" stroke="#c8d0d9"/>`, t.aria, left, top, width, height)
	label := func(x, y float64, anchor, format string, v float64) {
		fmt.Fprintf(b, `<text x="%g" y="%g" text-anchor="%s">%s</text>`, x, y, anchor, fmt.Sprintf(format, v))
	}
	label(left, top+height+18, "start", "$%.2f", low[0])
	label(left+width, top+height+18, "end", t.xs, high[0])
	label(left-6, top+10, "end", t.ys, high[1])
	label(left-6, top+height, "end", t.ys, low[1])
	b.WriteString(`<polyline fill="none" stroke="#7aa5d6" points="`)
	for _, r := range p {
		x, y := place(r)
		fmt.Fprintf(b, "%.1f,%.1f ", x, y)
	}
	b.WriteString(`"/>`)
	for _, r := range p {
		x, y := place(r)
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="4" fill="#1f5fa8"/><text x="%.1f" y="%.1f">%s</text>`, x, y, x+7, y-5, fmt.Sprintf(t.unit, t.weight(r)))
	}
	b.WriteString("</svg>")
	return b.String()
}
