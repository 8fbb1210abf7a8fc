package serviceday

import (
	"context"
	"fmt"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/lab/bench"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
)

// A Result is one day under one row.
type Result struct {
	Day   string `json:"day"`
	Draw  int    `json:"draw"`
	Row   string `json:"row"`
	Bound Bound  `json:"bound"`
	Means int    `json:"means,omitempty"` // of so many replays the figures are the means; 0: they are of one
	Figures
}

// Run replays a day under a row, with the auction for its jobs.
func (d *Day) Run(ctx context.Context, row Row) (Result, error) {
	r := newRecorder(d)
	res, err := scenarios.Replay(ctx, d.scenario(row), scenarios.PolicyAuction, new(membus.Bus), scenarios.Options{NoBids: true, Record: func(m protocol.Message) error {
		r.add(m)
		return nil
	}})
	if err != nil {
		return Result{}, fmt.Errorf("serviceday: %s, draw %d, under %s: %w", d.Scenario.Name, d.Draw, row.Name, err)
	}
	out := Result{Day: d.Scenario.Name, Draw: d.Draw, Row: row.Name}
	if row.set != nil {
		out.Figures, out.Bound = r.account(), d.lowerBound()
	}
	out.JobsUSD, out.Late = res.Totals.JobsUSD, res.Totals.Late
	return out, nil
}

// RunCached returns what a row was on a day from a cache, or replays and keeps it. It reports whether it
// replayed.
func (d *Day) RunCached(ctx context.Context, row Row, c bench.Cache) (r Result, ran bool, err error) {
	path := c.File("service-"+scenarios.FileStem(d.Scenario.Name), d.Scenario.Hash, fmt.Sprint(d.Draw), fmt.Sprint(d.rate), row.Name)
	if bench.ReadCached(path, &r) {
		return r, false, nil
	}
	if r, err = d.Run(ctx, row); err != nil {
		return r, true, err
	}
	if err := bench.WriteCached(path, r); err != nil {
		return r, true, fmt.Errorf("serviceday: %w", err)
	}
	return r, true, nil
}

// A Change is a figure of a row against the even split over the same days and draws: of all of them together, so
// that a day weighs as much as it costs, and none costs too little to be divided by. ByDay is the mean of the days'
// fractions, of which each weighs the same.
type Change struct {
	Row    string `json:"row"`
	Figure string `json:"figure"`
	Points bool   `json:"points"` // a difference, the same by day; otherwise a fraction of the even split's
	bench.Interval
	ByDay bench.Interval `json:"by_day"`
}

// ChangedFigures are those that rows are compared by.
var ChangedFigures = []struct {
	Name   string
	Points bool
	of     func(Result) float64
}{
	{"money and carbon", false, func(r Result) float64 { return r.TotalUSD }},
	{"carbon", false, func(r Result) float64 { return r.Kg }},
	{"money", false, func(r Result) float64 { return r.USD }},
	{"attainment", true, func(r Result) float64 { return r.Attained }},
	{"batch objective", false, func(r Result) float64 { return r.JobsUSD }},
	{"service and batch", false, func(r Result) float64 { return r.TotalUSD + r.JobsUSD }},
}

// Changes compares each row with the even split.
func Changes(all []Result) (out []Change) {
	type unit struct {
		day  string
		draw int
	}
	even := make(map[unit]Result)
	var rows []string
	byRow := make(map[string][]Result)
	for _, r := range all {
		if r.Row == EvenSplit {
			even[unit{r.Day, r.Draw}] = r
			continue
		}
		if byRow[r.Row] == nil {
			rows = append(rows, r.Row)
		}
		byRow[r.Row] = append(byRow[r.Row], r)
	}
	for _, row := range rows {
		for _, f := range ChangedFigures {
			if row == NoService && f.Name != "batch objective" {
				continue
			}
			var days []string
			var x, y, diff []float64
			for _, r := range byRow[row] {
				if e, ok := even[unit{r.Day, r.Draw}]; ok {
					days, x, y, diff = append(days, r.Day), append(x, f.of(r)), append(y, f.of(e)), append(diff, f.of(r)-f.of(e))
				}
			}
			c := Change{Row: row, Figure: f.Name, Points: f.Points}
			if f.Points {
				c.Interval = bench.DifferenceInterval(days, diff)
				c.ByDay = c.Interval
			} else {
				c.Interval, c.ByDay = bench.TotalInterval(days, x, y), bench.RatioInterval(days, x, y)
			}
			out = append(out, c)
		}
	}
	return out
}

// Means returns the mean figures of each row, in the order in which rows first occur, and of the bound.
func Means(all []Result) (rows []Result, bound Bound) {
	index, counts := make(map[string]int), make(map[string]int)
	bounded := 0
	for _, r := range all {
		if _, known := index[r.Row]; !known {
			index[r.Row] = len(rows)
			rows = append(rows, Result{Row: r.Row})
		}
		m := &rows[index[r.Row]]
		counts[r.Row]++
		m.Means++
		m.Attained += r.Attained
		m.ReplicaHours += r.ReplicaHours
		m.GPUHours += r.GPUHours
		m.KWh += r.KWh
		m.Kg += r.Kg
		m.USD += r.USD
		m.TotalUSD += r.TotalUSD
		m.Moves += r.Moves
		m.ColdStarts += r.ColdStarts
		m.MissingHours += r.MissingHours
		m.RTT += r.RTT
		m.JobsUSD += r.JobsUSD
		m.Late += r.Late
		if r.Row == EvenSplit {
			bounded++
			bound.TotalUSD += r.Bound.TotalUSD
			bound.Kg += r.Bound.Kg
			bound.USD += r.Bound.USD
		}
	}
	for i := range rows {
		m, n := &rows[i], float64(counts[rows[i].Row])
		for _, v := range []*float64{&m.Attained, &m.ReplicaHours, &m.GPUHours, &m.KWh, &m.Kg, &m.USD, &m.TotalUSD, &m.MissingHours, &m.RTT, &m.JobsUSD} {
			*v /= n
		}
		m.Moves, m.ColdStarts, m.Late = m.Moves/counts[m.Row], m.ColdStarts/counts[m.Row], m.Late/counts[m.Row]
	}
	for _, v := range []*float64{&bound.TotalUSD, &bound.Kg, &bound.USD} {
		*v /= float64(max(bounded, 1))
	}
	return rows, bound
}
