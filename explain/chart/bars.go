package chart

import (
	"fmt"
	"math"
)

// Bars is a chart of rows on one scale, each stacked of the same parts. Values
// below zero go to the left.
type Bars struct {
	Title, Unit string
	Parts       []string // of which each row is stacked; one has no legend
	Decimals    int      // of the values as they are printed
	Rows        []Row
}

// A Row is one bar.
type Row struct {
	Name   string
	Values []float64 // by part; none: there is no bar, and the Note says why
	Note   string    // after the value, or in the place of the bar
	Chosen bool      // stands out
}

const (
	pitch  = 26 // of rows
	height = 15 // of a bar
)

func (b Bars) legend() (keys []key) {
	if len(b.Parts) < 2 {
		return nil
	}
	for i, name := range b.Parts {
		keys = append(keys, key{name: name, ink: Nth(i)})
	}
	return keys
}

// ends returns how far a row reaches on both sides of zero.
func (r Row) ends() (down, up float64) {
	for _, v := range r.Values {
		down, up = down+min(finite(v), 0), up+max(finite(v), 0)
	}
	return down, up
}

// value returns what stands after a bar; on a narrow chart without its note.
func (b Bars) value(r Row, width float64) string {
	down, up := r.ends()
	s := Number(down+up, b.Decimals)
	if r.Note != "" && width >= 440 {
		s += ", " + r.Note
	}
	return s
}

// Draw implements Chart.
func (b Bars) Draw(width float64) Scene {
	top := headerHeight(width, b.Title, b.Unit, b.legend()) + 6
	p := pen{Scene{Label: b.label(), W: width, H: top + float64(pitch*len(b.Rows)) + margin}}
	p.header(b.Title, b.Unit, b.legend())
	names, values, low, high := 0.0, 0.0, 0.0, 0.0
	for _, r := range b.Rows {
		names = max(names, wide(r.Name, small, r.Chosen))
		if len(r.Values) > 0 {
			values = max(values, wide(b.value(r, width), small, r.Chosen))
		}
		down, up := r.ends()
		low, high = min(low, down), max(high, up)
	}
	names, values = min(names, width*0.34), min(values, width*0.3)
	from, to := margin+names+10, width-margin-values-8
	at := func(v float64) float64 { return from + float64((to-from)*((v-low)/max(high-low, 1e-9))) }
	for i, r := range b.Rows {
		y := top + float64(pitch*i)
		p.text(margin, y+height-3, fit(r.Name, small, names, r.Chosen), small, Text).Bold = r.Chosen
		if len(r.Values) == 0 {
			p.text(at(0)+6, y+height-3, fit(r.Note, small, width-margin-6-at(0), false), small, Muted)
			continue
		}
		end := b.row(&p, r, at, y)
		p.text(end+6, y+height-3, fit(b.value(r, width), small, values+2, r.Chosen), small, Text).Bold = r.Chosen
	}
	p.line(Muted, 1, Point{at(0), top - 4}, Point{at(0), p.H - margin})
	return p.Scene
}

// row draws one bar and returns where it ends on the right.
func (b Bars) row(p *pen, r Row, at func(float64) float64, y float64) float64 {
	up, down := 0.0, 0.0
	for i, v := range r.Values {
		v = finite(v)
		x0, x1 := at(up), at(up+v)
		if v < 0 {
			x0, x1 = at(down+v), at(down)
			down += v
		} else {
			up += v
		}
		if x1 > x0 {
			p.box(x0, y, x1-x0, height, Nth(i)).Tip = fmt.Sprintf("%s, %s: %s", r.Name, b.part(i), Number(v, b.Decimals))
		}
	}
	return at(up)
}

func (b Bars) part(i int) string {
	if i < len(b.Parts) {
		return b.Parts[i]
	}
	return b.Title
}

func (b Bars) label() string {
	s := b.Title + ", in " + b.Unit + "."
	for i, r := range b.Rows {
		if i == 12 {
			return s + fmt.Sprintf(" And %d more.", len(b.Rows)-i)
		}
		if len(r.Values) == 0 {
			s += fmt.Sprintf(" %s: %s.", r.Name, r.Note)
			continue
		}
		s += fmt.Sprintf(" %s: %s.", r.Name, b.value(r, math.Inf(1)))
	}
	return s
}

// Figures implements Chart.
func (b Bars) Figures() Table {
	t := Table{Head: []string{""}}
	for i := range max(len(b.Parts), 1) {
		t.Head = append(t.Head, b.part(i))
	}
	if len(b.Parts) > 1 {
		t.Head = append(t.Head, "total")
	}
	for _, r := range b.Rows {
		row := []string{clean(r.Name)}
		for i := range max(len(b.Parts), 1) {
			cell := "–"
			if i < len(r.Values) {
				cell = Number(finite(r.Values[i]), b.Decimals)
			}
			row = append(row, cell)
		}
		if len(b.Parts) > 1 {
			row = append(row, "–")
			if down, up := r.ends(); len(r.Values) > 0 {
				row[len(row)-1] = Number(down+up, b.Decimals)
			}
		}
		if r.Note != "" {
			row[len(row)-1] += " " + clean(r.Note)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
