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

// addHeader adds background, title, unit and legend, and returns the y below them.
func (p *layoutPen) addHeader(title, unit string, legend []legendEntry) float64 {
	p.addBox(0, 0, p.W, p.H, InkPaper)
	room := p.W - 2*chartMargin
	y := float64(chartMargin + largeFontSize)
	p.addText(chartMargin, y-2, truncateToWidth(title, largeFontSize, room, true), largeFontSize, InkText).Bold = true
	if unit != "" {
		y += smallFontSize + 5
		p.addText(chartMargin, y-2, truncateToWidth(unit, smallFontSize, room, false), smallFontSize, InkMuted)
	}
	x := float64(chartMargin)
	for i, k := range legend {
		// 22 pixels hold the sign of an entry and the gap to its name.
		name := truncateToWidth(k.name, smallFontSize, room-22, false)
		w := 22 + textWidth(name, smallFontSize, false)
		// A new line of the legend, where the entry does not fit.
		if i == 0 || x+w > p.W-chartMargin {
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
	return y + 8
}

// headerHeight returns the y that addHeader will return: the height of a layout must be known
// before it is drawn, and the legend may need several lines.
func headerHeight(width float64, title, unit string, legend []legendEntry) float64 {
	p := layoutPen{Layout{W: width}}
	return p.addHeader(title, unit, legend)
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

// An axisTick is a labelled place on the time axis; at is in milliseconds since 1970.
type axisTick struct {
	at        float64
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
		k := axisTick{at: float64(t), name: t.StdTime().Format("15:04")}
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

// finiteOrZero returns v, or 0 if v is NaN or infinite.
func finiteOrZero(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
