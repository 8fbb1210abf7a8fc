package report

import (
	"fmt"
	"math"

	"github.com/gridbid/gridbid/explain/chart"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// width is the width of a chart on the page, in pixels.
const width = 420

// A chartFile is a chart and the stem of its files' names.
type chartFile struct {
	name    string
	scene   chart.Scene
	figures chart.Table
}

func drawn(name string, c chart.Chart) chartFile { return chartFile{name, c.Draw(width), c.Figures()} }

// charts returns all charts of d, in the page's order: grid signals, busy GPUs by policy, totals.
func charts(d Day) []chartFile {
	all := []chartFile{
		drawn("price", signal(d, "Grid price", "dollars per MWh", func(s Site) (v []float64) {
			for _, x := range s.Price {
				v = append(v, float64(x)/1000)
			}
			return v
		})),
		drawn("carbon", signal(d, "Carbon intensity", "grams of CO2e per kWh", func(s Site) (v []float64) {
			for _, x := range s.Carbon {
				v = append(v, float64(x)/1000)
			}
			return v
		})),
	}
	top := 1.0
	for _, p := range d.Policies {
		top = max(top, most(p))
	}
	seen := make(map[string]bool)
	for _, p := range d.Policies {
		name := "busy-" + slug(p.Totals.Policy)
		// Different policy names may have the same slug; number the later ones.
		for n := 2; seen[name]; n++ {
			name = fmt.Sprintf("busy-%s-%d", slug(p.Totals.Policy), n)
		}
		seen[name] = true
		all = append(all, drawn(name, busy(d, p, top)))
	}
	return append(all, totals(d)...)
}

// signal returns the line chart of one grid value of all sites over the day.
func signal(d Day, title, unit string, of func(Site) []float64) chart.Lines {
	l := chart.Lines{Title: title, Unit: unit + ", by site; hours in UTC", Start: d.Start, End: d.End, Step: d.Step}
	for _, s := range d.Sites {
		l.Series = append(l.Series, chart.Values{Name: s.Name, Of: of(s)})
	}
	return l
}

// most returns the highest number of GPUs that a policy held at one time, over all sites.
func most(p Policy) (top float64) {
	var sum []protocol.Milli
	for _, row := range p.Busy {
		for i, v := range row {
			if i == len(sum) {
				sum = append(sum, 0)
			}
			sum[i] += v
			top = max(top, float64(sum[i])/1000)
		}
	}
	return top
}

// busy returns the chart of the GPUs that a policy's jobs held. All policies share the scale 0..top, so that charts
// compare.
func busy(d Day, p Policy, top float64) chart.Lines {
	l := chart.Lines{
		Title: short(p.Totals.Policy), Unit: "GPUs held, by site, stacked; hours in UTC",
		Start: d.Start, End: d.End, Step: d.Step, Stacked: true, Top: top, Decimals: 1,
	}
	for i, s := range d.Sites {
		v := chart.Values{Name: s.Name}
		if i < len(p.Busy) {
			for _, x := range p.Busy[i] {
				v.Of = append(v.Of, float64(x)/1000)
			}
		}
		l.Series = append(l.Series, v)
	}
	return l
}

// parts are the terms of the objective, in the order of its chart (METHOD, section 1: money, carbon, transfer,
// delay, lateness).
var parts = []column{
	{head: "energy", of: func(t history.Totals) float64 { return t.CostUSD }},
	{head: "carbon", of: func(t history.Totals) float64 { return t.CarbonUSD }},
	{head: "transfer", of: func(t history.Totals) float64 { return t.TransferUSD }},
	{head: "delay", of: func(t history.Totals) float64 { return t.DelayUSD }},
	{head: "lateness", of: func(t history.Totals) float64 { return t.LateUSD }},
}

// totals returns a bar chart for each figure by which policies are compared.
func totals(d Day) []chartFile {
	if len(d.Policies) == 0 {
		return nil
	}
	one := func(name, title, unit string, decimals int, of func(history.Totals) float64) chartFile {
		return drawn(name, bars(d, title, unit, decimals, []column{{of: of}}))
	}
	return []chartFile{
		drawn("objective", bars(d, "Objective", "dollars, by cause", 2, parts)),
		one("cost", "Cost of energy", "dollars, idle machines included", 2, func(t history.Totals) float64 { return t.CostUSD }),
		one("emissions", "Carbon", "kg CO2e, idle machines included", 1, func(t history.Totals) float64 { return t.CarbonKg }),
		one("energy", "Energy", "kWh, idle machines included", 1, func(t history.Totals) float64 { return t.EnergyKWh }),
		one("wait", "Wait of the unluckiest 5 %", "minutes from arrival to start, 95th percentile", 1, func(t history.Totals) float64 { return t.WaitS.P95 / 60 }),
		drawn("late", bars(d, "Jobs late or never run", "jobs", 0, []column{
			{head: "late", of: func(t history.Totals) float64 { return float64(t.Late) }},
			{head: "never run", of: func(t history.Totals) float64 { return float64(t.Unplaced) }},
		})),
	}
}

// bars draws one bar for each policy, stacked from one or more figures.
func bars(d Day, title, unit string, decimals int, stack []column) chart.Bars {
	b := chart.Bars{Title: title, Unit: unit, Decimals: decimals}
	for _, c := range stack {
		b.Parts = append(b.Parts, c.head)
	}
	for _, p := range d.Policies {
		r := chart.Row{Name: short(p.Totals.Policy)}
		for _, c := range stack {
			v := c.of(p.Totals)
			if math.IsNaN(v) || math.IsInf(v, 0) { // a bar cannot show these; the table does
				v = 0
			}
			r.Values = append(r.Values, v)
		}
		b.Rows = append(b.Rows, r)
	}
	return b
}
