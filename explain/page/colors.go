package page

import (
	"fmt"
	"strings"

	"github.com/gridbid/gridbid/explain/chart"
)

// A cssColor is a CSS variable, in light mode and in dark mode.
type cssColor struct{ name, light, dark string }

// pageColors are the page's own colours; charts have theirs.
var pageColors = []cssColor{
	{"desk", "#f3f5f6", "#0e1013"},
	{"line", "#dde1e6", "#2a2f36"},
	{"edge", "#7d8691", "#78828e"}, // borders of inputs and buttons
	{"link", "#0b5cad", "#8ec5ff"},
	{"accent", "#0a6b52", "#4cc9a0"},
	{"on-accent", "#ffffff", "#0c1512"},
	{"wash", "#e9f3ef", "#16261f"},
	{"good", "#0a6b52", "#4cc9a0"},
	{"hold", "#6b4f00", "#dfbb4d"},
	{"bad", "#a51d2d", "#ff8a8f"},
	{"level0", "#0a8f6a", "#38c79b"},
	{"level1", "#6f8d0a", "#a9c23c"},
	{"level2", "#a67c00", "#ddb73f"},
	{"level3", "#b4571a", "#ee9355"},
	{"level4", "#7d3324", "#d9776a"},
}

// colorVariables returns all colours as CSS variables, by the system's mode or the page's
// own switch.
func colorVariables() string {
	var light, dark strings.Builder
	for _, c := range pageColors {
		fmt.Fprintf(&light, "--%s:%s;", c.name, c.light)
		fmt.Fprintf(&dark, "--%s:%s;", c.name, c.dark)
	}
	// The reader's own choice on the page goes before that of the system.
	day := "color-scheme:light;" + light.String() + chart.CSSVariables(false)
	night := "color-scheme:dark;" + dark.String() + chart.CSSVariables(true)
	return fmt.Sprintf(":root{%s}\n@media (prefers-color-scheme:dark){:root:not([data-theme=light]){%s}}\n:root[data-theme=dark]{%s}\n", day, night, night)
}
