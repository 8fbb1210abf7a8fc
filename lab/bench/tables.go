package bench

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A benchColumn is one figure of rows; value returns NaN for a row without it.
type benchColumn struct {
	head, unit string
	places     int
	wide       bool // left out of Markdown, which people read in a terminal; CSV, JSON and page have it
	value      func(BenchRow) float64
}

// benchColumns are the figures of a row, in the order of tables.
var benchColumns = slices.Concat(rowColumns, savableColumns)

// rowColumns are the figures that a row has by itself.
var rowColumns = []benchColumn{
	{"jobs' objective", "$", 2, false, func(r BenchRow) float64 { return r.JobsUSD }},
	{"gap", "%", 1, false, func(r BenchRow) float64 { return gapPercent(r.Gap, r.BoundUSD) }},
	{"gap with idle", "%", 1, false, func(r BenchRow) float64 { return gapPercent(r.IdleGap, r.IdleBound) }},
	{"objective", "$", 2, false, func(r BenchRow) float64 { return r.Totals.ObjectiveUSD }},
	{"carbon", "kg", 1, false, func(r BenchRow) float64 { return r.Totals.CarbonKg }},
	{"busy carbon", "kg", 1, true, func(r BenchRow) float64 { return r.BusyKg }},
	{"CO2 avg", "kg", 1, true, func(r BenchRow) float64 { return r.Totals.AverageKg }},
	{"CO2 marg", "kg", 1, true, func(r BenchRow) float64 { return r.Totals.MarginalKg }},
	{"cost", "$", 2, true, func(r BenchRow) float64 { return r.Totals.CostUSD }},
	{"busy cost", "$", 2, true, func(r BenchRow) float64 { return r.BusyCostUSD }},
	{"energy", "kWh", 1, true, func(r BenchRow) float64 { return r.Totals.EnergyKWh }},
	{"jobs' energy", "$", 2, false, func(r BenchRow) float64 { return r.Totals.JobsEnergyUSD }},
	{"jobs' carbon", "$", 2, false, func(r BenchRow) float64 { return r.Totals.JobsCarbonUSD }},
	{"idle", "$", 2, false, func(r BenchRow) float64 { return r.Totals.IdleUSD + r.Totals.IdleCarbonUSD }},
	{"transfer", "$", 2, false, func(r BenchRow) float64 { return r.Totals.TransferUSD }},
	{"delay", "$", 2, false, func(r BenchRow) float64 { return r.Totals.DelayUSD }},
	{"lateness", "$", 2, false, func(r BenchRow) float64 { return r.Totals.LateUSD }},
	{"wait", "h", 2, false, func(r BenchRow) float64 { return r.Totals.WaitS.Mean / 3600 }},
	{"median wait", "h", 2, false, func(r BenchRow) float64 { return r.Totals.WaitS.P50 / 3600 }},
	{"wait of deferrable", "h", 2, true, func(r BenchRow) float64 { return r.Totals.WaitDeferrableS.Mean / 3600 }},
	{"wait of urgent", "h", 2, true, func(r BenchRow) float64 { return r.Totals.WaitUrgentS.Mean / 3600 }},
	{"JCT", "h", 2, true, func(r BenchRow) float64 { return r.Totals.JCTS.Mean / 3600 }},
	{"slowdown", "", 2, false, func(r BenchRow) float64 { return r.Totals.Slowdown.Mean }},
	{"late", "%", 2, true, func(r BenchRow) float64 { return 100 * fractionOf(r.Totals.Late, r.Totals.Jobs) }},
	{"late", "jobs", 0, false, func(r BenchRow) float64 { return float64(r.Totals.Late) }},
	{"deadlines kept", "%", 2, false, func(r BenchRow) float64 { return 100 * r.Totals.DeadlinesKept }},
	{"throughput", "jobs/h", 1, true, func(r BenchRow) float64 { return r.Totals.ThroughputPerH }},
	{"unplaced", "jobs", 0, false, func(r BenchRow) float64 { return float64(r.Totals.Unplaced) }},
	{"GPU use", "%", 1, false, func(r BenchRow) float64 { return 100 * r.Totals.GPUUtil }},
	{"GPU peak", "%", 1, true, func(r BenchRow) float64 { return 100 * r.Totals.GPUUse.Peak }},
	{"CPU use", "%", 1, true, func(r BenchRow) float64 { return 100 * r.Totals.CPUUse.Mean }},
	{"CPU peak", "%", 1, true, func(r BenchRow) float64 { return 100 * r.Totals.CPUUse.Peak }},
	{"memory use", "%", 1, true, func(r BenchRow) float64 { return 100 * r.Totals.MemoryUse.Mean }},
	{"memory peak", "%", 1, true, func(r BenchRow) float64 { return 100 * r.Totals.MemoryUse.Peak }},
}

