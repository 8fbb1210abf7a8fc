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

// A column is one figure of a row, or NaN where it has none.
type column struct {
	head, unit string
	places     int
	of         func(Row) float64
}

var columns = []column{
	{"jobs' objective", "$", 2, func(r Row) float64 { return r.JobsUSD }},
	{"gap", "%", 1, func(r Row) float64 { return above(r.Gap, r.BoundUSD) }},
	{"gap with idle", "%", 1, func(r Row) float64 { return above(r.IdleGap, r.IdleBound) }},
	{"objective", "$", 2, func(r Row) float64 { return r.Totals.ObjectiveUSD }},
	{"carbon", "kg", 1, func(r Row) float64 { return r.Totals.CarbonKg }},
	{"busy carbon", "kg", 1, func(r Row) float64 { return r.BusyKg }},
	{"CO2 avg", "kg", 1, func(r Row) float64 { return r.Totals.AverageKg }},
	{"CO2 marg", "kg", 1, func(r Row) float64 { return r.Totals.MarginalKg }},
	{"cost", "$", 2, func(r Row) float64 { return r.Totals.CostUSD }},
	{"busy cost", "$", 2, func(r Row) float64 { return r.BusyCostUSD }},
	{"energy", "kWh", 1, func(r Row) float64 { return r.Totals.EnergyKWh }},
	{"wait", "h", 2, func(r Row) float64 { return r.Totals.WaitS.Mean / 3600 }},
	{"JCT", "h", 2, func(r Row) float64 { return r.Totals.JCTS.Mean / 3600 }},
	{"slowdown", "", 2, func(r Row) float64 { return r.Totals.Slowdown.Mean }},
	{"late", "%", 2, func(r Row) float64 { return 100 * part(r.Totals.Late, r.Totals.Jobs) }},
	{"unplaced", "jobs", 0, func(r Row) float64 { return float64(r.Totals.Unplaced) }},
	{"GPU use", "%", 1, func(r Row) float64 { return 100 * r.Totals.GPUUtil }},
}

// above returns a gap in per cent; to a bound of nothing or less, as negative
// prices give, there is none.
func above(gap, bound float64) float64 {
	if bound <= 0 {
		return math.NaN()
	}
	return 100 * gap
}

// text shows a figure, or what stands for none.
func (c column) text(r Row, places int, none string) string {
	v := c.of(r)
	if math.IsNaN(v) {
		return none
	}
	return strconv.FormatFloat(v, 'f', places, 64)
}

func (c column) title() string {
	if c.unit == "" {
		return c.head
	}
	return c.head + " " + c.unit
}

// key names a column for programs.
func (c column) key() string { return strings.ReplaceAll(c.title(), " ", "_") }

// summed are the heads of a table of summaries.
var summed = []string{"policy", "rows", "best", "gap %", "mean gap %", "gap with idle %", "carbon vs home-fifo %", "cost vs home-fifo %", "carbon vs k8s-least %", "cost vs k8s-least %", "late %", "wait h"}

// cells are a line of a table of summaries.
func (s Summary) cells() []string {
	return []string{
		s.Entry, strconv.Itoa(s.Rows), strconv.Itoa(s.Best), s.Gap.text(100, 1), mean1(s.Gap), s.Idle.text(100, 1),
		both(s.Carbon.FIFO, s.Carbon.IdleFIFO), both(s.Cost.FIFO, s.Cost.IdleFIFO),
		both(s.Carbon.Least, s.Carbon.IdleLeast), both(s.Cost.Least, s.Cost.IdleLeast),
		s.Late.text(100, 2), s.WaitH.text(1, 2),
	}
}

// figures are the spreads of all columns, as cells.
func (s Summary) figures() []string {
	cells := []string{s.Entry}
	for _, c := range columns {
		cells = append(cells, s.Figures[c.key()].text(1, c.places))
	}
	return cells
}

// titles are the heads of a table of figures.
func titles() []string {
	out := []string{"policy"}
	for _, c := range columns {
		out = append(out, c.title())
	}
	return out
}

// underStress introduces a table of strains.
const underStress = "One site of a day loses its power or its wind, bids falsely, or has prices out of the common: by how much the objective, idle draw included, is more than on the same day without, and how many jobs are late; median [lowest..highest]. These days are in no other summary."

