package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
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
	Left        float64 // least width left of the plot, so that charts of one window align
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

// stepStart returns when the i-th step of all series begins.
func (l LineChart) stepStart(i int) protocol.Time {
	return l.Start.Add(time.Duration(i) * cmp.Or(l.Step, time.Hour))
}

// seriesInk returns the ink of the i-th series.
func (l LineChart) seriesInk(i int) InkColor { return cmp.Or(l.Series[i].Ink, SeriesInk(i)) }

// legendEntries returns a key for each series and band.
func (l LineChart) legendEntries() (keys []legendEntry) {
	for i, s := range l.Series {
		keys = append(keys, legendEntry{name: s.Name, ink: l.seriesInk(i), line: !l.Stacked, dash: l.seriesInk(i).dash()})
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
	step := cmp.Or(l.Step, time.Hour)
	sum := make([]float64, max(0, (l.End.Sub(l.Start)+step-1)/step))
	for _, s := range l.Series {
		row := slices.Clone(s.Of[:min(len(s.Of), len(sum))])
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

// A plotFrame is the place of a plot over time: x maps instants, and y, whose pixels grow
// downwards, values.
type plotFrame struct{ x, y axisScale }

// plotBelow returns the place of a plot below a header. Names of markers stand in a line of their
// own above it. An end that is not after the start counts as an hour after it.
func (p *layoutPen) plotBelow(header, tall, left float64, start, end protocol.Time, rules []TimeMarker) (f plotFrame) {
	if end <= start {
		end = start.Add(time.Hour)
	}
	top := header + 8
	if len(rules) > 0 {
		top += smallFontSize + 4
	}
	f.x = axisScale{low: float64(start), high: float64(end), from: left, to: p.W - chartMargin - 14}
	f.y.from, f.y.to = top+tall, top
	return f
}

// timeToX returns the position of an instant.
func (f plotFrame) timeToX(t protocol.Time) float64 { return f.x.pixelOf(float64(t)) }

// ComputeLayout implements Chart.
func (l LineChart) ComputeLayout(width float64) Layout {
	p, header := beginLayout(width, l.accessibleLabel(), l.Title, l.Unit, l.legendEntries())
	f := p.plotBelow(header, cmp.Or(l.Height, 170), l.Left, l.Start, l.End, l.Rules)
	rows, steps := l.stackedRows()
	// The scale includes zero and, if set, the common top of several charts.
	low, high := 0.0, l.Top
	for _, v := range slices.Concat(rows...) {
		low, high = min(low, finiteOrZero(v)), max(high, finiteOrZero(v))
	}
	f.y = newAxisScale(low, high, f.y.from, f.y.to)
	f.x.from = max(f.x.from, f.y.leftOfPlot())
	p.drawValueAxis(f.y, f.x.from, f.x.to)
	p.drawTimeAxis(f)
	for _, b := range l.Bands {
		m := p.addBox(f.timeToX(b.From), f.y.to, max(f.timeToX(b.To)-f.timeToX(b.From), 1), f.y.from-f.y.to, b.Ink)
		m.Faint, m.Tip = true, fmt.Sprintf("%s, %s to %s UTC", b.Name, minuteText(b.From), minuteText(b.To))
	}
	// Stacked areas are painted from the bottom up, each on top of the one before.
	var under []Point
	for i, row := range rows {
		if l.Stacked {
			over := l.stepPolylines(f, row)[0]
			p.fillArea(over, under, f.y.pixelOf(0), l.seriesInk(i))
			under = over
			continue
		}
		for _, run := range l.stepPolylines(f, row) {
			p.addLine(l.seriesInk(i), 2, run...).Dash = l.seriesInk(i).dash()
		}
	}
	p.drawMarkers(f, l.Rules)
	// Invisible boxes over the plot show a tooltip for each step.
	for i := range steps {
		x := f.timeToX(l.stepStart(i))
		p.addBox(x, f.y.to, f.timeToX(l.stepStart(i+1))-x, f.y.from-f.y.to, InkNone).Tip = l.stepText(i)
	}
	return p.endLayout(f.y.from + 40)
}

// drawTimeAxis adds a tick for every 64 pixels: room for a label such as "12 Nov".
func (p *layoutPen) drawTimeAxis(f plotFrame) {
	for _, t := range timeTicks(protocol.Time(f.x.low), protocol.Time(f.x.high), max(2, int((f.x.to-f.x.from)/64))) {
		x, bottom := f.timeToX(t.at), f.y.from
		p.addLine(InkMuted, 1, Point{x, bottom}, Point{x, bottom + 4})
		p.addText(x, bottom+17, t.name, smallFontSize, InkMuted).Anchor = 0.5
		if t.day != "" {
			p.addText(x, bottom+31, t.day, smallFontSize, InkMuted).Anchor = 0.5
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
		run = append(run, Point{f.timeToX(l.stepStart(i)), f.y.pixelOf(v)}, Point{f.timeToX(l.stepStart(i + 1)), f.y.pixelOf(v)})
	}
	if run != nil || runs == nil {
		runs = append(runs, run)
	}
	return runs
}

// fillArea fills the space between two step functions, or down to the y of zero where under ends. A thin
// line in the background colour separates neighbours for readers who cannot distinguish their
// colours.
func (p *layoutPen) fillArea(over, under []Point, zero float64, ink InkColor) {
	if len(over) == 0 {
		return
	}
	all := slices.Clone(over)
	// Back along the lower edge; where the layer below ends earlier, along zero.
	for i := len(over) - 1; i >= 0; i-- {
		base := zero
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
func (p *layoutPen) drawMarkers(f plotFrame, rules []TimeMarker) {
	// free is where the name of the last marker ends: names must not overlap.
	free := f.x.from
	for _, r := range rules {
		if at := float64(r.At); at < f.x.low || at > f.x.high {
			continue
		}
		x := f.timeToX(r.At)
		m := p.addLine(InkText, 1.2, Point{x, f.y.to - 3}, Point{x, f.y.from})
		m.Dash, m.Tip = 4, fmt.Sprintf("%s, %s UTC", r.Name, minuteText(r.At))
		w := textWidth(r.Name, smallFontSize, false)
		left := min(max(x-w/2, f.x.from), f.x.to-w)
		if left >= free {
			p.addText(left, f.y.to-6, r.Name, smallFontSize, InkText)
			free = left + w + 8
		}
	}
}

// minuteText formats an instant for labels.
func minuteText(t protocol.Time) string { return t.StdTime().Format("2 Jan 15:04") }

// stepText returns the tooltip of a step: "13 Apr 12:00 UTC: oslo 12, lyon 40".
func (l LineChart) stepText(i int) string {
	var all []string
	for _, s := range l.Series {
		all = append(all, s.Name+" "+l.cellText(s, i))
	}
	return minuteText(l.stepStart(i)) + " UTC: " + strings.Join(all, ", ")
}

// cellText formats the value of a series at a step.
func (l LineChart) cellText(v LineSeries, i int) string {
	if i >= len(v.Of) || math.IsNaN(v.Of[i]) {
		return "–"
	}
	return FormatNumber(finiteOrZero(v.Of[i]), l.Decimals)
}

// accessibleLabel describes the chart in words, with the range of what is known of each series.
func (l LineChart) accessibleLabel() string {
	s := fmt.Sprintf("%s, in %s, from %s to %s UTC.", l.Title, l.Unit, minuteText(l.Start), minuteText(l.End))
	for _, series := range l.Series {
		known := slices.DeleteFunc(slices.Clone(series.Of), func(v float64) bool { return !isFinite(v) })
		if len(known) > 0 {
			s += fmt.Sprintf(" %s: %s to %s.", series.Name, FormatNumber(slices.Min(known), l.Decimals), FormatNumber(slices.Max(known), l.Decimals))
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
		row := []string{minuteText(l.stepStart(i))}
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