// gapPercent returns a gap in per cent; NaN if the bound is not above zero, which negative
// prices can cause.
func gapPercent(gap, bound float64) float64 {
	if bound <= 0 {
		return math.NaN()
	}
	return 100 * gap
}

// cellText returns the figure of a row as text, or none if the row lacks it.
func (c benchColumn) cellText(r BenchRow, places int, none string) string {
	v := c.value(r)
	if math.IsNaN(v) {
		return none
	}
	return strconv.FormatFloat(v, 'f', places, 64)
}

// headWithUnit returns the head of the column for tables.
func (c benchColumn) headWithUnit() string {
	if c.unit == "" {
		return c.head
	}
	return c.head + " " + c.unit
}

// columnKey returns the name of the column in CSV and JSON.
func (c benchColumn) columnKey() string { return strings.ReplaceAll(c.headWithUnit(), " ", "_") }

// summaryHeads are the column heads of the table of summaries.
var summaryHeads = []string{"policy", "rows", "best", "gap %", "mean gap %", "gap with idle %", "carbon vs home-fifo %", "cost vs home-fifo %", "carbon vs k8s-least %", "cost vs k8s-least %", "late %", "wait h", "share of savable %"}

// summaryCells returns the cells of one row of that table.
func (s PolicySummary) summaryCells() []string {
	return []string{
		s.Entry, strconv.Itoa(s.Rows), s.bestText(), s.Gap.medianText(100, 1), meanText(s.Gap), s.Idle.medianText(100, 1),
		busyAndTotalText(s.Carbon.FIFO, s.Carbon.IdleFIFO), busyAndTotalText(s.Cost.FIFO, s.Cost.IdleFIFO),
		busyAndTotalText(s.Carbon.Least, s.Carbon.IdleLeast), busyAndTotalText(s.Cost.Least, s.Cost.IdleLeast),
		s.Late.medianText(100, 2), s.WaitH.medianText(1, 2), s.Figures["share_of_savable_%"].meanWithRange(1, 1),
	}
}

// bestText returns on how many days the entry is the best, or a dash where that cannot be told.
func (s PolicySummary) bestText() string {
	if s.Best == nil {
		return "–"
	}
	return strconv.Itoa(*s.Best)
}

// mainColumns returns the columns of tables in Markdown.
func mainColumns() []benchColumn {
	return slices.DeleteFunc(slices.Clone(benchColumns), func(c benchColumn) bool { return c.wide })
}

// figureCells returns the distributions of columns as cells.
func (s PolicySummary) figureCells(columns []benchColumn) []string {
	cells := []string{s.Entry}
	for _, c := range columns {
		cells = append(cells, s.Figures[c.columnKey()].medianText(1, c.places))
	}
	return cells
}

// figureHeads returns the heads of a table of figures.
func figureHeads(columns []benchColumn) []string {
	out := []string{"policy"}
	for _, c := range columns {
		out = append(out, c.headWithUnit())
	}
	return out
}

// summaryNote introduces the table of summaries.
const summaryNote = "Gap: objective over the lower bound, minus one. Changes against the two baselines: busy energy; in brackets with idle draw. Median [lowest..highest]. Best: days on which the objective of jobs is the lowest, all draws taken together, and the next policy's is not within chance of it; of policies with the usual signals."

// underStressNote introduces the table of stress days.
const underStressNote = "On a stress day one site loses its power or its wind, misreports, or has extreme prices. The table has the increase of the objective, idle draw included, over the same day without stress, and the late jobs; median [lowest..highest]. Other summaries leave these days out."

// stressTable returns the table of stress days: its heads, and a row for each entry.
func stressTable(all []StressEffect) (heads []string, lines [][]string) {
	heads = []string{"policy"}
	for _, kind := range StressNames() {
		heads = append(heads, kind+", $ more", "late %")
	}
	for _, s := range all {
		// Effects of one entry follow each other: a new entry begins a row, with gaps until filled.
		if n := len(lines); n == 0 || lines[n-1][0] != s.Entry {
			lines = append(lines, slices.Concat([]string{s.Entry}, slices.Repeat([]string{Distribution{}.medianText(0, 0)}, len(heads)-1)))
		}
		at := 1 + 2*slices.Index(StressNames(), s.Stress)
		copy(lines[len(lines)-1][at:], []string{s.More.medianText(1, 2), s.Late.medianText(100, 2)})
	}
	return heads, lines
}

