package chart

import (
	"math"
	"strconv"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// chartMargin is the free space on all sides of a layout, in pixels.
const chartMargin = 10

// A layoutPen adds marks to a layout.
type layoutPen struct{ Layout }

// addBox adds a filled rectangle.
func (p *layoutPen) addBox(x, y, w, h float64, ink InkColor) *Mark {
	p.Marks = append(p.Marks, Mark{At: []Point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}, Ink: ink})
	return &p.Marks[len(p.Marks)-1]
}

// addLine adds a stroke of a width.
func (p *layoutPen) addLine(ink InkColor, width float64, at ...Point) *Mark {
	p.Marks = append(p.Marks, Mark{At: at, Ink: ink, Stroke: width})
	return &p.Marks[len(p.Marks)-1]
}

// addOutline adds the upper, right and lower edge of a box; its left edge touches what is solid.
func (p *layoutPen) addOutline(x0, y0, x1, y1 float64, ink InkColor) {
	p.addLine(ink, 1, Point{x0, y0 + 0.5}, Point{x1 - 0.5, y0 + 0.5}, Point{x1 - 0.5, y1 - 0.5}, Point{x0, y1 - 0.5})
}

// addText adds a text with its baseline at y.
func (p *layoutPen) addText(x, y float64, s string, size float64, ink InkColor) *Mark {
	p.Marks = append(p.Marks, Mark{At: []Point{{x, y}}, Text: s, Size: size, Ink: ink})
	return &p.Marks[len(p.Marks)-1]
}

// A legendEntry is one entry of a legend.
type legendEntry struct {
	name  string
	ink   InkColor
	line  bool
	dash  int
	faint bool
}

// beginLayout begins a layout with background, title, unit and legend, and returns the y below
// them: the legend may need several lines. The height of the layout is set by endLayout.
func beginLayout(width float64, label, title, unit string, legend []legendEntry) (*layoutPen, float64) {
	p := &layoutPen{Layout{Label: label, W: width}}
	p.addBox(0, 0, width, 0, InkPaper)
	room := width - 2*chartMargin
	y := float64(chartMargin - 3)
	for _, line := range wrapToWidth(title, largeFontSize, room*fallbackShare, true) {
		y += largeFontSize + 3
		p.addText(chartMargin, y-2, line, largeFontSize, InkText).Bold = true
	}
	if unit != "" {
		for _, line := range wrapToWidth(unit, smallFontSize, room*fallbackShare, false) {
			y += smallFontSize + 5
			p.addText(chartMargin, y-2, line, smallFontSize, InkMuted)
		}
	}
	x := float64(chartMargin)
	for i, k := range legend {
		// 22 pixels hold the sign of an entry and the gap to its name.
		name := truncateToWidth(k.name, smallFontSize, room-22, false)
		w := 22 + textWidth(name, smallFontSize, false)
		// A new line of the legend, where the entry does not fit.
		if i == 0 || x+w > width-chartMargin {
			x, y = chartMargin, y+smallFontSize+7
		}
		if k.line {
			p.addLine(k.ink, 2, Point{x, y - 5.5}, Point{x + 16, y - 5.5}).Dash = k.dash
		} else {
			p.addBox(x, y-10, 12, 10, k.ink).Faint = k.faint
		}
		p.addText(x+20, y-1.5, name, smallFontSize, InkText)
		x += w + 14
	}
	return p, y + 8
}

// endLayout returns the layout with its height, which is also that of its background.
func (p *layoutPen) endLayout(height float64) Layout {
	p.H = height
	p.Marks[0].At[2].Y, p.Marks[0].At[3].Y = height, height
	return p.Layout
}

// An axisScale maps values to pixels between two ends. Values beyond an end stand at it.
type axisScale struct {
	low, high float64
	step      float64 // of the ticks
	from, to  float64 // pixels of low and of high
}

