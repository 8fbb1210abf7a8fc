package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/gridbid/gridbid/explain/format"
)

// SVG returns the scene as a file of its own, light or dark as its reader is.
func (s Scene) SVG() []byte {
	style := fmt.Sprintf("<style>.chart{%s}\n@media (prefers-color-scheme:dark){.chart{%s}}\n%s</style>", Variables(false), Variables(true), Style())
	return s.svg(` xmlns="http://www.w3.org/2000/svg" width="`+num(s.W)+`" height="`+num(s.H)+`"`, style)
}

// Inline returns the scene for a page that has Variables and Style in its CSS.
func (s Scene) Inline() []byte { return s.svg("", "") }

func (s Scene) svg(head, style string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %s %s" role="img" aria-label="%s"%s>%s`+"\n", num(s.W), num(s.H), escape(s.Label), head, style)
	for _, m := range s.Marks {
		m.svg(&b)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (m Mark) svg(b *bytes.Buffer) {
	tip := ""
	if m.Tip != "" {
		tip = "<title>" + escape(m.Tip) + "</title>"
	}
	switch {
	case m.Text != "":
		fmt.Fprintf(b, `<text class="f-%s" x="%s" y="%s" font-size="%s"`, m.Ink.name(), num(m.At[0].X), num(m.At[0].Y), num(m.Size))
		if m.Bold {
			b.WriteString(` font-weight="700"`)
		}
		if m.Anchor > 0 {
			fmt.Fprintf(b, ` text-anchor="%s"`, map[bool]string{true: "end", false: "middle"}[m.Anchor == 1])
		}
		fmt.Fprintf(b, ">%s%s</text>\n", escape(m.Text), tip)
	case m.Stroke > 0:
		fmt.Fprintf(b, `<polyline class="l-%s" stroke-width="%s"`, m.Ink.name(), num(m.Stroke))
		if d := dashes[m.Dash%len(dashes)]; d != nil {
			b.WriteString(` stroke-dasharray="` + strings.Trim(strings.ReplaceAll(fmt.Sprint(d), " ", ","), "[]") + `"`)
		}
		fmt.Fprintf(b, ` points="%s">%s</polyline>`+"\n", places(m.At), tip)
	default:
		class := "f-" + m.Ink.name()
		if m.Faint {
			class += " faint"
		}
		if x, y, w, h, ok := m.box(); ok {
			fmt.Fprintf(b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s">%s</rect>`+"\n", class, num(x), num(y), num(w), num(h), tip)
			return
		}
		fmt.Fprintf(b, `<polygon class="%s" points="%s">%s</polygon>`+"\n", class, places(m.At), tip)
	}
}

// box returns the mark as an upright rectangle, if it is one that Box made.
func (m Mark) box() (x, y, w, h float64, ok bool) {
	if len(m.At) != 4 || m.At[0].X != m.At[3].X || m.At[1].X != m.At[2].X || m.At[0].Y != m.At[1].Y || m.At[2].Y != m.At[3].Y {
		return 0, 0, 0, 0, false
	}
	return m.At[0].X, m.At[0].Y, m.At[1].X - m.At[0].X, m.At[2].Y - m.At[0].Y, true
}

func places(at []Point) string {
	var b strings.Builder
	for i, p := range at {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(num(p.X) + "," + num(p.Y))
	}
	return b.String()
}

// num prints a length in hundredths of a pixel.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// escape returns outside text for XML.
func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(clean(s))) // a buffer takes everything
	return b.String()
}

// clean returns outside text as it may be shown.
func clean(s string) string { return strings.Map(format.Legible, s) }
