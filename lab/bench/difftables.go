package bench

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/stats"
	"github.com/gridbid/gridbid/scenarios/report"
)

// A differenceTable is the differences of all entries against one reference, as cells.
type differenceTable struct {
	title string
	heads []string
	lines [][]string
}

// differenceTables returns a table for the best rival and one for each baseline that was
// replayed.
func differenceTables(rows []BenchRow, all []Difference) (out []differenceTable) {
	rows = ordinaryRows(rows)
	best := lowestRival(rows)
	for _, reference := range []string{best, baselineFIFO, baselineLeast} {
		if reference == "" || len(out) > 0 && reference == best {
			continue
		}
		figures := pairedFigures
		if len(out) == 0 && reference != baselineFIFO && reference != baselineLeast {
			figures = []pairedFigure{figureJobs}
		}
		t := differenceTable{title: "Against " + reference, heads: []string{"policy", "pairs"}}
		for _, f := range figures {
			t.heads = append(t.heads, f.head+" "+f.unit)
		}
		t.heads = append(t.heads, "by the jobs' objective")
		for _, entry := range entriesOf(rows) {
			if line := differenceLine(all, entry, reference, figures); line != nil {
				t.lines = append(t.lines, line)
			}
		}
		if len(t.lines) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// differenceLine returns the cells of an entry, or nil without differences. A difference within
// chance is in brackets of its own, so that it is not read as one.
func differenceLine(all []Difference, entry, reference string, figures []pairedFigure) []string {
	var cells []string
	verdict, pairs := Verdict(""), 0
	for _, f := range figures {
		d, ok := findDifference(all, entry, reference, f.key)
		if !ok {
			return nil
		}
		if f.key == figureJobs.key {
			verdict, pairs = d.Verdict, d.Pairs
		}
		text := d.text(f.places)
		if d.Verdict == WithinChance {
			text = "≈ " + text
		}
		cells = append(cells, text)
	}
	return append(append([]string{entry, strconv.Itoa(pairs)}, cells...), string(verdict))
}

// differencesNote introduces the tables of differences.
const differencesNote = "Mean of the paired differences, in brackets the 95 % interval by bootstrap: over days where there are eight or more, each the mean of its draws, otherwise over pairs of day and draw. A difference whose interval holds 0 is within chance and marked with ≈: it may be called neither better nor worse."

// chanceSentence says what the row `chance` shows: how far two runs of the auction differ.
func chanceSentence(rows []BenchRow, all []Difference) string {
	d, ok := findDifference(all, history.PolicyChance, auctionEntry, figureJobs.key)
	if !ok {
		if d, ok = findDifference(all, auctionEntry, history.PolicyChance, figureJobs.key); !ok {
			return ""
		}
	}
	pairs := pairRuns(ordinaryRows(rows), history.PolicyChance, auctionEntry)
	s := fmt.Sprintf("Chance: the auction against itself, with the costs that it compares moved by at most 0.05 %%, differs by %s %% over %d pairs.", d.text(1), len(pairs))
	if sd, ok := chancePerRun(pairs); ok {
		s += fmt.Sprintf(" One run's objective has a standard deviation of %.1f %% by chance.", 100*sd)
	}
	if d.Known() {
		s += fmt.Sprintf(" Differences of less than %.1f %% cannot be told here; more draws (--draws) tell smaller ones.", 100*(d.High-d.Low)/2)
	}
	return s
}

// chancePerRun returns the standard deviation of one run's objective by chance, as a fraction:
// that of the differences of two runs over √2. It needs two pairs and objectives above zero.
func chancePerRun(pairs []runPair) (sd float64, ok bool) {
	var logs []float64
	for _, p := range pairs {
		if p.ours.JobsUSD <= 0 || p.reference.JobsUSD <= 0 {
			return 0, false
		}
		logs = append(logs, math.Log(p.ours.JobsUSD/p.reference.JobsUSD))
	}
	_, sd = stats.MeanAndDeviation(logs)
	return sd / math.Sqrt2, len(logs) > 1
}

// gainSentence says on top what the auction wins against home-fifo and what that costs.
func gainSentence(rows []BenchRow, all []Difference) string {
	rows = ordinaryRows(rows)
	pairs := pairRuns(rows, auctionEntry, baselineFIFO)
	if len(pairs) == 0 {
		return ""
	}
	days := make(map[string]bool)
	g := report.Gain{Policy: auctionEntry, Baseline: baselineFIFO, Runs: len(pairs)}
	for _, p := range pairs {
		days[dayOf(p.ours)] = true
		n := float64(len(pairs))
		g.WaitMin += p.ours.Totals.WaitS.Mean / 60 / n
		g.BaselineWaitMin += p.reference.Totals.WaitS.Mean / 60 / n
		g.Jobs += p.ours.Totals.Jobs
		g.Late += p.ours.Totals.Late + p.ours.Totals.Unplaced
		g.BaselineLate += p.reference.Totals.Late + p.reference.Totals.Unplaced
	}
	g.Days = len(days)
	change := func(figure string) report.Change {
		d, _ := findDifference(all, auctionEntry, baselineFIFO, figure)
		return report.Change{Fraction: d.Mean, Low: d.Low, High: d.High, HasInterval: d.Known(), Missing: d.N == 0}
	}
	g.Cost, g.Carbon = change("busy_cost_usd"), change("busy_kg")
	g.CostWithIdle, g.CarbonWithIdle = change("cost_usd"), change("carbon_kg")
	return g.Sentence()
}

// WriteDifferencesCSV writes one line per difference. Fractions and bounds have six decimals;
// where there is no interval its bounds are empty.
func WriteDifferencesCSV(w io.Writer, rows []BenchRow) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"policy", "reference", "figure", "unit", "pairs", "units", "mean", "low", "high", "verdict"}); err != nil {
		return err
	}
	for _, d := range Differences(rows) {
		number := func(v float64, known bool) string {
			if !known {
				return ""
			}
			return strconv.FormatFloat(v, 'f', 6, 64)
		}
		line := []string{d.Entry, d.Reference, d.Figure, d.Unit, strconv.Itoa(d.Pairs), strconv.Itoa(d.N), number(d.Mean, d.N > 0), number(d.Low, d.Known()), number(d.High, d.Known()), string(d.Verdict)}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// writeDifferences writes the tables of differences as Markdown.
func writeDifferences(b *strings.Builder, rows []BenchRow, all []Difference) {
	tables := differenceTables(rows, all)
	if len(tables) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Differences and chance\n\n%s\n", differencesNote)
	if s := chanceSentence(rows, all); s != "" {
		fmt.Fprintf(b, "\n%s\n", s)
	}
	for _, t := range tables {
		fmt.Fprintf(b, "\n### %s\n\n", t.title)
		writeTableHead(b, t.heads)
		for _, cells := range t.lines {
			writeTableLine(b, cells)
		}
	}
}
