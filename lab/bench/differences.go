package bench

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/stats"
)

// A Difference is one figure of an entry against that of a reference, both replayed on the same
// days, seeds and draws of jobs.
type Difference struct {
	Entry     string `json:"entry"`
	Reference string `json:"reference"`
	Figure    string `json:"figure"` // key of a pairedFigure
	Unit      string `json:"unit"`   // "%": of the reference's figure, as a fraction; otherwise the figure's own
	Pairs     int    `json:"pairs"`  // replays compared
	Interval
	Verdict Verdict `json:"verdict"`
}

// A Verdict says what may be said of a Difference.
type Verdict string

// Verdicts. All figures of Differences are better when lower.
const (
	Better       Verdict = "better"        // the interval lies below 0
	Worse        Verdict = "worse"         // the interval lies above 0
	WithinChance Verdict = "within chance" // the interval holds 0
	TooFewPairs  Verdict = "too few pairs" // there is no interval
)

// A pairedFigure is a figure that entries are compared by.
type pairedFigure struct {
	key, head string
	unit      string // "%": compared as a ratio; otherwise as a difference
	places    int
	value     func(BenchRow) float64
}

// figureJobs is the figure that says which policy is best.
var figureJobs = pairedFigure{"jobs_usd", "jobs' objective", "%", 1, func(r BenchRow) float64 { return r.JobsUSD }}

// pairedFigures are the figures of Differences, in the order of tables.
var pairedFigures = []pairedFigure{
	figureJobs,
	{"objective_usd", "objective with idle", "%", 1, func(r BenchRow) float64 { return r.Totals.ObjectiveUSD }},
	{"busy_cost_usd", "cost", "%", 1, func(r BenchRow) float64 { return r.BusyCostUSD }},
	{"busy_kg", "carbon", "%", 1, func(r BenchRow) float64 { return r.BusyKg }},
	{"cost_usd", "cost with idle", "%", 1, func(r BenchRow) float64 { return r.Totals.CostUSD }},
	{"carbon_kg", "carbon with idle", "%", 1, func(r BenchRow) float64 { return r.Totals.CarbonKg }},
	{"wait_min", "wait", "min", 1, func(r BenchRow) float64 { return r.Totals.WaitS.Mean / 60 }},
	{"late_jobs", "late", "jobs", 1, func(r BenchRow) float64 { return float64(r.Totals.Late) }},
}

// A runPair is one day, seed and draw replayed under two entries.
type runPair struct{ ours, reference BenchRow }

// pairRuns returns the runs of two entries on the same jobs, by the order of rows.
func pairRuns(rows []BenchRow, entry, reference string) (out []runPair) {
	of := make(map[string]BenchRow)
	for _, r := range rows {
		if r.Entry == reference {
			of[dayKey(r)] = r
		}
	}
	for _, r := range rows {
		if other, ok := of[dayKey(r)]; ok && r.Entry == entry {
			out = append(out, runPair{r, other})
		}
	}
	return out
}

// enoughDays is from how many days on the units of an interval are days, each the mean of its
// draws: then the interval speaks of other days too. With fewer days the units are pairs of day
// and draw, and the interval speaks of other jobs on these days only.
const enoughDays = 8

// unitsOf returns the values that an interval is computed from: values[i] belongs to the day
// days[i].
func unitsOf(days []string, values []float64) []float64 {
	var order []string
	sums, counts := make(map[string]float64), make(map[string]int)
	for i, day := range days {
		if counts[day] == 0 {
			order = append(order, day)
		}
		counts[day]++
		sums[day] += values[i]
	}
	if len(order) < enoughDays {
		return values
	}
	out := make([]float64, len(order))
	for i, day := range order {
		out[i] = sums[day] / float64(counts[day])
	}
	return out
}

// dayOf names the day of a row, which its draws share. A day with another seed has other jobs
// and, where grids are invented, other grids: it counts as another day.
func dayOf(r BenchRow) string { return dayLabel(r.Scenario, r.Seed, 0) }

