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

// Page writes a page that needs nothing but itself: the summary, a chart of
// gaps, the trade-off of each day with a sweep, and all rows.
func Page(w io.Writer, rows []Row) error {
	b := new(strings.Builder)
	b.WriteString(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Gridbid: days by policy</title><style>
body{font:15px/1.45 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;color:#1c2530}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:1rem 0;display:block;overflow-x:auto}
td,th{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #e3e7ec;white-space:nowrap}td:first-child,th:first-child{text-align:left}
svg{max-width:100%;height:auto}.s{color:#5b6775}</style>
`)
	b.WriteString("<h1>Days by policy</h1><p class=s>Gap: objective of the jobs over the bound that no policy can beat, less one.</p>")
	all := Summarize(rows)
	b.WriteString(gaps(all))
	table(b, []string{"policy", "rows", "best", "gap %", "mean gap %", "gap with idle %", "late %", "wait h"}, len(all), func(i int) []string {
		s := all[i]
		return []string{s.Entry, fmt.Sprint(s.Rows), fmt.Sprint(s.Best), s.Gap.text(100, 1), mean1(s.Gap), s.Idle.text(100, 1), s.Late.text(100, 2), s.WaitH.text(1, 2)}
	})
	for _, d := range sweeps(rows) {
		b.WriteString(d)
	}
	b.WriteString("<h2>All rows</h2>")
	head := []string{"scenario", "seed", "policy", "$/t"}
	for _, c := range columns {
		head = append(head, c.title())
	}
	table(b, head, len(rows), func(i int) []string {
		r := rows[i]
		cells := []string{r.Scenario, fmt.Sprint(r.Seed), r.Entry, fmt.Sprintf("%g", r.KappaUSD)}
		for _, c := range columns {
			cells = append(cells, c.text(r))
		}
		return cells
	})
	b.WriteString("</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func table(b *strings.Builder, head []string, n int, cells func(int) []string) {
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

// gaps draws the spread of each entry's gap, on a logarithmic scale: baselines
// lie hundreds of per cent away.
func gaps(all []Summary) string {
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

// sweeps draws, for each scenario that was run at several prices of carbon, what
// the jobs' energy costs against what it emits.
func sweeps(rows []Row) (out []string) {
	type key struct {
		scenario, entry string
		seed            uint64
	}
	var order []key
	points := make(map[key][]Row)
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
		if p := points[k]; len(p) > 2 {
			slices.SortFunc(p, func(x, y Row) int { return cmp.Compare(x.KappaUSD, y.KappaUSD) })
			out = append(out, fmt.Sprintf("<h2>%s under %s: money against carbon</h2>", html.EscapeString(k.scenario), html.EscapeString(k.entry))+scatter(p))
		}
	}
	return out
}

func scatter(p []Row) string {
	const left, top, width, height = 70.0, 20.0, 520.0, 260.0
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	at := func(r Row) [2]float64 { return [2]float64{r.BusyCostUSD, r.BusyKg} }
	for _, r := range p {
		for i, v := range at(r) {
			low[i], high[i] = min(low[i], v), max(high[i], v)
		}
	}
	place := func(r Row) (x, y float64) {
		v := at(r)
		part := func(i int) float64 { return (v[i] - low[i]) / max(high[i]-low[i], 1e-9) }
		return left + width*part(0), top + height*(1-part(1))
	}
	b := new(strings.Builder)
	fmt.Fprintf(b, `<svg viewBox="0 0 680 330" role="img" aria-label="cost against carbon" font-family="system-ui,sans-serif" font-size="12"><rect x="%g" y="%g" width="%g" height="%g" fill="none" stroke="#c8d0d9"/>`, left, top, width, height)
	fmt.Fprintf(b, `<text x="%g" y="%g">$%.2f</text><text x="%g" y="%g" text-anchor="end">$%.2f of busy energy</text><text x="%g" y="%g" text-anchor="end">%.1f kg</text><text x="%g" y="%g" text-anchor="end">%.1f kg</text><polyline fill="none" stroke="#7aa5d6" points="`,
		left, top+height+18, low[0], left+width, top+height+18, high[0], left-6, top+10, high[1], left-6, top+height, low[1])
	for _, r := range p {
		x, y := place(r)
		fmt.Fprintf(b, "%.1f,%.1f ", x, y)
	}
	b.WriteString(`"/>`)
	for _, r := range p {
		x, y := place(r)
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="4" fill="#1f5fa8"/><text x="%.1f" y="%.1f">$%g/t</text>`, x, y, x+7, y-5, r.KappaUSD)
	}
	b.WriteString("</svg>")
	return b.String()
}
