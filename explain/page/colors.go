package page

import (
	"fmt"
	"strings"

	"github.com/gridbid/gridbid/explain/chart"
)

// pageColors are the page's own colours, as CSS variables in light mode and in dark mode. All of them
// are neutral but that of trouble: on the page a hue means a site (chart.SeriesInk), a shade of violet
// a part of a sum (chart.PartInk), and red trouble.
var pageColors = []struct{ name, light, dark string }{
	{"desk", "#f4f5f6", "#0e1013"},
	{"line", "#dee2e6", "#2a2f36"},
	{"edge", "#7d8691", "#78828e"}, // borders of inputs and buttons
	{"link", "#1b1f24", "#e8eaed"},
	{"accent", "#26303b", "#d3dae2"},
	{"on-accent", "#ffffff", "#11151a"},
	{"wash", "#eef1f4", "#20262d"},
	{"bad", "#b3122b", "#ff6b78"},
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
