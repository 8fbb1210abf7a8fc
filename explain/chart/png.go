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

// sharpness is how many pixels of a PNG are one of a scene, each way.
const sharpness = 2

// PNG returns the scene as a picture on light paper, twice as large as its
// SVG, for screens that are that sharp.
func (s Scene) PNG() ([]byte, error) {
	im, err := s.Image()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := png.Encode(&out, im); err != nil {
		return nil, fmt.Errorf("scene: write a picture: %w", err)
	}
	return out.Bytes(), nil
}

// Image returns what PNG holds.
func (s Scene) Image() (*image.RGBA, error) {
	w, h := int(math.Ceil(s.W*sharpness)), int(math.Ceil(s.H*sharpness))
	if w < 1 || h < 1 || w > 8192 || h > 16384 {
		return nil, fmt.Errorf("scene: a picture of %d by %d pixels: want 1 to 8192 by 1 to 16384", w, h)
	}
	im := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(im, im.Bounds(), image.NewUniform(Paper.light(false)), image.Point{}, draw.Src)
	for _, m := range s.Marks {
		switch {
		case m.Ink == None:
		case m.Text != "":
			if err := m.write(im); err != nil {
				return nil, err
			}
		case m.Stroke > 0:
			for _, leg := range m.legs() {
				fill(im, leg, m.Ink.light(false))
			}
		default:
			fill(im, m.At, m.Ink.light(m.Faint))
		}
	}
	return im, nil
}

// fill paints the inside of a polygon, of whose bounds only is looked at.
func fill(im *image.RGBA, at []Point, c color.NRGBA) {
	if len(at) < 3 {
		return
	}
	lowX, lowY, highX, highY := at[0].X, at[0].Y, at[0].X, at[0].Y
	for _, p := range at {
		lowX, highX = min(lowX, p.X), max(highX, p.X)
		lowY, highY = min(lowY, p.Y), max(highY, p.Y)
	}
	area := image.Rect(int(math.Floor(lowX*sharpness)), int(math.Floor(lowY*sharpness)),
		int(math.Ceil(highX*sharpness)), int(math.Ceil(highY*sharpness))).Intersect(im.Bounds())
	if area.Empty() {
		return
	}
	r := vector.NewRasterizer(area.Dx(), area.Dy())
	place := func(p Point) (float32, float32) {
		return float32(float64(p.X*sharpness) - float64(area.Min.X)), float32(float64(p.Y*sharpness) - float64(area.Min.Y))
	}
	r.MoveTo(place(at[0]))
	for _, p := range at[1:] {
		r.LineTo(place(p))
	}
	r.ClosePath()
	r.Draw(im, area, image.NewUniform(c), image.Point{})
}

// legs returns a stroke as rectangles, one for each part of its line that is
// painted, lengthened by half of its width so that corners close.
func (m Mark) legs() (all [][]Point) {
	pattern, gap, left, i := dashes[m.Dash%len(dashes)], false, math.Inf(1), 0
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
		for at := 0.0; at < length; {
			step := min(left, length-at)
			if !gap {
				all = append(all, leg(along(at), along(at+step), m.Stroke, pattern == nil))
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

func leg(a, b Point, width float64, longer bool) []Point {
	length := math.Hypot(b.X-a.X, b.Y-a.Y)
	if length == 0 {
		return nil
	}
	x, y := (b.X-a.X)/length*width/2, (b.Y-a.Y)/length*width/2
	if longer {
		a, b = Point{a.X - x, a.Y - y}, Point{b.X + x, b.Y + y}
	}
	return []Point{{a.X - y, a.Y + x}, {b.X - y, b.Y + x}, {b.X + y, b.Y - x}, {a.X + y, a.Y - x}}
}

// write paints a text.
func (m Mark) write(im *image.RGBA) error {
	face, err := opentype.NewFace(letters(m.Bold), &opentype.FaceOptions{Size: m.Size * sharpness, DPI: 72})
	if err != nil {
		return fmt.Errorf("scene: letters of %v pixels: %w", m.Size, err)
	}
	defer face.Close()
	text := clean(m.Text)
	at := func(v float64) fixed.Int26_6 { return fixed.Int26_6(math.Round(v * 64)) }
	pen := font.Drawer{Dst: im, Src: image.NewUniform(m.Ink.light(false)), Face: face}
	pen.Dot = fixed.Point26_6{
		X: at(m.At[0].X*sharpness) - at(float64(pen.MeasureString(text))/64*m.Anchor),
		Y: at(m.At[0].Y * sharpness),
	}
	pen.DrawString(text)
	return nil
}
