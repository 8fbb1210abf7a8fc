package chart

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// GanttChart shows what held capacity over time: a lane for each holder, and in it a bar for each
// stay, as high as its share of the lane's capacity. Bars never overlap; a lane that holds more
// than its capacity has a finer scale.
type GanttChart struct {
	Title, Unit string
	Start, End  protocol.Time
	Lanes       []GanttLane
	Rules       []TimeMarker
	LaneHeight  float64 // in pixels; 0 means 60
	Left        float64 // least width left of the plot, so that charts of one window align
}

// A GanttLane is one row of a GanttChart.
type GanttLane struct {
	Name, Note string
	Ink        InkColor
	Capacity   int    // in units of the bars
	Ref        string // of the name: see Mark
	Bars       []GanttBar
}

// A GanttBar is one stay: certain until Sure, and planned from then on.
type GanttBar struct {
	Name           string
	From, To, Sure protocol.Time
	Units          int    // that it holds, at least 1
	Tip, Ref       string // see Mark
}

// packBars gives every bar the lowest units that are free all its time: the index of its first
// unit. It returns how many units are used in all.
func (l *GanttLane) packBars() (rows []int, used int) {
	order := make([]int, len(l.Bars))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		a, b := l.Bars[x], l.Bars[y]
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.Units, a.Units), cmp.Compare(a.Name, b.Name))
	})
	rows = make([]int, len(l.Bars))
	var until []protocol.Time // by unit: when it is free
	for _, i := range order {
		b := l.Bars[i]
		need, first, free := max(b.Units, 1), 0, 0
		for k := 0; k < len(until) && free < need; k++ {
			if free++; until[k] > b.From {
				first, free = k+1, 0
			}
		}
		for len(until) < first+need {
			until = append(until, 0)
		}
		for k := first; k < first+need; k++ {
			until[k] = b.To
		}
		rows[i] = first
	}
	return rows, len(until)
}

const laneTitle = 18 // height of a lane's name in pixels

// ComputeLayout implements Chart.
func (g GanttChart) ComputeLayout(width float64) Layout {
	tall := cmp.Or(g.LaneHeight, 60)
	p, header := beginLayout(width, g.accessibleLabel(), g.Title, g.Unit, nil)
	f := p.plotBelow(header, float64(float64(len(g.Lanes))*(tall+laneTitle)), max(g.Left, chartMargin), g.Start, g.End, g.Rules)
	left, right, top, bottom := f.x.from, f.x.to, f.y.to, f.y.from
	p.addLine(InkMuted, 1, Point{left, bottom}, Point{right, bottom})
	p.drawTimeAxis(f)
	for i, l := range g.Lanes {
		y := top + float64(float64(i)*(tall+laneTitle))
		name := p.addText(left, y+12, l.Name, smallFontSize, InkText)
		name.Bold, name.Ref = true, l.Ref
		p.addText(left+textWidth(l.Name, smallFontSize, true)+8, y+12, l.Note, smallFontSize, InkMuted)
		p.addBox(left, y+laneTitle, right-left, tall-4, InkGrid).Faint = true
		rows, used := l.packBars()
		unit := (tall - 4) / float64(max(l.Capacity, used, 1))
		for k, b := range l.Bars {
			g.drawBar(p, f, l.Ink, b, y+laneTitle+float64(tall-4)-float64(unit*float64(rows[k]+max(b.Units, 1))), float64(unit*float64(max(b.Units, 1))))
		}
	}
	p.drawMarkers(f, g.Rules)
	return p.endLayout(bottom + 40)
}

// drawBar adds a bar: solid as far as it is certain, and outlined as far as it is planned.
func (g GanttChart) drawBar(p *layoutPen, f plotFrame, ink InkColor, b GanttBar, y, high float64) {
	if high > 3 { // a gap, where there is room for one
		y, high = y+0.5, high-1
	}
	from, sure, to := f.timeToX(b.From), f.timeToX(min(max(b.Sure, b.From), b.To)), f.timeToX(b.To)
	to = max(to, from+1.5) // never too narrow to be seen
	if b.Sure >= b.To {
		sure = to
	}
	if sure > from {
		m := p.addBox(from, y, max(sure-from-0.5, 1), high, ink)
		m.Tip, m.Ref = b.Tip, b.Ref
	}
	if to > sure {
		m := p.addBox(sure, y, to-sure, high, ink)
		m.Faint, m.Tip, m.Ref = true, b.Tip, b.Ref
		if high > 3.5 {
			p.addOutline(sure, y, to, y+high, ink)
		} else { // too thin for an outline
			p.addLine(ink, min(1, high), Point{sure, y + high/2}, Point{to, y + high/2}).Dash = 4
		}
	}
}

// accessibleLabel describes the chart in words.
func (g GanttChart) accessibleLabel() string {
	s := fmt.Sprintf("%s, %s, from %s to %s UTC.", g.Title, g.Unit, minuteText(g.Start), minuteText(g.End))
	for _, l := range g.Lanes {
		s += fmt.Sprintf(" %s, %s: %d bars.", l.Name, l.Note, len(l.Bars))
	}
	return s
}

// FigureTable implements Chart.
func (g GanttChart) FigureTable() FigureTable {
	t := FigureTable{Head: []string{"", "job", "from", "until", ""}}
	for _, l := range g.Lanes {
		for _, b := range l.Bars {
			word := ""
			if b.Sure < b.To {
				word = "planned from " + minuteText(max(b.Sure, b.From))
			}
			t.Rows = append(t.Rows, []string{legibleText(l.Name), legibleText(b.Name), minuteText(b.From), minuteText(b.To), word})
		}
	}
	return t
}
