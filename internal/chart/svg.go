package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/gridbid/gridbid/internal/format"
)

// EncodeSVG returns the layout as a standalone file that follows the reader's light or dark
// mode.
func (s Layout) EncodeSVG() []byte {
	style := fmt.Sprintf("<style>.chart{%s}\n@media (prefers-color-scheme:dark){.chart{%s}}\n%s</style>", CSSVariables(false), CSSVariables(true), InlineCSS())
	return s.writeSVG(` xmlns="http://www.w3.org/2000/svg" width="`+formatLength(s.W)+`" height="`+formatLength(s.H)+`"`, style)
}

// InlineSVG returns the layout for a page whose CSS contains CSSVariables and InlineCSS.
func (s Layout) InlineSVG() []byte { return s.writeSVG("", "") }

// writeSVG writes the layout with additional attributes and a style.
func (s Layout) writeSVG(head, style string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %s %s" role="img" aria-label="%s"%s>%s`+"\n", formatLength(s.W), formatLength(s.H), escapeXML(s.Label), head, style)
	for _, m := range s.Marks {
		m.writeSVG(&b)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// writeSVG writes one mark as an SVG element.
func (m Mark) writeSVG(b *bytes.Buffer) {
	tip, ref := "", ""
	if m.Ref != "" {
		ref = ` data-ref="` + escapeXML(m.Ref) + `"`
	}
	if m.Tip != "" {
		tip = "<title>" + escapeXML(m.Tip) + "</title>"
	}
	switch {
	case m.Text != "":
		fmt.Fprintf(b, `<text class="f-%s" x="%s" y="%s" font-size="%s"`, m.Ink.className(), formatLength(m.At[0].X), formatLength(m.At[0].Y), formatLength(m.Size))
		if m.Bold {
			b.WriteString(` font-weight="700"`)
		}
		if m.Anchor > 0 {
			fmt.Fprintf(b, ` text-anchor="%s"`, map[bool]string{true: "end", false: "middle"}[m.Anchor == 1])
		}
		fmt.Fprintf(b, "%s>%s%s</text>\n", ref, escapeXML(m.Text), tip)
	case m.Stroke > 0:
		fmt.Fprintf(b, `<polyline class="l-%s" stroke-width="%s"`, m.Ink.className(), formatLength(m.Stroke))
		if d := dashPatterns[m.Dash%len(dashPatterns)]; d != nil {
			b.WriteString(` stroke-dasharray="` + strings.Trim(strings.ReplaceAll(fmt.Sprint(d), " ", ","), "[]") + `"`)
		}
		fmt.Fprintf(b, ` points="%s">%s</polyline>`+"\n", pointList(m.At), tip)
	default:
		class := "f-" + m.Ink.className()
		if m.Faint {
			class += " faint"
		}
		if x, y, w, h, ok := m.asRectangle(); ok {
			fmt.Fprintf(b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"%s>%s</rect>`+"\n", class, formatLength(x), formatLength(y), formatLength(w), formatLength(h), ref, tip)
			return
		}
		fmt.Fprintf(b, `<polygon class="%s" points="%s">%s</polygon>`+"\n", class, pointList(m.At), tip)
	}
}

// asRectangle returns the mark as an upright rectangle, if it is one.
func (m Mark) asRectangle() (x, y, w, h float64, ok bool) {
	if len(m.At) != 4 || m.At[0].X != m.At[3].X || m.At[1].X != m.At[2].X || m.At[0].Y != m.At[1].Y || m.At[2].Y != m.At[3].Y {
		return 0, 0, 0, 0, false
	}
	return m.At[0].X, m.At[0].Y, m.At[1].X - m.At[0].X, m.At[2].Y - m.At[0].Y, true
}

// pointList formats the points of a line or polygon.
func pointList(at []Point) string {
	var all []string
	for _, p := range at {
		all = append(all, formatLength(p.X)+","+formatLength(p.Y))
	}
	return strings.Join(all, " ")
}

// formatLength formats a length with at most two decimals.
func formatLength(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// escapeXML returns external text escaped for XML.
func escapeXML(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(legibleText(s))) // a bytes.Buffer never returns an error
	return b.String()
}

// legibleText replaces characters of external text that must not be shown.
func legibleText(s string) string { return strings.Map(format.LegibleRune, s) }
