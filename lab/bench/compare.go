package bench

import (
	"fmt"
	"math"
	"strings"

	"github.com/gridbid/gridbid/history"
)

// A Comparison is one figure of two entries over pairs of runs.
type Comparison struct {
	Name       string  `json:"name"`  // in words
	Unit       string  `json:"units"` // of the means
	Mean       float64 `json:"mean_second"`
	MeanBefore float64 `json:"mean_first"`
	Difference `json:"difference"`

	// ByChance is how far two runs of one policy differ, in 95 % of cases, by the runs of the row
	// chance: a fraction or the figure's own unit, as the difference. 0: the runs have no such row.
	ByChance float64 `json:"by_chance,omitempty"`
}

// ComparePairs compares runs pair by pair: second[i] and first[i] are of the same jobs, and pairs
// differ in their draws or days. Differences are of the second against the first, with intervals from
// MinPairs pairs on.
func ComparePairs(first, second []history.Totals) (out []Comparison) {
	row := func(t history.Totals) BenchRow {
		return BenchRow{Scenario: t.Scenario, Seed: t.Seed, JobsUSD: t.JobsUSD, BusyKg: t.CarbonKg - t.IdleKg, BusyCostUSD: t.CostUSD - t.IdleUSD, Totals: t}
	}
	pairs := make([]runPair, len(first))
	for i := range first {
		pairs[i] = runPair{row(second[i]), row(first[i])}
	}
	for _, f := range pairedFigures {
		c := Comparison{Name: f.head, Unit: f.unit, Difference: f.compare("second", "first", pairs)}
		switch {
		case strings.HasSuffix(f.key, "_usd"):
			c.Unit = "$"
		case strings.HasSuffix(f.key, "_kg"):
			c.Unit = "kg"
		}
		for _, p := range pairs {
			c.Mean += f.value(p.ours) / float64(len(pairs))
			c.MeanBefore += f.value(p.reference) / float64(len(pairs))
		}
		out = append(out, c)
	}
	return out
}

// AddChance says of comparisons of too few pairs for an interval what chance alone makes: auction[i]
// and chance[i] are runs of the same jobs, the second with costs moved by next to nothing (the row
// chance). What is not farther apart is within chance. The reach is Student's, with the squares of the
// differences by chance as the variance, so one such run tells only what is twelve times as large.
func AddChance(all []Comparison, auction, chance []history.Totals) {
	for i, d := range ComparePairs(auction, chance) {
		c := &all[i]
		if d.N == 0 || c.N == 0 || c.Known() {
			continue
		}
		var squares float64
		for k := range auction {
			x := ComparePairs(auction[k:k+1], chance[k:k+1])[i].scaled()
			squares += float64(x * x)
		}
		if squares == 0 { // the two runs agree in it, as often in a small count: that tells nothing
			continue
		}
		reach := smallStudentQuantile(len(auction)) * math.Sqrt(squares/float64(len(auction))/float64(c.Pairs))
		c.ByChance = reach
		if c.Difference.Unit == "%" {
			c.ByChance = math.Expm1(reach)
		}
		switch {
		case math.Abs(c.scaled()) <= reach:
			c.Verdict = WithinChance
		case c.Difference.Mean < 0:
			c.Verdict = Better
		default:
			c.Verdict = Worse
		}
	}
}

// scaled returns the difference on the scale on which its chance is symmetric: of a ratio the
// logarithm.
func (c Comparison) scaled() float64 {
	if c.Difference.Unit == "%" {
		return math.Log1p(c.Difference.Mean)
	}
	return c.Difference.Mean
}

// smallStudentQuantile is studentQuantile from one degree of freedom on, where the expansion is off.
func smallStudentQuantile(free int) float64 {
	if exact := []float64{0, 12.706, 4.303, 3.182, 2.776}; free < len(exact) {
		return exact[free]
	}
	return studentQuantile(float64(free))
}

// ChanceText returns what chance makes, as Text returns the difference; "" where that is not known.
func (c Comparison) ChanceText() string {
	switch {
	case c.ByChance == 0:
		return ""
	case c.Difference.Unit == "%":
		return fmt.Sprintf("± %.1f %%", 100*c.ByChance)
	}
	return fmt.Sprintf("± %.1f", c.ByChance)
}

// MinPairs is how many pairs of runs an interval wants.
const MinPairs = minUnits

// Text returns the difference with its interval, if it has one, as tables show it.
func (d Difference) Text() string { return d.text(1) }
