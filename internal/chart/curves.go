package chart

import "fmt"

// CurveChart is a chart of named points on two scales of numbers; the points of a curve are
// joined in their order.
type CurveChart struct {
	Title, XUnit, YUnit string
	XDecimals           int // of printed values
	YDecimals           int
	Curves              []Curve
}

// A Curve is one line of points.
type Curve struct {
	Name   string
	Points []NamedPoint
	Dashed bool // whether its line is dashed and its points are hollow
}

// A NamedPoint is a point of a curve. A point that is not finite is left out of the picture.
type NamedPoint struct {
	Name        string // "" or short: it stands beside a highlighted point, and in the tooltip
	X, Y        float64
	Highlighted bool
}

// isFinite reports whether the point has a place on both scales.
func (p NamedPoint) isFinite() bool { return isFinite(p.X) && isFinite(p.Y) }

// legendEntries returns a key for each curve.
func (c CurveChart) legendEntries() (keys []legendEntry) {
	for i, curve := range c.Curves {
		keys = append(keys, legendEntry{name: curve.Name, ink: SeriesInk(i), line: true, dash: curve.dash()})
	}
	return keys
}

// dash returns the dash pattern of the curve's line.
func (c Curve) dash() int {
	if c.Dashed {
		return 2
	}
	return 0
}

// Sizes in pixels: of the plot, and of a point's square.
const (
	curveHeight = 260
	pointSize   = 6
)

// ComputeLayout implements Chart.
func (c CurveChart) ComputeLayout(width float64) Layout {
	p, top := beginLayout(width, c.accessibleLabel(), c.Title, c.YUnit+"; across: "+c.XUnit, c.legendEntries())
	top += 14
	bottom := top + curveHeight
	// Both scales include zero.
	var low, high Point
	for _, curve := range c.Curves {
		for _, n := range curve.Points {
			if n.isFinite() {
				low, high = Point{min(low.X, n.X), min(low.Y, n.Y)}, Point{max(high.X, n.X), max(high.Y, n.Y)}
			}
		}
	}
	y := newAxisScale(low.Y, high.Y, bottom, top)
	x := newAxisScale(low.X, high.X, y.leftOfPlot(), width-chartMargin-30)
	p.drawValueAxis(y, x.from, x.to)
	for _, v := range x.ticks() {
		p.addLine(InkMuted, 1, Point{x.pixelOf(v), bottom}, Point{x.pixelOf(v), bottom + 4})
		p.addText(x.pixelOf(v), bottom+17, x.tickText(v), smallFontSize, InkMuted).Anchor = 0.5
	}
	for i, curve := range c.Curves {
		c.drawCurve(p, curve, SeriesInk(i), x, y)
	}
	return p.endLayout(bottom + 34)
}

// drawCurve adds the line and the points of a curve.
func (c CurveChart) drawCurve(p *layoutPen, curve Curve, ink InkColor, x, y axisScale) {
	var line []Point
	for _, n := range curve.Points {
		if n.isFinite() {
			line = append(line, Point{x.pixelOf(n.X), y.pixelOf(n.Y)})
		}
	}
	if len(line) > 1 {
		p.addLine(ink, 1.5, line...).Dash = curve.dash()
	}
	for _, n := range curve.Points {
		if !n.isFinite() {
			continue
		}
		at, size := Point{x.pixelOf(n.X), y.pixelOf(n.Y)}, float64(pointSize)
		if n.Highlighted {
			size += 4
			p.addText(at.X+8, at.Y-6, n.Name, smallFontSize, InkText).Bold = true
		}
		p.addBox(at.X-size/2, at.Y-size/2, size, size, ink).Tip = c.pointText(curve, n)
		if curve.Dashed {
			p.addBox(at.X-size/2+1.5, at.Y-size/2+1.5, size-3, size-3, InkPaper).Tip = c.pointText(curve, n)
		}
	}
}

// pointText returns the tooltip of a point.
func (c CurveChart) pointText(curve Curve, n NamedPoint) string {
	return fmt.Sprintf("%s, %s: %s at %s", curve.Name, n.Name, FormatNumber(n.Y, c.YDecimals), FormatNumber(n.X, c.XDecimals))
}

// accessibleLabel describes the chart in words, with the ends of each curve and its
// highlighted points.
func (c CurveChart) accessibleLabel() string {
	s := fmt.Sprintf("%s: %s, against %s.", c.Title, c.YUnit, c.XUnit)
	for _, curve := range c.Curves {
		for i, n := range curve.Points {
			if n.isFinite() && (i == 0 || i == len(curve.Points)-1 || n.Highlighted) {
				s += " " + c.pointText(curve, n) + "."
			}
		}
	}
	return s
}

// FigureTable implements Chart.
func (c CurveChart) FigureTable() FigureTable {
	t := FigureTable{Head: []string{"curve", "point", legibleText(c.XUnit), legibleText(c.YUnit)}}
	for _, curve := range c.Curves {
		for _, n := range curve.Points {
			cells := []string{legibleText(curve.Name), legibleText(n.Name), "–", "–"}
			if n.isFinite() {
				cells[2], cells[3] = FormatNumber(n.X, c.XDecimals), FormatNumber(n.Y, c.YDecimals)
			}
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}
