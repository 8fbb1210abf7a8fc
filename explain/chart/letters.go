package chart

import (
	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Sizes of letters.
const (
	small = 11.5
	large = 14
)

var regular, bold = parsed(liberationsansregular.TTF), parsed(liberationsansbold.TTF)

func parsed(ttf []byte) *opentype.Font {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic("scene: a font in the binary cannot be read: " + err.Error())
	}
	return f
}

func letters(isBold bool) *opentype.Font {
	if isBold {
		return bold
	}
	return regular
}

// wide returns the width of a text.
func wide(s string, size float64, isBold bool) float64 {
	var buf sfnt.Buffer
	f, sum := letters(isBold), 0
	for _, c := range clean(s) {
		i, err := f.GlyphIndex(&buf, c)
		if err != nil {
			continue
		}
		if a, err := f.GlyphAdvance(&buf, i, fixed.I(1000), font.HintingNone); err == nil {
			sum += int(a)
		}
	}
	return float64(sum) / 64 / 1000 * size
}

// fit cuts a text to a width.
func fit(s string, size, most float64, isBold bool) string {
	if wide(s, size, isBold) <= most {
		return s
	}
	r := []rune(s)
	r = r[:min(len(r), 400)]
	for len(r) > 0 && wide(string(r)+"…", size, isBold) > most {
		r = r[:len(r)-1]
	}
	return string(r) + "…"
}
