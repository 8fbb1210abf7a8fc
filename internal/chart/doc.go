// Package chart draws charts. A chart is laid out once, as a Layout of simple marks;
// the layout becomes SVG for pages and PNG for everything else: terminals, chats, and
// models that read images. Every chart can also be returned as a table of figures, to
// be shown beside the picture.
//
// Guarantees: the same chart gives the same bytes of SVG on every machine; widths and
// positions are values on the chart's scale; external names are escaped; a chart is
// self-contained: it loads no script, font or image.
//
// Packages explain/timeline and scenarios/report decide what a chart shows.
package chart

import (
	"io"

	"github.com/gridbid/gridbid/internal/format"
)

// A Chart can be drawn, and returned as a table.
type Chart interface {
	// ComputeLayout lays the chart out for a width in pixels.
	ComputeLayout(width float64) Layout
	// FigureTable returns the drawn numbers.
	FigureTable() FigureTable
}

// A Layout is a chart after layout: marks in the order of painting. Lengths are in
// pixels; x counts to the right and y downwards.
type Layout struct {
	Label string // description for screen readers
	W, H  float64
	Marks []Mark
}

// A Mark is one shape: a text at its first point, a line through its points if it has
// a Stroke, or else the area inside its points.
type Mark struct {
	At     []Point
	Ink    InkColor
	Stroke float64 // line width; 0: an area or a text
	Dash   int     // index of a dash pattern; 0 is solid
	Faint  bool    // whether the mark is translucent

	Text   string
	Size   float64
	Bold   bool
	Anchor float64 // part of the text's width to the left of the point: 0, 0.5 or 1

	Tip string // tooltip
	Ref string // what a page opens when the mark is chosen: "decision D-14", "site oslo"
}

// A Point is a position in a layout.
type Point struct{ X, Y float64 }

// A FigureTable has rows of cells and one header row.
type FigureTable struct {
	Head []string   `json:"head"`
	Rows [][]string `json:"rows"`
}

// WriteText writes the table as plain text with aligned columns: the first to the left,
// others to the right. Rows with another number of cells do not affect column widths.
func (t FigureTable) WriteText(w io.Writer) {
	format.WriteColumns(w, "", append([][]string{t.Head}, t.Rows...), func(row []string, i int) (widens, left bool) {
		return len(row) == len(t.Head), i == 0
	})
}
