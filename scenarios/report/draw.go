package report

import (
	"bytes"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A chart is a scene that can be drawn anywhere.
type chart struct {
	name  string // of its files
	label string // what it shows, for those who do not see it
	w, h  vg.Length
	scene func(draw.Canvas)
}

func (c chart) svg() ([]byte, error) {
	canvas := vgsvg.New(c.w, c.h)
	c.scene(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("report: draw %s as SVG: %w", c.name, err)
	}
	// The widths of Arial's letters are those of the font that was drawn with.
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif")), nil
}

func (c chart) png() ([]byte, error) {
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(c.w, c.h), vgimg.UseDPI(192))}
	c.scene(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("report: draw %s as PNG: %w", c.name, err)
	}
	return out.Bytes(), nil
}

// A shade is a colour on light paper and its twin on dark. Charts are drawn in
// the light one; the page puts a variable in its place, so each light colour
// is used for one thing only.
type shade struct{ light, dark string }

var (
	paper = shade{"#FFFFFF", "#171A1F"}
	ink   = shade{"#1B1F24", "#E8EAED"}
	muted = shade{"#5A626C", "#A3ABB5"}
	faint = shade{"#E1E4E8", "#343A42"}
)

// series are told apart by people who do not see red and green as two, have a
// contrast of at least 3 to 1 with the paper, and are told apart by dashes
// too where they are lines.
var series = []shade{
	{"#0067A5", "#4FA8E8"}, // blue
	{"#C45500", "#F39150"}, // vermilion
	{"#007A5A", "#38C79B"}, // green
	{"#A0468C", "#E196CC"}, // purple
	{"#927000", "#DDB73F"}, // gold
	{"#3A8FC7", "#9AD5F8"}, // sky
	{"#6A7078", "#B4BAC2"}, // grey
	{"#8C1D2F", "#EC8391"}, // wine
}

// dashes part those pairs of lines whose colours some eyes see as one.
var dashes = [][]vg.Length{nil, nil, {6, 3}, {6, 3}, {2, 2}, {2, 2}, {9, 2, 2, 2}, {9, 2, 2, 2}}

func (s shade) color() color.Color {
	var c color.NRGBA
	c.A = 255
	fmt.Sscanf(s.light, "#%02X%02X%02X", &c.R, &c.G, &c.B)
	return c
}

func nth(i int) shade { return series[i%len(series)] }

// Sizes of charts, in points, and of their letters.
const (
	width  vg.Length = 360
	height vg.Length = 240
	small  vg.Length = 11
	large  vg.Length = 13
)

func text(size vg.Length, s shade, bold bool) draw.TextStyle {
	weight := font.Font{Variant: "Sans", Size: size}
	if bold {
		weight.Weight = 3 // what the font's cache calls bold
	}
	return draw.TextStyle{Color: s.color(), Font: weight, Handler: plot.DefaultTextHandler}
}

// header draws title, subtitle and legend, and returns the canvas below them.
func header(c draw.Canvas, title, subtitle string, legend []string, swatch func(draw.Canvas, int, vg.Point)) draw.Canvas {
	c.FillPolygon(paper.color(), []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	const margin vg.Length = 8
	y := c.Max.Y - margin - large
	c.FillText(text(large, ink, true), vg.Point{X: c.Min.X + margin, Y: y}, title)
	y -= small + 5
	c.FillText(text(small, muted, false), vg.Point{X: c.Min.X + margin, Y: y}, subtitle)
	x := c.Min.X + margin
	y -= small + 7
	style := text(small, ink, false)
	for i, name := range legend {
		wide := style.Width(name)
		if x+swatchWidth+4+wide > c.Max.X-margin && x > c.Min.X+margin {
			x, y = c.Min.X+margin, y-small-4
		}
		swatch(c, i, vg.Point{X: x, Y: y})
		c.FillText(style, vg.Point{X: x + swatchWidth + 4, Y: y}, name)
		x += swatchWidth + 4 + wide + 10
	}
	if len(legend) == 0 {
		y += small + 7
	}
	return draw.Crop(c, margin, -margin-4, margin, y-8-c.Max.Y)
}

// swatchWidth is the width of a colour in a legend.
const swatchWidth vg.Length = 16

// patch and stroke show a colour as the chart does.
func patch(c draw.Canvas, i int, at vg.Point) {
	c.FillPolygon(nth(i).color(), box(at.X+4, at.Y, at.X+swatchWidth, at.Y+8))
}

func stroke(c draw.Canvas, i int, at vg.Point) {
	c.StrokeLine2(dashed(i), at.X, at.Y+4, at.X+swatchWidth, at.Y+4)
}

func dashed(i int) draw.LineStyle {
	return draw.LineStyle{Color: nth(i).color(), Width: 1.75, Dashes: dashes[i%len(dashes)]}
}

func box(x0, y0, x1, y1 vg.Length) []vg.Point {
	return []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
}