// compare returns the difference of a figure over pairs of runs.
func (f pairedFigure) compare(entry, reference string, pairs []runPair) Difference {
	days, x, y := make([]string, len(pairs)), make([]float64, len(pairs)), make([]float64, len(pairs))
	for i, p := range pairs {
		days[i], x[i], y[i] = dayOf(p.ours), f.value(p.ours), f.value(p.reference)
	}
	out := Difference{Entry: entry, Reference: reference, Figure: f.key, Unit: f.unit, Pairs: len(pairs)}
	if f.unit == "%" {
		out.Interval = RatioInterval(days, x, y)
	} else {
		diff := make([]float64, len(x))
		for i := range x {
			diff[i] = x[i] - y[i]
		}
		out.Interval = bootstrapInterval(unitsOf(days, diff))
	}
	switch {
	case !out.Known():
		out.Verdict = TooFewPairs
	case out.WithinChance():
		out.Verdict = WithinChance
	case out.High < 0:
		out.Verdict = Better
	default:
		out.Verdict = Worse
	}
	return out
}

// RatioInterval returns by which fraction x is above y. It takes logarithms, so that a run that
// costs twice as much and one that costs half cancel, and no day weighs more than another. Where
// a figure is not above zero, as negative prices can cause, it takes differences over the mean
// of y; where that is not above zero either, a fraction has no meaning and N is 0.
func RatioInterval(days []string, x, y []float64) Interval {
	values, positive := make([]float64, len(x)), true
	for i := range x {
		positive = positive && x[i] > 0 && y[i] > 0
	}
	if positive {
		for i := range x {
			values[i] = math.Log(x[i] / y[i])
		}
		out := bootstrapInterval(unitsOf(days, values))
		out.Mean = math.Expm1(out.Mean)
		if out.Known() {
			out.Low, out.High = math.Expm1(out.Low), math.Expm1(out.High)
		}
		return out
	}
	mean, _ := stats.MeanAndDeviation(y)
	if mean <= 0 {
		return Interval{}
	}
	for i := range x {
		values[i] = (x[i] - y[i]) / mean
	}
	return bootstrapInterval(unitsOf(days, values))
}

// TotalInterval returns by which fraction the total of x is above that of y, with its interval over
// days: a day weighs as much as it cost. Where the total of y is not above zero, as negative prices
// can cause, or that of days drawn from it is not, a fraction has no meaning, and N is 0.
//
// Days are resampled, and each resample has its own totals: a dear day that is saved the same fraction
// widens nothing. The ends are percentiles of the resamples by [expandedLevel], each on its side: where
// one day in ten has price spikes, an interval of equal reach to both sides goes as far up as that
// day is down, and is no surer for it.
func TotalInterval(days []string, x, y []float64) Interval {
	xs, ys := unitsOf(days, x), unitsOf(days, y)
	out := Interval{N: len(ys)}
	fraction := func(pick func(i int) int) (float64, bool) {
		of, against := 0.0, 0.0
		for i := range ys {
			k := pick(i)
			of, against = of+xs[k], against+ys[k]
		}
		return of/against - 1, against > 0
	}
	var ok bool
	if out.Mean, ok = fraction(func(i int) int { return i }); !ok {
		return Interval{}
	}
	if !out.Known() {
		return out
	}
	d := rand.New(rand.NewPCG(intervalSeed, uint64(len(ys))))
	drawn := make([]float64, resamples)
	for i := range drawn {
		if drawn[i], ok = fraction(func(int) int { return d.IntN(len(ys)) }); !ok {
			return Interval{}
		}
	}
	slices.Sort(drawn)
	beyond := int((1 - expandedLevel(len(ys))) / 2 * resamples)
	out.Low, out.High = drawn[beyond], drawn[resamples-1-beyond]
	return out
}

// ordinaryRows returns the rows that summaries are made of: without sweeps and stress days.
func ordinaryRows(rows []BenchRow) (out []BenchRow) {
	for _, r := range rows {
		if !r.Sweep && r.Stress == "" {
			out = append(out, r)
		}
	}
	return out
}

// entriesOf returns the entries of rows in the order in which they first occur.
func entriesOf(rows []BenchRow) (out []string) {
	for _, r := range rows {
		if !slices.Contains(out, r.Entry) {
			out = append(out, r.Entry)
		}
	}
	return out
}

// lowestRival returns the rival with the lowest objective of jobs, as the mean over the runs that
// all rivals with the most runs have; "" without rivals.
func lowestRival(rows []BenchRow) string {
	runs, most := make(map[string]int), 0
	for _, r := range rows {
		if r.Totals.IsRival() {
			runs[r.Entry]++
			most = max(most, runs[r.Entry])
		}
	}
	best := ""
	for _, entry := range entriesOf(rows) {
		switch {
		case runs[entry] < most || most == 0: // it did not finish every day
		case best == "", figureJobs.compare(entry, best, pairRuns(rows, entry, best)).Mean < 0:
			best = entry
		}
	}
	return best
}

