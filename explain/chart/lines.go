package chart

import (
	"fmt"
	"math"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Lines is a chart of values over time: staircases, one above the other if
// they are stacked.
type Lines struct {
	Title, Unit string
	Start, End  protocol.Time
	Step        time.Duration // of all series; 0 is an hour
	Decimals    int           // of the values as they are printed
	Series      []Values
	Stacked     bool
	Top         float64 // of the scale, where charts share one; 0 is that of the values
	Bands       []Band
	Rules       []Rule
	Height      float64 // of the plot; 0 is 170
}

// Values are a series from Start on, one for each step.
type Values struct {
	Name string
	Of   []float64 // not a number: nothing is known there
	Ink  Ink       // zero: by its place
}

// A Band is a time that stands out.
type Band struct {
	From, To protocol.Time
	Name     string
	Ink      Ink
}

// A Rule is an instant that stands out.
type Rule struct {
	At   protocol.Time
	Name string
}

func (l Lines) step() time.Duration {
	if l.Step < time.Millisecond {
		return time.Hour
	}
	return l.Step
}

func (l Lines) ink(i int) Ink {
	if ink := l.Series[i].Ink; ink != 0 {
		return ink
	}
	return Nth(i)
}

func (l Lines) legend() (keys []key) {
	for i, s := range l.Series {
		keys = append(keys, key{name: s.Name, ink: l.ink(i), line: !l.Stacked, dash: int(l.ink(i) - Series)})
	}
	for _, b := range l.Bands {
		keys = append(keys, key{name: b.Name, ink: b.Ink, faint: true})
	}
	return keys
}

// rows returns the staircases, those of a stack summed up, and how many steps
// of them there are to be seen.
func (l Lines) rows() (rows [][]float64, steps int) {
	n := int((l.End.Sub(l.Start) + l.step() - 1) / l.step())
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

// A frame is where time and values stand in a scene.
type frame struct {
	left, right, top, bottom float64
	from, to                 protocol.Time
	low, high                float64
}

func (f frame) x(t protocol.Time) float64 {
	return f.left + float64((f.right-f.left)*(float64(min(max(t, f.from), f.to)-f.from)/max(float64(f.to-f.from), 1)))
}

func (f frame) y(v float64) float64 {
	return f.bottom - float64((f.bottom-f.top)*((min(max(v, f.low), f.high)-f.low)/(f.high-f.low)))
}

// Draw implements Chart.
func (l Lines) Draw(width float64) Scene {
	tall := l.Height
	if tall <= 0 {
		tall = 170
	}
	if l.End <= l.Start {
		l.End = l.Start.Add(time.Hour)
	}
	top := headerHeight(width, l.Title, l.Unit, l.legend()) + 8
	if len(l.Rules) > 0 {
		top += small + 4
	}
	p := pen{Scene{Label: l.label(), W: width, H: top + tall + 40}}
	p.header(l.Title, l.Unit, l.legend())
	rows, steps := l.rows()
	f := frame{right: width - margin - 14, top: top, bottom: top + tall, from: l.Start, to: l.End}
	for _, row := range append(rows, []float64{0, l.Top}) {
		for _, v := range row {
			f.low, f.high = min(f.low, nothing(v)), max(f.high, nothing(v))
		}
	}
	l.axes(&p, &f)
	for _, b := range l.Bands {
		m := p.box(f.x(b.From), f.top, max(f.x(b.To)-f.x(b.From), 1), f.bottom-f.top, b.Ink)
		m.Faint, m.Tip = true, fmt.Sprintf("%s, %s to %s UTC", b.Name, minute(b.From), minute(b.To))
	}
	var under []Point
	for i, row := range rows {
		if l.Stacked {
			over := l.stairs(f, row)[0]
			p.area(over, under, f, l.ink(i))
			under = over
			continue
		}
		for _, run := range l.stairs(f, row) {
			p.line(l.ink(i), 2, run...).Dash = int(l.ink(i) - Series)
		}
	}
	l.rules(&p, f)
	for i := range steps {
		from := l.Start.Add(time.Duration(i) * l.step())
		x := f.x(from)
		p.box(x, f.top, f.x(from.Add(l.step()))-x, f.bottom-f.top, None).Tip = l.said(i)
	}
	return p.Scene
}

// nothing returns v, or 0 where it is no number.
func nothing(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// axes lays scale, grid and hours.
func (l Lines) axes(p *pen, f *frame) {
	step := pace(max(f.high-f.low, 1e-6))
	f.low, f.high = step*math.Floor(f.low/step+1e-9), step*math.Ceil(f.high/step-1e-9)
	if f.high <= f.low {
		f.high = f.low + step
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	n := int(math.Round((f.high - f.low) / step))
	for i := range n + 1 {
		f.left = max(f.left, margin+6+wide(Number(f.low+float64(float64(i)*step), decimals), small, false))
	}
	for i := range n + 1 {
		v := f.low + float64(float64(i)*step)
		ink := Grid
		if i == 0 || math.Abs(v) < step/2 {
			ink = Muted
		}
		p.line(ink, 1, Point{f.left, f.y(v)}, Point{f.right, f.y(v)})
		p.text(f.left-6, f.y(v)+4, Number(v, decimals), small, Muted).Anchor = 1
	}
	for _, t := range ticks(l.Start, l.End, max(2, int((f.right-f.left)/64))) {
		x := f.x(protocol.Time(t.at))
		p.line(Muted, 1, Point{x, f.bottom}, Point{x, f.bottom + 4})
		p.text(x, f.bottom+17, t.name, small, Muted).Anchor = 0.5
		if t.day != "" {
			p.text(x, f.bottom+31, t.day, small, Muted).Anchor = 0.5
		}
	}
}

// stairs returns a staircase from value i at step i to the next, in as many
// runs as there are gaps. There is always one, perhaps empty.
func (l Lines) stairs(f frame, row []float64) (runs [][]Point) {
	var run []Point
	for i, v := range row {
		if math.IsNaN(v) {
			if run != nil {
				runs, run = append(runs, run), nil
			}
			continue
		}
		from := l.Start.Add(time.Duration(i) * l.step())
		run = append(run, Point{f.x(from), f.y(v)}, Point{f.x(from.Add(l.step())), f.y(v)})
	}
	if run != nil || runs == nil {
		runs = append(runs, run)
	}
	return runs
}

// area fills what lies between two staircases; a thin line of paper keeps
// neighbours apart for eyes that see their colours as one.
func (p *pen) area(over, under []Point, f frame, ink Ink) {
	if len(over) == 0 {
		return
	}
	all := append([]Point(nil), over...)
	for i := len(over) - 1; i >= 0; i-- {
		base := f.y(0)
		if i < len(under) {
			base = under[i].Y
		}
		all = append(all, Point{over[i].X, base})
	}
	p.Marks = append(p.Marks, Mark{At: all, Ink: ink})
	p.line(Paper, 0.8, over...)
}

// rules lays instants; a name that has no room is left out, and its line can
// be asked.
func (l Lines) rules(p *pen, f frame) {
	free := f.left
	for _, r := range l.Rules {
		if r.At < l.Start || r.At > l.End {
			continue
		}
		x := f.x(r.At)
		m := p.line(Text, 1.2, Point{x, f.top - 3}, Point{x, f.bottom})
		m.Dash, m.Tip = 4, fmt.Sprintf("%s, %s UTC", r.Name, minute(r.At))
		w := wide(r.Name, small, false)
		left := min(max(x-w/2, f.left), f.right-w)
		if left >= free {
			p.text(left, f.top-6, r.Name, small, Text)
			free = left + w + 8
		}
	}
}

func minute(t protocol.Time) string { return t.Go().Format("2 Jan 15:04") }

// said tells one step: "13 Apr 12:00 UTC: oslo 12, lyon 40".
func (l Lines) said(i int) string {
	s := minute(l.Start.Add(time.Duration(i)*l.step())) + " UTC"
	for k, series := range l.Series {
		sep := ": "
		if k > 0 {
			sep = ", "
		}
		s += sep + series.Name + " " + l.cell(series, i)
	}
	return s
}

func (l Lines) cell(v Values, i int) string {
	if i >= len(v.Of) || math.IsNaN(v.Of[i]) {
		return "–"
	}
	return Number(finite(v.Of[i]), l.Decimals)
}

func (l Lines) label() string {
	s := fmt.Sprintf("%s, in %s, from %s to %s UTC.", l.Title, l.Unit, minute(l.Start), minute(l.End))
	for _, series := range l.Series {
		low, high, any := 0.0, 0.0, false
		for _, v := range series.Of {
			if v = finite(v); !any || v < low {
				low = v
			}
			if !any || v > high {
				high = v
			}
			any = true
		}
		if any {
			s += fmt.Sprintf(" %s: %s to %s.", series.Name, Number(low, l.Decimals), Number(high, l.Decimals))
		}
	}
	for _, b := range l.Bands {
		s += fmt.Sprintf(" %s: %s to %s.", b.Name, minute(b.From), minute(b.To))
	}
	for _, r := range l.Rules {
		s += fmt.Sprintf(" %s: %s.", r.Name, minute(r.At))
	}
	return s
}

// Figures implements Chart.
func (l Lines) Figures() Table {
	t := Table{Head: []string{"UTC"}}
	for _, s := range l.Series {
		t.Head = append(t.Head, clean(s.Name))
	}
	_, steps := l.rows()
	for i := range steps {
		row := []string{minute(l.Start.Add(time.Duration(i) * l.step()))}
		for _, s := range l.Series {
			row = append(row, l.cell(s, i))
		}
		t.Rows = append(t.Rows, row)
	}
	for _, b := range l.Bands {
		t.Rows = append(t.Rows, []string{minute(b.From), clean(b.Name) + " until " + minute(b.To)})
	}
	for _, r := range l.Rules {
		t.Rows = append(t.Rows, []string{minute(r.At), clean(r.Name)})
	}
	return t
}
