package report

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// charts returns everything there is to draw of d, in the page's order.
func charts(d Day) []chart {
	all := []chart{
		signal(d, "price", "Grid price", "dollars per MWh", func(s Site) (v []float64) {
			for _, x := range s.Price {
				v = append(v, float64(x)/1000)
			}
			return v
		}),
		signal(d, "carbon", "Carbon intensity", "grams of CO2e per kWh", func(s Site) (v []float64) {
			for _, x := range s.Carbon {
				v = append(v, float64(x)/1000)
			}
			return v
		}),
	}
	top := 1.0
	for _, p := range d.Policies {
		for _, row := range stacked(d, p) {
			for _, v := range row {
				top = max(top, v)
			}
		}
	}
	seen := make(map[string]bool)
	for _, p := range d.Policies {
		c := busy(d, p, top)
		for n := 2; seen[c.name]; n++ {
			c.name = fmt.Sprintf("busy-%s-%d", slug(p.Totals.Policy), n)
		}
		seen[c.name] = true
		all = append(all, c)
	}
	return append(all, totals(d)...)
}

// signal is one value of all grids over the day.
func signal(d Day, name, title, unit string, of func(Site) []float64) chart {
	low, high := 0.0, 0.0
	var values [][]float64
	for _, s := range d.Sites {
		row := d.within(of(s))
		values = append(values, row)
		for _, v := range row {
			low, high = min(low, v), max(high, v)
		}
	}
	return chart{name, title + " of each site over the day, in " + unit, width, height, func(c draw.Canvas) {
		c = header(c, title, unit+", by site; hours in UTC", siteNames(d), stroke)
		p := axes(d, low, max(high, low+1))
		for i, row := range values {
			line(p, i, row, d.Step)
		}
		p.Draw(c)
	}}
}

func siteNames(d Day) (names []string) {
	for _, s := range d.Sites {
		names = append(names, short(s.Name))
	}
	return names
}

// stacked returns, for each site, the GPUs held there and at all sites before.
func stacked(d Day, p Policy) [][]float64 {
	n := 0
	for _, row := range p.Busy {
		n = max(n, len(row))
	}
	sum := make([]float64, n)
	var rows [][]float64
	for i := range d.Sites {
		if i < len(p.Busy) {
			for k, v := range p.Busy[i] {
				sum[k] += float64(v) / 1000
			}
		}
		rows = append(rows, d.within(append([]float64(nil), sum...)))
	}
	return rows
}

// busy is where and when a policy's jobs ran. All policies share one scale.
func busy(d Day, policy Policy, top float64) chart {
	name := policy.Totals.Policy
	rows := stacked(d, policy)
	label := fmt.Sprintf("GPUs held at each site over the day under %s", name)
	return chart{"busy-" + slug(name), label, width, height, func(c draw.Canvas) {
		c = header(c, short(name), "GPUs held, by site, stacked; hours in UTC", siteNames(d), patch)
		p := axes(d, 0, top)
		var under plotter.XYs
		for i, row := range rows {
			over := steps(row, d.Step)
			p.Add(area{over, under, nth(i)})
			under = over
		}
		p.Draw(c)
	}}
}

// An area fills what lies between two staircases; a thin line of paper keeps
// neighbours apart for eyes that see their colours as one.
type area struct {
	over, under plotter.XYs
	shade       shade
}

func (a area) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	if len(a.over) == 0 {
		return
	}
	var edge, all []vg.Point
	for _, at := range a.over {
		edge = append(edge, vg.Point{X: x(at.X), Y: y(at.Y)})
	}
	all = append(all, edge...)
	for i := len(a.over) - 1; i >= 0; i-- {
		base := 0.0
		if i < len(a.under) {
			base = a.under[i].Y
		}
		all = append(all, vg.Point{X: x(a.over[i].X), Y: y(base)})
	}
	c.FillPolygon(a.shade.color(), c.ClipPolygonXY(all))
	c.StrokeLines(draw.LineStyle{Color: paper.color(), Width: 0.6}, c.ClipLinesXY(edge)...)
}
