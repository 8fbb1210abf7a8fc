package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/chart"
)

//go:embed page.html.tmpl
var pageSource string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// A pageSection is a group of charts under a heading.
type pageSection struct {
	Title, Words string
	Charts       []pageFigure
}

// A pageFigure is a chart on the page.
type pageFigure struct {
	SVG  template.HTML // trusted: chart.Layout escapes all texts
	Name string
}

// A tableCell is one value in the page's table.
type tableCell struct {
	Head, Unit, Text string
	Best             bool
}

// A pageTable is one block of the comparison on the page.
type pageTable struct {
	Title string
	Rows  [][]tableCell // by policy
}

// pageTableOf returns a block as a table of the page.
func pageTableOf(block tableBlock, all []history.Totals) pageTable {
	t := pageTable{Title: block.title, Rows: make([][]tableCell, len(all))}
	for _, c := range block.columns {
		for i, mark := range c.markBest(all) {
			t.Rows[i] = append(t.Rows[i], tableCell{c.head, c.unit, c.show(c.value(all[i])), mark == "*"})
		}
	}
	return t
}

// writePage writes the report of d as one self-contained HTML file.
func writePage(w io.Writer, d ReplayReport, all []chartFile) error {
	figures := make([]pageFigure, len(all))
	for i, c := range all {
		figures[i] = pageFigure{template.HTML(c.layout.InlineSVG()), c.name}
	}
	// The indices follow the order of charts: price, carbon, busy by policy, totals.
	n := 2 + len(d.Policies)
	sections := []pageSection{
		{"Policies compared", "Each bar is one policy over the whole day; shorter is better.", figures[n:]},
		{"Where and when jobs ran", "All policies share one scale.", figures[2:n]},
		{"What the grids did", "The values that jobs were billed at. Decisions were made on what was published or forecast at the time.", figures[:2]},
	}
	if len(d.Policies) == 0 {
		// Without policies only the grids can be shown.
		sections = sections[2:]
	}
	totals := make([]history.Totals, len(d.Policies))
	for i, p := range d.Policies {
		totals[i] = p.Totals
	}
	var tables []pageTable
	for _, block := range tableBlocks {
		if len(totals) > 0 {
			tables = append(tables, pageTableOf(block, totals))
		}
	}
	return pageTemplate.Execute(w, map[string]any{
		"Day": d, "Compared": ComparisonText(d), "Gain": gainOf(totals), "Sections": sections, "Tables": tables, "Several": len(totals) > 1, "Style": template.CSS(cssColors() + pageStyle),
		"From": d.Start.StdTime().Format("2 January 2006 15:04"), "To": d.End.StdTime().Format("2 January 2006 15:04"),
	})
}

// cssColors returns the colours of charts and page as CSS variables, for light and dark mode.
func cssColors() string {
	return fmt.Sprintf(":root{color-scheme:light dark;%s}\n@media screen and (prefers-color-scheme:dark){:root{%s}}\n%s",
		chart.CSSVariables(false), chart.CSSVariables(true), chart.InlineCSS())
}
