package chart

import (
	"fmt"
	"math"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// LineChart is a chart of step functions over time, optionally stacked.
type LineChart struct {
	Title, Unit string
	Start, End  protocol.Time
	Step        time.Duration // of all series; 0 means an hour
	Decimals    int           // of printed values
	Series      []LineSeries
	Stacked     bool
	Top         float64 // of the scale, if charts share one; 0: from the values
	Bands       []TimeBand
	Rules       []TimeMarker
	Height      float64 // of the plot in pixels; 0 means 170
}

// LineSeries are a series from Start on, one value for each step.
type LineSeries struct {
	Name string
	Of   []float64 // NaN: unknown
	Ink  InkColor  // zero: by position
}

// A TimeBand is a highlighted period.
type TimeBand struct {
	From, To protocol.Time
	Name     string
	Ink      InkColor
}

// A TimeMarker is a highlighted instant.
type TimeMarker struct {
	At   protocol.Time
	Name string
}

// stepOrHour returns the step of all series, or its default.
func (l LineChart) stepOrHour() time.Duration {
	if l.Step < time.Millisecond {
		return time.Hour
	}
	return l.Step
}

// seriesInk returns the ink of the i-th series.
func (l LineChart) seriesInk(i int) InkColor {
	if ink := l.Series[i].Ink; ink != 0 {
		return ink
	}
	return SeriesInk(i)
}

// legendEntries returns a key for each series and band.
func (l LineChart) legendEntries() (keys []legendEntry) {
	for i, s := range l.Series {
		keys = append(keys, legendEntry{name: s.Name, ink: l.seriesInk(i), line: !l.Stacked, dash: int(l.seriesInk(i) - InkSeries)})
	}
	for _, b := range l.Bands {
		keys = append(keys, legendEntry{name: b.Name, ink: b.Ink, faint: true})
	}
	return keys
}

// stackedRows returns the values to draw, summed up over the series if stacked, and the number
// of steps that have a value. A stack counts unknown values as zero, so that the layers above
// stay whole; infinite ones have no place on a scale and count as zero in any case.
func (l LineChart) stackedRows() (rows [][]float64, steps int) {
	n := int((l.End.Sub(l.Start) + l.stepOrHour() - 1) / l.stepOrHour())
	sum := make([]float64, max(n, 0))
	for _, s := range l.Series {
		row := append([]float64(nil), s.Of[:min(len(s.Of), len(sum))]...)
		for i := range row {
			if math.IsInf(row[i], 0) || l.Stacked && math.IsNaN(row[i]) {
				row[i] = 0
			}
			if l.Stacked {
				sum[i] += row[i]
				row[i] = sum[i]
			}
		}
		rows, steps = append(rows, row), max(steps, len(row))
	}
	return rows, steps
}

// A plotFrame maps time and values to pixels of a layout, whose y grows downwards. Values
// between low and high lie between bottom and top.
type plotFrame struct {
	left, right, top, bottom float64
	from, to                 protocol.Time
	low, high                float64
}

// timeToX returns the position of an instant, clamped to the frame. The conversion of a product
// to float64 keeps compilers from fusing it with the sum: some machines would round otherwise,
// and the bytes of a chart must be the same on all.
func (f plotFrame) timeToX(t protocol.Time) float64 {
	return f.left + float64((f.right-f.left)*(float64(min(max(t, f.from), f.to)-f.from)/max(float64(f.to-f.from), 1)))
}

// valueToY returns the position of a value, clamped to the frame.
func (f plotFrame) valueToY(v float64) float64 {
	return f.bottom - float64((f.bottom-f.top)*((min(max(v, f.low), f.high)-f.low)/(f.high-f.low)))
}

// ComputeLayout implements Chart.
func (l LineChart) ComputeLayout(width float64) Layout {
	tall := l.Height
	if tall <= 0 {
		tall = 170
	}
	if l.End <= l.Start {
		l.End = l.Start.Add(time.Hour)
	}
	// Names of markers stand in a line of their own above the plot.
	top := headerHeight(width, l.Title, l.Unit, l.legendEntries()) + 8
	if len(l.Rules) > 0 {
		top += smallFontSize + 4
	}
	p := layoutPen{Layout{Label: l.accessibleLabel(), W: width, H: top + tall + 40}}
	p.addHeader(l.Title, l.Unit, l.legendEntries())
	rows, steps := l.stackedRows()
	f := plotFrame{right: width - chartMargin - 14, top: top, bottom: top + tall, from: l.Start, to: l.End}
	// The scale includes zero and, if set, the common top of several charts.
	for _, row := range append(rows, []float64{0, l.Top}) {
		for _, v := range row {
			f.low, f.high = min(f.low, zeroIfNaN(v)), max(f.high, zeroIfNaN(v))
		}
	}
	l.drawAxes(&p, &f)
	for _, b := range l.Bands {
		m := p.addBox(f.timeToX(b.From), f.top, max(f.timeToX(b.To)-f.timeToX(b.From), 1), f.bottom-f.top, b.Ink)
		m.Faint, m.Tip = true, fmt.Sprintf("%s, %s to %s UTC", b.Name, minuteText(b.From), minuteText(b.To))
	}
	// Stacked areas are painted from the bottom up, each on top of the one before.
	var under []Point
	for i, row := range rows {
		if l.Stacked {
			over := l.stepPolylines(f, row)[0]
			p.fillArea(over, under, f, l.seriesInk(i))
			under = over
			continue
		}
		for _, run := range l.stepPolylines(f, row) {
			p.addLine(l.seriesInk(i), 2, run...).Dash = int(l.seriesInk(i) - InkSeries)
		}
	}
	l.drawMarkers(&p, f)
	// Invisible boxes over the plot show a tooltip for each step.
	for i := range steps {
		from := l.Start.Add(time.Duration(i) * l.stepOrHour())
		x := f.timeToX(from)
		p.addBox(x, f.top, f.timeToX(from.Add(l.stepOrHour()))-x, f.bottom-f.top, InkNone).Tip = l.stepText(i)
	}
	return p.Layout
}

// zeroIfNaN returns v, or 0 if v is NaN.
func zeroIfNaN(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// drawAxes adds scale, grid and time axis. It widens the frame's range to whole ticks, and sets
// its left border so that the longest label fits.
func (l LineChart) drawAxes(p *layoutPen, f *plotFrame) {
	step := tickDistance(max(f.high-f.low, 1e-6))
	f.low, f.high = step*math.Floor(f.low/step+1e-9), step*math.Ceil(f.high/step-1e-9)
	if f.high <= f.low {
		f.high = f.low + step
	}
	// As many decimals as the distance of ticks needs: 0.05 needs two.
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	n := int(math.Round((f.high - f.low) / step))
	for i := range n + 1 {
		f.left = max(f.left, chartMargin+6+textWidth(FormatNumber(f.low+float64(float64(i)*step), decimals), smallFontSize, false))
	}
	for i := range n + 1 {
		v := f.low + float64(float64(i)*step)
		// The lowest line and that of zero stand out.
		ink := InkGrid
		if i == 0 || math.Abs(v) < step/2 {
			ink = InkMuted
		}
		p.addLine(ink, 1, Point{f.left, f.valueToY(v)}, Point{f.right, f.valueToY(v)})
		p.addText(f.left-6, f.valueToY(v)+4, FormatNumber(v, decimals), smallFontSize, InkMuted).Anchor = 1
	}
	// A tick for every 64 pixels: room for a label such as "12 Nov".
	for _, t := range timeTicks(l.Start, l.End, max(2, int((f.right-f.left)/64))) {
		x := f.timeToX(protocol.Time(t.at))
		p.addLine(InkMuted, 1, Point{x, f.bottom}, Point{x, f.bottom + 4})
		p.addText(x, f.bottom+17, t.name, smallFontSize, InkMuted).Anchor = 0.5
		if t.day != "" {
			p.addText(x, f.bottom+31, t.day, smallFontSize, InkMuted).Anchor = 0.5
		}
	}
}

// stepPolylines returns the points of a step function, split at gaps. There is at least one
// run, perhaps empty.
func (l LineChart) stepPolylines(f plotFrame, row []float64) (runs [][]Point) {
	var run []Point
	for i, v := range row {
		if math.IsNaN(v) {
			if run != nil {
				runs, run = append(runs, run), nil
			}
			continue
		}
		from := l.Start.Add(time.Duration(i) * l.stepOrHour())
		run = append(run, Point{f.timeToX(from), f.valueToY(v)}, Point{f.timeToX(from.Add(l.stepOrHour())), f.valueToY(v)})
	}
	if run != nil || runs == nil {
		runs = append(runs, run)
	}
	return runs
}

// fillArea fills the space between two step functions, or down to zero where under ends. A thin
// line in the background colour separates neighbours for readers who cannot distinguish their
// colours.
func (p *layoutPen) fillArea(over, under []Point, f plotFrame, ink InkColor) {
	if len(over) == 0 {
		return
	}
	all := append([]Point(nil), over...)
	// Back along the lower edge; where the layer below ends earlier, along zero.
	for i := len(over) - 1; i >= 0; i-- {
		base := f.valueToY(0)
		if i < len(under) {
			base = under[i].Y
		}
		all = append(all, Point{over[i].X, base})
	}
	p.Marks = append(p.Marks, Mark{At: all, Ink: ink})
	p.addLine(InkPaper, 0.8, over...)
}

// drawMarkers adds the highlighted instants. A name without room is left out; the line's
// tooltip still has it.
func (l LineChart) drawMarkers(p *layoutPen, f plotFrame) {
	// free is where the name of the last marker ends: names must not overlap.
	free := f.left
	for _, r := range l.Rules {
		if r.At < l.Start || r.At > l.End {
			continue
		}
		x := f.timeToX(r.At)
		m := p.addLine(InkText, 1.2, Point{x, f.top - 3}, Point{x, f.bottom})
		m.Dash, m.Tip = 4, fmt.Sprintf("%s, %s UTC", r.Name, minuteText(r.At))
		w := textWidth(r.Name, smallFontSize, false)
		left := min(max(x-w/2, f.left), f.right-w)
		if left >= free {
			p.addText(left, f.top-6, r.Name, smallFontSize, InkText)
			free = left + w + 8
		}
	}
}

// minuteText formats an instant for labels.
func minuteText(t protocol.Time) string { return t.StdTime().Format("2 Jan 15:04") }

// stepText returns the tooltip of a step: "13 Apr 12:00 UTC: oslo 12, lyon 40".
func (l LineChart) stepText(i int) string {
	s := minuteText(l.Start.Add(time.Duration(i)*l.stepOrHour())) + " UTC"
	for k, series := range l.Series {
		sep := ": "
		if k > 0 {
			sep = ", "
		}
		s += sep + series.Name + " " + l.cellText(series, i)
	}
	return s
}

// cellText formats the value of a series at a step.
func (l LineChart) cellText(v LineSeries, i int) string {
	if i >= len(v.Of) || math.IsNaN(v.Of[i]) {
		return "–"
	}
	return FormatNumber(finiteOrZero(v.Of[i]), l.Decimals)
}

// accessibleLabel describes the chart in words, with the range of each series.
func (l LineChart) accessibleLabel() string {
	s := fmt.Sprintf("%s, in %s, from %s to %s UTC.", l.Title, l.Unit, minuteText(l.Start), minuteText(l.End))
	for _, series := range l.Series {
		// The range of the known values; a series without any is left out.
		low, high, any := 0.0, 0.0, false
		for _, v := range series.Of {
			if v = finiteOrZero(v); !any || v < low {
				low = v
			}
			if !any || v > high {
				high = v
			}
			any = true
		}
		if any {
			s += fmt.Sprintf(" %s: %s to %s.", series.Name, FormatNumber(low, l.Decimals), FormatNumber(high, l.Decimals))
		}
	}
	for _, b := range l.Bands {
		s += fmt.Sprintf(" %s: %s to %s.", b.Name, minuteText(b.From), minuteText(b.To))
	}
	for _, r := range l.Rules {
		s += fmt.Sprintf(" %s: %s.", r.Name, minuteText(r.At))
	}
	return s
}

// FigureTable implements Chart.
func (l LineChart) FigureTable() FigureTable {
	t := FigureTable{Head: []string{"UTC"}}
	for _, s := range l.Series {
		t.Head = append(t.Head, legibleText(s.Name))
	}
	_, steps := l.stackedRows()
	for i := range steps {
		row := []string{minuteText(l.Start.Add(time.Duration(i) * l.stepOrHour()))}
		for _, s := range l.Series {
			row = append(row, l.cellText(s, i))
		}
		t.Rows = append(t.Rows, row)
	}
	for _, b := range l.Bands {
		t.Rows = append(t.Rows, []string{minuteText(b.From), legibleText(b.Name) + " until " + minuteText(b.To)})
	}
	for _, r := range l.Rules {
		t.Rows = append(t.Rows, []string{minuteText(r.At), legibleText(r.Name)})
	}
	return t
}
