package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// templateFuncs are the functions with which templates print values.
var templateFuncs = template.FuncMap{
	"clean":       func(s any) string { return format.CleanText(fmt.Sprint(s)) },
	"hour":        timeSeenFrom,
	"second":      func(t protocol.Time) string { return t.StdTime().Format("15:04:05") },
	"day":         func(t protocol.Time) string { return t.StdTime().Format("2 Jan") },
	"clock":       format.FormatInstant,
	"iso":         protocol.Time.String,
	"kg":          func(c protocol.Milligrams) string { return chart.FormatNumber(c.InKilograms(), 1) },
	"kgs":         format.FormatKilograms,
	"kwhs":        format.FormatKWh,
	"kwh":         func(e protocol.Millijoules) string { return chart.FormatNumber(e.InKWh(), 1) },
	"usd":         func(m protocol.Microdollars) string { return chart.FormatNumber(m.InDollars(), 2) },
	"dollars":     format.FormatDollars,
	"grams":       func(c protocol.Milligrams) string { return chart.FormatNumber(float64(c)/1000, 0) },
	"mwh":         func(m protocol.Microdollars) string { return chart.FormatNumber(float64(m)/1000, 1) },
	"gpus":        func(g protocol.Milli) string { return chart.FormatNumber(math.Round(float64(g)/100)/10, 0) },
	"kw":          func(p protocol.Milliwatts) string { return chart.FormatNumber(float64(p)/1e6, 1) },
	"count":       func(n int) string { return chart.FormatNumber(float64(n), 0) },
	"span":        format.FormatDuration,
	"thousandths": format.FormatThousandths,
	"reason":      narrate.ConditionReason,
	"since":       func(at, then protocol.Time) string { return format.FormatDuration(at.Sub(then)) },
	"shape":       narrate.SizeText,
	"spark":       drawSparkline,
	"full":        drawFillBar,
	"series":      siteClass,
	"parts":       splitAtDecisionIDs,
	"list":        func(s []string) string { return format.CleanText(format.JoinWithAnd(s)) },
	"whyNot": func(job protocol.JobID, site string) string {
		return ask.Query{Ask: "why-not", Job: job, Site: site}.String()
	},
	"tail": func(n int, all []timeline.Entry) []timeline.Entry { return all[max(0, len(all)-n):] },
}

// timeSeenFrom formats the time of day relative to an instant: with the day if it differs.
func timeSeenFrom(t, from protocol.Time) string {
	if t.Floor(24*time.Hour) != from.Floor(24*time.Hour) {
		return t.StdTime().Format("2 Jan 15:04")
	}
	return t.StdTime().Format("15:04")
}

// drawSparkline draws at most the next 24 hours as bars of 3 pixels, scaled to their maximum; a
// bar is never too low to be seen.
func drawSparkline(ahead []protocol.Milligrams) template.HTML {
	ahead = ahead[:min(len(ahead), 24)]
	most := slices.Max(append([]protocol.Milligrams{1}, ahead...))
	var b strings.Builder
	first, last := "", ""
	if len(ahead) > 0 {
		first, last = fmt.Sprint(ahead[0]/1000), fmt.Sprint(ahead[len(ahead)-1]/1000)
	}
	fmt.Fprintf(&b, `<svg class="spark chart" viewBox="0 0 96 20" role="img" aria-label="next %d hours: from %s to %s g/kWh">`, len(ahead), first, last)
	for i, v := range ahead {
		high := max(1.5, 19*float64(max(v, 0))/float64(most))
		fmt.Fprintf(&b, `<rect class="f-muted" x="%d" y="%.1f" width="3" height="%.1f"/>`, 4*i, 20-high, high)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// drawFillBar draws the used part of a whole as a bar of 64 pixels, in the colour of the i-th site. The
// figures stand beside it, so it is hidden from screen readers.
func drawFillBar(i int, part, whole protocol.Milli) template.HTML {
	w := 0.0
	if whole > 0 {
		w = min(64*float64(part)/float64(whole), 64)
	}
	return template.HTML(fmt.Sprintf(`<svg class="full chart" viewBox="0 0 64 8" aria-hidden="true"><rect class="f-grid" width="64" height="8" rx="2"/><rect class="%s" width="%.1f" height="8" rx="2"/></svg>`, siteClass(i), w))
}

// siteClass returns the class of a fill in the colour of the i-th site.
func siteClass(i int) string { return fmt.Sprintf("f-s%d", int(chart.SeriesInk(i)-chart.InkSeries)) }

// comparedWithBaseline compares the run's carbon with that of home-fifo, if both were replayed:
// "47 % less than home-fifo".
func comparedWithBaseline(d *timeline.Timeline, policy string) string {
	kg := make(map[string]float64)
	for _, t := range d.PolicyTotals() {
		kg[t.Policy] = t.CarbonKg
	}
	own, base := kg[policy], kg["home-fifo"]
	// A comparison needs both runs, and a baseline that is not the run itself.
	if own <= 0 || base <= 0 || policy == "home-fifo" {
		return ""
	}
	word, share := "less", 100*(1-own/base)
	if share < 0 {
		word, share = "more", -share
	}
	return fmt.Sprintf("whole run: %s %% %s than home-fifo", chart.FormatNumber(share, 0), word)
}

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
