package report

import (
	"fmt"
	"math"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/protocol"
)

// chartWidth is the width of a chart on the page, in pixels.
const chartWidth = 420

// A chartFile is a chart and the stem of its files' names.
type chartFile struct {
	name    string
	layout  chart.Layout
	figures chart.FigureTable
}

// drawChart lays out a chart for the page.
func drawChart(name string, c chart.Chart) chartFile {
	return chartFile{name, c.ComputeLayout(chartWidth), c.FigureTable()}
}

// allCharts returns all charts of d, in the page's order: grid signals, busy GPUs by
// policy, totals.
func allCharts(d ReplayReport) []chartFile {
	all := []chartFile{
		drawChart("price", signalChart(d, "Grid price", "dollars per MWh", func(s SiteSignals) (v []float64) {
			for _, x := range s.Price {
				v = append(v, float64(x)/1000)
			}
			return v
		})),
		drawChart("carbon", signalChart(d, "Carbon intensity", "grams of CO2e per kWh", func(s SiteSignals) (v []float64) {
			for _, x := range s.Carbon {
				v = append(v, float64(x)/1000)
			}
			return v
		})),
	}
	top := 1.0
	for _, p := range d.Policies {
		top = max(top, peakBusyGPUs(p))
	}
	seen := make(map[string]bool)
	for _, p := range d.Policies {
		name := "busy-" + fileSlug(p.Totals.Policy)
		// Different policy names may have the same slug; number the later ones.
		for n := 2; seen[name]; n++ {
			name = fmt.Sprintf("busy-%s-%d", fileSlug(p.Totals.Policy), n)
		}
		seen[name] = true
		all = append(all, drawChart(name, busyGPUChart(d, p, top)))
	}
	return append(all, totalsCharts(d)...)
}

// signalChart returns the line chart of one grid value of all sites over the day.
func signalChart(d ReplayReport, title, unit string, of func(SiteSignals) []float64) chart.LineChart {
	l := chart.LineChart{Title: title, Unit: unit + ", by site; hours in UTC", Start: d.Start, End: d.End, Step: d.Step}
	for _, s := range d.Sites {
		l.Series = append(l.Series, chart.LineSeries{Name: s.Name, Of: of(s)})
	}
	return l
}

// peakBusyGPUs returns the highest number of GPUs that a policy held at one time, over all sites.
func peakBusyGPUs(p PolicyRun) (top float64) {
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

// busyGPUChart returns the chart of the GPUs that a policy's jobs held. All policies share
// the scale 0..top, so that charts compare.
func busyGPUChart(d ReplayReport, p PolicyRun, top float64) chart.LineChart {
	l := chart.LineChart{
		Title: shortPolicyName(p.Totals.Policy), Unit: "GPUs held, by site, stacked; hours in UTC",
		Start: d.Start, End: d.End, Step: d.Step, Stacked: true, Top: top, Decimals: 1,
	}
	for i, s := range d.Sites {
		v := chart.LineSeries{Name: s.Name}
		if i < len(p.Busy) {
			for _, x := range p.Busy[i] {
				v.Of = append(v.Of, float64(x)/1000)
			}
		}
		l.Series = append(l.Series, v)
	}
	return l
}

// costColumns are the terms of the objective, in the order of its chart (METHOD, section 1:
// money, carbon, transfer, delay, lateness).
var costColumns = []totalsColumn{
	{head: "energy", value: func(t history.Totals) float64 { return t.CostUSD }},
	{head: "carbon", value: func(t history.Totals) float64 { return t.CarbonUSD }},
	{head: "transfer", value: func(t history.Totals) float64 { return t.TransferUSD }},
	{head: "delay", value: func(t history.Totals) float64 { return t.DelayUSD }},
	{head: "lateness", value: func(t history.Totals) float64 { return t.LateUSD }},
}

// totalsCharts returns a bar chart for each figure by which policies are compared.
func totalsCharts(d ReplayReport) []chartFile {
	if len(d.Policies) == 0 {
		return nil
	}
	one := func(name, title, unit string, decimals int, of func(history.Totals) float64) chartFile {
		return drawChart(name, policyBars(d, title, unit, decimals, []totalsColumn{{value: of}}))
	}
	return []chartFile{
		drawChart("objective", policyBars(d, "Objective", "dollars, by cause", 2, costColumns)),
		one("cost", "Cost of energy", "dollars, idle machines included", 2, func(t history.Totals) float64 { return t.CostUSD }),
		one("emissions", "Carbon", "kg CO2e, idle machines included", 1, func(t history.Totals) float64 { return t.CarbonKg }),
		one("energy", "Energy", "kWh, idle machines included", 1, func(t history.Totals) float64 { return t.EnergyKWh }),
		one("wait", "Wait of the unluckiest 5 %", "minutes from arrival to start, 95th percentile", 1, func(t history.Totals) float64 { return t.WaitS.P95 / 60 }),
		drawChart("late", policyBars(d, "Jobs late or never run", "jobs", 0, []totalsColumn{
			{head: "late", value: func(t history.Totals) float64 { return float64(t.Late) }},
			{head: "never run", value: func(t history.Totals) float64 { return float64(t.Unplaced) }},
		})),
	}
}

// policyBars draws one bar for each policy, stacked from one or more figures.
func policyBars(d ReplayReport, title, unit string, decimals int, stack []totalsColumn) chart.BarChart {
	b := chart.BarChart{Title: title, Unit: unit, Decimals: decimals}
	for _, c := range stack {
		b.Parts = append(b.Parts, c.head)
	}
	for _, p := range d.Policies {
		r := chart.BarRow{Name: shortPolicyName(p.Totals.Policy)}
		for _, c := range stack {
			v := c.value(p.Totals)
			if math.IsNaN(v) || math.IsInf(v, 0) { // a bar cannot show these; the table does
				v = 0
			}
			r.Values = append(r.Values, v)
		}
		b.Rows = append(b.Rows, r)
	}
	return b
}
