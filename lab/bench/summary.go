package bench

import (
	"math"
	"slices"
	"strings"
)

// A Summary is one entry over all scenarios and seeds.
type Summary struct {
	Entry  string `json:"entry"`
	Rows   int    `json:"rows"`
	Best   int    `json:"best"` // rows in which no other has a lower objective of jobs, of those with the usual signals
	Gap    Spread `json:"gap"`  // to the bound, jobs alone
	Idle   Spread `json:"idle_gap"`
	Late   Spread `json:"late"` // part of jobs
	WaitH  Spread `json:"wait_h"`
	Carbon Versus `json:"carbon"` // of busy energy
	Cost   Versus `json:"cost"`

	Figures map[string]Spread `json:"figures"` // each column of the rows, by its name in the CSV
}

// A Versus is a change against a baseline on the same scenario and seed, as a
// part: -0.3 is 30 % less. Where there is no such baseline it has no rows.
type Versus struct {
	FIFO      Spread `json:"home_fifo"`           // busy energy
	Least     Spread `json:"k8s_least"`           //
	IdleFIFO  Spread `json:"home_fifo_with_idle"` // idle draw included
	IdleLeast Spread `json:"k8s_least_with_idle"` //
}

// A Spread is how a figure lies over rows.
type Spread struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Mean   float64 `json:"mean"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

func spread(values []float64) (s Spread) {
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

// Summarize gathers rows by entry, in the order in which entries first occur.
// Rows of a sweep and of stress days are left out: they answer other questions.
func Summarize(rows []Row) []Summary {
	days := make(map[string][]Row)
	var order []string
	byEntry := make(map[string][]Row)
	for _, r := range rows {
		if r.Sweep || r.Stress != "" {
			continue
		}
		days[day(r)] = append(days[day(r)], r)
		if byEntry[r.Entry] == nil {
			order = append(order, r.Entry)
		}
		byEntry[r.Entry] = append(byEntry[r.Entry], r)
	}
	out := make([]Summary, len(order))
	for i, entry := range order {
		out[i] = summarize(entry, byEntry[entry], days)
	}
	return out
}

// day names what rows of several entries have in common.
func day(r Row) string { return r.Hash }

func summarize(entry string, rows []Row, days map[string][]Row) Summary {
	var gap, idle, late, wait []float64
	s := Summary{Entry: entry, Rows: len(rows), Figures: make(map[string]Spread, len(columns))}
	for _, r := range rows {
		if r.BoundUSD > 0 {
			gap = append(gap, r.Gap)
		}
		if r.IdleBound > 0 {
			idle = append(idle, r.IdleGap)
		}
		late = append(late, part(r.Totals.Late, r.Totals.Jobs))
		wait = append(wait, r.Totals.WaitS.Mean/3600)
		best := true
		for _, o := range days[day(r)] {
			best = best && (o.JobsUSD >= r.JobsUSD || !o.Totals.Usual())
		}
		if best && r.Totals.Usual() {
			s.Best++
		}
	}
	s.Gap, s.Idle, s.Late, s.WaitH = spread(gap), spread(idle), spread(late), spread(wait)
	s.Carbon = versus(rows, days, func(r Row) float64 { return r.BusyKg }, func(r Row) float64 { return r.Totals.CarbonKg })
	s.Cost = versus(rows, days, func(r Row) float64 { return r.BusyCostUSD }, func(r Row) float64 { return r.Totals.CostUSD })
	for _, c := range columns {
		var values []float64
		for _, r := range rows {
			if v := c.of(r); !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		s.Figures[c.key()] = spread(values)
	}
	return s
}

// versus compares rows with the two baselines of their day.
func versus(rows []Row, days map[string][]Row, busy, all func(Row) float64) Versus {
	against := func(baseline string, value func(Row) float64) Spread {
		var out []float64
		for _, r := range rows {
			for _, o := range days[day(r)] {
				if o.Entry == baseline && value(o) > 0 {
					out = append(out, value(r)/value(o)-1)
				}
			}
		}
		return spread(out)
	}
	const fifo, least = "home-fifo", "k8s-least-allocated"
	return Versus{against(fifo, busy), against(least, busy), against(fifo, all), against(least, all)}
}

// A Strain is what a stress does to an entry: its rows of that stress, each held
// against the same day without.
type Strain struct {
	Entry     string `json:"entry"`
	Stress    string `json:"stress"`
	Objective Spread `json:"objective_usd"` // idle draw included
	More      Spread `json:"more_usd"`      // than on the same day without
	Late      Spread `json:"late"`          // part of jobs
}

// Strains gathers the rows of stress days by entry and stress, in the order in
// which entries first occur, then in that of the stresses.
func Strains(rows []Row) []Strain {
	type run struct {
		scenario, entry string
		seed            uint64
	}
	calm := make(map[run]Row)
	var entries []string
	for _, r := range rows {
		if !slices.Contains(entries, r.Entry) {
			entries = append(entries, r.Entry)
		}
		if r.Stress == "" && !r.Sweep {
			calm[run{r.Scenario, r.Entry, r.Seed}] = r
		}
	}
	out := []Strain{}
	for _, entry := range entries {
		for _, kind := range Stresses() {
			var objective, more, late []float64
			for _, r := range rows {
				if r.Entry != entry || r.Stress != kind || r.Sweep {
					continue
				}
				objective = append(objective, r.Totals.ObjectiveUSD)
				late = append(late, part(r.Totals.Late, r.Totals.Jobs))
				if was, ok := calm[run{strings.TrimSuffix(r.Scenario, "-"+kind), entry, r.Seed}]; ok {
					more = append(more, r.Totals.ObjectiveUSD-was.Totals.ObjectiveUSD)
				}
			}
			if len(late) > 0 {
				out = append(out, Strain{entry, kind, spread(objective), spread(more), spread(late)})
			}
		}
	}
	return out
}

// part is n of all, which may be none.
func part(n, all int) float64 { return float64(n) / float64(max(all, 1)) }
