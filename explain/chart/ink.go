package chart

import (
	"fmt"
	"image/color"
	"math"
	"strings"
)

// An InkColor is a colour by purpose, so that dark mode can map it to another shade.
type InkColor int

// Inks. Series+0, Series+1... distinguish the parts of a chart.
const (
	InkPaper InkColor = iota
	InkText
	InkMuted
	InkGrid
	InkNone // invisible, but with a tooltip
	InkSeries
)

// A colorPair is a colour in light mode and in dark mode, as "#rrggbb".
type colorPair struct{ light, dark string }

// plainColors are those of InkPaper, InkText, InkMuted and InkGrid, in this order.
var plainColors = []colorPair{
	{"#ffffff", "#171a1f"},
	{"#1b1f24", "#e8eaed"},
	{"#5a626c", "#a3abb5"},
	{"#e1e4e8", "#343a42"},
}

// seriesColors are distinguishable with red-green colour blindness and have a
// contrast of at least 3 to 1 with the background. Lines differ by dashes, too.
var seriesColors = []colorPair{
	{"#0067a5", "#4fa8e8"}, // blue
	{"#c45500", "#f39150"}, // vermilion
	{"#007a5a", "#38c79b"}, // green
	{"#a0468c", "#e196cc"}, // purple
	{"#927000", "#ddb73f"}, // gold
	{"#3a8fc7", "#9ad5f8"}, // sky
	{"#6a7078", "#b4bac2"}, // grey
	{"#8c1d2f", "#ec8391"}, // wine
}

// dashPatterns distinguishes pairs of lines whose colours look alike to some readers.
var dashPatterns = [][]float64{nil, nil, {7, 4}, {7, 4}, {2.5, 2.5}, {2.5, 2.5}, {10, 3, 2, 3}, {10, 3, 2, 3}}

// inkNames are the CSS class and variable names of the plain inks.
var inkNames = []string{"paper", "text", "muted", "grid", "none"}

// SeriesInk returns the ink of the i-th part of a chart.
func SeriesInk(i int) InkColor { return InkSeries + InkColor(i%len(seriesColors)) }

// className returns the ink's CSS name.
func (i InkColor) className() string {
	if i >= InkSeries {
		return fmt.Sprintf("s%d", int(i-InkSeries)%len(seriesColors))
	}
	return inkNames[i]
}

// colorPairOf returns the ink's colours.
func (i InkColor) colorPairOf() colorPair {
	if i >= InkSeries {
		return seriesColors[int(i-InkSeries)%len(seriesColors)]
	}
	return plainColors[i]
}

// lightColor returns the ink's shade in light mode.
func (i InkColor) lightColor(faint bool) color.NRGBA {
	c := color.NRGBA{A: 255}
	if faint {
		c.A = faintAlpha
	}
	fmt.Sscanf(i.colorPairOf().light, "#%02x%02x%02x", &c.R, &c.G, &c.B)
	return c
}

// faintAlpha is the opacity of a faint mark, of 255.
const faintAlpha = 36

// allInks returns all visible inks.
func allInks() (all []InkColor) {
	for i := range plainColors {
		all = append(all, InkColor(i))
	}
	for i := range seriesColors {
		all = append(all, SeriesInk(i))
	}
	return all
}

// CSSVariables returns the inks as CSS variables, for light or dark mode.
func CSSVariables(dark bool) string {
	var b strings.Builder
	for _, i := range allInks() {
		c := i.colorPairOf().light
		if dark {
			c = i.colorPairOf().dark
		}
		fmt.Fprintf(&b, "--%s:%s;", i.className(), c)
	}
	return b.String()
}

// InlineCSS returns the CSS that an inline layout needs besides CSSVariables.
func InlineCSS() string {
	var b strings.Builder
	for _, i := range allInks() {
		fmt.Fprintf(&b, ".chart .f-%s{fill:var(--%s)}.chart .l-%s{stroke:var(--%s)}\n", i.className(), i.className(), i.className(), i.className())
	}
	return b.String() + fmt.Sprintf(".chart .f-none{fill:transparent}\n.chart .faint{fill-opacity:%.3f}\n.chart polyline{fill:none;stroke-linejoin:round}\n"+
		".chart text{font-family:%s}\n", float64(faintAlpha)/255, fontFamily)
}

// fontFamily lists fonts with the same letter widths as the embedded one, with which
// scenes are laid out.
const fontFamily = `"Liberation Sans",Arial,Helvetica,sans-serif`

// ContrastRatio returns the contrast ratio of two colours such as "#1b1f24", from 1 to 21
// (WCAG 2.2, "contrast ratio").
func ContrastRatio(a, b string) float64 {
	x, y := relativeLuminance(a), relativeLuminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// relativeLuminance returns the relative luminance of a colour (WCAG 2.2, "relative luminance").
func relativeLuminance(hex string) float64 {
	var c [3]uint8
	fmt.Sscanf(hex, "#%02x%02x%02x", &c[0], &c[1], &c[2])
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := float64(c[i]) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += float64(weight * v)
	}
	return sum
}