// strained returns a table of strains: its heads, and a line for each entry.
func strained(all []Strain) (heads []string, lines [][]string) {
	heads = []string{"policy"}
	for _, kind := range Stresses() {
		heads = append(heads, kind+", $ more", "late %")
	}
	for _, s := range all {
		if n := len(lines); n == 0 || lines[n-1][0] != s.Entry {
			lines = append(lines, slices.Concat([]string{s.Entry}, slices.Repeat([]string{Spread{}.text(0, 0)}, len(heads)-1)))
		}
		at := 1 + 2*slices.Index(Stresses(), s.Stress)
		copy(lines[len(lines)-1][at:], []string{s.More.text(1, 2), s.Late.text(100, 2)})
	}
	return heads, lines
}

// line writes cells as a line of a table in Markdown.
func line(b *strings.Builder, cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }

// top writes the head of a table in Markdown.
func top(b *strings.Builder, heads []string) {
	line(b, heads)
	fmt.Fprintf(b, "|---|%s\n", strings.Repeat("--:|", len(heads)-1))
}

// Markdown writes the summaries, then a table for each scenario.
func Markdown(w io.Writer, rows []Row) error {
	b := new(strings.Builder)
	fmt.Fprintf(b, "# Days by policy\n\nGap: objective over the bound that no policy can beat, less one. Against the two baselines: busy energy, in brackets with idle draw. Median [lowest..highest]; best: rows with the lowest objective of jobs, of policies whose sites know what is usual.\n\n")
	all := Summarize(rows)
	top(b, summed)
	for _, s := range all {
		line(b, s.cells())
	}
	b.WriteString("\n## Figures\n\nMedian [lowest..highest] of the rows.\n\n")
	top(b, titles())
	for _, s := range all {
		line(b, s.figures())
	}
	if heads, lines := strained(Strains(rows)); len(lines) > 0 {
		fmt.Fprintf(b, "\n## Stress days\n\n%s\n\n", underStress)
		top(b, heads)
		for _, cells := range lines {
			line(b, cells)
		}
	}
	last := ""
	for _, r := range rows {
		if day(r) != last {
			last = day(r)
			fmt.Fprintf(b, "\n## %s, seed %d\n\nLoad %.0f %%, carbon at $%g/t, waiting at $%g/GPU-h. Bound $%.2f (jobs), $%.2f (with idle nodes).\n\n", r.Scenario, r.Seed, 100*r.Load, r.KappaUSD, r.DelayUSD, r.BoundUSD, r.IdleBound)
			top(b, titles())
		}
		cells := []string{r.Entry}
		for _, c := range columns {
			cells = append(cells, c.text(r, c.places, "–"))
		}
		line(b, cells)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s Spread) text(scale float64, places int) string {
	if s.N == 0 {
		return "–"
	}
	f := func(v float64) string { return strconv.FormatFloat(scale*v, 'f', places, 64) }
	if s.N == 1 {
		return f(s.Median)
	}
	return fmt.Sprintf("%s [%s..%s]", f(s.Median), f(s.Low), f(s.High))
}

func mean1(s Spread) string {
	if s.N == 0 {
		return "–"
	}
	return strconv.FormatFloat(100*s.Mean, 'f', 1, 64)
}

func both(busy, idle Spread) string {
	if busy.N == 0 {
		return "–"
	}
	return fmt.Sprintf("%+.1f (%+.1f)", 100*busy.Median, 100*idle.Median)
}

// CSV writes one line for each row.
func CSV(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	head := []string{"scenario", "hash", "seed", "policy", "kappa_usd", "delay_usd", "load", "bound_usd", "idle_bound_usd"}
	for _, c := range columns {
		head = append(head, c.key())
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, r := range rows {
		number := func(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }
		line := []string{r.Scenario, r.Hash, strconv.FormatUint(r.Seed, 10), r.Entry, number(r.KappaUSD), number(r.DelayUSD), number(r.Load), number(r.BoundUSD), number(r.IdleBound)}
		for _, c := range columns {
			line = append(line, c.text(r, 4, ""))
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
