package chart

import (
	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Font sizes in pixels.
const (
	smallFontSize = 11.5
	largeFontSize = 14
)

// regularFont and boldFont are embedded, so that texts have the same widths on every machine.
var regularFont, boldFont = mustParseFont(liberationsansregular.TTF), mustParseFont(liberationsansbold.TTF)

// mustParseFont parses an embedded font; a failure is a defect of the build.
func mustParseFont(ttf []byte) *opentype.Font {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic("chart: parse an embedded font: " + err.Error())
	}
	return f
}

// fontOf returns the font of a style.
func fontOf(isBold bool) *opentype.Font {
	if isBold {
		return boldFont
	}
	return regularFont
}

// textWidth returns the width of a text in pixels, at a font size in pixels. Advances are summed
// as integers of 1/64 per 1000 units, so that the result does not depend on rounding.
func textWidth(s string, size float64, isBold bool) float64 {
	var buf sfnt.Buffer
	f, sum := fontOf(isBold), 0
	for _, c := range legibleText(s) {
		i, err := f.GlyphIndex(&buf, c)
		if err != nil {
			continue // characters without a glyph have no width
		}
		if a, err := f.GlyphAdvance(&buf, i, fixed.I(1000), font.HintingNone); err == nil {
			sum += int(a)
		}
	}
	return float64(sum) / 64 / 1000 * size
}

// truncateToWidth shortens a text to a width, with an ellipsis.
func truncateToWidth(s string, size, most float64, isBold bool) string {
	if textWidth(s, size, isBold) <= most {
		return s
	}
	r := []rune(s)
	r = r[:min(len(r), 400)] // bounds the work for very long texts
	for len(r) > 0 && textWidth(string(r)+"…", size, isBold) > most {
		r = r[:len(r)-1]
	}
	return string(r) + "…"
}
