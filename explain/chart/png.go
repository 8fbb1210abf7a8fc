package chart

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// pixelScale is the number of PNG pixels per layout pixel, in each direction.
const pixelScale = 2

// EncodePNG returns the layout as a picture in light mode, at twice the size of its SVG, for
// high-resolution screens. The limits on its size bound the memory that one request can take: at most
// 512 MiB.
func (s Layout) EncodePNG() ([]byte, error) {
	w, h := int(math.Ceil(s.W*pixelScale)), int(math.Ceil(s.H*pixelScale))
	if w < 1 || h < 1 || w > 8192 || h > 16384 {
		return nil, fmt.Errorf("chart: picture of %d by %d pixels: want 1 to 8192 by 1 to 16384", w, h)
	}
	im := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(im, im.Bounds(), image.NewUniform(InkPaper.lightColor(false)), image.Point{}, draw.Src)
	for _, m := range s.Marks {
		switch {
		case m.Ink == InkNone:
		case m.Text != "":
			if err := m.drawText(im); err != nil {
				return nil, err
			}
		case m.Stroke > 0:
			for _, leg := range m.strokePolygons() {
				fillPolygon(im, leg, m.Ink.lightColor(false))
			}
		default:
			fillPolygon(im, m.At, m.Ink.lightColor(m.Faint))
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, im); err != nil {
		return nil, fmt.Errorf("chart: encode PNG: %w", err)
	}
	return out.Bytes(), nil
}

// fillPolygon paints the inside of a polygon. It rasterizes the polygon's bounding box only.
func fillPolygon(im *image.RGBA, at []Point, c color.NRGBA) {
	if len(at) < 3 {
		return
	}
	lowX, lowY, highX, highY := at[0].X, at[0].Y, at[0].X, at[0].Y
	for _, p := range at {
		lowX, highX = min(lowX, p.X), max(highX, p.X)
		lowY, highY = min(lowY, p.Y), max(highY, p.Y)
	}
	// Only the bounding box is rasterized, which is small for most marks.
	area := image.Rect(int(math.Floor(lowX*pixelScale)), int(math.Floor(lowY*pixelScale)),
		int(math.Ceil(highX*pixelScale)), int(math.Ceil(highY*pixelScale))).Intersect(im.Bounds())
	if area.Empty() {
		return
	}
	r := vector.NewRasterizer(area.Dx(), area.Dy())
	place := func(p Point) (float32, float32) {
		return float32(float64(p.X*pixelScale) - float64(area.Min.X)), float32(float64(p.Y*pixelScale) - float64(area.Min.Y))
	}
	r.MoveTo(place(at[0]))
	for _, p := range at[1:] {
		r.LineTo(place(p))
	}
	r.ClosePath()
	r.Draw(im, area, image.NewUniform(c), image.Point{})
}

// strokePolygons returns a stroke as rectangles, one for each painted part of its line. Solid
// lines are extended by half their width, so that corners close.
func (m Mark) strokePolygons() (all [][]Point) {
	// left is what remains of the current dash or gap; a solid line is one dash without end.
	pattern, gap, left, i := dashPatterns[m.Dash%len(dashPatterns)], false, math.Inf(1), 0
	if pattern != nil {
		left = pattern[0]
	}
	for k := 1; k < len(m.At); k++ {
		a, b := m.At[k-1], m.At[k]
		length := math.Hypot(b.X-a.X, b.Y-a.Y)
		if length == 0 {
			continue
		}
		along := func(d float64) Point {
			return Point{a.X + float64((b.X-a.X)*d/length), a.Y + float64((b.Y-a.Y)*d/length)}
		}
		// The dash pattern continues around corners, so its state outlives a segment.
		for at := 0.0; at < length; {
			step := min(left, length-at)
			if !gap {
				all = append(all, segmentPolygon(along(at), along(at+step), m.Stroke, pattern == nil))
			}
			at += step
			if left -= step; left <= 0 {
				i = (i + 1) % len(pattern)
				left, gap = pattern[i], i%2 == 1
			}
		}
	}
	return all
}

// segmentPolygon returns the rectangle of a straight stroke, width pixels wide; with longer set it
// extends beyond both ends by half the width.
func segmentPolygon(a, b Point, width float64, longer bool) []Point {
	length := math.Hypot(b.X-a.X, b.Y-a.Y)
	if length == 0 {
		return nil
	}
	// The vector along the stroke, half as long as the stroke is wide.
	x, y := (b.X-a.X)/length*width/2, (b.Y-a.Y)/length*width/2
	if longer {
		a, b = Point{a.X - x, a.Y - y}, Point{b.X + x, b.Y + y}
	}
	return []Point{{a.X - y, a.Y + x}, {b.X - y, b.Y + x}, {b.X + y, b.Y - x}, {a.X + y, a.Y - x}}
}

// drawText paints a text with its baseline at the mark's point. Anchor is the part of the text's
// width that lies to the left of the point: 0, 0.5 or 1.
func (m Mark) drawText(im *image.RGBA) error {
	face, err := opentype.NewFace(fonts[m.Bold], &opentype.FaceOptions{Size: m.Size * pixelScale, DPI: 72})
	if err != nil {
		return fmt.Errorf("chart: font of %v pixels: %w", m.Size, err)
	}
	defer face.Close()
	text := legibleText(m.Text)
	at := func(v float64) fixed.Int26_6 { return fixed.Int26_6(math.Round(v * 64)) }
	pen := font.Drawer{Dst: im, Src: image.NewUniform(m.Ink.lightColor(false)), Face: face}
	pen.Dot = fixed.Point26_6{
		X: at(m.At[0].X*pixelScale) - at(float64(pen.MeasureString(text))/64*m.Anchor),
		Y: at(m.At[0].Y * pixelScale),
	}
	pen.DrawString(text)
	return nil
}
