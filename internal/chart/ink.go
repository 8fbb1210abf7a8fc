package chart

import (
	"fmt"
	"image/color"
	"strings"
)

// An InkColor is a colour by purpose, so that dark mode can map it to another shade.
type InkColor int

// Inks. A hue means a site: SeriesInk. Everything else that has parts, such as the causes of
// a cost, has the shades of PartInk.
const (
	InkPaper InkColor = iota
	InkText
	InkMuted
	InkGrid
	InkNone // invisible, but with a tooltip
	InkSeries
	inkParts = InkSeries + 8 // after the series
)

// inkShades are the inks in the order of their numbers, each with the name of its CSS class and
// variable and its colours in light mode and in dark mode.
var inkShades = []struct{ name, light, dark string }{
	{"paper", "#ffffff", "#171a1f"},
	{"text", "#1b1f24", "#e8eaed"},
	{"muted", "#5a626c", "#a3abb5"},
	{"grid", "#e1e4e8", "#343a42"},
	{name: "none"},
	// Series are distinguishable with red-green colour blindness and have a contrast of at least 3
	// to 1 with the background. Lines differ by dashes, too.
	{"s0", "#0067a5", "#4fa8e8"}, // blue
	{"s1", "#c45500", "#f39150"}, // vermilion
	{"s2", "#007a5a", "#38c79b"}, // green
	{"s3", "#a0468c", "#e196cc"}, // purple
	{"s4", "#927000", "#ddb73f"}, // gold
	{"s5", "#3a8fc7", "#9ad5f8"}, // sky
	{"s6", "#6a7078", "#b4bac2"}, // grey
	{"s7", "#6b4423", "#c9a183"}, // brown
	// Parts are shades of violet, which no site has. Neighbours differ in lightness, as parts are
	// stacked in this order.
	{"p0", "#2f2570", "#cfc6ff"},
	{"p1", "#8c82cf", "#7d70d6"},
	{"p2", "#5a4fae", "#a99df0"},
	{"p3", "#1a1440", "#efeaff"},
	{"p4", "#9384a3", "#93839f"},
	{"p5", "#7a5aa0", "#c4b4d6"},
	{"p6", "#453a55", "#81728f"},
}

// dashPatterns distinguishes pairs of lines whose colours look alike to some readers: one for each
// series.
var dashPatterns = [inkParts - InkSeries][]float64{nil, nil, {7, 4}, {7, 4}, {2.5, 2.5}, {2.5, 2.5}, {10, 3, 2, 3}, {10, 3, 2, 3}}

// SeriesInk returns the ink of the i-th site, in the order of their names.
func SeriesInk(i int) InkColor { return InkSeries + InkColor(i)%(inkParts-InkSeries) }

// PartInk returns the ink of the i-th part of what is no site: a cause of cost, a state.
func PartInk(i int) InkColor { return inkParts + InkColor(i%len(inkShades[inkParts:])) }

// dash returns the dash pattern of lines in the ink. Parts have the patterns of the series anew.
func (i InkColor) dash() int { return max(0, int(i-InkSeries)) % len(dashPatterns) }

// className returns the ink's CSS name.
func (i InkColor) className() string { return inkShades[i].name }

// lightColor returns the ink's shade in light mode.
func (i InkColor) lightColor(faint bool) color.NRGBA {
	c := color.NRGBA{A: 255}
	if faint {
		c.A = faintAlpha
	}
	fmt.Sscanf(inkShades[i].light, "#%02x%02x%02x", &c.R, &c.G, &c.B)
	return c
}

// faintAlpha is the opacity of a faint mark, of 255.
const faintAlpha = 36

// CSSVariables returns the visible inks as CSS variables, for light or dark mode.
func CSSVariables(dark bool) string {
	var b strings.Builder
	for _, s := range inkShades {
		c := s.light
		if dark {
			c = s.dark
		}
		if c != "" {
			fmt.Fprintf(&b, "--%s:%s;", s.name, c)
		}
	}
	return b.String()
}

// InlineCSS returns the CSS that an inline layout needs besides CSSVariables.
func InlineCSS() string {
	var b strings.Builder
	for _, s := range inkShades {
		if s.light != "" {
			fmt.Fprintf(&b, ".chart .f-%[1]s{fill:var(--%[1]s)}.chart .l-%[1]s{stroke:var(--%[1]s)}\n", s.name)
		}
	}
	return b.String() + fmt.Sprintf(".chart .f-none{fill:transparent}\n.chart .faint{fill-opacity:%.3f}\n.chart polyline{fill:none;stroke-linejoin:round}\n"+
		".chart text{font-family:%s}\n", float64(faintAlpha)/255, fontFamily)
}

// fontFamily lists fonts with the same letter widths as the embedded one, with which
// scenes are laid out.
const fontFamily = `"Liberation Sans",Arial,Helvetica,sans-serif`
