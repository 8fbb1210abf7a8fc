package chart

import (
	"fmt"
	"image/color"
	"math"
	"strings"
)

// An Ink is a colour by what it is for, so that it can be another one on dark
// paper.
type Ink int

// Inks. From Series on they tell parts of a chart apart: Series+0, Series+1...
const (
	Paper Ink = iota
	Text
	Muted
	Grid
	None // nothing is painted, and the mark can still be asked
	Series
)

// A shade is a colour on light paper and its twin on dark.
type shade struct{ light, dark string }

var plainShades = []shade{
	{"#ffffff", "#171a1f"},
	{"#1b1f24", "#e8eaed"},
	{"#5a626c", "#a3abb5"},
	{"#e1e4e8", "#343a42"},
}

// seriesShades are told apart by people who do not see red and green as two,
// have a contrast of at least 3 to 1 with the paper, and are told apart by
// dashes too where they are lines.
var seriesShades = []shade{
	{"#0067a5", "#4fa8e8"}, // blue
	{"#c45500", "#f39150"}, // vermilion
	{"#007a5a", "#38c79b"}, // green
	{"#a0468c", "#e196cc"}, // purple
	{"#927000", "#ddb73f"}, // gold
	{"#3a8fc7", "#9ad5f8"}, // sky
	{"#6a7078", "#b4bac2"}, // grey
	{"#8c1d2f", "#ec8391"}, // wine
}

// dashes part those pairs of lines whose colours some eyes see as one.
var dashes = [][]float64{nil, nil, {7, 4}, {7, 4}, {2.5, 2.5}, {2.5, 2.5}, {10, 3, 2, 3}, {10, 3, 2, 3}}

// names are the classes of inks in SVG, and of their variables in a page.
var names = []string{"paper", "text", "muted", "grid", "none"}

// Nth returns the ink of the i-th part of a chart.
func Nth(i int) Ink { return Series + Ink(i%len(seriesShades)) }

func (i Ink) name() string {
	if i >= Series {
		return fmt.Sprintf("s%d", int(i-Series)%len(seriesShades))
	}
	return names[i]
}

func (i Ink) shade() shade {
	if i >= Series {
		return seriesShades[int(i-Series)%len(seriesShades)]
	}
	return plainShades[i]
}

// light returns the ink on light paper.
func (i Ink) light(faint bool) color.NRGBA {
	c := color.NRGBA{A: 255}
	if faint {
		c.A = faintness
	}
	fmt.Sscanf(i.shade().light, "#%02x%02x%02x", &c.R, &c.G, &c.B)
	return c
}

// faintness is how opaque a faint mark is, of 255.
const faintness = 36

// inks are all that are painted.
func inks() (all []Ink) {
	for i := range plainShades {
		all = append(all, Ink(i))
	}
	for i := range seriesShades {
		all = append(all, Nth(i))
	}
	return all
}

// Variables returns the inks as CSS variables, on light paper or on dark.
func Variables(dark bool) string {
	var b strings.Builder
	for _, i := range inks() {
		c := i.shade().light
		if dark {
			c = i.shade().dark
		}
		fmt.Fprintf(&b, "--%s:%s;", i.name(), c)
	}
	return b.String()
}

// Style returns the CSS that an inline scene needs beside Variables.
func Style() string {
	var b strings.Builder
	for _, i := range inks() {
		fmt.Fprintf(&b, ".chart .f-%s{fill:var(--%s)}.chart .l-%s{stroke:var(--%s)}\n", i.name(), i.name(), i.name(), i.name())
	}
	return b.String() + fmt.Sprintf(".chart .f-none{fill:transparent}\n.chart .faint{fill-opacity:%.3f}\n.chart polyline{fill:none;stroke-linejoin:round}\n"+
		".chart text{font-family:%s}\n", float64(faintness)/255, family)
}

// family names fonts whose letters are as wide as those that a scene was laid
// out with.
const family = `"Liberation Sans",Arial,Helvetica,sans-serif`

// Contrast returns how two colours such as "#1b1f24" differ in brightness, from
// 1 to 21 (WCAG 2.2, "contrast ratio").
func Contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is WCAG 2.2's "relative luminance".
func luminance(hex string) float64 {
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
