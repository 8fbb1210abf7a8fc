package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"regexp"
	"strings"

	"github.com/gridbid/gridbid/coordinator/record"
)

//go:embed page.html.tmpl
var pageSource string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// A section is a group of charts under a heading.
type section struct {
	Title, Words string
	Charts       []figure
}

type figure struct {
	SVG  template.HTML // made by svg from escaped text alone
	Name string
}

type cell struct {
	Head, Unit, Text string
	Best             bool
}

// page writes the whole of d as one HTML file.
func page(w io.Writer, d Day, all []chart) error {
	figures := make([]figure, len(all))
	for i, c := range all {
		raw, err := c.svg()
		if err != nil {
			return err
		}
		figures[i] = figure{inline(c, raw), c.name}
	}
	n := 2 + len(d.Policies)
	sections := []section{
		{"Policies compared", "Each bar is one policy over the whole day; shorter is better.", figures[n:]},
		{"Where and when jobs ran", "All policies share one scale.", figures[2:n]},
		{"What the grids did", "The values that jobs were billed at. Decisions were made on what was published or forecast at the time.", figures[:2]},
	}
	if len(d.Policies) == 0 {
		sections = sections[2:]
	}
	var rows [][]cell
	columns := append(append([]column(nil), cost...), jobs...)
	for range d.Policies {
		rows = append(rows, nil)
	}
	totals := make([]record.Totals, len(d.Policies))
	for i, p := range d.Policies {
		totals[i] = p.Totals
	}
	for _, c := range columns {
		for i, mark := range c.marks(totals) {
			rows[i] = append(rows[i], cell{c.head, c.unit, c.show(c.of(totals[i])), mark == "*"})
		}
	}
	return pageTemplate.Execute(w, map[string]any{
		"Day": d, "Compared": Compared(d), "Sections": sections, "Rows": rows, "Style": template.CSS(variables() + pageStyle),
		"From": d.Start.Go().Format("2 January 2006 15:04"), "To": d.End.Go().Format("2 January 2006 15:04"),
	})
}

var outer = regexp.MustCompile(`(?s)^.*?<svg [^>]*viewBox="([^"]*)"[^>]*>`)

// inline returns a chart's SVG for the page: without its own prologue, named
// for those who do not see it, and in the page's colours, light or dark.
func inline(c chart, raw []byte) template.HTML {
	size := outer.FindSubmatch(raw)
	if size == nil {
		return ""
	}
	head := fmt.Sprintf(`<svg viewBox="%s" role="img" aria-label="%s">`, size[1], html.EscapeString(c.label))
	s := head + string(raw[len(size[0]):])
	for name, shade := range variablesOf() {
		s = strings.ReplaceAll(s, ":"+shade.light, ":var(--"+name+")")
	}
	return template.HTML(s)
}

// variablesOf names each shade of a chart.
func variablesOf() map[string]shade {
	all := map[string]shade{"paper": paper, "ink": ink, "muted": muted, "faint": faint}
	for i, s := range series {
		all[fmt.Sprintf("s%d", i)] = s
	}
	return all
}

// variables returns the shades as CSS, for light and dark.
func variables() string {
	var light, dark bytes.Buffer
	add := func(name string, s shade) {
		fmt.Fprintf(&light, "--%s:%s;", name, s.light)
		fmt.Fprintf(&dark, "--%s:%s;", name, s.dark)
	}
	add("paper", paper)
	add("ink", ink)
	add("muted", muted)
	add("faint", faint)
	for i, s := range series {
		add(fmt.Sprintf("s%d", i), s)
	}
	return fmt.Sprintf(":root{color-scheme:light dark;%s}\n@media screen and (prefers-color-scheme:dark){:root{%s}}\n", light.String(), dark.String())
}
