package chart

import (
	"fmt"
	"slices"
	"strings"
)

// BarChart is a chart of rows on one scale; each row is stacked from the same parts.
// Negative values extend to the left.
type BarChart struct {
	Title, Unit string
	Parts       []string // names of the parts; a single part has no legend
	Decimals    int      // of printed values
	Rows        []BarRow
	Broken      bool // whether a bar far longer than the others is broken off, so that those are seen
}

// A BarRow is one bar.
type BarRow struct {
	Name        string
	Values      []float64 // by part; none: the row has no bar, and the Note says why
	Note        string    // shown after the value, or instead of the bar
	Highlighted bool      // whether the row is highlighted
	Ink         InkColor  // of a row that is a site's: its first part is solid, others are outlined; zero: by part
}

const (
	barPitch  = 26 // distance of rows in pixels
	barHeight = 15 // of a bar in pixels
	textPitch = 15 // distance of lines of text in pixels
)

// legendEntries returns a key for each part; none for a single part, which the title names.
func (b BarChart) legendEntries() (keys []legendEntry) {
	if len(b.Parts) < 2 {
		return nil
	}
	ofSites := len(b.Rows) > 0 && b.Rows[0].Ink != 0
	for i, name := range b.Parts {
		k := legendEntry{name: name, ink: PartInk(i)}
		if ofSites {
			k.ink, k.faint = InkMuted, i > 0
		}
		keys = append(keys, k)
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

// valueText returns the text after a bar, with its note.
func (b BarChart) valueText(r BarRow) string {
	down, up := r.stackExtent()
	s := FormatNumber(down+up, b.Decimals)
	if r.Note != "" {
		s += ", " + r.Note
	}
	return s
}

// A barLayout is the texts of a row, as they fit. No text is cut: what does not fit
// beside the bar stands above it or below it.
type barLayout struct {
	above []string // the name, if it has no room beside
	after string   // at the end of the bar
	under []string // the note
}

// high returns the height of the row.
func (l barLayout) high() float64 {
	return barPitch + float64(textPitch*float64(len(l.above)+len(l.under)))
}

// rowLayouts fits the texts of all rows into a width, and returns the widths of the columns of
// names and of values.
func (b BarChart) rowLayouts(width float64) (rows []barLayout, names, values float64) {
	for _, r := range b.Rows {
		names = max(names, textWidth(r.Name, smallFontSize, r.Highlighted))
	}
	isAbove := names > width*0.34
	if isAbove {
		names = 0
	}
	room := width - 2*chartMargin - names - 16
	for _, r := range b.Rows {
		var l barLayout
		if isAbove {
			l.above = wrapToWidth(r.Name, smallFontSize, width-2*chartMargin, r.Highlighted)
		}
		switch {
		case len(r.Values) == 0:
			lines := wrapToWidth(r.Note, smallFontSize, room, false)
			l.after, l.under = lines[0], lines[1:]
		case textWidth(b.valueText(r), smallFontSize, r.Highlighted) <= width*0.3:
			l.after = b.valueText(r)
		default:
			down, up := r.stackExtent()
			l.after, l.under = FormatNumber(down+up, b.Decimals), wrapToWidth(r.Note, smallFontSize, room, false)
		}
		if len(r.Values) > 0 {
			values = max(values, textWidth(l.after, smallFontSize, r.Highlighted))
		}
		rows = append(rows, l)
	}
	return rows, names, min(values, width*0.4)
}

// scaleRange returns the values between which bars are drawn. Of a Broken chart bars over three
// times the median are broken off.
func (b BarChart) scaleRange() (low, high float64) {
	var all []float64
	for _, r := range b.Rows {
		down, up := r.stackExtent()
		low, high = min(low, down), max(high, up)
		if up > 0 {
			all = append(all, up)
		}
	}
	if b.Broken && len(all) > 1 {
		slices.Sort(all)
		high = min(high, 3*all[(len(all)-1)/2])
	}
	return low, high
}

// ComputeLayout implements Chart.
func (b BarChart) ComputeLayout(width float64) Layout {
	rows, names, values := b.rowLayouts(width)
	p, top := beginLayout(width, b.accessibleLabel(), b.Title, b.Unit, b.legendEntries())
	top += 6
	tall := top + chartMargin
	for _, l := range rows {
		tall += l.high()
	}
	// All rows share one scale, which includes zero.
	scale := axisScale{from: chartMargin + names + 10, to: width - chartMargin - values - 8}
	scale.low, scale.high = b.scaleRange()
	if names == 0 {
		scale.from = chartMargin
	}
	zero := scale.pixelOf(0)
	y := top
	for i, r := range b.Rows {
		l := rows[i]
		for _, line := range l.above {
			p.addText(chartMargin, y+10, line, smallFontSize, InkText).Bold = r.Highlighted
			y += textPitch
		}
		if len(l.above) == 0 {
			p.addText(chartMargin, y+barHeight-3, r.Name, smallFontSize, InkText).Bold = r.Highlighted
		}
		if len(r.Values) == 0 {
			p.addText(zero+6, y+barHeight-3, l.after, smallFontSize, InkMuted)
		} else {
			end := b.drawRow(p, r, scale, y)
			if _, up := r.stackExtent(); up > scale.high {
				p.addLine(InkPaper, 2, Point{end - 12, y + barHeight + 2}, Point{end - 7, y - 2})
				p.addLine(InkPaper, 2, Point{end - 8, y + barHeight + 2}, Point{end - 3, y - 2})
			}
			p.addText(end+6, y+barHeight-3, l.after, smallFontSize, InkText).Bold = r.Highlighted
		}
		for k, line := range l.under {
			p.addText(zero+6, y+barHeight-3+float64(textPitch*float64(k+1)), line, smallFontSize, InkMuted)
		}
		y += barPitch + float64(textPitch*float64(len(l.under)))
	}
	// The line of zero is drawn last, over the bars.
	p.addLine(InkMuted, 1, Point{zero, top - 4}, Point{zero, tall - chartMargin})
	return p.endLayout(tall)
}

// drawRow adds one bar and returns its right end.
func (b BarChart) drawRow(p *layoutPen, r BarRow, scale axisScale, y float64) float64 {
	up, down := 0.0, 0.0
	for i, v := range r.Values {
		v = finiteOrZero(v)
		x0, x1 := scale.pixelOf(up), scale.pixelOf(up+v)
		if v < 0 {
			x0, x1 = scale.pixelOf(down+v), scale.pixelOf(down)
			down += v
		} else {
			up += v
		}
		if x1 <= x0 {
			continue
		}
		ink := r.Ink
		switch {
		case ink == 0 && len(b.Parts) > 1:
			ink = PartInk(i)
		case ink == 0:
			ink = PartInk(2)
		}
		m := p.addBox(x0, y, x1-x0, barHeight, ink)
		m.Faint, m.Tip = r.Ink != 0 && i > 0, fmt.Sprintf("%s, %s: %s", r.Name, b.partName(i), FormatNumber(v, b.Decimals))
		if m.Faint {
			p.addOutline(x0, y, x1, y+barHeight, ink)
		}
	}
	return scale.pixelOf(up)
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
		s += fmt.Sprintf(" %s: %s.", r.Name, b.valueText(r))
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

// PanelChart shows figures that have no common scale beside each other: a small bar chart for
// each, all with the same rows.
type PanelChart struct {
	Title, Unit string
	Panels      []BarChart
}

// panelWidth is the least width of a panel in pixels.
const panelWidth = 300

// ComputeLayout implements Chart.
func (c PanelChart) ComputeLayout(width float64) Layout {
	columns := max(1, min(int(width/panelWidth), len(c.Panels)))
	p, y := beginLayout(width, c.accessibleLabel(), c.Title, c.Unit, nil)
	for from := 0; from < len(c.Panels); from += columns {
		tall := 0.0
		for i, b := range c.Panels[from:min(from+columns, len(c.Panels))] {
			s := b.ComputeLayout(width / float64(columns))
			for _, m := range s.Marks {
				for k, at := range m.At {
					m.At[k] = Point{at.X + float64(float64(i)*s.W), at.Y + y}
				}
				p.Marks = append(p.Marks, m)
			}
			tall = max(tall, s.H)
		}
		y += tall
	}
	return p.endLayout(y + chartMargin)
}

// accessibleLabel describes the chart in words.
func (c PanelChart) accessibleLabel() string {
	all := []string{c.Title + ", " + c.Unit + "."}
	for _, b := range c.Panels {
		all = append(all, b.accessibleLabel())
	}
	return strings.Join(all, " ")
}

// FigureTable implements Chart: a column for each panel.
func (c PanelChart) FigureTable() FigureTable {
	t := FigureTable{Head: []string{""}}
	for k, b := range c.Panels {
		t.Head = append(t.Head, legibleText(b.Title+", "+b.Unit))
		for i, r := range b.FigureTable().Rows {
			if k == 0 {
				t.Rows = append(t.Rows, r[:1:1])
			}
			if i < len(t.Rows) {
				t.Rows[i] = append(t.Rows[i], r[len(r)-1])
			}
		}
	}
	return t
}