// writeTableLine writes cells as one row of a Markdown table.
func writeTableLine(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// writeTableHead writes the head of a Markdown table.
func writeTableHead(b *strings.Builder, heads []string) {
	writeTableLine(b, heads)
	fmt.Fprintf(b, "|---|%s\n", strings.Repeat("--:|", len(heads)-1))
}

// WriteMarkdown writes the summaries, then a table for each day.
func WriteMarkdown(w io.Writer, rows []BenchRow) error {
	b := new(strings.Builder)
	b.WriteString("# Days by policy\n\n")
	differences := Differences(rows)
	if s := gainSentence(rows, differences); s != "" {
		fmt.Fprintf(b, "**%s**\n\n", s)
	}
	fmt.Fprintf(b, "%s %s\n\n", summaryNote, savableNote)
	all := SummarizePolicies(rows)
	writeTableHead(b, summaryHeads)
	for _, s := range all {
		writeTableLine(b, s.summaryCells())
	}
	writeDifferences(b, rows, differences)
	b.WriteString("\n## Figures\n\nMedian [lowest..highest] of the rows. CSV, JSON and page have more columns.\n\n")
	writeTableHead(b, figureHeads(mainColumns()))
	for _, s := range all {
		writeTableLine(b, s.figureCells(mainColumns()))
	}
	if heads, lines := stressTable(StressEffects(rows)); len(lines) > 0 {
		fmt.Fprintf(b, "\n## Stress days\n\n%s\n\n", underStressNote)
		writeTableHead(b, heads)
		for _, cells := range lines {
			writeTableLine(b, cells)
		}
	}
	last := ""
	for _, r := range rows {
		if dayKey(r) != last {
			last = dayKey(r)
			fmt.Fprintf(b, "\n## %s\n\nLoad %.0f %%, carbon at $%g/t, waiting at $%g/GPU-h. Bound $%.2f (jobs), $%.2f (with idle nodes).\n\n", r.heading(), 100*r.Load, r.KappaUSD, r.DelayUSD, r.BoundUSD, r.IdleBound)
			for _, w := range r.Totals.Warnings {
				fmt.Fprintf(b, "Warning: %s.\n\n", w)
			}
			if text := r.Savable.searchText(r.BoundUSD); text != "" {
				fmt.Fprintf(b, "%s\n\n", text)
			}
			writeTableHead(b, figureHeads(mainColumns()))
		}
		cells := []string{r.Entry}
		for _, c := range mainColumns() {
			cells = append(cells, c.cellText(r, c.places, "–"))
		}
		writeTableLine(b, cells)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// heading names the day, seed and draw of a row: "ordinary-2022-04-13, seed 1, draw 2".
func (r BenchRow) heading() string {
	if r.Draw == 0 {
		return fmt.Sprintf("%s, seed %d", r.Scenario, r.Seed)
	}
	return fmt.Sprintf("%s, seed %d, draw %d", r.Scenario, r.Seed, r.Draw)
}

// medianText returns the median and, of several rows, the range; each times scale.
func (s Distribution) medianText(scale float64, places int) string {
	if s.N == 0 {
		return "–"
	}
	f := func(v float64) string { return strconv.FormatFloat(scale*v, 'f', places, 64) }
	if s.N == 1 {
		return f(s.Median)
	}
	return fmt.Sprintf("%s [%s..%s]", f(s.Median), f(s.Low), f(s.High))
}

// meanText returns the mean in per cent.
func meanText(s Distribution) string {
	if s.N == 0 {
		return "–"
	}
	return strconv.FormatFloat(100*s.Mean, 'f', 1, 64)
}

// busyAndTotalText returns two medians in per cent: without idle draw and, in brackets, with it.
func busyAndTotalText(busy, idle Distribution) string {
	if busy.N == 0 {
		return "–"
	}
	return fmt.Sprintf("%+.1f (%+.1f)", 100*busy.Median, 100*idle.Median)
}

// WriteCSV writes one line per row, figures with four decimals.
func WriteCSV(w io.Writer, rows []BenchRow) error {
	out := csv.NewWriter(w)
	head := []string{"scenario", "hash", "seed", "draw", "policy", "kappa_usd", "delay_usd", "load", "bound_usd", "idle_bound_usd"}
	for _, c := range benchColumns {
		head = append(head, c.columnKey())
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, r := range rows {
		number := func(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }
		line := []string{r.Scenario, r.Hash, strconv.FormatUint(r.Seed, 10), strconv.Itoa(r.Draw), r.Entry, number(r.KappaUSD), number(r.DelayUSD), number(r.Load), number(r.BoundUSD), number(r.IdleBound)}
		for _, c := range benchColumns {
			line = append(line, c.cellText(r, 4, ""))
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
