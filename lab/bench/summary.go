package bench

import (
	"math"
	"slices"
	"strings"
)

// A PolicySummary holds the distributions of one entry's figures over all days and seeds.
type PolicySummary struct {
	Entry  string         `json:"entry"`
	Rows   int            `json:"rows"`
	Best   *int           `json:"best"` // days on which it is the best rival beyond chance (bestDays); nil: too few pairs to tell
	Gap    Distribution   `json:"gap"`  // to the bound, jobs alone
	Idle   Distribution   `json:"idle_gap"`
	Late   Distribution   `json:"late"` // fraction of jobs
	WaitH  Distribution   `json:"wait_h"`
	Carbon BaselineChange `json:"carbon"` // of busy energy
	Cost   BaselineChange `json:"cost"`

	Figures map[string]Distribution `json:"figures"` // of each column of the rows, by its CSV name
}

// A BaselineChange is the change of a figure against two baselines on the same scenario and
// seed, as a fraction: -0.3 is 30 % less. Without rows of a baseline N is 0.
type BaselineChange struct {
	FIFO      Distribution `json:"home_fifo"`           // busy energy
	Least     Distribution `json:"k8s_least"`           //
	IdleFIFO  Distribution `json:"home_fifo_with_idle"` // idle draw included
	IdleLeast Distribution `json:"k8s_least_with_idle"` //
}

// A Distribution summarizes the values of a figure over N rows.
type Distribution struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Mean   float64 `json:"mean"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// distributionOf returns the distribution of values; of none the zero Distribution.
func distributionOf(values []float64) (s Distribution) {
	if s.N = len(values); s.N == 0 {
		return s
	}
	values = slices.Sorted(slices.Values(values))
	s.Low, s.High = values[0], values[s.N-1]
	s.Median = (values[(s.N-1)/2] + values[s.N/2]) / 2
	for _, v := range values {
		s.Mean += v / float64(s.N)
	}
	return s
}

// SummarizePolicies summarizes rows by entry, in the order in which entries first occur. It
// leaves out rows of sweeps and of stress days, which other tables summarize.
func SummarizePolicies(rows []BenchRow) []PolicySummary {
	days := make(map[string][]BenchRow)
	var order []string
	byEntry := make(map[string][]BenchRow)
	for _, r := range rows {
		if r.Sweep || r.Stress != "" {
			continue
		}
		days[dayKey(r)] = append(days[dayKey(r)], r)
		if byEntry[r.Entry] == nil {
			order = append(order, r.Entry)
		}
		byEntry[r.Entry] = append(byEntry[r.Entry], r)
	}
	out := make([]PolicySummary, len(order))
	best := bestDays(rows)
	for i, entry := range order {
		out[i] = summarizePolicy(entry, byEntry[entry], days)
		if n := best[entry]; best != nil {
			out[i].Best = &n
		}
	}
	return out
}

// dayKey identifies the day of a row, which rows of several entries share.
func dayKey(r BenchRow) string { return r.Hash }

// summarizePolicy summarizes the rows of one entry; days has the rows of all entries by day.
func summarizePolicy(entry string, rows []BenchRow, days map[string][]BenchRow) PolicySummary {
	var gap, idle, late, wait []float64
	s := PolicySummary{Entry: entry, Rows: len(rows), Figures: make(map[string]Distribution, len(benchColumns))}
	// Bounds of zero or less have no gap: see gapPercent.
	for _, r := range rows {
		if r.BoundUSD > 0 {
			gap = append(gap, r.Gap)
		}
		if r.IdleBound > 0 {
			idle = append(idle, r.IdleGap)
		}
		late = append(late, fractionOf(r.Totals.Late, r.Totals.Jobs))
		wait = append(wait, r.Totals.WaitS.Mean/3600)
	}
	s.Gap, s.Idle, s.Late, s.WaitH = distributionOf(gap), distributionOf(idle), distributionOf(late), distributionOf(wait)
	s.Carbon = changeAgainstBaselines(rows, days, func(r BenchRow) float64 { return r.BusyKg }, func(r BenchRow) float64 { return r.Totals.CarbonKg })
	s.Cost = changeAgainstBaselines(rows, days, func(r BenchRow) float64 { return r.BusyCostUSD }, func(r BenchRow) float64 { return r.Totals.CostUSD })
	for _, c := range benchColumns {
		var values []float64
		for _, r := range rows {
			if v := c.value(r); !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		s.Figures[c.columnKey()] = distributionOf(values)
	}
	return s
}

// changeAgainstBaselines compares rows with the two baselines of their days, by a figure
// without (busy) and with (all) idle draw.
func changeAgainstBaselines(rows []BenchRow, days map[string][]BenchRow, busy, all func(BenchRow) float64) BaselineChange {
	// against compares only where the baseline's figure is above zero, as a fraction needs.
	against := func(baseline string, value func(BenchRow) float64) Distribution {
		var out []float64
		for _, r := range rows {
			for _, o := range days[dayKey(r)] {
				if o.Entry == baseline && value(o) > 0 {
					out = append(out, value(r)/value(o)-1)
				}
			}
		}
		return distributionOf(out)
	}
	const fifo, least = "home-fifo", "k8s-least-allocated"
	return BaselineChange{against(fifo, busy), against(least, busy), against(fifo, all), against(least, all)}
}

// A StressEffect is the effect of one kind of stress on an entry: its rows on those days, each
// compared with the same day without stress.
type StressEffect struct {
	Entry     string       `json:"entry"`
	Stress    string       `json:"stress"`
	Objective Distribution `json:"objective_usd"` // idle draw included
	More      Distribution `json:"more_usd"`      // than on the same day without stress
	Late      Distribution `json:"late"`          // fraction of jobs
}

// StressEffects summarizes the rows of stress days by entry, in the order in which entries
// first occur, and by kind of stress in the order of StressNames.
func StressEffects(rows []BenchRow) []StressEffect {
	type run struct {
		scenario, entry string
		seed            uint64
		draw            int
	}
	// Days without stress, to compare each stress day with its own.
	calm := make(map[run]BenchRow)
	var entries []string
	for _, r := range rows {
		if !slices.Contains(entries, r.Entry) {
			entries = append(entries, r.Entry)
		}
		if r.Stress == "" && !r.Sweep {
			calm[run{r.Scenario, r.Entry, r.Seed, r.Draw}] = r
		}
	}
	out := []StressEffect{}
	for _, entry := range entries {
		for _, kind := range StressNames() {
			var objective, more, late []float64
			for _, r := range rows {
				if r.Entry != entry || r.Stress != kind || r.Sweep {
					continue
				}
				objective = append(objective, r.Totals.ObjectiveUSD)
				late = append(late, fractionOf(r.Totals.Late, r.Totals.Jobs))
				if was, ok := calm[run{strings.TrimSuffix(r.Scenario, "-"+kind), entry, r.Seed, r.Draw}]; ok {
					more = append(more, r.Totals.ObjectiveUSD-was.Totals.ObjectiveUSD)
				}
			}
			if len(late) > 0 {
				out = append(out, StressEffect{entry, kind, distributionOf(objective), distributionOf(more), distributionOf(late)})
			}
		}
	}
	return out
}

// fractionOf returns n/all, and 0 if all is 0.
func fractionOf(n, all int) float64 { return float64(n) / float64(max(all, 1)) }
