// Package report presents a replay: a table for the terminal, JSON for programs, and
// a page with charts.
//
// Promises: a page is self-contained: it loads no script, font or image; external
// names are escaped wherever they appear; the same ReplayReport gives the same
// bytes of page and SVG. A chart is laid out once, by internal/chart, for SVG, PNG and page.
//
// Package history computes the figures; explain/narrate writes the text about one
// job.
package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A ReplayReport is the input of a report. Series begin at Start and have one value for each
// Step; they may have different lengths. Sites have the same order throughout.
type ReplayReport struct {
	Scenario, About string
	Start, End      protocol.Time
	Arrived         protocol.Time // last arrival; jobs arrive from Start until then; 0: until End
	Step            time.Duration // of all series; 0 means an hour
	Sites           []SiteSignals
	Policies        []PolicyRun // in the order of display
	Notes           []string    // assumptions, cuts and filled values
	Warnings        []string    // why the figures mean less than they seem to
}

// A SiteSignals is the actual grid of a site.
type SiteSignals struct {
	Name   string
	GPUs   protocol.Milli
	Price  []protocol.Microdollars // per kWh
	Carbon []protocol.Milligrams   // per kWh
}

// A PolicyRun is one replay of the day.
type PolicyRun struct {
	Totals history.Totals
	Busy   [][]protocol.Milli // GPUs held, by site, then by step
}

// WriteJSON writes the totals in the format of docs/replay-json.md.
func WriteJSON(w io.Writer, all []history.Totals) error {
	if all == nil {
		all = []history.Totals{}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("report: write totals as JSON: %w", err)
	}
	return nil
}

// WriteReport writes index.html to dir, and each chart as SVG, PNG and text table to
// dir/charts. It returns the page's path.
func WriteReport(dir string, d ReplayReport) (string, error) {
	d = d.normalizeTexts()
	folder := filepath.Join(dir, "charts")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("report: create the chart folder: %w", err)
	}
	all := allCharts(d)
	for _, c := range all {
		picture, err := c.layout.EncodePNG()
		if err != nil {
			return "", fmt.Errorf("report: draw %s: %w", c.name, err)
		}
		var figures bytes.Buffer
		c.figures.WriteText(&figures)
		for ext, data := range map[string][]byte{".svg": c.layout.EncodeSVG(), ".png": picture, ".txt": figures.Bytes()} {
			if err := os.WriteFile(filepath.Join(folder, c.name+ext), data, 0o644); err != nil {
				return "", fmt.Errorf("report: write a chart: %w", err)
			}
		}
	}
	path := filepath.Join(dir, "index.html")
	f, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("report: write the page: %w", err)
	}
	err = writePage(f, d, all)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", fmt.Errorf("report: write the page: %w", err)
	}
	return path, nil
}

// normalizeTexts returns d with legible texts and a step above zero.
func (d ReplayReport) normalizeTexts() ReplayReport {
	if d.Step <= 0 {
		d.Step = time.Hour
	}
	d.Scenario, d.About = legibleText(d.Scenario), legibleText(d.About)
	d.Notes, d.Warnings = legibleTexts(d.Notes), legibleTexts(d.Warnings)
	sites := make([]SiteSignals, len(d.Sites))
	for i, s := range d.Sites {
		s.Name = legibleText(s.Name)
		sites[i] = s
	}
	d.Sites = sites
	policies := make([]PolicyRun, len(d.Policies))
	for i, p := range d.Policies {
		p.Totals.Policy = legibleText(p.Totals.Policy)
		policies[i] = p
	}
	d.Policies = policies
	return d
}

// legibleTexts returns the texts without control and direction characters.
func legibleTexts(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = legibleText(t)
	}
	return out
}

// ComparisonText returns a paragraph that says what was compared and which policy had the
// lowest objective.
func ComparisonText(d ReplayReport) string {
	d = d.normalizeTexts()
	if len(d.Policies) == 0 {
		return "Nothing was replayed."
	}
	first := d.Policies[0].Totals
	s := fmt.Sprintf("%s replayed the same day: %s that arrive from %s to %s UTC, at %s with %s GPUs. ",
		countText(len(d.Policies), "policy", "policies"), countText(first.Jobs, "job", "jobs"),
		d.Start.StdTime().Format("2 Jan 2006 15:04"), cmp.Or(d.Arrived, d.End).StdTime().Format("2 Jan 2006 15:04"),
		countText(len(d.Sites), "site", "sites"), gpuCountText(d.Sites))
	if len(d.Policies) == 1 {
		return s + fmt.Sprintf("%s cost $%s by the objective, all terms included.", first.Policy, formatMoney(first.ObjectiveUSD))
	}
	var rivals []history.Totals
	for _, p := range d.Policies {
		if p.Totals.IsRival() {
			rivals = append(rivals, p.Totals)
		}
	}
	s += "They saw the same prices, carbon intensities and machines; only the rule that chooses site and hour differs. "
	if len(rivals) < len(d.Policies) {
		s += "What follows a slash is what sites knew ahead of time, where it was not the usual: such a run is there to compare with, and no rival. "
	}
	if len(rivals) == 0 {
		return strings.TrimSuffix(s, " ")
	}
	best := slices.MinFunc(rivals, func(x, y history.Totals) int { return cmp.Compare(x.ObjectiveUSD, y.ObjectiveUSD) })
	// The baseline of the comparison is home-fifo if it was replayed, else the first
	// policy.
	base := rivals[0]
	if i := slices.IndexFunc(rivals, func(t history.Totals) bool { return t.Policy == "home-fifo" }); i >= 0 {
		base = rivals[i]
	}
	s += fmt.Sprintf("The lowest objective is that of %s, $%s", best.Policy, formatMoney(best.ObjectiveUSD))
	if base.Policy != best.Policy && base.ObjectiveUSD > 0 {
		s += fmt.Sprintf(", %.1f %% below %s; its jobs waited %s minutes on average, those of %s %s",
			100*(1-best.ObjectiveUSD/base.ObjectiveUSD), base.Policy, formatOneDecimal(best.WaitS.Mean/60), base.Policy, formatOneDecimal(base.WaitS.Mean/60))
	}
	return s + "."
}

// gpuCountText returns the number of GPUs of all sites.
func gpuCountText(sites []SiteSignals) string {
	var sum protocol.Milli
	for _, s := range sites {
		sum += s.GPUs
	}
	return formatWhole(float64(sum / 1000))
}

// countText formats a count with the matching form of a noun.
func countText(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return formatWhole(float64(n)) + " " + many
}

// fileSlug returns a name that is safe as a file name on any system, at most 40 bytes.
func fileSlug(name string) string {
	s := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-':
			return c
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		}
		return '-'
	}, name)
	return s[:min(len(s), 40)]
}
