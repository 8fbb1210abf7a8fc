package report

import (
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gridbid/gridbid/protocol"
)

// axes returns an empty plot of a quantity over the time of d. X counts hours
// since d.Start.
func axes(d Day, low, high float64) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = paper.color()
	hours := d.End.Sub(d.Start).Hours()
	p.X.Min, p.X.Max = 0, max(hours, 1)
	p.X.Tick.Marker = plot.ConstantTicks(clock(d.Start, p.X.Max))
	step := pace(high - low)
	p.Y.Min, p.Y.Max = step*math.Floor(low/step), step*math.Ceil(high/step)
	p.Y.Tick.Marker = plot.ConstantTicks(scale(p.Y.Min, p.Y.Max, step))
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.LineStyle = draw.LineStyle{Color: muted.color(), Width: 0.75}
		a.Tick.LineStyle = a.LineStyle
		a.Tick.Length = 4
		size := a.Tick.Label
		a.Tick.Label = text(small, muted, false)
		a.Tick.Label.XAlign, a.Tick.Label.YAlign = size.XAlign, size.YAlign
	}
	p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0
	grid := plotter.NewGrid()
	grid.Vertical = draw.LineStyle{}
	grid.Horizontal = draw.LineStyle{Color: faint.color(), Width: 0.75}
	p.Add(grid)
	return p
}

// pace returns the distance of about four ticks over a range: 1, 2 or 5 times
// a power of ten.
func pace(span float64) float64 {
	if !(span > 0) || math.IsInf(span, 0) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(span/4)))
	for _, by := range []float64{1, 2, 5} {
		if span/4 <= by*unit*1.0001 {
			return by * unit
		}
	}
	return 10 * unit
}

func scale(low, high, step float64) (ticks []plot.Tick) {
	decimals := max(0, -int(math.Floor(math.Log10(step))))
	for i := 0; i <= int(math.Round((high-low)/step)) && i < 50; i++ {
		v := low + float64(float64(i)*step)
		ticks = append(ticks, plot.Tick{Value: v, Label: label(v, decimals)})
	}
	return ticks
}

func label(v float64, decimals int) string {
	if decimals == 0 {
		return grouped(int64(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// clock returns at most nine ticks over some hours, on the hour in UTC. A day
// is named where it begins and at the first tick.
func clock(start protocol.Time, hours float64) (ticks []plot.Tick) {
	step := 24 * math.Ceil(hours/24/8)
	for _, s := range []float64{1, 2, 3, 4, 6, 12} {
		if hours/s <= 8 {
			step = s
			break
		}
	}
	width := time.Duration(step * float64(time.Hour))
	end := start.Add(time.Duration(hours * float64(time.Hour)))
	day := ""
	for t := start.Ceil(width); t <= end; t = t.Add(width) {
		name := t.Go().Format("15:04")
		if today := t.Go().Format("2 Jan"); today != day {
			day = today
			name += "\n" + today
		}
		ticks = append(ticks, plot.Tick{Value: t.Sub(start).Hours(), Label: name})
	}
	return ticks
}

// steps returns values as the corners of a staircase, from value i at
// i*step to the next.
func steps(values []float64, step time.Duration) plotter.XYs {
	var xy plotter.XYs
	h := step.Hours()
	for i, v := range values {
		xy = append(xy, plotter.XY{X: float64(i) * h, Y: v}, plotter.XY{X: float64(i+1) * h, Y: v})
	}
	return xy
}

// within cuts values to those that begin before the end of d, and takes
// numbers that are none as zero.
func (d Day) within(values []float64) []float64 {
	n := int((d.End.Sub(d.Start) + d.Step - 1) / d.Step)
	values = values[:max(0, min(n, len(values)))]
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			values[i] = 0
		}
	}
	return values
}

// line draws one series over the axes.
func line(p *plot.Plot, i int, values []float64, step time.Duration) {
	xy := steps(values, step)
	if len(xy) == 0 {
		return
	}
	p.Add(&plotter.Line{XYs: xy, LineStyle: dashed(i)})
}
