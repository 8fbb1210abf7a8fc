package chart

import (
	"fmt"
	"math"
)

// BarChart is a chart of rows on one scale; each row is stacked from the same parts.
// Negative values extend to the left.
type BarChart struct {
	Title, Unit string
	Parts       []string // names of the parts; a single part has no legend
	Decimals    int      // of printed values
	Rows        []BarRow
}

// A BarRow is one bar.
type BarRow struct {
	Name        string
	Values      []float64 // by part; none: the row has no bar, and the Note says why
	Note        string    // shown after the value, or instead of the bar
	Highlighted bool      // whether the row is highlighted
}

const (
	barPitch  = 26 // distance of rows in pixels
	barHeight = 15 // of a bar in pixels
)

// legendEntries returns a key for each part; none for a single part, which the title names.
func (b BarChart) legendEntries() (keys []legendEntry) {
	if len(b.Parts) < 2 {
		return nil
	}
	for i, name := range b.Parts {
		keys = append(keys, legendEntry{name: name, ink: SeriesInk(i)})
	}
	return keys
}

// stackExtent returns the sums of the negative and of the positive values of a row: parts are
// stacked away from zero on either side.
func (r BarRow) stackExtent() (down, up float64) {
	for _, v := range r.Values {
		down, up = down+min(finiteOrZero(v), 0), up+max(finiteOrZero(v), 0)
	}
	return down, up
}

// valueText returns the text after a bar; a narrow chart leaves out the note.
func (b BarChart) valueText(r BarRow, width float64) string {
	down, up := r.stackExtent()
	s := FormatNumber(down+up, b.Decimals)
	if r.Note != "" && width >= 440 {
		s += ", " + r.Note
	}
	return s
}

// ComputeLayout implements Chart.
func (b BarChart) ComputeLayout(width float64) Layout {
	top := headerHeight(width, b.Title, b.Unit, b.legendEntries()) + 6
	p := layoutPen{Layout{Label: b.accessibleLabel(), W: width, H: top + float64(barPitch*len(b.Rows)) + chartMargin}}
	p.addHeader(b.Title, b.Unit, b.legendEntries())
	// All rows share one scale, which includes zero, and two columns: names on the left, values on
	// the right of the longest bar.
	names, values, low, high := 0.0, 0.0, 0.0, 0.0
	for _, r := range b.Rows {
		names = max(names, textWidth(r.Name, smallFontSize, r.Highlighted))
		if len(r.Values) > 0 {
			values = max(values, textWidth(b.valueText(r, width), smallFontSize, r.Highlighted))
		}
		down, up := r.stackExtent()
		low, high = min(low, down), max(high, up)
	}
	// Long names and values are cut, so that bars keep about a third of the width.
	names, values = min(names, width*0.34), min(values, width*0.3)
	from, to := chartMargin+names+10, width-chartMargin-values-8
	at := func(v float64) float64 { return from + float64((to-from)*((v-low)/max(high-low, 1e-9))) }
	for i, r := range b.Rows {
		y := top + float64(barPitch*i)
		p.addText(chartMargin, y+barHeight-3, truncateToWidth(r.Name, smallFontSize, names, r.Highlighted), smallFontSize, InkText).Bold = r.Highlighted
		if len(r.Values) == 0 {
			p.addText(at(0)+6, y+barHeight-3, truncateToWidth(r.Note, smallFontSize, width-chartMargin-6-at(0), false), smallFontSize, InkMuted)
			continue
		}
		end := b.drawRow(&p, r, at, y)
		p.addText(end+6, y+barHeight-3, truncateToWidth(b.valueText(r, width), smallFontSize, values+2, r.Highlighted), smallFontSize, InkText).Bold = r.Highlighted
	}
	// The line of zero is drawn last, over the bars.
	p.addLine(InkMuted, 1, Point{at(0), top - 4}, Point{at(0), p.H - chartMargin})
	return p.Layout
}

// drawRow adds one bar and returns its right end.
func (b BarChart) drawRow(p *layoutPen, r BarRow, at func(float64) float64, y float64) float64 {
	up, down := 0.0, 0.0
	for i, v := range r.Values {
		v = finiteOrZero(v)
		x0, x1 := at(up), at(up+v)
		if v < 0 {
			x0, x1 = at(down+v), at(down)
			down += v
		} else {
			up += v
		}
		if x1 > x0 {
			p.addBox(x0, y, x1-x0, barHeight, SeriesInk(i)).Tip = fmt.Sprintf("%s, %s: %s", r.Name, b.partName(i), FormatNumber(v, b.Decimals))
		}
	}
	return at(up)
}

// partName returns the name of a part; a single unnamed part has the chart's title.
func (b BarChart) partName(i int) string {
	if i < len(b.Parts) {
		return b.Parts[i]
	}
	return b.Title
}

// accessibleLabel describes the chart in words; rows after the twelfth are only counted.
func (b BarChart) accessibleLabel() string {
	s := b.Title + ", in " + b.Unit + "."
	for i, r := range b.Rows {
		if i == 12 {
			return s + fmt.Sprintf(" And %d more.", len(b.Rows)-i)
		}
		if len(r.Values) == 0 {
			s += fmt.Sprintf(" %s: %s.", r.Name, r.Note)
			continue
		}
		s += fmt.Sprintf(" %s: %s.", r.Name, b.valueText(r, math.Inf(1)))
	}
	return s
}

// FigureTable implements Chart.
func (b BarChart) FigureTable() FigureTable {
	t := FigureTable{Head: []string{""}}
	for i := range max(len(b.Parts), 1) {
		t.Head = append(t.Head, b.partName(i))
	}
	if len(b.Parts) > 1 {
		t.Head = append(t.Head, "total")
	}
	for _, r := range b.Rows {
		row := []string{legibleText(r.Name)}
		for i := range max(len(b.Parts), 1) {
			cell := "–"
			if i < len(r.Values) {
				cell = FormatNumber(finiteOrZero(r.Values[i]), b.Decimals)
			}
			row = append(row, cell)
		}
		if len(b.Parts) > 1 {
			row = append(row, "–")
			if down, up := r.stackExtent(); len(r.Values) > 0 {
				row[len(row)-1] = FormatNumber(down+up, b.Decimals)
			}
		}
		if r.Note != "" {
			row[len(row)-1] += " " + legibleText(r.Note)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
