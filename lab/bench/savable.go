package bench

import (
	"fmt"
	"math"
	"strings"
)

// savableBaseline is the policy whose V less the best known V is what a day could save.
const savableBaseline = "home-fifo"

// certifiedWithin is how far above the certified bound a best known V may be to count.
const certifiedWithin = 0.05

// A SavableShare says how much of what a day's jobs could save a row saved. V is what the
// jobs' energy, carbon and transfer cost, plus the price of their waiting; lateness and idle
// draw are no part of it. All V of a day have the same prices.
type SavableShare struct {
	ValueUSD float64 `json:"value_usd"` // V of the row
	FIFOUSD  float64 `json:"fifo_usd"`  // V of home-fifo
	BestUSD  float64 `json:"best_usd"`  // least V of the search and of the day's other rows
	Best     string  `json:"best"`      // whose V that is: an entry, or "search"

	// Share is (FIFOUSD - ValueUSD) / (FIFOUSD - BestUSD). If BestUSD is more than 5 % above
	// the bound, the bound stands in its place and AgainstBound is set.
	Share        float64 `json:"share"`
	AgainstBound bool    `json:"against_bound"`
	Known        bool    `json:"known"` // false: Share means nothing (see AddSavableShares)

	// How far the search came: V and lateness of its schedule, and of what it started from.
	SearchUSD     float64 `json:"search_usd"`
	SearchLateUSD float64 `json:"search_late_usd"`
	SearchFromUSD float64 `json:"search_from_usd"`
	SearchSteps   int     `json:"search_steps"`
}

// valueOf returns V of a row.
func valueOf(r BenchRow) float64 { return r.JobsUSD - r.Totals.LateUSD }

// AddSavableShares adds to rows their shares of what was savable. Searched has the result of
// the search of each day, by the hash of its scenario; a day may have none.
//
// A row has no share if its day has no row of home-fifo, if home-fifo leaves nothing to save,
// or if the row left jobs undone that another row of its day did: work that is not done costs
// nothing, so such a V compares with no other.
func AddSavableShares(rows []BenchRow, searched map[string]SearchedDay) {
	days := make(map[string][]int)
	for i, r := range rows {
		days[dayKey(r)] = append(days[dayKey(r)], i)
	}
	for key, day := range days {
		fewest := math.MaxInt
		for _, i := range day {
			fewest = min(fewest, rows[i].Totals.Unplaced)
		}
		for _, i := range day {
			rows[i].Savable = savableShareOf(rows, day, i, fewest, searched[key])
		}
	}
}

// savableShareOf returns the share of rows[of]; day has the indices of its day's rows, fewest
// the jobs that each of them left undone at least.
func savableShareOf(rows []BenchRow, day []int, of, fewest int, k SearchedDay) SavableShare {
	r := rows[of]
	out := SavableShare{ValueUSD: valueOf(r), BestUSD: math.Inf(1), SearchUSD: k.ValueUSD, SearchLateUSD: k.LateUSD, SearchFromUSD: k.StartUSD, SearchSteps: k.Steps}
	hasBaseline := false
	for _, i := range day {
		o := rows[i]
		if o.Totals.Unplaced > fewest {
			continue
		}
		if o.Entry == savableBaseline {
			hasBaseline, out.FIFOUSD = true, valueOf(o)
		}
		if i != of && valueOf(o) < out.BestUSD {
			out.BestUSD, out.Best = valueOf(o), o.Entry
		}
	}
	if k.Steps > 0 && k.Unplaced <= fewest && k.ValueUSD < out.BestUSD {
		out.BestUSD, out.Best = k.ValueUSD, "search"
	}
	if out.Best == "" { // the only row of its day, and no search
		out.BestUSD = 0
		return out
	}
	best := out.BestUSD
	if best-r.BoundUSD > certifiedWithin*math.Abs(r.BoundUSD) {
		best, out.AgainstBound = r.BoundUSD, true
	}
	if hasBaseline && r.Totals.Unplaced <= fewest && out.FIFOUSD > best {
		out.Share, out.Known = (out.FIFOUSD-out.ValueUSD)/(out.FIFOUSD-best), true
	}
	return out
}

// sharePercent returns the share of a row in per cent; NaN if it has none.
func sharePercent(r BenchRow) float64 {
	if !r.Savable.Known {
		return math.NaN()
	}
	return 100 * r.Savable.Share
}

// bestOverBoundPercent returns how far the best known V is above the bound; NaN without either.
func bestOverBoundPercent(r BenchRow) float64 {
	if r.Savable.Best == "" || r.BoundUSD <= 0 {
		return math.NaN()
	}
	return 100 * (r.Savable.BestUSD/r.BoundUSD - 1)
}

// againstBoundMark returns 1 for a share against the bound, 0 for one against the best known
// schedule, and NaN for none.
func againstBoundMark(r BenchRow) float64 {
	switch {
	case !r.Savable.Known:
		return math.NaN()
	case r.Savable.AgainstBound:
		return 1
	}
	return 0
}

// worstJobPercent returns what the job that waited and was late at the highest price cost by
// that, in per cent of the objective of all jobs; NaN if that is not above zero.
func worstJobPercent(r BenchRow) float64 {
	if r.JobsUSD <= 0 {
		return math.NaN()
	}
	return 100 * r.Totals.WorstJobUSD / r.JobsUSD
}

// savableColumns are the columns of shares.
var savableColumns = []benchColumn{
	{"V", "$", 2, true, func(r BenchRow) float64 { return valueOf(r) }},
	{"share of savable", "%", 1, false, sharePercent},
	{"best known over bound", "%", 1, false, bestOverBoundPercent},
	{"share against bound", "", 0, false, againstBoundMark},
	{"largest waiting and lateness of a job", "%", 2, false, worstJobPercent},
}

// savableNote explains the columns of shares above tables.
const savableNote = "Share of savable: (V of home-fifo − V) / (V of home-fifo − V of the best known schedule), V being energy, carbon and transfer of the jobs plus the price of waiting. Best known is the least V of a search with full knowledge and of all other rows of the day; where it is more than 5 % above the bound, the bound stands in its place (share against bound: 1)."

// searchText returns how far the search of a row's day came, as a sentence; "" without a search.
func (s SavableShare) searchText(boundUSD float64) string {
	if s.SearchSteps == 0 {
		return ""
	}
	b := new(strings.Builder)
	fmt.Fprintf(b, "Search: V $%.2f", s.SearchUSD)
	if s.SearchLateUSD > 0 {
		fmt.Fprintf(b, " (and $%.2f of lateness)", s.SearchLateUSD)
	}
	if boundUSD > 0 {
		fmt.Fprintf(b, ", %.1f %% above the bound", 100*((s.SearchUSD+s.SearchLateUSD)/boundUSD-1))
	}
	fmt.Fprintf(b, ", after %d steps", s.SearchSteps)
	if s.SearchFromUSD != 0 {
		fmt.Fprintf(b, "; it started from a run of $%.2f", s.SearchFromUSD)
	}
	return b.String() + "."
}
