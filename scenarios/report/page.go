package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/gridbid/gridbid/explain/chart"
	"github.com/gridbid/gridbid/history"
)

//go:embed page.html.tmpl
var pageSource string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// A section is a group of charts under a heading.
// The indices of figures follow the order of charts: price, carbon, busy by policy, totals.
type section struct {
	Title, Words string
	Charts       []figure
}

type figure struct {
	SVG  template.HTML // trusted: chart.Scene escapes all texts
	Name string
}

type cell struct {
	Head, Unit, Text string
	Best             bool
}

// page writes the report of d as one self-contained HTML file.
func page(w io.Writer, d Day, all []chartFile) error {
	figures := make([]figure, len(all))
	for i, c := range all {
		figures[i] = figure{template.HTML(c.scene.Inline()), c.name}
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
	totals := make([]history.Totals, len(d.Policies))
	for i, p := range d.Policies {
		totals[i] = p.Totals
	}
	for _, c := range columns {
		for i, mark := range c.marks(totals) {
			rows[i] = append(rows[i], cell{c.head, c.unit, c.show(c.of(totals[i])), mark == "*"})
		}
	}
	return pageTemplate.Execute(w, map[string]any{
		"Day": d, "Compared": Compared(d), "Sections": sections, "Rows": rows, "Style": template.CSS(inks() + pageStyle),
		"From": d.Start.Go().Format("2 January 2006 15:04"), "To": d.End.Go().Format("2 January 2006 15:04"),
	})
}

// inks returns the colours of charts and page as CSS variables, for light and dark mode.
func inks() string {
	return fmt.Sprintf(":root{color-scheme:light dark;%s}\n@media screen and (prefers-color-scheme:dark){:root{%s}}\n%s",
		chart.Variables(false), chart.Variables(true), chart.Style())
}
