// Package chart draws charts. A chart is laid out once, as a Scene of plain
// marks, and that scene becomes SVG for pages and PNG for everything else:
// terminals, chats, models that can see. Every chart can also be said in
// figures, and whoever shows the picture can show those beside it.
//
// Promises: the same chart has the same bytes of SVG, always and everywhere; a
// bar's width and a point's place are its value on the scale that the chart
// shows; names from outside are text wherever they appear; no chart needs
// anything but itself: no script, no font and no picture is fetched.
//
// What a chart shows of a run is chosen by explain/timeline and
// scenarios/report.
package chart

// A Chart can be drawn, and said in figures.
type Chart interface {
	// ComputeLayout lays the chart out for a width in pixels.
	ComputeLayout(width float64) Layout
	// FigureTable returns the numbers that are drawn.
	FigureTable() FigureTable
}

// A Layout is a chart laid out: marks in the order in which they are painted.
// Lengths are pixels; x counts to the right and y downwards.
type Layout struct {
	Label string // what it shows, for those who do not see it
	W, H  float64
	Marks []Mark
}

// A Mark is one shape. One with Text stands at its first point; one with a
// Stroke is a line through its points; any other is the area inside of them.
type Mark struct {
	At     []Point
	Ink    InkColor
	Stroke float64 // width
	Dash   int     // of a stroke: which pattern; 0 is none
	Faint  bool    // lets through what lies under it

	Text   string
	Size   float64
	Bold   bool
	Anchor float64 // part of the text's width that is left of the point: 0, 0.5 or 1

	Tip string // what the mark says when it is asked
}

// A Point is a place in a scene.
type Point struct{ X, Y float64 }

// A FigureTable is rows of cells under their heads.
type FigureTable struct {
	Head []string   `json:"head"`
	Rows [][]string `json:"rows"`
}
