package chart

import (
	"bytes"
	"fmt"
	"math"

	"git.sr.ht/~sbinet/gg"
	"golang.org/x/image/font/opentype"
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
	picture := gg.NewContext(w, h)
	picture.SetLineCapSquare()
	picture.SetColor(InkPaper.lightColor(false))
	picture.Clear()
	for _, m := range s.Marks {
		if err := m.paint(picture); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	if err := picture.EncodePNG(&out); err != nil {
		return nil, fmt.Errorf("chart: encode PNG: %w", err)
	}
	return out.Bytes(), nil
}

// paint adds the mark to a picture.
func (m Mark) paint(picture *gg.Context) error {
	if m.Ink == InkNone {
		return nil
	}
	picture.SetColor(m.Ink.lightColor(m.Faint))
	if m.Text != "" {
		face, err := opentype.NewFace(fonts[m.Bold], &opentype.FaceOptions{Size: m.Size * pixelScale, DPI: 72})
		if err != nil {
			return fmt.Errorf("chart: font of %v pixels: %w", m.Size, err)
		}
		defer face.Close()
		picture.SetFontFace(face)
		picture.DrawStringAnchored(legibleText(m.Text), m.At[0].X*pixelScale, m.At[0].Y*pixelScale, m.Anchor, 0)
		return nil
	}
	for _, p := range m.At {
		picture.LineTo(p.X*pixelScale, p.Y*pixelScale)
	}
	if m.Stroke == 0 {
		picture.Fill()
		return nil
	}
	var dashes []float64
	for _, d := range dashPatterns[m.Dash%len(dashPatterns)] {
		dashes = append(dashes, d*pixelScale)
	}
	picture.SetDash(dashes...)
	picture.SetLineWidth(m.Stroke * pixelScale)
	picture.Stroke()
	return nil
}