// newAxisScale returns a scale of whole ticks over a range of values.
func newAxisScale(low, high, from, to float64) axisScale {
	step := tickDistance(max(high-low, 1e-6))
	s := axisScale{low: step * math.Floor(low/step+1e-9), high: step * math.Ceil(high/step-1e-9), step: step, from: from, to: to}
	if s.high <= s.low {
		s.high = s.low + step
	}
	return s
}

// pixelOf returns the position of a value. The conversion of a product to float64 keeps
// compilers from fusing it with the sum, so that all machines draw the same bytes.
func (s axisScale) pixelOf(v float64) float64 {
	return s.from + float64((s.to-s.from)*((min(max(v, s.low), s.high)-s.low)/max(s.high-s.low, 1e-9)))
}

// ticks returns the values of the ticks.
func (s axisScale) ticks() (out []float64) {
	for i := range int(math.Round((s.high-s.low)/s.step)) + 1 {
		out = append(out, s.low+float64(float64(i)*s.step))
	}
	return out
}

// tickText formats the value of a tick, with as many decimals as the distance of ticks needs: 0.05
// needs two.
func (s axisScale) tickText(v float64) string {
	return FormatNumber(v, max(0, -int(math.Floor(math.Log10(s.step)+1e-9))))
}

// leftOfPlot returns where a plot begins, so that the longest label of the scale fits beside it.
func (s axisScale) leftOfPlot() (left float64) {
	for _, v := range s.ticks() {
		left = max(left, chartMargin+6+textWidth(s.tickText(v), smallFontSize, false))
	}
	return left
}

// drawValueAxis adds the grid and the labels of a vertical scale to a plot between two positions.
func (p *layoutPen) drawValueAxis(s axisScale, left, right float64) {
	for i, v := range s.ticks() {
		// The lowest line and that of zero stand out.
		ink := InkGrid
		if i == 0 || math.Abs(v) < s.step/2 {
			ink = InkMuted
		}
		p.addLine(ink, 1, Point{left, s.pixelOf(v)}, Point{right, s.pixelOf(v)})
		p.addText(left-6, s.pixelOf(v)+4, s.tickText(v), smallFontSize, InkMuted).Anchor = 1
	}
}

// tickDistance returns the distance between ticks for about four of them over a range: 1, 2
// or 5 times a power of ten. A range that is not positive and finite has a distance of 1.
func tickDistance(span float64) float64 {
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

// An axisTick is a labelled place on the time axis.
type axisTick struct {
	at        protocol.Time
	name, day string // day is set at the first tick and where a day begins
}

// timeTicks returns at most n ticks between two instants, on full hours in UTC. The first
// tick and the first of each day name the day.
func timeTicks(from, to protocol.Time, n int) (all []axisTick) {
	hours := to.Sub(from).Hours()
	// Whole days, unless a part of a day gives few enough ticks. Each divides a day, so that
	// midnight has a tick.
	step := 24 * math.Ceil(hours/24/float64(n))
	for _, s := range []float64{1, 2, 3, 4, 6, 12} {
		if hours/s <= float64(n) {
			step = s
			break
		}
	}
	width, day := time.Duration(step*float64(time.Hour)), ""
	for t := from.Ceil(width); t <= to; t = t.Add(width) {
		k := axisTick{at: t, name: t.StdTime().Format("15:04")}
		if today := t.StdTime().Format("2 Jan"); today != day {
			day, k.day = today, today
		}
		all = append(all, k)
	}
	return all
}

// FormatNumber formats a value with a fixed number of decimals and commas between thousands.
func FormatNumber(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	end := len(s)
	if decimals > 0 {
		end -= decimals + 1
	}
	for i := end - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// isFinite reports whether a value has a place on a scale.
func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// finiteOrZero returns v, or 0 if v is NaN or infinite.
func finiteOrZero(v float64) float64 {
	if isFinite(v) {
		return v
	}
	return 0
}
