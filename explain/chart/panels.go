package chart

import "strings"

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
