package chart

import (
	"strings"

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

// fallbackShare is how much of a line a caption may fill by the widths of the embedded fonts. Browsers
// of machines without them, Arial or Helvetica draw in DejaVu Sans, which is up to a sixth wider.
const fallbackShare = 6. / 7

// fonts are the bold font and the regular one, embedded, so that texts have the same widths on every
// machine.
var fonts = map[bool]*opentype.Font{true: mustParseFont(liberationsansbold.TTF), false: mustParseFont(liberationsansregular.TTF)}

// mustParseFont parses an embedded font; a failure is a defect of the build.
func mustParseFont(ttf []byte) *opentype.Font {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic("chart: parse an embedded font: " + err.Error())
	}
	return f
}

// textWidth returns the width of a text in pixels, at a font size in pixels. Advances are summed
// as integers of 1/64 per 1000 units, so that the result does not depend on rounding.
func textWidth(s string, size float64, isBold bool) float64 {
	var buf sfnt.Buffer
	f, sum := fonts[isBold], 0
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

// wrapToWidth breaks a text into lines of at most a width: between words, or within one that
// alone is wider. There is at least one line, perhaps empty.
func wrapToWidth(s string, size, most float64, isBold bool) (lines []string) {
	r := []rune(s)
	line := ""
	for _, word := range strings.Fields(string(r[:min(len(r), 400)])) { // bounds the work for very long texts
		if line != "" && textWidth(line+" "+word, size, isBold) <= most {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for textWidth(word, size, isBold) > most && len([]rune(word)) > 1 {
			n := len([]rune(truncateToWidth(word, size, most, isBold))) - 1
			n = max(n, 1)
			lines, word = append(lines, string([]rune(word)[:n])), string([]rune(word)[n:])
		}
		line = word
	}
	return append(lines, line)
}
