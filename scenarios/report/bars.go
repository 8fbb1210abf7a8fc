package report

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gridbid/gridbid/coordinator/record"
)

// parts are the terms of the objective, in the order of its chart.
var parts = []column{
	{head: "energy", of: func(t record.Totals) float64 { return t.CostUSD }},
	{head: "carbon", of: func(t record.Totals) float64 { return t.CarbonUSD }},
	{head: "transfer", of: func(t record.Totals) float64 { return t.TransferUSD }},
	{head: "delay", of: func(t record.Totals) float64 { return t.DelayUSD }},
	{head: "lateness", show: money, of: func(t record.Totals) float64 { return t.LateUSD }},
}

// totals returns a bar chart for each figure that policies are compared by.
func totals(d Day) []chart {
	if len(d.Policies) == 0 {
		return nil
	}
	single := func(name, title, unit string, c column) chart {
		return bars(d, name, title, unit, []column{c})
	}
	return []chart{
		bars(d, "objective", "Objective", "dollars, by cause", parts),
		single("cost", "Cost of energy", "dollars, idle machines included", cost[1]),
		single("emissions", "Carbon", "kg CO2e, idle machines included", cost[2]),
		single("energy", "Energy", "kWh, idle machines included", cost[3]),
		single("wait", "Wait of the unluckiest 5 %", "minutes from arrival to start, 95th percentile", jobs[1]),
		bars(d, "late", "Jobs late or never run", "jobs", cost[4:6]),
	}
}

// bars draws one bar for each policy, stacked of one or more figures. Values
// below zero, as of energy in an hour of surplus, go to the left.
func bars(d Day, name, title, unit string, stack []column) chart {
	var legend []string
	show := one
	for _, c := range stack {
		legend = append(legend, c.head)
		if c.show != nil {
			show = c.show
		}
	}
	if len(stack) == 1 {
		legend = nil
	}
	pitch := vg.Length(21)
	high := vg.Length(58) + pitch*vg.Length(len(d.Policies))
	if legend != nil {
		high += 16
	}
	return chart{name, title + " of each policy, in " + unit, width, high, func(c draw.Canvas) {
		c = header(c, title, unit, legend, patch)
		style, value := text(small, ink, false), text(small, ink, false)
		var left, right vg.Length
		low, top := 0.0, 0.0
		for _, p := range d.Policies {
			down, up := ends(stack, p.Totals)
			low, top = min(low, down), max(top, up)
			left = max(left, style.Width(short(p.Totals.Policy)))
			right = max(right, value.Width(show(sumOf(stack, p.Totals))))
		}
		from, to := c.Min.X+left+8, c.Max.X-right-6
		at := func(v float64) vg.Length {
			return from + (to-from)*vg.Length((v-low)/max(top-low, 1e-9))
		}
		for i, p := range d.Policies {
			y := c.Max.Y - pitch*vg.Length(i+1) + 4
			c.FillText(style, vg.Point{X: c.Min.X, Y: y + 3}, short(p.Totals.Policy))
			end := row(c, stack, p.Totals, at, y)
			c.FillText(value, vg.Point{X: end + 5, Y: y + 3}, show(sumOf(stack, p.Totals)))
		}
		axis := draw.LineStyle{Color: muted.color(), Width: 0.75}
		c.StrokeLine2(axis, at(0), c.Max.Y-pitch*vg.Length(len(d.Policies)), at(0), c.Max.Y)
	}}
}

// row draws one stack and returns where it ends on the right.
func row(c draw.Canvas, stack []column, t record.Totals, at func(float64) vg.Length, y vg.Length) vg.Length {
	up, down := 0.0, 0.0
	for i, part := range stack {
		v := finite(part.of(t))
		x0, x1 := at(up), at(up+v)
		if v < 0 {
			x0, x1 = at(down+v), at(down)
			down += v
		} else {
			up += v
		}
		c.FillPolygon(nth(i).color(), box(x0, y, x1, y+13))
	}
	return at(up)
}

// ends returns how far a stack reaches on both sides of zero.
func ends(stack []column, t record.Totals) (down, up float64) {
	for _, part := range stack {
		v := finite(part.of(t))
		down, up = down+min(v, 0), up+max(v, 0)
	}
	return down, up
}

func sumOf(stack []column, t record.Totals) float64 {
	down, up := ends(stack, t)
	return down + up
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