// bestDays returns on how many days each rival is the best: its objective of jobs, over all draws
// of the day, is the lowest, and that of the runner-up is not within chance of it over all pairs.
// It returns nil if there are too few pairs for any such claim.
func bestDays(rows []BenchRow) map[string]int {
	rows = ordinaryRows(rows)
	var days []string
	sums, runs := make(map[string]map[string]float64), make(map[string]map[string]int)
	for _, r := range rows {
		if !r.Totals.IsRival() {
			continue
		}
		day := dayOf(r)
		if sums[day] == nil {
			days, sums[day], runs[day] = append(days, day), make(map[string]float64), make(map[string]int)
		}
		sums[day][r.Entry] += r.JobsUSD
		runs[day][r.Entry]++
	}
	out, known := make(map[string]int), false
	for _, day := range days {
		var order []string // entries that finished all draws of the day, the lowest first
		most := 0
		for _, n := range runs[day] {
			most = max(most, n)
		}
		for _, entry := range entriesOf(rows) {
			if runs[day][entry] == most {
				order = append(order, entry)
			}
		}
		slices.SortStableFunc(order, func(x, y string) int { return cmp.Compare(sums[day][x], sums[day][y]) })
		if len(order) < 2 {
			continue
		}
		d := figureJobs.compare(order[0], order[1], pairRuns(rows, order[0], order[1]))
		known = known || d.Known()
		if d.Verdict == Better {
			out[order[0]]++
		}
	}
	if !known {
		return nil
	}
	return out
}

// Baselines that entries are compared with, where they were replayed.
const (
	baselineFIFO  = "home-fifo"
	baselineLeast = "k8s-least-allocated"
)

// Differences returns the figures of every entry against the best rival and the baselines, and
// those of the row `chance` against the auction, each with its interval.
func Differences(rows []BenchRow) []Difference {
	rows = ordinaryRows(rows)
	entries := entriesOf(rows)
	out := []Difference{}
	add := func(entry, reference string, figures ...pairedFigure) {
		if entry == reference || !slices.Contains(entries, reference) {
			return
		}
		pairs := pairRuns(rows, entry, reference)
		for _, f := range figures {
			if len(pairs) > 0 {
				out = append(out, f.compare(entry, reference, pairs))
			}
		}
	}
	best := lowestRival(rows)
	for _, entry := range entries {
		if best != baselineFIFO && best != baselineLeast {
			add(entry, best, figureJobs)
		}
		for _, baseline := range []string{baselineFIFO, baselineLeast} {
			add(entry, baseline, pairedFigures...)
		}
	}
	if best != auctionEntry {
		add(history.PolicyChance, auctionEntry, figureJobs)
	}
	return out
}

// auctionEntry is the entry whose run beside itself the row `chance` is.
const auctionEntry = "auction"

// text returns the difference with its interval: "-58.3 [-61.0, -55.2]".
func (d Difference) text(places int) string {
	scale := 1.0
	if d.Unit == "%" {
		scale = 100
	}
	f := func(v float64) string { return strconv.FormatFloat(scale*v, 'f', places, 64) }
	switch {
	case d.N == 0:
		return "–"
	case !d.Known():
		return signed(f(d.Mean))
	}
	return fmt.Sprintf("%s [%s, %s]", signed(f(d.Mean)), signed(f(d.Low)), signed(f(d.High)))
}

// signed adds a plus to a number that has no minus.
func signed(text string) string {
	if text[0] == '-' {
		return text
	}
	return "+" + text
}

// findDifference returns the difference of an entry's figure against a reference.
func findDifference(all []Difference, entry, reference, figure string) (Difference, bool) {
	i := slices.IndexFunc(all, func(d Difference) bool {
		return d.Entry == entry && d.Reference == reference && d.Figure == figure
	})
	if i < 0 {
		return Difference{}, false
	}
	return all[i], true
}

// DifferenceInterval returns the mean of values, one for each pair of runs, with its interval over days.
func DifferenceInterval(days []string, values []float64) Interval {
	return bootstrapInterval(unitsOf(days, values))
}
